// What leaves the page, a slow scene, and a server that goes.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before } from "node:test";
import { becomes, closeAll, limit, open, openBrowser, run, runTo, says, scratch, serve, test } from "./helpers.mjs";

let browser, server, page;
before(async () => {
  writeFileSync(path.join(scratch, "heap.toml"), `dimension = 2
[[body]]
name = "ground"
kind = "static"
shape = { half_space = [0, 1] }
[[repeat]]
count = [60, 60]
offset = [[0.2, 0.003], [0.1, 0.2]]
body = { name = "b", shape = { box = [0.2, 0.2] }, position = [0, 0.1], velocity = [0, -3] }
`);
  writeFileSync(path.join(scratch, "driven.toml"), `dimension = 2
gravity = [0, 0]
[[body]]
name = "cart"
mass = 2
shape = { box = [0.4, 0.2] }
[[joint]]
name = "rail"
kind = "slider"
between = ["cart", "world"]
anchor = [0, 0]
axis = [1, 0]
limits = [-3, 3]
motor = { control = true, max = 6 }
`);
  [browser, server] = await Promise.all([openBrowser(), serve("newton_cradle")]);
  page = await open(browser, server.address, { viewport: { width: 1100, height: 640 }, acceptDownloads: true });
}, limit);
after(closeAll, limit);

/** What the menu gives, as a file. */
const saved = async (title) => {
  await page.getByLabel("Save or share (S)").click();
  const coming = page.waitForEvent("download");
  await page.locator(".menu button", { has: page.locator(`b:text-is("${title}")`) }).click();
  const file = await coming;
  const to = path.join(scratch, `saved-${file.suggestedFilename()}`);
  await file.saveAs(to);
  return { name: file.suggestedFilename(), to };
};

test("the run is saved as a replay that shows the same", async () => {
  await runTo(page, 0.6);
  const { name, to } = await saved("Replay");
  assert.equal(name, "newton_cradle.html");
  const mine = await page.evaluate(() => ({ end: window.carom.player.track.end, shots: window.carom.player.track.shots.length, q: [...window.carom.player.track.shots.at(-1).q], kinetic: window.carom.player.track.shots.at(-1).books[0] }));
  const replay = await open(browser, `file://${to}`, { offline: true });
  const theirs = await replay.evaluate(() => ({ end: window.carom.player.track.end, shots: window.carom.player.track.shots.length, q: [...window.carom.player.track.shots.at(-1).q], kinetic: window.carom.player.track.shots.at(-1).books[0] }));
  assert.equal(theirs.shots, mine.shots);
  assert.ok(Math.abs(theirs.end - mine.end) < 1e-9);
  assert.ok(theirs.q.every((x, i) => Math.abs(x - mine.q[i]) < 1e-4), "poses to a quantum");
  assert.ok(Math.abs(theirs.kinetic - mine.kinetic) < 1e-6);
  assert.deepEqual(replay.faults, []);
  await replay.close();
});

test("the run is saved as a film", async () => {
  const { name, to } = await saved("Film");
  assert.match(name, /^newton_cradle\.(webm|mp4)$/);
  const bytes = readFileSync(to);
  assert.ok(bytes.length > 2000, `${bytes.length} bytes`);
  // The mark of the container.
  if (name.endsWith("webm")) assert.equal(bytes.readUInt32BE(0), 0x1a45dfa3);
});

