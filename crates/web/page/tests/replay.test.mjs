// A replay opens from a file with the network off.
import assert from "node:assert/strict";
import path from "node:path";
import { statSync } from "node:fs";
import { after, before } from "node:test";
import { becomes, closeAll, compare, end, holds, limit, open, openBrowser, run, says, scratch, test, time } from "./helpers.mjs";

let browser;
const file = (name) => `file://${path.join(scratch, name)}`;
before(async () => {
  browser = await openBrowser();
  await run("run", "pool_break", "--quiet", "--time", "10", "--out", "pool.html");
  await run("run", "bowling", "--quiet", "--time", "1.5", "--out", "bowling.html");
}, limit);
after(closeAll, limit);

test("a replay is one small file that plays, steps and scrubs offline", async () => {
  assert.ok(statSync(path.join(scratch, "pool.html")).size < 2e6);
  const page = await open(browser, file("pool.html"), { offline: true });
  assert.ok(Math.abs((await end(page)) - 10) < 1e-6);
  assert.equal(await time(page), 0, "motion waits where the reader asked for little of it");
  await page.keyboard.press("Space");
  await page.waitForFunction(() => window.carom.player.cursor > 0.1);
  await page.keyboard.press("Space");
  await becomes(() => page.evaluate(() => window.carom.player.playing), false);
  const paused = await time(page);
  await page.keyboard.press("ArrowRight");
  await holds(() => time(page), (now) => now > paused, `${paused} to`);
  await page.keyboard.press("r");
  await becomes(() => time(page), 0);
  await page.evaluate(() => window.carom.player.seek(0.13));
  await page.keyboard.press("c");
  await page.keyboard.press("i");
  await compare(page, "replay-light");
  assert.equal(await page.locator(".side").isVisible(), false);
  assert.deepEqual(page.faults, []);
  assert.deepEqual(page.asked.filter((url) => !/^(file|data|blob):/.test(url)), []);
});

test("it starts by itself where motion is welcome", async () => {
  const page = await open(browser, file("bowling.html"), { offline: true, reducedMotion: "no-preference", colorScheme: "dark" });
  await page.waitForFunction(() => window.carom.player.cursor > 0.05);
  await page.evaluate(() => window.carom.player.seek(0.9));
  await compare(page, "replay-space-dark");
  assert.deepEqual(page.faults, []);
});

test("boxes are those of the shapes, and another replay is a ghost", async () => {
  const page = await open(browser, file("pool.html"), { offline: true });
  await page.keyboard.press("b");
  const far = await page.evaluate(() => {
    const { picture, boxes, player } = window.carom;
    const q = player.track.at(0).q;
    const found = boxes.at(q);
    return Math.max(...picture.bodies.flatMap((b, i) => [0, 1].flatMap((k) => [q[3 * i + k] - b.shapes[0].size[0] - found[4 * i + k], q[3 * i + k] + b.shapes[0].size[0] - found[4 * i + 2 + k]])).map(Math.abs));
  });
  assert.ok(far < 1e-6, `${far} m`);
  const other = page.getByLabel("Another replay", { exact: true });
  await other.setInputFiles(path.join(scratch, "bowling.html"));
  await page.locator(".note[data-kind=error]").waitFor();
  await says(page.locator(".note"), /dimension 3/);
  await other.setInputFiles(path.join(scratch, "pool.html"));
  await page.waitForFunction(() => window.carom.hasGhost);
  await becomes(() => page.locator("[data-layer=ghost]").getAttribute("aria-pressed"), "true");
  await page.locator("[data-layer=ghost]").click();
  await becomes(() => page.evaluate(() => window.carom.hasGhost), false);
  assert.deepEqual(page.faults, []);
});
