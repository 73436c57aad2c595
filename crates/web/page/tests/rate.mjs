// Not a test: how fast a scene of many bodies is drawn here. `node tests/rate.mjs [bodies] [dimension]`
import { writeFileSync } from "node:fs";
import path from "node:path";
import { open, openBrowser, run, scratch } from "./helpers.mjs";

const [bodies = "1000", dimension = "3"] = process.argv.slice(2);
const side = Math.ceil(Math.sqrt(Number(bodies)));
const scene = dimension === "3"
  ? `dimension = 3\n[[body]]\nkind = "static"\nshape = { half_space = [0, 0, 1] }\nrestitution = 0.8\n
[[repeat]]\ncount = [${side}, ${side}]\noffset = [[0.25, 0, 0.02], [0, 0.25, 0.03]]\nbody = { name = "b", shape = { ball = 0.1 }, position = [0, 0, 0.5], restitution = 0.8 }\n`
  : `dimension = 2\n[[body]]\nkind = "static"\nshape = { half_space = [0, 1] }\nrestitution = 0.8\n
[[repeat]]\ncount = [${side}, ${side}]\noffset = [[0.25, 0.01], [0, 0.25]]\nbody = { name = "b", shape = { ball = 0.1 }, position = [0, 0.3], restitution = 0.8 }\n`;
writeFileSync(path.join(scratch, "many.toml"), scene);
await run("run", "many.toml", "--quiet", "--time", "4", "--out", "many.html");
const browser = await openBrowser();
const page = await open(browser, `file://${path.join(scratch, "many.html")}`, { viewport: { width: 1280, height: 720 } });
const answer = await page.evaluate(async () => {
  const viewer = window.carom;
  const gl = viewer.stage.renderer.getContext();
  const pixel = new Uint8Array(4);
  const [script, whole] = [[], []];
  for (let k = 0; k < 24; k++) {
    viewer.player.cursor = viewer.player.track.start + k / 60;
    const start = performance.now();
    viewer.paint(start);
    script.push(performance.now() - start);
    // Waits until it is drawn.
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    whole.push(performance.now() - start);
    if (k % 10 === 9) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const sorted = (list) => list.slice(4).sort((a, b) => a - b);
  const info = viewer.stage.renderer.info.render;
  return { bodies: viewer.picture.bodies.length, script: sorted(script), whole: sorted(whole), calls: info.calls, triangles: info.triangles };
});
const show = (list) => `${list[0].toFixed(1)} ms at best, ${list[list.length >> 1].toFixed(1)} ms in the middle`;
console.log(`${answer.bodies} bodies in dimension ${dimension}: script ${show(answer.script)}; drawn ${show(answer.whole)}; ${answer.calls} draw calls, ${answer.triangles} triangles`);
await browser.close();
