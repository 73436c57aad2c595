// The camera keeps the scene in view.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before } from "node:test";
import { becomes, closeAll, drawn, holds, limit, open, openBrowser, runTo, says, scratch, serve, show, test } from "./helpers.mjs";

let browser, server, page;
before(async () => {
  writeFileSync(path.join(scratch, "rover.toml"), `dimension = 3
gravity = [0, 0, -9.81]
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 0, 1] }
[[body]]
name = "rover"
shape = { box = [0.4, 0.3, 0.2] }
position = [0, 0, 0.1]
velocity = [6, 0, 0]
friction = 0
`);
  writeFileSync(path.join(scratch, "bin.toml"), `dimension = 3
[[body]]
name = "bin"
kind = "static"
shape = [
  { half_space = [0, 0, 1] },
  { half_space = [1, 0, 0], at = [-1, 0, 0] }, { half_space = [-1, 0, 0], at = [1, 0, 0] },
  { half_space = [0, 1, 0], at = [0, -1, 0] }, { half_space = [0, -1, 0], at = [0, 1, 0] },
]
[[repeat]]
count = [3, 3]
offset = [[0.5, 0, 0], [0, 0.5, 0]]
body = { name = "ball", shape = { ball = 0.2 }, position = [-0.5, -0.5, 1.2] }
`);
  [browser, server] = await Promise.all([openBrowser(), serve("ball_drop")]);
  page = await open(browser, server.address, { viewport: { width: 1100, height: 640 } });
}, limit);
after(closeAll, limit);

/** Share of the moving bodies whose middle is on the stage, and where on it the ground is. */
const seen = (page) => page.evaluate(() => {
  const viewer = window.carom;
  const box = viewer.stage.canvas.getBoundingClientRect();
  const inside = ([x, y]) => x > box.left && x < box.right && y > box.top && y < box.bottom;
  const moving = viewer.picture.bodies.flatMap((b, i) => (b.kind === "static" ? [] : [i]));
  return moving.filter((i) => inside(viewer.where(i))).length / moving.length;
});
/** Height of a point of the world on the stage, 0 at its top and 1 at its bottom. */
const height = (page, point) => page.evaluate(([x, y, z]) => {
  const { stage } = window.carom;
  const p = stage.camera.target.clone();
  return stage.project(x, y, z, p).y / stage.canvas.clientHeight;
}, point);

test("a ball that falls is seen from its height to its ground", async () => {
  for (const time of [0, 0.45, 1]) {
    if (time > 0) await runTo(page, time);
    await becomes(() => seen(page), 1, `at ${time} s`);
    await holds(() => height(page, [0, 0, 0]), (ground) => ground > 0.5 && ground < 0.98, "the ground is at");
  }
  // As large as a ball beside the way it falls, not as the whole picture.
  const diameter = 0.2;
  const size = Math.abs((await height(page, [0, diameter, 0])) - (await height(page, [0, 0, 0])));
  assert.ok(size > 0.02 && size < 0.2, `${size}`);
});

for (const [name, times] of [["wrecking_ball", [0, 0.6, 1.6]], ["pile_in_bin", [0, 0.6]], ["strandbeest", [0, 1]], ["bowling", [0, 0.7]]]) {
  test(`all of ${name} is in view while it runs`, async () => {
    await show(page, name);
    for (const time of times) {
      if (time > 0) await runTo(page, time);
      await holds(() => seen(page), (share) => share > 0.85, `at ${time} s:`);
    }
  });
}

