// The page of `carom view`, used as a person would.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { becomes, closeAll, compare, end, holds, limit, open, openBrowser, says, serve, settled, shown, test, time } from "./helpers.mjs";

let browser, server, page;
before(async () => {
  [browser, server] = await Promise.all([openBrowser(), serve("pool_break")]);
  page = await open(browser, server.address, { viewport: { width: 1040, height: 640 } });
}, limit);
after(closeAll, limit);

const name = (body) => page.evaluate((body) => window.carom.picture.bodies[body].name, body);
const load = async (name) => {
  await page.locator(`.scenes [data-name=${name}]`).click();
  await shown(page, name);
};
const pressed = (layer) => page.locator(`[data-layer=${layer}]`).getAttribute("aria-pressed");

test("it opens with the scene, paused at the start", async () => {
  assert.equal(await page.locator("h1").textContent(), "pool_break");
  assert.equal(await time(page), 0);
  assert.ok((await page.locator(".scenes li").count()) > 50);
  await compare(page, "plane-light");
});

test("space runs and pauses", async () => {
  await page.keyboard.press("Space");
  await page.waitForFunction(() => window.carom.player.cursor > 0.2);
  await page.keyboard.press("Space");
  await becomes(() => page.locator(".play").getAttribute("aria-label"), "Run (Space)");
  await settled(page);
  const stopped = await time(page);
  await page.waitForTimeout(250);
  assert.equal(await time(page), stopped);
});

test("the right arrow takes one step, the left one back", async () => {
  await page.evaluate(() => window.carom.player.seek(window.carom.player.track.end));
  const before = await end(page);
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((t) => window.carom.player.cursor > t, before);
  assert.ok(Math.abs((await time(page)) - before - 0.005) < 1e-9);
  await page.keyboard.press("ArrowLeft");
  await holds(() => time(page), (now) => Math.abs(now - before) < 1e-9, `not ${before}:`);
});

test("the timeline scrubs, and plots follow", async () => {
  const last = await end(page);
  await page.locator(".scrub").focus();
  await page.keyboard.press("Home");
  await becomes(() => time(page), 0);
  const box = await page.locator(".scrub").boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await holds(() => time(page), (middle) => Math.abs(middle - last / 2) < 0.1 * last, `of ${last}:`);
  await says(page.locator(".plot").nth(1).locator(".legend b"), /m\/s/);
  const area = await page.locator(".plot .area").first().boundingBox();
  await page.mouse.click(area.x + area.width - 12, area.y + 40);
  await holds(() => time(page), (now) => now > 0.9 * last, `of ${last}:`);
});

test("plots draw the ledger and the number of any body", async () => {
  await page.locator(".plots > .add").click();
  const plot = page.locator(".plot").last();
  await plot.getByLabel("Quantity").selectOption("body.x");
  await plot.getByLabel("Body", { exact: true }).selectOption({ label: await name(4) });
  await page.waitForFunction((label) => document.querySelector(".plot:last-child .legend")?.textContent?.includes(label), `${await name(4)}.x`);
  const inked = () => plot.locator("canvas").evaluate((canvas) => {
    // From a copy: a canvas that is read again and again is warned of in the console.
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
    return data.filter((x, i) => i % 4 === 3 && x > 0).length;
  });
  await holds(inked, (pixels) => pixels > 500);
  await plot.getByLabel("Remove this plot").click();
  await becomes(() => page.locator(".plot").count(), 2);
});

test("layers are shown and hidden by key and by button", async () => {
  await page.locator(".stage").focus();
  await page.keyboard.press("c");
  await becomes(() => pressed("contacts"), "true");
  await page.locator("[data-layer=contacts]").click();
  await becomes(() => pressed("contacts"), "false");
  await page.locator("[data-layer=boxes]").click();
  await page.evaluate(() => window.carom.player.seek(window.carom.player.track.end));
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => window.carom.player.track.shots.at(-1).boxes?.length === 16 * 4);
  await page.locator("[data-layer=boxes]").click();
});

test("R resets", async () => {
  await page.keyboard.press("r");
  await page.waitForFunction(() => window.carom.player.track.end === 0);
  assert.equal(await time(page), 0);
});

