// Looking at things and setting them: the inspector, sliders, plots, scenes with pictures, keys, themes, the cursor.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { becomes, closeAll, drawn, eventually, holds, limit, open, openBrowser, runTo, says, serve, show, test } from "./helpers.mjs";

let browser, server, page;
before(async () => {
  [browser, server] = await Promise.all([openBrowser(), serve("pile_in_bin")]);
  page = await open(browser, server.address, { viewport: { width: 1200, height: 700 } });
}, limit);
after(closeAll, limit);

const index = (name) => page.evaluate((name) => window.carom.picture.bodies.findIndex((b) => b.name === name), name);
const where = (body) => page.evaluate((b) => window.carom.where(b), body);
const cursor = () => page.locator(".stage").getAttribute("data-cursor");
const cell = (label) => page.locator(".inspector tr", { has: page.locator(`th:text-is("${label}")`) });
/** The number that the inspector shows. */
const value = async (label) => Number((await cell(label).locator("td").first().textContent()).replace("−", "-"));

test("a click on a body shows its numbers and plots them", async () => {
  await runTo(page, 0.5);
  const body = await index("box_0_0");
  await page.mouse.click(...(await where(body)));
  await says(page.locator(".inspector h2"), "box_0_0");
  const x = await page.evaluate((b) => window.carom.player.track.at(window.carom.player.cursor).q[3 * b], body);
  await holds(() => value("x"), (shown) => Math.abs(shown - x) < 1e-3, `not ${x}:`);
  for (const label of ["y", "angle", "vx", "vy", "spin", "speed", "contact force"]) assert.equal(await cell(label).count(), 1, label);
  const before = await page.locator(".plot").count();
  await page.getByLabel("Plot vy of box_0_0").click();
  await becomes(() => page.locator(".plot").count(), before + 1);
  await says(page.locator(".plot").last().locator(".legend"), /box_0_0 vy/);
  await page.getByLabel("Plot vy of box_0_0").click();
  assert.equal(await page.locator(".plot").count(), before + 1, "one plot is enough");
});

test("contact forces are those that hold a body up, as numbers and as plots", async () => {
  await show(page, "stack_ten");
  await runTo(page, 0.3);
  const [force, weight] = await page.evaluate(() => {
    const { picture, player, inspector } = window.carom;
    const body = picture.bodies.findIndex((b) => b.kind === "dynamic");
    window.carom.choose({ kind: "body", index: body });
    const row = inspector.rows.find((r) => r.quantity.label === "contact force");
    return [row.quantity.of(player.track.at(player.cursor)), picture.bodies[body].mass * Math.hypot(...picture.gravity)];
  });
  assert.ok(Math.abs(force / weight - 1) < 0.02, `${force} N hold ${weight} N`);
  await page.getByLabel(/^Plot contact force of/).click();
  await says(page.locator(".plot").last().locator(".legend"), /contact force \d.* N/);
  // The contact itself, reached from the body that touches.
  await page.locator(".inspector .touching button").first().click();
  await says(page.locator(".inspector .kind"), "contact");
  await holds(() => value("normal force"), (normal) => normal > 0.5 * weight, `of ${weight} N:`);
});

test("a click on a contact's dot looks at the contact", async () => {
  await page.keyboard.press("Escape");
  await becomes(() => page.evaluate(() => window.carom.thing), null);
  await page.evaluate(() => window.carom.setLayer("contacts", true));
  await drawn(page);
  const at = await page.evaluate(() => {
    const { stage, player } = window.carom;
    const t = player.track.at(player.cursor).touches;
    const p = stage.project(t[2], t[3], t[4], stage.camera.target.clone());
    const box = stage.canvas.getBoundingClientRect();
    return [box.left + p.x, box.top + p.y];
  });
  await page.mouse.click(...at);
  await becomes(() => page.evaluate(() => window.carom.thing?.kind), "contact");
  await page.evaluate(() => window.carom.setLayer("contacts", false));
});

