// Not a test: pictures of scenes for the eye. `node tests/look.mjs [folder] [scene... | all]` opens each scene live, light and dark, on a desk and on
// a phone, lets it run, and keeps what is seen at several moments; of all embedded scenes at the start and after two seconds.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { carom, open, openBrowser, scratch, serve } from "./helpers.mjs";

const [folder = path.join(scratch, "look"), ...words] = process.argv.slice(2);
const all = words[0] === "all";
const embedded = () => JSON.parse(execFileSync(carom, ["scenes", "--json"], { encoding: "utf8" })).scenes.map((scene) => scene.name);
const some = ["ball_drop", "bowling", "wrecking_ball", "strandbeest", "pile_in_bin", "box_stack_3d", "pool_break"];
const scenes = all ? embedded() : words.length > 0 ? words : some;
/** Simulated times [s] that are looked at. */
const TIMES = all ? [0, 2] : [0, 0.5, 1.5, 3.5];
/** Longest that a scene may take to get there [ms]: a slow one is looked at where it is. */
const PATIENCE = all ? 15000 : 60000;
const PAGES = [
  { name: "desk-light", viewport: { width: 1280, height: 800 }, colorScheme: "light" },
  { name: "phone-dark", viewport: { width: 390, height: 780 }, colorScheme: "dark", hasTouch: true },
];

mkdirSync(folder, { recursive: true });
const browser = await openBrowser();
for (const scene of scenes) {
  const server = await serve(scene);
  for (const { name, ...options } of PAGES) {
    const page = await open(browser, server.address, options);
    await page.waitForTimeout(1000);
    for (const time of TIMES) {
      if (time > 0) {
        await page.evaluate(() => window.carom.player.play(true));
        await page.waitForFunction((t) => window.carom.player.cursor >= t, time, { timeout: PATIENCE }).catch(() => {});
        await page.evaluate(() => window.carom.player.play(false));
      }
      await page.waitForTimeout(250);
      await page.screenshot({ path: path.join(folder, `${scene}-${name}-${String(time).replace(".", "_")}.png`) });
    }
    await page.close();
  }
  server.stop();
}
await browser.close();
