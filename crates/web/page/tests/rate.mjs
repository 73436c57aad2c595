// Not a test: how fast a scene of many bodies is drawn here. `node tests/rate.mjs [bodies] [dimension] [auto|high|low]`, or a replay:
// `node tests/rate.mjs run.html`.
// A replay plays for some seconds in a canvas of 1280 x 720 pixels, in the browser as it comes. Counted are the frames that the page drew and,
// from the browser's own trace, those that its compositor put on the screen. After it some frames are timed to their last pixel.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { open, openBrowser, run, scratch } from "./helpers.mjs";

const WIDTH = 1280;
const HEIGHT = 720;
/** Seconds that are counted, after some in which the governor settles. */
const SETTLE = 2.5;
const SECONDS = 5;
/** Of the replay: what falls is in the air for most of it. */
const SPEED = 0.5;

const words = process.argv.slice(2);
const quality = ["auto", "high", "low"].includes(words.at(-1)) ? words.pop() : "auto";
const file = words[0]?.endsWith(".html") ? path.resolve(words[0]) : await replay(...words);

/** A replay of balls that bounce in space, and drift and turn in the plane, where a pile would take long to simulate. */
async function replay(bodies = "1000", dimension = "3") {
  const wide = Math.round(Math.sqrt(Number(bodies)));
  const count = [wide, Math.ceil(Number(bodies) / wide)];
  const three = dimension === "3";
  const scene = `dimension = ${dimension}
gravity = ${three ? "[0, 0, -3]" : "[0, 0]"}
[[body]]
kind = "static"
shape = { half_space = ${three ? "[0, 0, 1]" : "[0, 1]"} }
restitution = 0.8
[[repeat]]
count = [${count}]
offset = ${three ? "[[0.25, 0, 0.02], [0, 0.25, 0.03]]" : "[[0.25, 0.01], [0, 0.25]]"}
body = { name = "b", shape = { ball = 0.1 }, position = ${three ? "[0, 0, 0.5]" : "[0, 1]"}, ${three ? "velocity = [0.3, 0, 0], spin = [3, 0, 0]" : "velocity = [0.3, 0], spin = 3"}, restitution = 0.8 }
`;
  const name = `many${dimension}`;
  writeFileSync(path.join(scratch, `${name}.toml`), scene);
  await run("run", `${name}.toml`, "--quiet", "--time", String(SPEED * (SETTLE + SECONDS + 1)), "--out", `${name}.html`);
  return path.join(scratch, `${name}.html`);
}

const browser = await openBrowser();
const page = await open(browser, `file://${file}`, { viewport: { width: WIDTH, height: HEIGHT } });
// The window grows until the canvas itself has its size.
const seen = await page.evaluate(() => window.carom.stage.canvas.clientHeight);
await page.setViewportSize({ width: WIDTH, height: 2 * HEIGHT - seen });
await page.evaluate(([quality, speed]) => {
  const viewer = window.carom;
  viewer.setQuality(quality);
  const paint = viewer.paint.bind(viewer);
  window.marks = [];
  viewer.paint = (now) => {
    const start = performance.now();
    paint(now);
    window.marks.push({ now, script: performance.now() - start, level: viewer.level });
  };
  viewer.player.setSpeed(speed);
  viewer.player.play(true);
}, [quality, SPEED]);
await page.waitForTimeout(1000 * SETTLE);
await browser.startTracing(page, { categories: ["disabled-by-default-devtools.timeline.frame", "devtools.timeline.frame"] });
await page.evaluate(() => (window.marks.length = 0));
await page.waitForTimeout(1000 * SECONDS);
const answer = await page.evaluate(() => {
  const viewer = window.carom;
  const { marks } = window;
  const { calls, triangles } = viewer.stage.renderer.info.render;
  const { canvas } = viewer.stage;
  return { dimension: viewer.picture.dimension, bodies: viewer.picture.bodies.length, marks: marks.slice(), calls, triangles, size: [canvas.width, canvas.height], css: [canvas.clientWidth, canvas.clientHeight] };
});
const trace = JSON.parse((await browser.stopTracing()).toString());
const timed = await page.evaluate(() => {
  const viewer = window.carom;
  viewer.player.play(false);
  const out = [];
  for (let k = 0; k < 40; k++) {
    viewer.player.cursor = viewer.player.track.start + k / 60;
    const start = performance.now();
    viewer.paint(start);
    viewer.stage.finish();
    out.push(performance.now() - start);
  }
  return out.slice(4);
});
await browser.close();

const sorted = (list) => list.slice().sort((a, b) => a - b);
const middle = (list) => sorted(list)[list.length >> 1];
const rate = (stamps) => (1000 * (stamps.length - 1)) / (stamps.at(-1) - stamps[0]);
const gaps = (stamps) => stamps.slice(1).map((t, i) => t - stamps[i]);
const stamps = answer.marks.map((m) => m.now);
const shown = trace.traceEvents.filter((e) => e.name === "DrawFrame").map((e) => e.ts / 1000).sort((a, b) => a - b);
const late = (list) => list.filter((t) => t > 25).length;
console.log(`${answer.bodies} bodies in ${answer.dimension === 2 ? "the plane" : "space"}, canvas ${answer.css.join(" x ")} drawn at ${answer.size.join(" x ")}, quality ${quality}, level ${answer.marks.at(-1)?.level}`);
console.log(`  page:       ${rate(stamps).toFixed(1)} frames per second, ${late(gaps(stamps))} of ${stamps.length} late; script ${middle(answer.marks.map((m) => m.script)).toFixed(1)} ms`);
if (shown.length > 1) console.log(`  compositor: ${rate(shown).toFixed(1)} frames per second, ${late(gaps(shown))} of ${shown.length} late`);
console.log(`  one frame to its last pixel: ${sorted(timed)[0].toFixed(1)} ms at best, ${middle(timed).toFixed(1)} ms in the middle; ${answer.calls} draw calls, ${answer.triangles} triangles`);