test("a joint shows its angle, its limits and its target, and obeys its slider", async () => {
  await show(page, "motor_crank");
  await page.evaluate(() => window.carom.setLayer("joints", true));
  const joint = await page.evaluate(() => window.carom.picture.joints.findIndex((j) => j.motor?.kind === "velocity"));
  const at = await page.evaluate((joint) => {
    const { stage, picture } = window.carom;
    const [x, y] = picture.joints[joint].bodies[1] === null ? picture.joints[joint].anchors[1] : [NaN, NaN];
    const p = stage.project(x, y, 0, stage.camera.target.clone());
    const box = stage.canvas.getBoundingClientRect();
    return [box.left + p.x, box.top + p.y];
  }, joint);
  await page.mouse.click(...at);
  await becomes(() => page.evaluate(() => window.carom.thing), { kind: "joint", index: joint });
  await runTo(page, 0.3);
  const angle = await page.evaluate((joint) => {
    const { picture, player } = window.carom;
    const { bodies, reference } = picture.joints[joint];
    const q = player.track.at(player.cursor).q;
    const turn = (b) => (b === null ? 0 : q[3 * b + 2]);
    return turn(bodies[0]) - turn(bodies[1]) - reference[0];
  }, joint);
  await holds(() => value("angle"), (shown) => Math.abs(shown - angle) < 2e-3 * Math.max(1, Math.abs(angle)), `not ${angle}:`);
  await says(page.locator(".inspector dl"), /motorvelocity, at most/);
  const name = await page.evaluate((joint) => window.carom.picture.joints[joint].name, joint);
  await page.locator(".inspector .dial input[type=number]").first().fill("-4");
  await page.locator(".inspector .dial input[type=number]").first().press("Enter");
  await page.waitForFunction((joint) => window.carom.inspector.parameters.targets.find((t) => t.joint === joint).value === -4, joint);
  assert.ok(name.length > 0);
});

test("gravity, friction, restitution and mass act at once", async () => {
  await show(page, "ball_drop");
  await page.getByRole("tab", { name: "Dials" }).click();
  const set = async (label, value) => {
    const number = page.locator(".dials").getByLabel(`${label}, as a number`);
    await number.fill(String(value));
    await number.press("Enter");
    await page.evaluate(() => document.activeElement.blur());
  };
  await set("gravity y", 3);
  await page.waitForFunction(() => window.carom.inspector.parameters.gravity[1] === 3);
  const start = await page.evaluate(() => window.carom.player.track.shots[0].q[4]);
  await runTo(page, 0.2);
  const y = await page.evaluate(() => window.carom.player.track.at(window.carom.player.cursor));
  const [time, height] = [y.time, await page.evaluate(() => window.carom.player.track.at(window.carom.player.cursor).q[4])];
  assert.ok(Math.abs(height - start - 1.5 * time * time) < 1e-3, `it rises by ${height - start} m in ${time} s`);
  // While it runs: it falls from now on.
  await set("gravity y", -9.81);
  await set("restitution", 1);
  await page.waitForFunction(() => window.carom.inspector.parameters.restitution.every((e) => e === 1));
  await runTo(page, 0.9);
  const ball = await index("ball");
  await page.evaluate((b) => window.carom.choose({ kind: "body", index: b }), ball);
  await page.locator('.inspector [data-dial="mass"] input[type=number]').fill("2");
  await page.locator('.inspector [data-dial="mass"] input[type=number]').press("Enter");
  await page.waitForFunction((b) => window.carom.inspector.parameters.mass[b] === 2, ball);
  await set("friction", 0.25);
  await page.waitForFunction(() => window.carom.inspector.parameters.friction.every((mu) => mu === 0.25));
  const drift = await page.evaluate(() => {
    const { track } = window.carom.player;
    return Math.abs(track.shots.at(-1).books[track.books.indexOf("drift")]);
  });
  assert.ok(drift < 1e-6, `what a slider brings is work, not drift: ${drift} J`);
  // Nonsense is told, and changes nothing.
  await set("restitution", 7);
  await page.locator(".note[data-kind=error]").waitFor();
  await says(page.locator(".note"), /restitution/);
});