test("the scene is saved as it was written, and with what was set", async () => {
  const plain = await saved("Scene");
  assert.match(readFileSync(plain.to, "utf8"), /^#/, "comments included");
  await page.evaluate(() => window.carom.inspector.setter.set("gravity", 1, -3.25));
  await page.waitForFunction(() => window.carom.inspector.parameters.gravity[1] === -3.25);
  const changed = await saved("Scene");
  assert.match(readFileSync(changed.to, "utf8"), /-3\.25/);
  await run("check", changed.to);
});

test("a link leads to the very state, sliders and pulls included", async () => {
  await runTo(page, 0.9);
  await page.getByLabel("Save or share (S)").click();
  await page.getByText("Link to this state").click();
  await page.waitForFunction(() => location.hash.startsWith("#state="));
  const address = page.url();
  const mine = await page.evaluate(() => ({ time: window.carom.player.track.end, q: [...window.carom.player.track.shots.at(-1).q], v: [...window.carom.player.track.shots.at(-1).v] }));
  const other = await open(browser, address);
  await other.waitForFunction((t) => Math.abs(window.carom.player.track.end - t) < 1e-9, mine.time);
  const theirs = await other.evaluate(() => ({ q: [...window.carom.player.track.shots.at(-1).q], v: [...window.carom.player.track.shots.at(-1).v] }));
  assert.deepEqual(theirs.q, mine.q);
  assert.deepEqual(theirs.v, mine.v);
  await becomes(() => other.evaluate(() => window.carom.inspector.parameters?.gravity[1]), -3.25);
  await other.keyboard.press("r");
  await other.waitForFunction(() => window.carom.player.track.end === 0);
  assert.deepEqual(other.faults, []);
  await other.close();
  // The scene that is shown instead comes later than the word of the fault, and leaves it there.
  const broken = await open(browser, `${address.split("#")[0]}#state=AAAA`, { late: 300 });
  await broken.locator(".note[data-kind=error]").waitFor();
  await says(broken.locator(".note"), /link cannot be read/);
  await broken.close();
});

test("a control's slider drives its motor", async (t) => {
  const own = await serve(path.join(scratch, "driven.toml"));
  t.after(own.stop);
  const page = await open(browser, own.address, { viewport: { width: 1100, height: 640 } });
  await page.getByRole("tab", { name: "Dials" }).click();
  await page.getByLabel("rail, as a number").fill("4");
  await page.getByLabel("rail, as a number").press("Enter");
  await page.waitForFunction(() => window.carom.inspector.parameters.controls[0].value === 4);
  await runTo(page, 0.5);
  const [x, time] = await page.evaluate(() => [window.carom.player.track.shots.at(-1).q[0], window.carom.player.track.end]);
  assert.ok(Math.abs(x - time * time) < 0.02, `4 N move 2 kg by ${x} m in ${time} s`);
  await page.evaluate(() => window.carom.choose({ kind: "joint", index: 0 }));
  await says(page.locator(".inspector dl"), /limits−3.000 to 3.000 m/);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("the pace is told, and of a slow scene what it waits for; a click on another one is answered at once", async (t) => {
  const own = await serve(path.join(scratch, "heap.toml"));
  t.after(own.stop);
  let page;
  const click = (name) => page.evaluate(async (name) => {
    // Between two frames of the page, which may be busy drawing.
    await new Promise((next) => requestAnimationFrame(next));
    const start = performance.now();
    document.querySelector(`.scenes [data-name=${name}]`).click();
    while (document.querySelector("h1").textContent !== name) await new Promise((next) => setTimeout(next, 1));
    return performance.now() - start;
  }, name);
  // A machine may turn to other work in the very moment of a click: of three tries the best counts.
  let late = Infinity;
  const tries = [];
  while (late > 100 && tries.length < 3) {
    await page?.close();
    page = await open(browser, own.address, { viewport: { width: 1100, height: 640 }, ahead: false });
    await page.evaluate(() => window.carom.player.play(true));
    // A single step of this heap takes seconds.
    await page.waitForFunction(() => /^Step \d+ takes [\d.]+ s so far|^Slower than real time/.test(document.querySelector(".note").textContent));
    const slow = await click("ball_drop");
    // What a click takes here when nothing is slow: on a machine with other work that is most of it.
    const usual = [];
    for (const name of ["pool_break", "newton_cradle", "ball_drop", "seesaw"]) usual.push(await click(name));
    late = Math.min(late, slow - 2 * Math.max(...usual));
    tries.push(`${slow.toFixed(0)} ms, otherwise ${usual.map((ms) => ms.toFixed(0))} ms`);
  }
  assert.ok(late <= 100, tries.join("; "));
  await page.evaluate(() => window.carom.player.play(true));
  await page.waitForFunction(() => /× real time/.test(document.querySelector(".facts").textContent));
  await page.close();
});

test("after the server has gone Play says so, and shows what there is", async () => {
  server.stop();
  await page.waitForFunction(() => /server has gone/.test(document.querySelector(".note").textContent));
  await page.evaluate(() => window.carom.say(""));
  const end = await page.evaluate(() => window.carom.player.track.end);
  await page.evaluate(() => window.carom.player.seek(window.carom.player.track.end));
  await page.locator(".play").click();
  await says(page.locator(".note"), /server has gone/);
  await page.waitForFunction(() => window.carom.player.cursor > 0.1);
  assert.equal(await page.evaluate(() => window.carom.player.track.end), end);
  await page.locator(".scenes [data-name=ball_drop]").click();
  await says(page.locator(".note"), /server has gone/);
});
