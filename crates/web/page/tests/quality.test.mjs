// How much work a picture of many bodies is, and what the governor makes of slow frames. Nothing here depends on how fast this machine is.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before } from "node:test";
import { becomes, closeAll, drawn, limit, open, openBrowser, run, scratch, test } from "./helpers.mjs";

const BODIES = 1000;
let browser;
before(async () => {
  browser = await openBrowser();
  for (const dimension of [2, 3]) {
    const zeros = dimension === 3 ? ", 0" : "";
    writeFileSync(path.join(scratch, `drift${dimension}.toml`), `dimension = ${dimension}
gravity = [0, 0${zeros}]
[[body]]
kind = "static"
shape = { half_space = [0${zeros}, 1] }
[[repeat]]
count = [40, 25]
offset = [[0.25, 0${zeros}], [0, 0.25${zeros}]]
body = { name = "b", shape = { ball = 0.1 }, position = [0, 1${dimension === 3 ? ", 1" : ""}], velocity = [0.5, 0${zeros}] }
`);
    await run("run", `drift${dimension}.toml`, "--quiet", "--time", "0.1", "--out", `drift${dimension}.html`);
  }
}, limit);
after(closeAll, limit);

for (const dimension of [2, 3]) {
  test(`a thousand bodies are little work, in dimension ${dimension}`, async () => {
    const page = await open(browser, `file://${path.join(scratch, `drift${dimension}.html`)}`);
    const seen = await page.evaluate(() => {
      const viewer = window.carom;
      viewer.setQuality("low");
      const times = [];
      for (let k = 0; k < 30; k++) {
        viewer.player.cursor = k / 300;
        const start = performance.now();
        viewer.paint(start);
        times.push(performance.now() - start);
        // Else the next would wait for this one.
        viewer.stage.finish();
      }
      const { calls, triangles } = viewer.stage.renderer.info.render;
      const copies = viewer.stage.batches.batches.filter((b) => b.mesh.isInstancedMesh && b.bodies.length > 1).length;
      return { moving: viewer.picture.bodies.filter((b) => b.kind === "dynamic").length, calls, triangles, copies, script: Math.min(...times),
        over: getComputedStyle(viewer.overlay.canvas).visibility };
    });
    assert.equal(seen.moving, BODIES);
    assert.ok(seen.calls <= 3, `${seen.calls} draw calls`);
    // Two triangles of a ball, in space two more of its shadow.
    assert.ok(seen.triangles <= 2 * (dimension - 1) * BODIES + 20, `${seen.triangles} triangles`);
    assert.equal(seen.copies, 0, "a processor alone draws instances one by one");
    assert.ok(seen.script < 10, `script took ${seen.script} ms`);
    assert.equal(seen.over, "hidden", "an empty overlay is not laid over the picture");
    assert.deepEqual(page.faults, []);
    await page.close();
  });
}

test("a ball is where it is drawn, and is reached for there", async () => {
  const page = await open(browser, `file://${path.join(scratch, "drift3.html")}`);
  await page.evaluate(() => window.carom.setQuality("low"));
  await drawn(page);
  const [x, y] = await page.evaluate(() => window.carom.where(1));
  await page.mouse.click(x, y);
  await becomes(() => page.evaluate(() => window.carom.selected), 1);
  await page.close();
});

test("slow frames lower the quality, room raises it again, and the reader may overrule both", async () => {
  const page = await open(browser, `file://${path.join(scratch, "drift3.html")}`);
  const levels = await page.evaluate(() => {
    const { governor } = window.carom;
    const feed = (ms, count, work) => {
      for (let k = 0; k < count; k++) {
        if (governor.curious) governor.measured(work);
        governor.frame(ms);
      }
      return governor.level;
    };
    const best = governor.level;
    const smooth = feed(1000 / 60, 400, 1);
    // A shader that is compiled is no reason.
    feed(300, 1, 1);
    const hitch = feed(1000 / 60, 39, 1);
    const slow = feed(30, 40, 30);
    const hopeless = feed(200, 6, 200);
    const tight = feed(1000 / 60, 400, 14);
    const room = feed(1000 / 60, 200, 3);
    const label = document.querySelector(".quality").selectedOptions[0].textContent;
    // A step up that fails is not soon tried again.
    feed(30, 40, 30);
    const patient = feed(1000 / 60, 220, 3);
    const after = feed(1000 / 60, 400, 3);
    return { best, smooth, hitch, slow, hopeless, tight, room, label, patient, after };
  });
  const { best } = levels;
  assert.deepEqual(levels, { best, smooth: best, hitch: best, slow: best + 1, hopeless: best + 2, tight: best + 2, room: best + 1, label: "auto: coarse",
    patient: best + 2, after: best + 1 });
  await page.locator(".stage").focus();
  const seen = [];
  for (let k = 0; k < 3; k++) {
    await page.keyboard.press("q");
    seen.push(await page.evaluate(() => [window.carom.quality, window.carom.level]));
  }
  assert.deepEqual(seen, [["high", 0], ["low", best], ["auto", best + 1]]);
  await page.getByLabel(/^Quality/).selectOption("low");
  await becomes(() => page.evaluate(() => window.carom.quality), "low");
  assert.deepEqual(page.faults, []);
  await page.close();
});