test("a slider moves what it says", async () => {
  const slider = page.getByLabel("gravity x [m/s²]");
  await slider.focus();
  await slider.press("End");
  await page.waitForFunction(() => window.carom.inspector.parameters.gravity[0] === 25);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("r");
  await page.waitForFunction(() => window.carom.player.track.end === 0);
  await runTo(page, 0.1);
  assert.ok(await page.evaluate(() => window.carom.player.track.shots.at(-1).v[3] > 1), "it stays after a reset");
});

test("a body is dragged in space too, and the cursor says what can be done", async () => {
  await show(page, "box_stack_3d");
  const cube = await page.evaluate(() => window.carom.picture.bodies.length - 1);
  const [x, y] = await where(cube);
  // What is under the cursor is looked at now and then while it moves.
  const over = async (x, y) => {
    await page.mouse.move(x + 1, y);
    await page.mouse.move(x, y);
    return cursor();
  };
  await becomes(() => over(x, y), "grab");
  await page.mouse.down();
  await becomes(cursor, "held");
  await page.mouse.move(x + 120, y - 20, { steps: 4 });
  const before = await page.evaluate((b) => [...window.carom.player.track.at(0).q.slice(7 * b, 7 * b + 3)], cube);
  await runTo(page, 0.5);
  const now = await page.evaluate((b) => [...window.carom.player.track.shots.at(-1).q.slice(7 * b, 7 * b + 3)], cube);
  await page.mouse.up();
  assert.ok(Math.hypot(...now.map((x, k) => x - before[k])) > 0.02, `${before} to ${now}`);
  const box = await page.locator(".stage").boundingBox();
  await becomes(() => over(box.x + 30, box.y + 120), "");
});

test("scenes are found by a word and have pictures", async () => {
  await page.getByRole("tab", { name: "Scenes" }).click();
  await page.getByLabel("Search scenes").fill("newton");
  await holds(() => page.locator(".scenes li:not([hidden])").count(), (count) => count < 8);
  assert.equal(await page.locator(".scenes li:not([hidden]) [data-name=newton_cradle]").count(), 1);
  const image = page.locator(".scenes [data-name=newton_cradle] img");
  await page.waitForFunction(() => document.querySelector(".scenes [data-name=newton_cradle] img").naturalWidth > 0);
  const light = await image.getAttribute("src");
  await page.getByLabel("Search scenes").fill("no such thing");
  await page.getByText("No scene is called so.").waitFor();
  await page.getByLabel("Search scenes").fill("");
  await page.locator(".stage").focus();
  await page.keyboard.press("t");
  await holds(() => image.getAttribute("src"), (src) => src !== light, "the picture goes with the theme:");
  await page.keyboard.press("t");
});

test("the list shows which scene is open, also far down", async () => {
  await page.getByRole("tab", { name: "Scenes" }).click();
  await show(page, "strandbeest");
  const entry = page.locator(".scenes [data-name=strandbeest]");
  assert.equal(await entry.getAttribute("aria-pressed"), "true");
  const [row, list] = [await entry.boundingBox(), await page.locator(".scenes-pane").boundingBox()];
  assert.ok(row.y >= list.y && row.y + row.height <= list.y + list.height + 1, `${JSON.stringify(row)} in ${JSON.stringify(list)}`);
});

test("T switches light and dark, and the choice is kept", async () => {
  const look = () => page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]);
  const before = await look();
  await page.keyboard.press("t");
  await holds(look, ([name, color]) => name !== before[0] && color !== before[1]);
  const after = await look();
  await page.reload();
  await page.waitForFunction(() => window.carom?.picture);
  await becomes(look, after);
  await page.locator(".stage").focus();
  await page.keyboard.press("t");
  await becomes(look, before);
});

test("? lists the keys", async () => {
  await page.keyboard.press("?");
  await page.locator(".sheet").waitFor();
  for (const words of [/run and pause/, /all in view/, /view from above/, /light or dark/, /save or share/]) await says(page.locator(".sheet"), words);
  await page.keyboard.press("Escape");
  await page.locator(".sheet").waitFor({ state: "hidden" });
});

