// Sliders for what a live run takes while it runs: gravity, masses, coefficients, targets of motors, controls.
import { el, number } from "./dom";
import type { Picture } from "./picture";

/** What the server says can be set, as it is now. */
export interface Parameters {
  gravity: number[];
  mass: number[];
  friction: number[];
  restitution: number[];
  /** Motors with a target: which joint, which key of the scene, and where it stands. */
  targets: { joint: number; key: string; value: number }[];
  /** Controls in the engine's order: motors, then forces. */
  controls: { name: string; joint: number | null; max: number | null; value: number }[];
}

export interface Setter {
  /** Sets a parameter of one body or joint, or with null of all. */
  set(key: string, index: number | null, value: number): void;
  control(index: number, value: number): void;
}

/** Largest gravity that a slider gives [m/s^2]. */
const MOST_GRAVITY = 25;
/** A mass may become so many times as large or small. */
const MASSES = 20;
/** Reach of a control without a bound, and of a motor's rate [rad/s or m/s]. */
const FREE_CONTROL = 10;
const FREE_RATE = 20;

interface Dial {
  label: string;
  unit: string;
  low: number;
  high: number;
  value: number;
  /** Steps of a slider multiply rather than add. */
  ratio?: boolean;
  set: (value: number) => void;
}

/** A slider with its number; the number can be typed, also beyond the slider's ends. */
export function dial({ label, unit, low, high, value, ratio = false, set }: Dial): HTMLElement {
  const to = (x: number): number => (ratio ? Math.log(Math.max(x, 1e-12)) : x);
  const from = (x: number): number => (ratio ? Math.exp(x) : x);
  const slider = el("input", { type: "range", min: to(low), max: to(high), step: "any", value: to(value), "aria-label": `${label}${unit && ` [${unit}]`}` });
  const exact = el("input", { type: "number", step: "any", value: Number(value.toPrecision(4)), "aria-label": `${label}, as a number` });
  const fill = (): void => {
    const share = (Number(slider.value) - to(low)) / (to(high) - to(low) || 1);
    slider.style.setProperty("--done", `${100 * Math.min(1, Math.max(0, share))}%`);
  };
  slider.addEventListener("input", () => {
    // Four digits: nobody sets a slider finer, and what is shown is what is set.
    const x = Number(from(Number(slider.value)).toPrecision(4));
    exact.value = String(x);
    fill();
    set(x);
  });
  exact.addEventListener("change", () => {
    const x = Number(exact.value);
    if (exact.value === "" || !Number.isFinite(x)) return;
    slider.value = String(to(x));
    fill();
    set(x);
  });
  fill();
  return el("div", { class: "dial", "data-dial": label, title: `${label}: ${number(value)} ${unit}` }, el("span", {}, label), slider, exact, el("small", {}, unit));
}

/** Sliders of one body. */
export function bodyDials(p: Parameters, picture: Picture, body: number, setter: Setter): HTMLElement[] {
  const set = (key: string, index: number, value: number): void => setter.set(key, index, value);
  const out: HTMLElement[] = [];
  const mass = p.mass[body];
  if (picture.bodies[body]?.kind === "dynamic" && mass !== undefined) {
    out.push(dial({ label: "mass", unit: "kg", low: mass / MASSES, high: mass * MASSES, value: mass, ratio: true, set: (x) => set("mass", body, x) }));
  }
  const [friction, restitution] = [p.friction[body], p.restitution[body]];
  if (friction !== undefined) out.push(dial({ label: "friction", unit: "", low: 0, high: 1.5, value: friction, set: (x) => set("friction", body, x) }));
  if (restitution !== undefined) out.push(dial({ label: "restitution", unit: "", low: 0, high: 1, value: restitution, set: (x) => set("restitution", body, x) }));
  return out;
}

/** Sliders of one joint: its motor's target, or its control. */
export function jointDials(p: Parameters, picture: Picture, joint: number, setter: Setter): HTMLElement[] {
  const about = picture.joints[joint]!;
  const unit = about.coordinate === "angle" ? "rad" : "m";
  const targets = p.targets.filter((t) => t.joint === joint).map((t) => {
    const rate = t.key.endsWith("velocity");
    const reach = Math.max(rate ? FREE_RATE : Math.PI, 2 * Math.abs(t.value));
    const [low, high] = rate ? [-reach, reach] : (about.limits ?? [-reach, reach]);
    return dial({ label: `${about.name} target`, unit: rate ? `${unit}/s` : unit, low, high, value: t.value, set: (x) => setter.set(t.key, joint, x) });
  });
  return [...targets, ...controlDials(p, setter, (c) => c.joint === joint)];
}

function controlDials(p: Parameters, setter: Setter, wanted: (c: Parameters["controls"][number]) => boolean): HTMLElement[] {
  return p.controls.flatMap((c, i) => {
    const reach = c.joint === null ? 1 : (c.max ?? FREE_CONTROL);
    return wanted(c) ? [dial({ label: c.name, unit: c.joint === null ? "×" : "", low: -reach, high: reach, value: c.value, set: (x) => setter.control(i, x) })] : [];
  });
}

/** Most targets and controls that the panel lists; of more the rest is reached by a click on the joint. */
const MOST_ROWS = 24;

/** The panel with what concerns the whole scene. */
export class DialPanel {
  readonly root = el("div", { class: "dials" });

  constructor(private readonly setter: Setter) {}

  show(p: Parameters, picture: Picture): void {
    const { setter } = this;
    const section = (title: string, rows: HTMLElement[]): HTMLElement[] =>
      rows.length === 0 ? [] : [el("h2", {}, title), ...rows.slice(0, MOST_ROWS), ...(rows.length > MOST_ROWS ? [el("p", { class: "hint" }, `and ${rows.length - MOST_ROWS} more: click the joint`)] : [])];
    const mean = (values: number[], of: (i: number) => boolean): number => {
      const some = values.filter((_, i) => of(i));
      return some.reduce((sum, x) => sum + x, 0) / Math.max(1, some.length);
    };
    const axes = ["x", "y", "z"].slice(0, picture.dimension);
    const all = (): boolean => true;
    this.root.replaceChildren(
      el("p", { class: "hint" }, "What is moved here acts on the next step, and stays after a reset. Click a body or a joint for its own."),
      ...section("Gravity", axes.map((axis, k) => dial({ label: `gravity ${axis}`, unit: "m/s²", low: -MOST_GRAVITY, high: MOST_GRAVITY, value: p.gravity[k]!, set: (x) => setter.set("gravity", k, x) }))),
      ...section("All bodies", p.friction.length === 0 ? [] : [
        dial({ label: "friction", unit: "", low: 0, high: 1.5, value: mean(p.friction, all), set: (x) => setter.set("friction", null, x) }),
        dial({ label: "restitution", unit: "", low: 0, high: 1, value: mean(p.restitution, all), set: (x) => setter.set("restitution", null, x) }),
      ]),
      ...section("Motors", [...new Set(p.targets.map((t) => t.joint))].flatMap((joint) => jointDials({ ...p, controls: [] }, picture, joint, setter))),
      ...section("Controls", controlDials(p, setter, all)),
    );
  }
}
