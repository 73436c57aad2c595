// Lines and letters over the picture, of constant size on the screen: contacts, impulses, joints, names, boxes, gradients.
import { Matrix4, Vector3 } from "three";
import { poseMatrix } from "./batches";
import type { Picture } from "./picture";
import { Slender } from "./slender";
import type { Stage } from "./stage";
import type { Theme } from "./theme";
import { ends, type Thing } from "./things";
import { TOUCH, type Shot } from "./track";

export interface Layers {
  contacts: boolean;
  impulses: boolean;
  joints: boolean;
  names: boolean;
  boxes: boolean;
}

/** An arrow at a body, its length a share of the longest. */
export interface BodyArrow {
  at: [number, number, number];
  to: [number, number, number];
  share: number;
}

export interface Scenery {
  picture: Picture;
  q: Float32Array;
  shot: Shot;
  /** Of every body the least and the greatest corner of its box. */
  boxes: Float32Array | null;
  strongest: number;
  layers: Layers;
  thing: Thing | null;
  pull: { from: Vector3; to: Vector3 } | null;
  arrows: BodyArrow[];
}

/** Longest arrow [pixels], and as a share of the picture. */
const LONGEST = 96;
const LONGEST_SHARE = 0.16;
/** Contacts above which dots and arrows are drawn smaller. */
const CROWD = 80;
/** Shortest impulse arrow that is drawn. */
const SHORTEST = 5;
/** Names drawn at once: more cannot be read. */
const MOST_NAMES = 120;
/** Joints that are drawn as what they are. */
const LINKS = ["distance", "rope", "spring"];
/** Turns of a drawn spring. */
const COILS = 8;

export class Overlay {
  readonly canvas = document.createElement("canvas");
  private readonly context: CanvasRenderingContext2D;
  private readonly a = new Vector3();
  private readonly b = new Vector3();
  private readonly pose = new Matrix4();
  /** Of the picture that was drawn last. */
  private slender: { picture: Picture; rods: Slender } | null = null;

  constructor(host: HTMLElement, private readonly stage: Stage, public theme: Theme) {
    this.canvas.className = "overlay";
    this.canvas.setAttribute("aria-hidden", "true");
    host.append(this.canvas);
    this.context = this.canvas.getContext("2d")!;
  }

  resize(): void {
    const ratio = Math.min(2, devicePixelRatio);
    this.canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
  }

  draw(s: Scenery): void {
    const c = this.context;
    const ratio = this.canvas.width / Math.max(1, this.canvas.clientWidth);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (this.slender?.picture !== s.picture) this.slender = { picture: s.picture, rods: new Slender(s.picture) };
    const { rods } = this.slender;
    const empty = !this.needed(s) && !rods.needed(this.stage);
    if (empty && this.canvas.style.visibility === "hidden") return;
    c.clearRect(0, 0, this.canvas.width, this.canvas.height);
    // An empty sheet over the picture would still be laid on it in every frame.
    this.canvas.style.visibility = empty ? "hidden" : "visible";
    c.lineCap = c.lineJoin = "round";
    rods.draw(c, s.q, this.stage);
    this.links(s);
    if (s.layers.boxes && s.boxes) this.boxes(s, s.boxes);
    if (s.layers.joints) this.joints(s);
    if (s.layers.contacts) this.contacts(s);
    if (s.layers.impulses) this.impulses(s);
    for (const arrow of s.arrows) {
      this.at(arrow.at, this.a);
      this.at(arrow.to, this.b);
      this.arrow(this.a, this.b, 14 + (this.longest(false) - 14) * arrow.share, this.theme.css("gradient"), 2.5);
    }
    if (s.layers.names) this.names(s);
    else if (s.thing?.kind === "body") this.name(s, s.thing.index, new Set());
    this.mark(s);
    if (s.pull) {
      this.stage.project(s.pull.from.x, s.pull.from.y, s.pull.from.z, this.a);
      this.stage.project(s.pull.to.x, s.pull.to.y, s.pull.to.z, this.b);
      this.line(this.a, this.b, this.theme.css("impulse"), 2, [2, 5]);
      this.dot(this.b, 5, this.theme.css("impulse"));
    }
  }

