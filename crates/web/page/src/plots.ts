// Numbers over time under the scene, with a cursor that is the time of the scene.
import { button, el, number } from "./dom";
import { quantities, type Picture } from "./picture";
import type { Player } from "./player";
import { numbersOf, ROUNDING, UNITS, type Quantity } from "./things";
import type { Theme } from "./theme";
import type { Shot, Track } from "./track";

interface Line {
  label: string;
  of: (shot: Shot) => number;
}

/** What a plot shows: lines of the books, or a number of a body. */
interface Choice {
  key: string;
  label: string;
  unit: string;
  lines: (track: Track, body: number) => Line[];
  /** Differences below this are rounding: no axis is narrower. */
  floor: (track: Track, body: number) => number;
}

/** Seconds of a plot at least, in steps, however far one zooms in. */
const FEWEST_STEPS = 4;
/** What a notch of the wheel does to the time that a plot shows. */
const NOTCH = 1.2;

const TITLES: Record<string, string> = {
  kinetic: "kinetic", potential: "potential", elastic: "elastic", energy: "energy", work_in: "work in", friction_loss: "friction loss",
  impact_loss: "impact loss", contact_loss: "contact loss", damping_loss: "damping loss", joint_work: "joint work", projection: "projection",
  drift: "drift", contacts: "contacts", px: "px", py: "py", pz: "pz", angular: "angular", lx: "Lx", ly: "Ly", lz: "Lz",
};

/** Times per second at most that a growing run is drawn anew. */
const REDRAWS = 8;
/** Room for the numbers of the axes [pixels]. */
const LEFT = 52;
const BOTTOM = 16;
const TOP = 6;

const book = (name: string): ((track: Track) => Line) => (track) => {
  const at = track.books.indexOf(name);
  return { label: TITLES[name] ?? name, of: (shot) => shot.books[at]! };
};

function choices(picture: Picture, books: string[]): Choice[] {
  const out: Choice[] = [];
  // Scales of the whole run: energies against the largest energy, momenta against what the moving masses carry.
  const energy = (track: Track): number => ROUNDING * largest(track, (shot) => Math.max(...shot.books.subarray(0, Math.min(3, shot.books.length)).map(Math.abs)));
  const momentum = (track: Track): number => ROUNDING * largest(track, (shot) => picture.bodies.reduce((sum, b, i) =>
    sum + (b.mass ?? 0) * Math.hypot(...shot.v.subarray(i * track.dof, i * track.dof + track.dimension)), 0));
  const plain = (): number => 0;
  const some = (key: string, label: string, unit: string, names: string[], floor: Choice["floor"], total = false): void => {
    const here = names.filter((name) => books.includes(name));
    if (here.length === 0) return;
    out.push({
      key, label, unit, floor,
      lines: (track) => [
        ...here.map((name) => book(name)(track)),
        ...(total ? [{ label: "total", of: (shot: Shot) => shot.books[0]! + shot.books[1]! + shot.books[2]! }] : []),
      ],
    });
  };
  some("energy", "Energy", "J", ["energy"], energy);
  some("energy", "Energy", "J", ["kinetic", "potential", "elastic"], energy, true);
  some("losses", "Work and losses", "J", ["work_in", "friction_loss", "impact_loss", "contact_loss", "damping_loss", "joint_work", "projection"], energy);
  some("drift", "Drift", "J", ["drift"], energy);
  some("momentum", "Momentum", "kg m/s", ["px", "py", "pz"], momentum);
  some("angular", "Angular momentum", "kg m²/s", ["angular", "lx", "ly", "lz"], momentum);
  some("contacts", "Contacts", "", ["contacts"], plain);
  const ofBody = (body: number, name: string): Quantity | undefined => numbersOf({ kind: "body", index: body }, picture, books).find((q) => q.label === name);
  for (const name of [...quantities(picture.dimension), ...(books.includes("contacts") ? ["contact force"] : [])]) {
    out.push({
      key: `body.${name}`, label: `Body: ${name}`, unit: UNITS[name] ?? (name === "contact force" ? "N" : ""),
      lines: (_, body) => [{ label: `${picture.bodies[body]?.name ?? ""}.${name}`, of: ofBody(body, name)?.of ?? (() => 0) }],
      floor: (track, body) => ofBody(body, name)?.floor(track) ?? 0,
    });
  }
  return out;
}

