// What is known of one body, joint or contact at the time of the cursor; every number can be plotted from here.
import { bodyDials, jointDials, type Parameters, type Setter } from "./dials";
import { button, el, number } from "./dom";
import { contactForce, nameOf, numbersOf, type Quantity, type Thing } from "./things";
import type { Shot } from "./track";
import type { Viewer } from "./viewer";

/** Times per second that its numbers are written. */
const WRITES = 12;
/** Contacts of a body that are listed, the strongest first. */
const MOST_CONTACTS = 6;

export class Inspector {
  readonly root = el("section", { class: "inspector", "aria-label": "Inspector", hidden: true });
  private readonly title = el("h2");
  private readonly kind = el("span", { class: "kind" });
  private readonly numbers = el("table");
  private readonly facts = el("dl");
  private readonly links = el("div", { class: "links" });
  private readonly sliders = el("div");
  private rows: { quantity: Quantity; cell: HTMLElement; shown: string }[] = [];
  private thing: Thing | null = null;
  private written = 0;
  private touched = "";
  /** What a live run lets be set. */
  setter: Setter | null = null;
  parameters: Parameters | null = null;

  constructor(private readonly viewer: Viewer) {
    this.root.append(
      el("div", { class: "inspector-head" }, this.title, this.kind, button("close", "Close the inspector (Esc)", () => viewer.choose(null))),
      el("div", { class: "inspector-body" }, this.numbers, this.facts, this.links, this.sliders));
  }

  show(thing: Thing | null): void {
    const { picture, player } = this.viewer;
    this.thing = thing;
    this.root.hidden = thing === null;
    this.rows = [];
    this.touched = "";
    if (!thing || !picture) return;
    this.title.textContent = nameOf(thing, picture);
    this.kind.textContent = thing.kind === "body" ? `${picture.bodies[thing.index]!.kind} body` : thing.kind === "joint" ? `${picture.joints[thing.index]!.kind} joint` : "contact";
    this.rows = numbersOf(thing, picture, player.track.books).map((quantity) => ({ quantity, cell: el("td"), shown: "" }));
    this.numbers.replaceChildren(...this.rows.map(({ quantity, cell }) => el("tr", {},
      el("th", { scope: "row" }, quantity.label), cell, el("td", { class: "unit" }, quantity.unit),
      el("td", {}, button("plot", `Plot ${quantity.label} of ${nameOf(thing, picture)}`, () => this.viewer.plots.show(quantity, nameOf(thing, picture)))))));
    this.writeFacts(thing);
    this.writeDials();
    const shot = player.track.at(player.cursor);
    if (shot) this.write(shot);
  }

  /** What does not change with time. */
  private writeFacts(thing: Thing): void {
    const picture = this.viewer.picture!;
    const out: [string, string][] = [];
    if (thing.kind === "body") {
      const body = picture.bodies[thing.index]!;
      if (body.mass !== null && !this.parameters) out.push(["mass", `${number(body.mass)} kg`]);
      if (!this.parameters) out.push(["friction", number(body.friction)], ["restitution", number(body.restitution)]);
      const joints = picture.joints.flatMap((j, i) => (j.bodies.includes(thing.index) ? [i] : []));
      this.links.replaceChildren(...(joints.length > 0 ? [el("b", {}, "joints"), ...joints.slice(0, MOST_CONTACTS).map((i) => this.link({ kind: "joint", index: i }))] : []));
      if (body.kind === "dynamic") this.links.append(button("fit", "Frame this body and go along with it (double click)", () => this.viewer.goAlong(thing.index), "Go along"));
    } else {
      const bodies = thing.kind === "joint" ? picture.joints[thing.index]!.bodies : thing.bodies;
      this.links.replaceChildren(el("b", {}, "between"), ...bodies.map((b) => (b === null ? el("span", {}, "the world") : this.link({ kind: "body", index: b }))));
    }
    if (thing.kind === "joint") {
      const joint = picture.joints[thing.index]!;
      const unit = joint.coordinate === "angle" ? "rad" : "m";
      if (joint.limits) out.push(["limits", `${number(joint.limits[0])} to ${number(joint.limits[1])} ${unit}`]);
      else if (joint.coordinate) out.push(["limits", "none"]);
      if (joint.motor) out.push(["motor", `${joint.motor.kind}${joint.motor.max === null ? "" : `, at most ${number(joint.motor.max)} ${joint.coordinate === "angle" ? "N m" : "N"}`}`]);
      if (joint.friction > 0) out.push(["friction", `${number(joint.friction)} ${joint.coordinate === "angle" ? "N m" : "N"}`]);
      if (joint.kind === "spring") out.push(["rest length", `${number(joint.rest)} m`], ["stiffness", `${number(joint.stiffness)} N/m`], ["damping", `${number(joint.damping)} N s/m`]);
      if (["distance", "rope"].includes(joint.kind)) out.push(["length", `${number(joint.length)} m`]);
    }
    this.facts.replaceChildren(...out.flatMap(([label, text]) => [el("dt", {}, label), el("dd", {}, text)]));
  }

  private link(thing: Thing): HTMLElement {
    return el("button", { type: "button", onclick: () => this.viewer.choose(thing) }, nameOf(thing, this.viewer.picture!));
  }

  /** Sliders, where there is a live run. */
  writeDials(): void {
    const { thing, parameters, setter } = this;
    const { picture } = this.viewer;
    // A slider that is being moved is not taken out of the hand.
    if (this.sliders.contains(document.activeElement)) return;
    if (!thing || !parameters || !setter || !picture) return this.sliders.replaceChildren();
    if (thing.kind === "body") this.sliders.replaceChildren(...bodyDials(parameters, picture, thing.index, setter));
    else if (thing.kind === "joint") this.sliders.replaceChildren(...jointDials(parameters, picture, thing.index, setter));
    else this.sliders.replaceChildren();
  }

  update(shot: Shot, now: number): void {
    if (!this.thing) return;
    // What is not written now is written later, also when nothing moves any more.
    if (now - this.written < 1000 / WRITES) return this.viewer.draw();
    this.written = now;
    this.write(shot);
  }

  private write(shot: Shot): void {
    for (const row of this.rows) {
      const text = number(row.quantity.of(shot));
      if (text !== row.shown) row.cell.textContent = row.shown = text;
    }
    if (this.thing?.kind === "body") this.listTouches(shot, this.thing.index);
  }

  /** The bodies that this one touches, with the force of each. */
  private listTouches(shot: Shot, body: number): void {
    const { picture } = this.viewer;
    const others = new Map<number, number>();
    for (let i = 0; i < shot.touches.length; i += 11) {
      const [a, b] = [shot.touches[i]!, shot.touches[i + 1]!];
      if (a !== body && b !== body) continue;
      const other = a === body ? b : a;
      if (!others.has(other)) others.set(other, contactForce(shot, picture!.step, (c, d) => ((c === body && d === other) || (c === other && d === body) ? 1 : 0)).sum.length());
    }
    const strongest = [...others].sort((x, y) => y[1] - x[1]).slice(0, MOST_CONTACTS).map(([other]) => other);
    const key = strongest.join(" ");
    if (key === this.touched) return;
    this.touched = key;
    let list = this.links.querySelector(".touching");
    if (!list) this.links.append((list = el("span", { class: "touching" })));
    list.replaceChildren(...(strongest.length > 0 ? [el("b", {}, "touches"), ...strongest.map((other) => {
      const link = this.link({ kind: "contact", bodies: [body, other] });
      link.textContent = picture!.bodies[other]!.name;
      return link;
    })] : []));
  }
}