  private needed({ layers, picture, arrows, thing, pull }: Scenery): boolean {
    return Object.values(layers).includes(true) || arrows.length > 0 || thing !== null || pull !== null
      || picture.joints.some((j) => LINKS.includes(j.kind)) || picture.bodies.some((b) => b.shapes.length === 0);
  }

  private at(p: ArrayLike<number>, out: Vector3): Vector3 {
    return this.stage.project(p[0]!, p[1]!, p[2] ?? 0, out);
  }

  private seen(p: Vector3): boolean {
    return p.z < 1 && p.x > -200 && p.y > -200 && p.x < this.canvas.clientWidth + 200 && p.y < this.canvas.clientHeight + 200;
  }

  private line(a: Vector3, b: Vector3, color: string, width: number, dash: number[] = []): void {
    if (a.z >= 1 || b.z >= 1) return;
    const c = this.context;
    c.strokeStyle = color;
    c.lineWidth = width;
    c.setLineDash(dash);
    c.beginPath();
    c.moveTo(a.x, a.y);
    c.lineTo(b.x, b.y);
    c.stroke();
    c.setLineDash([]);
  }

  private dot(p: Vector3, r: number, color: string): void {
    const c = this.context;
    c.beginPath();
    c.arc(p.x, p.y, r, 0, 2 * Math.PI);
    c.fillStyle = color;
    c.fill();
    c.lineWidth = 1.5;
    c.strokeStyle = this.theme.css("halo");
    c.stroke();
  }

  /** An arrow of some pixels from a towards b, with a rim that keeps it apart from what is behind. */
  private arrow(a: Vector3, b: Vector3, length: number, color: string, width: number): void {
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const norm = Math.hypot(dx, dy);
    if (!this.seen(a) || !(norm > 1e-9)) return;
    const [ux, uy] = [dx / norm, dy / norm];
    const head = Math.min(9, 0.6 * length);
    const tip = { x: a.x + ux * length, y: a.y + uy * length };
    const neck = { x: tip.x - ux * head, y: tip.y - uy * head };
    const c = this.context;
    for (const [style, rim] of [[this.theme.css("halo"), 3], [color, 0]] as const) {
      c.strokeStyle = c.fillStyle = style;
      c.lineWidth = width + rim;
      c.beginPath();
      c.moveTo(a.x, a.y);
      c.lineTo(neck.x, neck.y);
      c.stroke();
      c.beginPath();
      c.moveTo(tip.x, tip.y);
      c.lineTo(neck.x - 0.5 * head * uy, neck.y + 0.5 * head * ux);
      c.lineTo(neck.x + 0.5 * head * uy, neck.y - 0.5 * head * ux);
      c.closePath();
      c.lineWidth = rim;
      if (rim > 0) c.stroke();
      c.fill();
    }
  }

  /** Of the two bodies of a contact the arrows are about a, or about b where a cannot move: it feels the opposite. */
  private side(s: Scenery, a: number): 1 | -1 {
    return s.picture.bodies[a]?.kind === "dynamic" ? 1 : -1;
  }

  private contacts(s: Scenery): void {
    const t = s.shot.touches;
    const crowded = t.length / TOUCH > CROWD;
    const [radius, length] = crowded ? [2.5, 12] : [3.5, 18];
    const color = this.theme.css("contact");
    for (let i = 0; i < t.length; i += TOUCH) {
      this.at(t.subarray(i + 2, i + 5), this.a);
      if (!this.seen(this.a)) continue;
      const far = 0.02 * this.stage.size * this.side(s, t[i]!);
      this.stage.project(t[i + 2]! + far * t[i + 5]!, t[i + 3]! + far * t[i + 6]!, t[i + 4]! + far * t[i + 7]!, this.b);
      const norm = Math.hypot(this.b.x - this.a.x, this.b.y - this.a.y);
      if (norm > 1e-9) {
        const scale = length / norm;
        this.b.set(this.a.x + scale * (this.b.x - this.a.x), this.a.y + scale * (this.b.y - this.a.y), this.b.z);
        this.line(this.a, this.b, this.theme.css("halo"), 4);
        this.line(this.a, this.b, color, 2);
      }
      this.dot(this.a, radius, color);
    }
  }