/** Largest of a number over a run, as far as a plot would see it. */
function largest(track: Track, of: (shot: Shot) => number): number {
  const stride = Math.max(1, Math.floor(track.shots.length / 200));
  let most = 0;
  for (let i = 0; i < track.shots.length; i += stride) most = Math.max(most, of(track.shots[i]!));
  return most;
}

class Plot {
  readonly root: HTMLElement;
  private readonly canvas = el("canvas", { role: "img" });
  private readonly mark = el("div", { class: "mark" });
  private readonly legend = el("div", { class: "legend" });
  private readonly what: HTMLSelectElement;
  private readonly whose: HTMLSelectElement;
  private readonly closer: HTMLButtonElement;
  private readonly wider: HTMLButtonElement;
  private drawn = -1;
  private drawnAt = 0;
  private range: [number, number] = [0, 1];
  /** Size below which a number is written as the 0 that it stands for. */
  private rounding = 0;
  /** Times that the reader zoomed to. */
  private zoomed: [number, number] | null = null;
  private choice: Choice;

  constructor(
    private readonly picture: Picture, private readonly player: Player, private readonly all: Choice[], key: string, body: number, close: (plot: Plot) => void,
  ) {
    this.choice = all.find((c) => c.key === key) ?? all[0]!;
    this.what = el("select", { "aria-label": "Quantity", onchange: () => this.choose() });
    for (const choice of all) this.what.append(el("option", { value: choice.key, selected: choice === this.choice }, choice.label));
    this.whose = el("select", { "aria-label": "Body", onchange: () => this.choose() });
    picture.bodies.forEach((b, i) => this.whose.append(el("option", { value: i, selected: i === body }, b.name)));
    const area = el("div", { class: "area" }, this.canvas, this.mark);
    const seek = (event: PointerEvent): void => {
      if (event.buttons === 0) return;
      const box = area.getBoundingClientRect();
      const share = (event.clientX - box.left - LEFT) / Math.max(1, box.width - LEFT - 8);
      this.player.seek(this.range[0] + share * (this.range[1] - this.range[0]));
    };
    area.addEventListener("pointerdown", (event) => {
      area.setPointerCapture(event.pointerId);
      seek(event);
    });
    area.addEventListener("pointermove", seek);
    area.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = area.getBoundingClientRect();
      this.zoom(event.deltaY > 0 ? NOTCH : 1 / NOTCH, (event.clientX - box.left - LEFT) / Math.max(1, box.width - LEFT - 8));
    }, { passive: false });
    area.addEventListener("dblclick", () => this.zoom(Infinity, 0.5));
    area.title = "Drag: the time of the scene. Wheel: zoom. Double click: all of the run.";
    this.closer = button("zoom-in", "Zoom in around the cursor", () => this.zoom(1 / NOTCH ** 4, this.share()));
    this.wider = button("zoom-out", "Zoom out", () => this.zoom(NOTCH ** 4, this.share()));
    this.root = el("section", { class: "plot", "aria-label": "Plot" },
      el("div", { class: "plot-head" }, this.what, this.whose, this.closer, this.wider, button("close", "Remove this plot", () => close(this))), this.legend, area);
    this.choose();
  }

  private choose(): void {
    this.choice = this.all.find((c) => c.key === this.what.value) ?? this.choice;
    this.whose.hidden = !this.choice.key.startsWith("body.");
    this.redraw();
  }

  /** The times of all of the run. */
  private whole(): [number, number] {
    const { track } = this.player;
    return [track.start, Math.max(track.end, track.start + this.picture.step)];
  }

  /** Where the cursor stands in the times that are shown. */
  private share(): number {
    return Math.min(1, Math.max(0, (this.player.cursor - this.range[0]) / (this.range[1] - this.range[0] || 1)));
  }

  /** Shows so many times as much time, with one place of the plot where it is. */
  zoom(factor: number, share: number): void {
    const { track } = this.player;
    const [from, to] = this.range;
    const at = from + Math.min(1, Math.max(0, share)) * (to - from);
    const width = Math.max((to - from) * factor, FEWEST_STEPS * this.picture.step);
    this.zoomed = null;
    if (width < track.end - track.start) {
      const start = Math.min(Math.max(track.start, at - share * width), track.end - width);
      this.zoomed = [start, start + width];
    }
    // At once: the next notch may come before the next frame.
    this.range = this.zoomed ?? this.whole();
    this.redraw();
  }

  select(body: number): void {
    if (!this.whose.hidden) {
      this.whose.value = String(body);
      this.redraw();
    }
  }

  get key(): string {
    return this.choice.key;
  }

  redraw(): void {
    this.drawn = -1;
  }

  update(theme: Theme, now: number): void {
    const { track } = this.player;
    if (this.drawn !== track.version && (this.drawn < 0 || now - this.drawnAt > 1000 / REDRAWS)) {
      this.drawn = track.version;
      this.drawnAt = now;
      this.paint(theme);
    }
    const width = this.canvas.clientWidth - LEFT - 8;
    this.mark.style.transform = `translateX(${LEFT + this.share() * width}px)`;
    const shot = track.at(this.player.cursor);
    if (!shot) return;
    const lines = this.choice.lines(track, Number(this.whose.value));
    lines.forEach((line, i) => {
      const cell = this.legend.children[i]?.lastChild;
      const value = line.of(shot);
      const text = ` ${number(Math.abs(value) < this.rounding ? 0 : value)}${this.choice.unit ? ` ${this.choice.unit}` : ""}`;
      if (cell && cell.textContent !== text) cell.textContent = text;
    });
  }

  private paint(theme: Theme): void {
    const { track } = this.player;
    const ratio = Math.min(2, devicePixelRatio);
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    this.canvas.width = Math.max(1, width * ratio);
    this.canvas.height = Math.max(1, height * ratio);
    const c = this.canvas.getContext("2d")!;
    c.scale(ratio, ratio);
    const lines = this.choice.lines(track, Number(this.whose.value));
    this.range = this.zoomed ?? this.whole();
    this.wider.disabled = this.zoomed === null;
    const colors = lines.map((_, i) => theme.css(`line${i % 8}`));
    this.legend.replaceChildren(...lines.map((line, i) => {
      const swatch = el("i");
      swatch.style.background = colors[i]!;
      return el("span", {}, swatch, line.label, el("b", {}, ""));
    }));
    let [low, high] = [Infinity, -Infinity];
    const columns = Math.max(1, width - LEFT - 8);
    const [first, last] = [track.index(this.range[0]), Math.min(track.shots.length, track.index(this.range[1]) + 2)];
    const stride = Math.max(1, Math.floor((last - first) / (4 * columns)));
    const points: number[][] = lines.map(() => []);
    const times: number[] = [];
    for (let i = first; i < last; i += stride) {
      const shot = track.shots[i]!;
      times.push(shot.time);
      lines.forEach((line, k) => {
        const x = line.of(shot);
        points[k]!.push(x);
        if (x < low) low = x;
        if (x > high) high = x;
      });
    }
    // What differs by roundings alone is drawn as the straight line it is.
    const scale = Math.max(Math.abs(low), Math.abs(high));
    if (!Number.isFinite(low + high)) [low, high] = [0, 1];
    else if (high - low <= 1e-9 * scale || scale === 0) [low, high] = [low - (0.5 * scale || 0.5), high + (0.5 * scale || 0.5)];
    const room = this.choice.floor(track, Number(this.whose.value)) - (high - low);
    this.rounding = Math.min(this.choice.floor(track, Number(this.whose.value)), ROUNDING * Math.max(1, scale));
    if (room > 0) [low, high] = [low - 0.5 * room, high + 0.5 * room];
    const pad = 0.06 * (high - low);
    [low, high] = [low - pad, high + pad];
    const x = (t: number): number => LEFT + ((t - this.range[0]) / (this.range[1] - this.range[0])) * columns;
    const y = (v: number): number => TOP + (1 - (v - low) / (high - low)) * (height - TOP - BOTTOM);
    c.font = `10.5px ${theme.css("sans")}`;
    c.lineWidth = 1;
    c.fillStyle = theme.css("soft");
    c.strokeStyle = theme.css("rule");
    c.textBaseline = "middle";
    c.textAlign = "right";
    for (const value of ticks(low, high, Math.max(2, Math.floor(height / 32)))) {
      const at = Math.round(y(value)) + 0.5;
      c.beginPath();
      c.moveTo(LEFT, at);
      c.lineTo(width - 8, at);
      c.stroke();
      c.fillText(short(value), LEFT - 6, at);
    }
    c.textBaseline = "alphabetic";
    if (this.choice.unit) {
      // Where the axes meet no line runs.
      c.textAlign = "left";
      c.fillText(`[${this.choice.unit}]`, 2, height - 3);
    }
    c.textAlign = "center";
    for (const value of ticks(this.range[0], this.range[1], Math.max(2, Math.floor(width / 90)))) {
      const text = `${short(value)} s`;
      c.fillText(text, Math.min(width - 2 - 0.5 * c.measureText(text).width, x(value)), height - 3);
    }
    c.lineWidth = 1.6;
    c.lineJoin = "round";
    c.save();
    c.beginPath();
    c.rect(LEFT, 0, columns, height - BOTTOM);
    c.clip();
    points.forEach((series, k) => {
      c.strokeStyle = colors[k]!;
      c.beginPath();
      series.forEach((v, i) => (i === 0 ? c.moveTo(x(times[i]!), y(v)) : c.lineTo(x(times[i]!), y(v))));
      c.stroke();
    });
    c.restore();
    this.canvas.setAttribute("aria-label", `${this.choice.label} over time, from ${short(low)} to ${short(high)} ${this.choice.unit}`);
  }
}