test("a drag pulls a body", async () => {
  await load("ball_drop");
  const body = await page.evaluate(() => window.carom.picture.bodies.findIndex((b) => b.kind === "dynamic"));
  const [x, y] = await page.evaluate((body) => window.carom.where(body), body);
  const before = await page.evaluate((body) => window.carom.player.track.shots[0].q[3 * body], body);
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 60, y - 10, { steps: 4 });
  await becomes(() => page.evaluate(() => window.carom.drag !== null), true, "the hand holds it");
  await page.keyboard.press("Space");
  await page.waitForFunction(([body, before]) => window.carom.player.track.shots.at(-1).q[3 * body] > before + 0.01, [body, before]);
  await page.mouse.up();
  await page.keyboard.press("Space");
  const work = await page.evaluate(() => window.carom.player.track.shots.at(-1).books[3]);
  assert.notEqual(work, 0, "its work is booked");
});

test("a ghost of the last run stays behind the next", async () => {
  await page.locator("[data-layer=ghost]").click();
  await page.keyboard.press("r");
  await page.waitForFunction(() => window.carom.player.track.end === 0 && window.carom.hasGhost);
  await page.locator("[data-layer=ghost]").click();
  await becomes(() => page.evaluate(() => window.carom.hasGhost), false);
});

test("the editor shows a fault in its place and runs a text without one", async () => {
  await page.getByRole("tab", { name: "Text" }).click();
  const area = page.getByLabel("Scene text");
  const text = await area.inputValue();
  await area.fill(text.replace("gravity", "gravty").replace("dimension = 2", "dimension = 2\nstepp = 0.01"));
  await page.locator(".bubble").waitFor();
  await says(page.locator(".bubble"), /did you mean "step"/);
  await says(page.locator(".faults b").first(), /^line \d+$/);
  const line = Number((await page.locator(".faults b").first().textContent()).slice(5));
  assert.equal((await area.inputValue()).split("\n")[line - 1], "stepp = 0.01");
  assert.ok(await page.locator(".apply").isDisabled());
  await compare(page, "editor-light");
  await area.fill('dimension = 2\n[[body]]\nname = "solo"\nshape = { box = [1, 0.5] }\n');
  await page.locator(".apply:not(:disabled)").waitFor();
  await area.press("Control+Enter");
  await page.waitForFunction(() => window.carom.picture.bodies[0]?.name === "solo");
  await page.locator(".bubble").waitFor({ state: "hidden" });
});

test("the gradient of a loss is drawn as arrows and colours", async () => {
  await page.getByRole("tab", { name: "Scenes" }).click();
  await load("pool_break");
  await page.getByRole("tab", { name: "Gradient" }).click();
  await page.getByLabel("Loss as text").fill(`${await name(15)}.x`);
  await page.getByLabel("Time of the loss [s]").fill("0.3");
  await page.getByLabel("Colour bodies by").selectOption("mass");
  await page.getByRole("button", { name: "Compute" }).click();
  await page.locator(".answer table").waitFor();
  await becomes(() => page.evaluate(() => window.carom.arrows.length > 0), true);
  await page.getByLabel("Loss as text").fill("nobody.x");
  await page.getByRole("button", { name: "Compute" }).click();
  await says(page.locator(".answer .bad"), /nobody/);
});

test("space scenes have light and shadow, in the dark too", async () => {
  await page.getByRole("tab", { name: "Scenes" }).click();
  await page.emulateMedia({ colorScheme: "dark" });
  await load("box_stack_3d");
  await compare(page, "space-dark");
});

test("it fits a phone", async () => {
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 360, height: 640 });
  await page.getByLabel("Close the panel").click();
  await holds(() => page.evaluate(() => document.documentElement.scrollWidth), (wide) => wide <= 360, "pixels wide:");
  await compare(page, "phone-light");
});

test("every control has a name", async () => {
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, input, select, textarea")].filter((n) => !(n.getAttribute("aria-label") || n.textContent.trim())).length);
  assert.equal(nameless, 0);
});

test("nothing went wrong in the console, and nobody else was asked", () => {
  assert.deepEqual(page.faults, []);
  assert.deepEqual(page.asked.filter((url) => !url.startsWith(server.url.origin) && !/^(data|blob|ws):/.test(url)), []);
});