  /** Length of the longest arrow: a part of the picture, so that a small one is not buried. */
  private longest(crowded: boolean): number {
    const share = LONGEST_SHARE * Math.min(this.canvas.clientWidth, this.canvas.clientHeight);
    return Math.min(LONGEST, Math.max(36, share)) * (crowded ? 0.6 : 1);
  }

  private impulses(s: Scenery): void {
    const t = s.shot.touches;
    const crowded = t.length / TOUCH > CROWD;
    const longest = this.longest(crowded);
    for (let i = 0; i < t.length; i += TOUCH) {
      const [jx, jy, jz] = [t[i + 8]!, t[i + 9]!, t[i + 10]!];
      const size = Math.hypot(jx, jy, jz);
      // The root brings weak and strong onto one screen.
      const length = longest * Math.sqrt(size / s.strongest);
      if (!(length >= SHORTEST)) continue;
      const far = (0.05 * this.stage.size * this.side(s, t[i]!)) / size;
      this.at(t.subarray(i + 2, i + 5), this.a);
      this.stage.project(t[i + 2]! + far * jx, t[i + 3]! + far * jy, t[i + 4]! + far * jz, this.b);
      this.arrow(this.a, this.b, length, this.theme.css("impulse"), crowded ? 1.75 : 2.5);
    }
  }

  /** A ring around the joint or the contacts that are looked at. */
  private mark({ thing, picture, q, shot }: Scenery): void {
    const ring = (p: ArrayLike<number>): void => {
      this.at(p, this.a);
      if (!this.seen(this.a)) return;
      const c = this.context;
      for (const [color, width] of [[this.theme.css("halo"), 5], [this.theme.css("accent"), 2]] as const) {
        c.beginPath();
        c.arc(this.a.x, this.a.y, 9, 0, 2 * Math.PI);
        c.strokeStyle = color;
        c.lineWidth = width;
        c.stroke();
      }
    };
    if (thing?.kind === "joint") ring(ends(picture.joints[thing.index]!, q, picture.dimension)[0].toArray());
    if (thing?.kind !== "contact") return;
    const t = shot.touches;
    for (let i = 0; i < t.length; i += TOUCH) if (thing.bodies.includes(t[i]!) && thing.bodies.includes(t[i + 1]!)) ring(t.subarray(i + 2, i + 5));
  }

  /** What joins two points without a shape of its own: rods, ropes, springs. */
  private links(s: Scenery): void {
    const c = this.context;
    for (const joint of s.picture.joints) {
      if (!LINKS.includes(joint.kind)) continue;
      const [p, q] = ends(joint, s.q, s.picture.dimension);
      const a = this.stage.project(p.x, p.y, p.z, new Vector3());
      const b = this.stage.project(q.x, q.y, q.z, new Vector3());
      if (a.z >= 1 || b.z >= 1) continue;
      const color = this.theme.css("link");
      joint.bodies.forEach((body, side) => body === null && this.dot(side === 0 ? a : b, 3, color));
      if (joint.kind !== "spring") {
        this.line(a, b, color, joint.kind === "rope" ? 1.25 : 2);
        continue;
      }
      const [dx, dy] = [b.x - a.x, b.y - a.y];
      const norm = Math.hypot(dx, dy) || 1;
      c.strokeStyle = color;
      c.lineWidth = 1.5;
      c.beginPath();
      c.moveTo(a.x, a.y);
      for (let k = 0; k <= 2 * COILS; k++) {
        const along = 0.12 + (0.76 * k) / (2 * COILS);
        const aside = k === 0 || k === 2 * COILS ? 0 : k % 2 ? 6 : -6;
        c.lineTo(a.x + dx * along - (aside * dy) / norm, a.y + dy * along + (aside * dx) / norm);
      }
      c.lineTo(b.x, b.y);
      c.stroke();
    }
    // Bodies without a shape are points.
    s.picture.bodies.forEach((body, i) => {
      if (body.shapes.length > 0) return;
      const width = s.picture.dimension === 2 ? 3 : 7;
      this.at([s.q[width * i]!, s.q[width * i + 1]!, width === 7 ? s.q[width * i + 2]! : 0], this.a);
      if (this.seen(this.a)) this.dot(this.a, 4, `#${body.color.toString(16).padStart(6, "0")}`);
    });
  }