const short = (x: number): string => {
  if (x === 0) return "0";
  const text = Math.abs(x) >= 1e4 || Math.abs(x) < 1e-3 ? x.toExponential(1).replace("e+", "e") : String(Number(x.toPrecision(6)));
  return text.replaceAll("-", "−");
};

function ticks(low: number, high: number, count: number): number[] {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough) ?? rough;
  const out: number[] = [];
  const first = Math.ceil(low / step);
  for (let k = 0; k <= 2 * count && (first + k) * step <= high; k++) out.push((first + k) * step);
  return out;
}

/** All plots. */
export class Plots {
  readonly root = el("div", { class: "plots", role: "region", "aria-label": "Plots" });
  private readonly list = el("div", { class: "plot-list" });
  private plots: Plot[] = [];
  private all: Choice[] = [];
  private picture: Picture | null = null;
  private body = 0;

  constructor(private readonly player: Player) {
    this.root.append(this.list, button("plus", "Add a plot", () => this.add()));
    this.root.lastElementChild!.classList.add("add");
  }

  load(picture: Picture, track: Track): void {
    const same = this.picture?.dimension === picture.dimension && this.plots.length > 0;
    const keys = same ? this.plots.map((p) => p.key) : ["energy", "body.speed"];
    this.picture = picture;
    this.all = choices(picture, track.books);
    const first = picture.bodies.findIndex((b) => b.kind === "dynamic");
    if (!(this.body < picture.bodies.length && picture.bodies[this.body]?.kind === "dynamic")) this.body = Math.max(0, first);
    this.plots.forEach((p) => p.root.remove());
    this.plots = [];
    keys.forEach((key) => this.add(key));
  }