test("plots have units, no axis of roundings, legends that wrap, and a zoom", async () => {
  await show(page, "box_stack_3d");
  await runTo(page, 0.4);
  const plot = page.locator(".plot").first();
  await plot.getByLabel("Quantity").selectOption("losses");
  const legend = () => plot.locator(".legend > span").evaluateAll((spans) => {
    const box = spans[0].parentElement.getBoundingClientRect();
    return spans.map((s) => ({ text: s.textContent, inside: s.getBoundingClientRect().right <= box.right + 1 && s.getBoundingClientRect().bottom <= box.bottom + 1 }));
  });
  await eventually(async () => {
    const spans = await legend();
    assert.equal(spans.length, 7);
    assert.ok(spans.every((l) => l.inside && / J$/.test(l.text)), JSON.stringify(spans));
  });
  /** Shows another quantity; what its axis then is. */
  const axis = async (key, label) => {
    await plot.getByLabel("Quantity").selectOption(key);
    return eventually(async () => {
      const found = new RegExp(`^${label} over time, from (\\S+) to (\\S+)`).exec(await plot.locator("canvas").getAttribute("aria-label"));
      assert.ok(found, label);
      return found.slice(1).map((t) => Number(t.replaceAll("−", "-")));
    });
  };
  // A stack at rest: its speed is a rounding, its momentum too.
  for (const [key, label] of [["momentum", "Momentum"], ["body.speed", "Body: speed"]]) {
    const [low, high] = await axis(key, label);
    assert.ok(high - low > 1e-13, `${key}: ${low} to ${high}`);
  }
  await axis("energy", "Energy");
  const area = await plot.locator(".area").boundingBox();
  const range = () => page.evaluate(() => [...window.carom.plots.plots[0].range]);
  const before = await range();
  await page.mouse.move(area.x + area.width / 2, area.y + 40);
  for (let k = 0; k < 5; k++) await page.mouse.wheel(0, -100);
  await holds(range, ([from, to]) => to - from < 0.6 * (before[1] - before[0]), `${before} to`);
  await page.mouse.dblclick(area.x + area.width / 2, area.y + 40);
  await holds(range, ([from, to]) => to - from > 0.9 * (before[1] - before[0]), `${before} to`);
  await plot.getByLabel("Zoom in around the cursor").click();
  await becomes(() => plot.getByLabel("Zoom out").isEnabled(), true);
});

test("the editor's numbers and bubbles stay with their lines under scrolling", async () => {
  await page.getByRole("tab", { name: "Text" }).click();
  const lines = Array.from({ length: 80 }, (_, k) => `# ${k} ${"long ".repeat(40)}`);
  lines[60] = "nonsense = 1";
  await page.getByLabel("Scene text").fill(`dimension = 2\n${lines.join("\n")}\n`);
  await page.locator(".bubble").waitFor();
  for (const [left, top] of [[0, 0], [0, 900], [700, 900], [300, 500]]) {
    const seen = await page.evaluate(([left, top]) => {
      const code = document.querySelector(".code");
      code.scrollTo(left, top);
      const rows = document.querySelectorAll(".gutter > div");
      const gutter = document.querySelector(".gutter").getBoundingClientRect();
      const bubble = document.querySelector(".bubble").getBoundingClientRect();
      const box = code.getBoundingClientRect();
      const bad = document.querySelector(".gutter .bad").getBoundingClientRect();
      const line = document.querySelector(".lines pre .bad").getBoundingClientRect();
      return { gutter: gutter.left - box.left, covers: gutter.bottom >= box.bottom - 1, aside: line.top - bad.top, under: bubble.top - bad.bottom, count: rows.length };
    }, [left, top]);
    assert.ok(Math.abs(seen.gutter) < 1.5 && seen.covers, `the numbers stay at the left: ${JSON.stringify(seen)}`);
    assert.ok(Math.abs(seen.aside) < 4, `beside their lines: ${JSON.stringify(seen)}`);
    assert.ok(seen.under > -2 && seen.under < 12, `the bubble is right under its line: ${JSON.stringify(seen)}`);
  }
});

test("nothing went wrong in the console", () => assert.deepEqual(page.faults, []));