  private joints(s: Scenery): void {
    const color = this.theme.css("joint");
    for (const joint of s.picture.joints) {
      const anchors = ends(joint, s.q, s.picture.dimension);
      for (const side of [0, 1] as const) {
        const p = anchors[side];
        this.stage.project(p.x, p.y, p.z, this.a);
        if (!this.seen(this.a)) continue;
        const axis = joint.axes[side];
        if (axis.some((x) => x !== 0)) {
          const body = joint.bodies[side];
          const d = new Vector3(axis[0], axis[1], axis[2] ?? 0).multiplyScalar(0.03 * this.stage.size);
          if (body !== null) d.transformDirection(poseMatrix(s.q, body, s.picture.dimension, this.pose)).multiplyScalar(0.03 * this.stage.size);
          this.stage.project(p.x + d.x, p.y + d.y, p.z + d.z, this.b);
          if (side === 0) this.line(this.a, this.b, color, 2);
        }
        const c = this.context;
        c.beginPath();
        c.arc(this.a.x, this.a.y, side === 0 ? 4.5 : 2, 0, 2 * Math.PI);
        c.lineWidth = 3.5;
        c.strokeStyle = this.theme.css("halo");
        c.stroke();
        c.lineWidth = 1.75;
        c.strokeStyle = color;
        c.stroke();
      }
    }
  }

  private names(s: Scenery): void {
    const taken = new Set<string>();
    let drawn = 0;
    for (let i = 0; i < s.picture.bodies.length && drawn < MOST_NAMES; i++) if (this.name(s, i, taken)) drawn++;
  }

  private name(s: Scenery, body: number, taken: Set<string>): boolean {
    const picture = s.picture.bodies[body];
    if (!picture) return false;
    const width = s.picture.dimension === 2 ? 3 : 7;
    this.at([s.q[width * body]!, s.q[width * body + 1]!, width === 7 ? s.q[width * body + 2]! : 0], this.a);
    if (!this.seen(this.a)) return false;
    // Two names on one spot are none.
    const spot = `${Math.round(this.a.x / 44)} ${Math.round(this.a.y / 15)}`;
    if (taken.has(spot)) return false;
    taken.add(spot);
    const c = this.context;
    c.font = `${s.thing?.kind === "body" && body === s.thing.index ? "600 " : ""}12px ${this.theme.css("sans")}`;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.lineWidth = 4;
    c.strokeStyle = this.theme.css("halo");
    c.strokeText(picture.name, this.a.x, this.a.y);
    c.fillStyle = this.theme.css("ink");
    c.fillText(picture.name, this.a.x, this.a.y);
    return true;
  }

  private boxes(s: Scenery, boxes: Float32Array): void {
    const dimension = s.picture.dimension;
    const corners = Array.from({ length: 1 << dimension }, () => new Vector3());
    const c = this.context;
    c.strokeStyle = this.theme.css("box");
    c.lineWidth = 1;
    // All in one path: to begin one is dearer than its lines.
    c.beginPath();
    for (let at = 0; at < boxes.length; at += 2 * dimension) {
      if (!boxes.subarray(at, at + 2 * dimension).every((x) => Number.isFinite(x))) continue;
      const pick = (bits: number, k: number): number => (k < dimension ? boxes[at + (bits & (1 << k) ? dimension + k : k)]! : 0);
      corners.forEach((corner, bits) => this.stage.project(pick(bits, 0), pick(bits, 1), pick(bits, 2), corner));
      for (let bits = 0; bits < corners.length; bits++) {
        for (let k = 0; k < dimension; k++) {
          const [a, b] = [corners[bits]!, corners[bits | (1 << k)]!];
          if (bits & (1 << k) || a.z >= 1 || b.z >= 1) continue;
          c.moveTo(a.x, a.y);
          c.lineTo(b.x, b.y);
        }
      }
    }
    c.stroke();
  }
}
