// Servers and browsers that end with the tests, what is waited for, and pictures compared. The browser is the system's chromium; nothing is downloaded.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test as plainTest } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../../../..");
/** The command under test. */
export const carom = process.env.CAROM ?? path.join(root, "target/debug/carom");
export const scratch = path.join(root, "target/browser-tests");
mkdirSync(scratch, { recursive: true });

const browsers = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Longest that a test, or what is set up before it, may take [ms]: on a busy machine it takes some seconds. */
const LIMIT = 120000;
/** Longest that something is waited for within one [ms]. */
const PATIENCE = 30000;

/** A test that cannot hang. */
export const test = (name, body) => plainTest(name, { timeout: LIMIT }, body);
/** The same of what comes before and after. */
export const limit = { timeout: LIMIT };

/** Tries until nothing is thrown; after long enough the last error counts. What a page shows comes a frame, or a busy second, later. */
export async function eventually(attempt) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((next) => setTimeout(next, 50));
    }
  }
}

/** Waits until an element has this text, or text like this. */
export const says = (element, text) => eventually(async () => (text instanceof RegExp ? assert.match : assert.equal)(await element.textContent(), text));
/** Waits until something that is asked for again and again is this. */
export const becomes = (ask, wanted, message) => eventually(async () => assert.deepEqual(await ask(), wanted, message));
/** Waits until something that is asked for again and again passes. */
export const holds = (ask, passes, message = "") => eventually(async () => {
  const seen = await ask();
  assert.ok(passes(seen), `${message} ${seen}`);
});

/** Commands and browsers that are still there: none outlives the tests, whether these pass, fail or are interrupted. */
const children = new Set();
const opened = new Set();

function keep(child) {
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

function endChildren() {
  for (const child of children) child.kill("SIGKILL");
}
// A browser ends with this process by itself.
process.on("exit", endChildren);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

/** Ends all of them; every test file does so after its tests. */
export async function closeAll() {
  endChildren();
  await Promise.all([...opened].map((browser) => browser.close()));
  // What a test that hung still waits for keeps nobody.
  setTimeout(() => process.exit(), 5000).unref();
}

export async function openBrowser() {
  const executablePath = process.env.CHROMIUM ?? browsers.find((file) => existsSync(file));
  if (!executablePath) throw new Error("no chromium: install it (apt-get install chromium) or set CHROMIUM");
  const browser = await chromium.launch({
    executablePath,
    // Without a graphics processor chromium draws WebGL only when it is told that it may.
    args: ["--no-sandbox", "--enable-unsafe-swiftshader", "--font-render-hinting=none",
      // A page that was put in place of the server's may not speak to it otherwise.
      ...(process.env.CAROM_PAGE === "1" ? ["--disable-features=LocalNetworkAccessChecks"] : [])],
  });
  opened.add(browser);
  browser.on("disconnected", () => opened.delete(browser));
  return browser;
}

/** `carom view` on a free port; `stop` ends it. */
export async function serve(scene) {
  const child = keep(spawn(carom, ["view", scene, "--no-open"], { stdio: ["ignore", "pipe", "inherit"] }));
  const address = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (data) => {
      text += data;
      const found = /http:\/\/\S+/.exec(text);
      if (found) resolve(found[0]);
    });
    child.on("exit", (code) => reject(new Error(`carom view ended with ${code}: ${text}`)));
    child.on("error", reject);
  });
  return { address, url: new URL(address), stop: () => void child.kill() };
}

/** Runs the command to its end. */
export async function run(...args) {
  const child = keep(spawn(carom, args, { stdio: "inherit", cwd: scratch }));
  const code = await new Promise((resolve, reject) => child.on("exit", resolve).on("error", reject));
  if (code !== 0) throw new Error(`carom ${args.join(" ")} ended with ${code}`);
}

/** With CAROM_PAGE=1 the page is the bundle as it was built last, not the one in the command: no need to compile for every look. */
async function fresh(route) {
  const answer = await route.fetch();
  const nonce = /'nonce-(\w+)'/.exec(answer.headers()["content-security-policy"])[1];
  const bundle = readFileSync(path.join(here, "../../bundle/index.html"), "utf8");
  const body = bundle.replace("<!--carom-run-->", "").replaceAll('<script type="module"', `<script nonce="${nonce}" type="module"`);
  await route.fulfill({ response: answer, body });
}

/** What a page draws with the processor alone is told of, and the context that it tries out and gives back. */
const EXPECTED = /GPU stall|software WebGL|CONTEXT_LOST_WEBGL: loseContext/i;

/** A page that remembers what went wrong in it. A live scene has looked ahead before it is looked at, unless that takes too long.
 * With `late` everything that its server tells comes so much later [ms]. */
