// A server, a browser, and pictures compared. The browser is the system's chromium; nothing is downloaded.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../../../..");
/** The command under test. */
export const carom = process.env.CAROM ?? path.join(root, "target/debug/carom");
export const scratch = path.join(root, "target/browser-tests");
mkdirSync(scratch, { recursive: true });

const browsers = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export async function openBrowser() {
  const executablePath = process.env.CHROMIUM ?? browsers.find((file) => existsSync(file));
  if (!executablePath) throw new Error("no chromium: install it (apt-get install chromium) or set CHROMIUM");
  return chromium.launch({
    executablePath,
    // Without a graphics processor chromium draws WebGL only when it is told that it may.
    args: ["--no-sandbox", "--enable-unsafe-swiftshader", "--font-render-hinting=none",
      // A page that was put in place of the server's may not speak to it otherwise.
      ...(process.env.CAROM_PAGE === "1" ? ["--disable-features=LocalNetworkAccessChecks"] : [])],
  });
}

/** `carom view` on a free port; `stop` ends it. */
export async function serve(scene) {
  const child = spawn(carom, ["view", scene, "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
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
  return { address, url: new URL(address), stop: () => child.kill() };
}

/** Runs the command to its end. */
export async function run(...args) {
  const child = spawn(carom, args, { stdio: "inherit", cwd: scratch });
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

/** A page that remembers what went wrong in it. */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 800, height: 560 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(45000);
  page.faults = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && !/GPU stall|software WebGL/i.test(message.text()) && page.faults.push(message.text()));
  page.on("pageerror", (error) => page.faults.push(error.message));
  page.asked = [];
  page.on("request", (request) => page.asked.push(request.url()));
  if (process.env.CAROM_PAGE === "1" && address.startsWith("http")) await page.route((url) => url.pathname === "/", fresh);
  await page.goto(address);
  // A live scene has looked ahead before it is looked at.
  await page.waitForFunction(() => window.carom?.picture && window.carom.player.track.shots.length > 0
    && (document.documentElement.dataset.mode !== "live" || location.hash !== "" || window.carom.foreseen), null, { polling: 50 });
  return page;
}

/** Shows an embedded scene by the list, and waits for its look ahead. */
export async function show(page, name) {
  await page.evaluate((name) => document.querySelector(`.scenes [data-name=${name}]`).click(), name);
  await page.waitForFunction((name) => window.carom.picture.name === name && window.carom.player.track.end === 0, name);
  await page.waitForFunction(() => window.carom.foreseen);
  await page.waitForTimeout(50);
}

/** Runs to a time, and lets the camera come to rest. */
export async function runTo(page, time) {
  await page.evaluate(() => window.carom.player.play(true));
  await page.waitForFunction((t) => window.carom.player.cursor >= t, time);
  await page.evaluate(() => window.carom.player.play(false));
  await page.waitForTimeout(150);
}

export const time = (page) => page.evaluate(() => window.carom.player.cursor);
export const end = (page) => page.evaluate(() => window.carom.player.track.end);

/** Largest width of a picture that is kept. */
const WIDTH = 240;
/** Mean difference [of 255] and share of pixels that differ by more than 48 that fonts and drivers may make. */
const MEAN = 6;
const SHARE = 0.05;

/** Compares what a page shows with the picture that is kept; CAROM_PICTURES=1 keeps it anew. */
export async function compare(page, name) {
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