  add(key = "body.x"): void {
    if (!this.picture) return;
    const plot = new Plot(this.picture, this.player, this.all, key, this.body, (gone) => {
      gone.root.remove();
      this.plots = this.plots.filter((p) => p !== gone);
    });
    this.plots.push(plot);
    this.list.append(plot.root);
  }

  /** A plot of one number of a thing; the one that is there already, if it is. */
  show(quantity: Quantity, whose: string): void {
    const line = { label: `${whose} ${quantity.label}`, of: quantity.of };
    if (!this.all.some((c) => c.key === quantity.key)) {
      this.all.push({ key: quantity.key, label: line.label, unit: quantity.unit, lines: () => [line], floor: (track) => quantity.floor(track) });
    }
    if (!this.plots.some((p) => p.key === quantity.key)) this.add(quantity.key);
    this.root.hidden = false;
    this.plots.find((p) => p.key === quantity.key)?.root.scrollIntoView({ inline: "nearest", block: "nearest" });
  }

  select(body: number): void {
    this.body = body;
    this.plots.forEach((p) => p.select(body));
  }

  redraw(): void {
    this.plots.forEach((p) => p.redraw());
  }

  update(theme: Theme, now: number): void {
    if (this.root.hidden) return;
    this.plots.forEach((p) => p.update(theme, now));
  }
}