export async function open(browser, address, { ahead = true, late = 0, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 800, height: 560 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(45000);
  page.faults = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && !EXPECTED.test(message.text()) && page.faults.push(message.text()));
  page.on("pageerror", (error) => page.faults.push(error.message));
  page.asked = [];
  page.on("request", (request) => page.asked.push(request.url()));
  if (process.env.CAROM_PAGE === "1" && address.startsWith("http")) await page.route((url) => url.pathname === "/", fresh);
  if (late > 0) await page.routeWebSocket(/\/ws/, (socket) => socket.connectToServer().onMessage((told) => setTimeout(() => socket.send(told), late)));
  await page.goto(address);
  await page.waitForFunction((ahead) => window.carom?.picture && window.carom.player.track.shots.length > 0
    && (!ahead || document.documentElement.dataset.mode !== "live" || location.hash !== "" || window.carom.foreseen), ahead, { polling: 50 });
  await drawn(page);
  return page;
}

/** Shows an embedded scene by the list, and waits for its look ahead. */
export async function show(page, name) {
  await page.evaluate((name) => document.querySelector(`.scenes [data-name=${name}]`).click(), name);
  await shown(page, name);
}

/** Waits for another scene that was clicked on, and for its look ahead. */
export async function shown(page, name) {
  await page.waitForFunction((name) => window.carom.picture.name === name && window.carom.player.track.end === 0, name);
  await page.waitForFunction(() => window.carom.foreseen);
  await drawn(page);
}

/** Waits until what was done shows. */
export async function drawn(page) {
  await page.evaluate(async () => {
    for (let k = 0; k < 2; k++) await new Promise((next) => requestAnimationFrame(next));
  });
}

/** Waits until the server has heard that it pauses: it answers in order, so that after a shot with boxes and one without no late one comes. */
export async function settled(page) {
  for (const on of [true, false]) {
    await page.evaluate((on) => window.carom.setLayer("boxes", on), on);
    await page.waitForFunction((on) => (window.carom.player.track.shots.at(-1).boxes !== undefined) === on, on);
  }
  await drawn(page);
}

/** Runs to a time at least, and pauses there. */
export async function runTo(page, time) {
  await page.evaluate(() => window.carom.player.play(true));
  await page.waitForFunction((t) => window.carom.player.cursor >= t, time);
  await page.evaluate(() => window.carom.player.play(false));
  await settled(page);
}

export const time = (page) => page.evaluate(() => window.carom.player.cursor);
/** The end of what was simulated. */
export const end = (page) => page.evaluate(() => window.carom.player.track.end);

/** Largest width of a picture that is kept. */
const WIDTH = 240;
/** Mean difference [of 255] and share of pixels that differ by more than 48 that fonts and drivers may make. */
const MEAN = 6;
const SHARE = 0.05;

/** Compares what a page comes to show with the picture that is kept; CAROM_PICTURES=1 keeps it anew. */
export const compare = (page, name) => eventually(() => compareNow(page, name));

async function compareNow(page, name) {
  // The same picture on every machine, however fast.
  await page.evaluate(async () => {
    window.carom.setQuality("low");
    for (let k = 0; k < 3; k++) await new Promise((next) => requestAnimationFrame(next));
  });
  const shot = await page.screenshot({ type: "png" });
  const kept = path.join(here, "pictures", `${name}.png`);
  const fresh = process.env.CAROM_PICTURES === "1" || !existsSync(kept);
  const before = fresh ? "" : readFileSync(kept).toString("base64");
  const answer = await page.evaluate(async ([now, then, width]) => {
    const draw = async (text) => {
      const image = new Image();
      image.src = `data:image/png;base64,${text}`;
      await image.decode();
      const scale = Math.min(1, width / image.width);
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [Math.round(image.width * scale), Math.round(image.height * scale)];
      const context = canvas.getContext("2d");
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      return { canvas, data: context.getImageData(0, 0, canvas.width, canvas.height).data };
    };
    const a = await draw(now);
    const small = a.canvas.toDataURL("image/png").split(",")[1];
    if (!then) return { small };
    const b = await draw(then);
    if (a.data.length !== b.data.length) return { small, mean: 255, share: 1 };
    let [sum, far] = [0, 0];
    for (let i = 0; i < a.data.length; i += 4) {
      const d = (Math.abs(a.data[i] - b.data[i]) + Math.abs(a.data[i + 1] - b.data[i + 1]) + Math.abs(a.data[i + 2] - b.data[i + 2])) / 3;
      sum += d;
      if (d > 48) far++;
    }
    return { small, mean: (4 * sum) / a.data.length, share: (4 * far) / a.data.length };
  }, [shot.toString("base64"), before, WIDTH]);
  if (fresh) {
    mkdirSync(path.dirname(kept), { recursive: true });
    writeFileSync(kept, Buffer.from(answer.small, "base64"));
    return;
  }
  if (answer.mean > MEAN || answer.share > SHARE) {
    const seen = path.join(scratch, `${name}.png`);
    writeFileSync(seen, Buffer.from(answer.small, "base64"));
    throw new Error(`${name}: differs by ${answer.mean.toFixed(1)} on average and in ${(100 * answer.share).toFixed(1)} % of its pixels; seen: ${seen}`);
  }
}