test("what leaves is followed, until the reader moves the camera, and again after F", async (t) => {
  const own = await serve(path.join(scratch, "rover.toml"));
  t.after(own.stop);
  const page = await open(browser, own.address, { viewport: { width: 900, height: 560 } });
  await runTo(page, 3);
  const following = () => page.evaluate(() => document.documentElement.dataset.following);
  await becomes(() => seen(page), 1, "18 m further on");
  await holds(() => height(page, [18, 0, 0]), (y) => y < 1, "the ground under it is at");
  await becomes(following, "all");
  const box = await page.locator(".stage").boundingBox();
  await page.mouse.move(box.x + 60, box.y + box.height - 60);
  await page.mouse.down({ button: "right" });
  await page.mouse.move(box.x + 200, box.y + box.height - 60, { steps: 4 });
  await page.mouse.up({ button: "right" });
  await becomes(following, "none");
  await drawn(page);
  const target = () => page.evaluate(() => window.carom.stage.camera.target.toArray());
  const chosen = await target();
  await runTo(page, 6);
  const moved = (await target()).map((x, k) => Math.abs(x - chosen[k]));
  // The controls find their way back from angles, to rounding.
  assert.ok(Math.max(...moved) < 1e-9, `the reader's view stays where it is: ${moved}`);
  await page.keyboard.press("f");
  await becomes(() => seen(page), 1);
  await becomes(following, "all");
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("a double click frames a body and goes along with it", async () => {
  await show(page, "bowling");
  const ball = await page.evaluate(() => window.carom.picture.bodies.findIndex((b) => b.name === "ball"));
  const before = await page.evaluate((b) => window.carom.where(b), ball);
  await page.mouse.dblclick(...before);
  const following = () => page.evaluate(() => window.carom.stage.camera.following);
  await becomes(following, ball);
  await says(page.locator(".followed"), /ball/);
  await runTo(page, 0.8);
  const box = await page.locator(".stage").boundingBox();
  await holds(() => page.evaluate((b) => window.carom.where(b), ball), ([x, y]) => Math.abs(x - box.x - box.width / 2) < 60 && Math.abs(y - box.y - box.height / 2) < 60, "it is at");
  await page.locator(".followed").click();
  await becomes(following, "all");
});

test("what is tied to the world is seen with what it hangs on", async () => {
  await show(page, "rope_swing");
  await runTo(page, 2);
  await holds(() => seen(page), (share) => share === 1, "at 2 s:");
  const place = () => page.evaluate(() => {
    const { camera } = window.carom.stage;
    const point = { x: 0, y: 0, z: 0 };
    return camera.sees({ min: point, max: point });
  });
  await becomes(place, true, "where the rope is fixed");
});

test("nothing that is framed lies behind the buttons", async () => {
  await show(page, "newton_cradle");
  await page.keyboard.press("f");
  await drawn(page);
  const buttons = await page.locator(".toggles").boundingBox();
  const stage = await page.locator("canvas.stage").boundingBox();
  const hooks = (await height(page, [0, 2, 0])) * stage.height + stage.y;
  assert.ok(hooks > buttons.y + buttons.height && hooks < stage.y + 0.5 * stage.height, `the strings hang at ${hooks} px`);
});

test("a chain of links thinner than a pixel is seen as a line", async () => {
  await show(page, "chain_1000");
  const share = () => page.evaluate(() => {
    const sheet = document.querySelector("canvas.overlay");
    // Read from a copy: a canvas that is read again and again is warned of in the console.
    const copy = new OffscreenCanvas(sheet.width, sheet.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(sheet, 0, 0);
    const { data, width } = copy.getImageData(0, 0, sheet.width, sheet.height);
    const columns = new Set();
    for (let i = 3; i < data.length; i += 4) if (data[i] > 128) columns.add(((i - 3) / 4) % width);
    return sheet.style.visibility === "hidden" ? 0 : columns.size / width;
  });
  await holds(share, (across) => across > 0.3, "the share of the width that it spans is");
  // The same page shows rods that are wide enough without it.
  await show(page, "double_pendulum");
  await becomes(share, 0);
});

test("keys look from the corner, the front, the side and above", async () => {
  await show(page, "bowling");
  await page.locator(".stage").focus();
  const away = () => page.evaluate(() => window.carom.stage.camera.eye.position.clone().sub(window.carom.stage.camera.target).normalize().toArray());
  for (const [key, axis, sign] of [["2", 1, -1], ["3", 0, 1], ["4", 2, 1]]) {
    await page.keyboard.press(key);
    await holds(away, (way) => sign * way[axis] > 0.99, `${key}:`);
    await holds(() => seen(page), (share) => share > 0.85, `${key}:`);
  }
  await page.keyboard.press("1");
  await holds(away, (way) => way.every((x) => Math.abs(x) < 0.95));
});

test("half-spaces that bound each other are walls of the scene's extent, in the plane and in space", async (t) => {
  await show(page, "pile_in_bin");
  const walls = () => page.evaluate(() => window.carom.stage.picture.bodies.flatMap((b) => b.shapes).filter((s) => s.kind === "wall").map((s) => s.points));
  const flat = await walls();
  assert.equal(flat.length, 3);
  // Floor and walls end where they meet, or at what is in view: nothing reaches beyond some metres.
  assert.ok(flat.flat().every((x) => Math.abs(x) < 6), `${flat}`);
  await show(page, "ball_drop");
  assert.equal((await walls()).length, 0, "ground alone goes on for ever");
  await show(page, "ball_between_walls");
  const lanes = await walls();
  assert.equal(lanes.length, 2);
  for (const wall of lanes) assert.ok(Math.min(...wall) < -10 && Math.max(...wall) > 10, `what is open on both sides goes on: ${wall}`);
  await show(page, "bank_shot");
  const table = { min: { x: -1, y: -0.5, z: 0 }, max: { x: 1, y: 0.5, z: 0 } };
  assert.ok(await page.evaluate((box) => window.carom.stage.camera.sees(box), table), "what is walled in is shown whole, however small the ball");
  const own = await serve(path.join(scratch, "bin.toml"));
  t.after(own.stop);
  const other = await open(browser, own.address);
  const panels = await other.evaluate(() => window.carom.stage.picture.bodies.flatMap((b) => b.shapes).filter((s) => s.kind === "wall").map((s) => s.points));
  assert.equal(panels.length, 5);
  const floor = panels[0];
  for (let i = 0; i < floor.length; i += 3) assert.ok(Math.abs(Math.abs(floor[i]) - 1) < 1e-5 && Math.abs(Math.abs(floor[i + 1]) - 1) < 1e-5, `${floor}`);
  await becomes(() => seen(other), 1);
  assert.deepEqual(other.faults, []);
  await other.close();
});

test("on a phone and in the dark it is the same", async () => {
  const phone = await open(browser, server.address, { viewport: { width: 390, height: 780 }, colorScheme: "dark", hasTouch: true });
  for (const time of [0, 0.45]) {
    if (time > 0) await runTo(phone, time);
    await becomes(() => seen(phone), 1);
    await holds(() => height(phone, [0, 0, 0]), (ground) => ground > 0.4 && ground < 1, "the ground is at");
  }
  assert.equal(await phone.evaluate(() => document.documentElement.dataset.theme), "dark");
  assert.deepEqual(phone.faults, []);
  await phone.close();
});

test("nothing went wrong in the console", () => assert.deepEqual(page.faults, []));
