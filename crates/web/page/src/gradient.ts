// The gradient of a loss at the start of the run: arrows for velocities, colours for masses and coefficients.
import { Color } from "three";
import { el, number } from "./dom";
import type { Gradient } from "./live";
import type { BodyArrow } from "./overlay";
import type { Picture } from "./picture";
import type { Shot } from "./track";

/** Losses that need no typing, for a body. */
const PRESETS: { label: string; of: (body: string, dimension: number) => string }[] = [
  { label: "x at the end", of: (b) => `${b}.x` },
  { label: "y at the end", of: (b) => `${b}.y` },
  { label: "z at the end", of: (b, d) => (d === 3 ? `${b}.z` : "") },
  { label: "distance from the origin, squared", of: (b, d) => (d === 2 ? `${b}.x^2 + ${b}.y^2` : `${b}.x^2 + ${b}.y^2 + ${b}.z^2`) },
  { label: "speed at the end, squared", of: (b, d) => (d === 2 ? `${b}.vx^2 + ${b}.vy^2` : `${b}.vx^2 + ${b}.vy^2 + ${b}.vz^2`) },
  { label: "kinetic energy of all", of: () => "kinetic" },
];

/** Bodies listed with their numbers. */
const MOST_ROWS = 8;

type Paint = "none" | "mass" | "friction" | "restitution";

export class GradientPanel {
  readonly root: HTMLElement;
  private readonly body = el("select", { "aria-label": "Body of the loss", onchange: () => this.fill() });
  private readonly preset = el("select", { "aria-label": "Loss", onchange: () => this.fill() });
  private readonly loss = el("input", { type: "text", "aria-label": "Loss as text", spellcheck: "false", class: "loss" });
  private readonly time = el("input", { type: "number", min: 0, step: "any", "aria-label": "Time of the loss [s]" });
  private readonly colour = el("select", { "aria-label": "Colour bodies by", onchange: () => this.show() });
  private readonly answer = el("div", { class: "answer", "aria-live": "polite" });
  private readonly compute = el("button", { type: "button", class: "main", onclick: () => this.ask() }, "Compute");
  private picture: Picture | null = null;
  private found: Gradient | null = null;
  private first: Shot | null = null;

  constructor(
    private readonly wish: (loss: string, time: number) => void,
    private readonly draw: (arrows: BodyArrow[], tints: (Color | null)[] | null) => void,
  ) {
    for (const [value, label] of [["none", "nothing"], ["mass", "d loss / d mass"], ["friction", "d loss / d friction"], ["restitution", "d loss / d restitution"]]) {
      this.colour.append(el("option", { value: value! }, label!));
    }
    PRESETS.forEach((p, i) => this.preset.append(el("option", { value: i }, p.label)));
    const row = (label: string, ...nodes: Node[]): HTMLElement => el("label", { class: "row" }, el("span", {}, label), ...nodes);
    this.root = el("form", { class: "gradient", onsubmit: (event: Event) => event.preventDefault() },
      el("p", { class: "hint" }, "How a number at the end of the run changes with the start. Arrows: d loss / d initial velocity, drawn where the bodies start."),
      row("Body", this.body), row("Loss", this.preset), row("Text", this.loss), row("At time", this.time), row("Colours", this.colour),
      el("div", { class: "row end" }, el("button", { type: "button", onclick: () => this.clear() }, "Clear"), this.compute), this.answer);
  }

  load(picture: Picture, first: Shot | null): void {
    this.picture = picture;
    this.first = first;
    this.found = null;
    this.answer.replaceChildren();
    this.body.replaceChildren(...picture.bodies.flatMap((b) => (b.kind === "dynamic" ? [el("option", { value: b.name }, b.name)] : [])));
    this.time.value = String(Math.min(2, picture.duration || 2));
    this.fill();
  }

  start(first: Shot): void {
    this.first = first;
  }

  private fill(): void {
    const plain = /^[A-Za-z_]\w*$/.test(this.body.value) ? this.body.value : JSON.stringify(this.body.value);
    const text = PRESETS[Number(this.preset.value)]?.of(plain, this.picture?.dimension ?? 2);
    if (text) this.loss.value = text;
  }

  private ask(): void {
    this.compute.disabled = true;
    this.answer.textContent = "computing…";
    this.wish(this.loss.value, Number(this.time.value));
  }

  fail(message: string): void {
    this.compute.disabled = false;
    this.answer.replaceChildren(el("p", { class: "bad" }, message));
  }

  take(found: Gradient): void {
    this.compute.disabled = false;
    this.found = found;
    this.show();
  }

  private clear(): void {
    this.found = null;
    this.answer.replaceChildren();
    this.draw([], null);
  }

  private show(): void {
    const { found, picture, first } = this;
    if (!found || !picture || !first) return;
    const d = picture.dimension;
    const coords = d === 2 ? 3 : 7;
    const arrows: BodyArrow[] = [];
    const sizes = picture.bodies.map((_, i) => Math.hypot(...found.v0.slice(i * found.dof, i * found.dof + d)));
    const most = Math.max(...sizes, 1e-300);
    picture.bodies.forEach((_, i) => {
      if (sizes[i]! < 1e-9 * most) return;
      const at = [0, 1, 2].map((k) => (k < d ? first.q[coords * i + k]! : 0)) as [number, number, number];
      const to = at.map((x, k) => x + (k < d ? (0.1 * found.v0[i * found.dof + k]!) / sizes[i]! : 0)) as [number, number, number];
      arrows.push({ at, to, share: sizes[i]! / most });
    });
    const by = this.colour.value as Paint;
    const values = by === "none" ? undefined : found[by];
    let tints: (Color | null)[] | null = null;
    if (values) {
      const scale = Math.max(...values.map(Math.abs), 1e-300);
      const [low, middle, high] = [new Color("#2f5fd0"), new Color("#d9d6ce"), new Color("#cf3f1f")];
      tints = picture.bodies.map((b, i) => {
        if (b.kind !== "dynamic") return null;
        const share = values[i]! / scale;
        return middle.clone().lerp(share < 0 ? low : high, Math.sqrt(Math.abs(share)));
      });
    }
    this.draw(arrows, tints);
    const order = picture.bodies.map((_, i) => i).filter((i) => picture.bodies[i]!.kind === "dynamic").sort((a, b) => sizes[b]! - sizes[a]!);
    const cell = (values: number[] | undefined, i: number): HTMLElement => el("td", {}, values ? number(values[i]!) : "–");
    const exact = found.switches === 0 ? "exact: no step is at a switch" : `one-sided: ${found.switches} ${found.switches === 1 ? "step is" : "steps are"} at a switch`;
    this.answer.replaceChildren(
      el("p", {}, el("b", {}, number(found.value)), ` after ${number(found.time)} s; ${exact}`),
      el("table", {},
        el("thead", {}, el("tr", {}, ...["body", "|d/d v₀|", "d/d mass", "d/d friction"].map((h) => el("th", { scope: "col" }, h)))),
        el("tbody", {}, ...order.slice(0, MOST_ROWS).map((i) => el("tr", {},
          el("th", { scope: "row" }, picture.bodies[i]!.name), el("td", {}, number(sizes[i]!)), cell(found.mass, i), cell(found.friction, i))))),
    );
  }
}
