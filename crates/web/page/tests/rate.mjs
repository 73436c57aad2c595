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
  const script = [];
  const paint = viewer.paint.bind(viewer);
  viewer.paint = (now) => {
    const start = performance.now();
    paint(now);
    script.push(performance.now() - start);
  };
  viewer.player.play(true);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const [from, count] = [performance.now(), script.length];
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const frames = script.length - count;
  const seconds = (performance.now() - from) / 1000;
  const sorted = script.slice(count).sort((a, b) => a - b);
  const info = viewer.stage.renderer.info.render;
  return { bodies: viewer.picture.bodies.length, fps: frames / seconds, script: sorted[sorted.length >> 1], least: sorted[0], calls: info.calls, triangles: info.triangles };
});
console.log(`${answer.bodies} bodies: ${answer.fps.toFixed(1)} frames/s; script ${answer.script?.toFixed(2)} ms a frame (least ${answer.least?.toFixed(2)}); ${answer.calls} draw calls, ${answer.triangles} triangles`);
await browser.close();
