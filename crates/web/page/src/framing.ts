// What should be in view: everything that moves, as long as it is known to move, with the ground it falls to and what stands around it.
import { Box3, Matrix4, Vector3 } from "three";
import { poseMatrix } from "./batches";
import { Boxes } from "./boxes";
import { widths, type Picture, type ShapePicture } from "./picture";

/** From so many bodies on, one far from all the others is let go. */
const CROWD = 8;
/** Part of a crowd on either side that does not say how wide it is. */
const FRINGE = 0.1;
/** Widths of a crowd beyond its fringe at which a body is let go. */
const FAR_OFF = 1.5;
/** The whole motion is shown where it is no more than so many times as large as the start; what goes further is followed. */
const LONG = 2.5;
/** What is walled in or tied to the world cannot go far: its way is shown whole where it is no more than so many times as large as the largest body. */
const KEPT = 64;
/** Joints that let a body go as far as it likes. */
const RAILS = ["slider", "cylindrical", "planar", "screw", "coupling"];
/** What moves is kept in view whole until it is so many times as large as the scene. */
const SPREAD = 1.8;
/** Fixed things are shown whole if they and what moves fit into so many sizes of what moves, otherwise as far as they surround it. */
const WHOLE = 8;
const SURROUNDINGS = 0.5;
/** Ground is shown unless it is so many sizes of what moves away; other planes are walls, and shown when they are near. */
const DEEP = 60;
const NEAR = 1.2;
/** Share of the view below the ground's surface in the plane, so that it is seen as ground. */
const BELOW = 0.1;
/** Air around a body that fills the view alone, in sizes of it. */
const AIR = 1;

/** A half-space in the world: `normal . x >= offset` is outside of it. */
export interface HalfSpace {
  body: number;
  shape: ShapePicture;
  normal: Vector3;
  offset: number;
  /** Whether things fall onto it. */
  ground: boolean;
  /** Its shape's own frame in the world. */
  frame: Matrix4;
}

const pose = new Matrix4();
const local = new Matrix4();

/** The half-spaces of a scene at some poses. */
export function halfSpaces(picture: Picture, q: Float32Array): HalfSpace[] {
  const { dimension } = picture;
  const up = upwards(picture);
  return picture.bodies.flatMap((b, body) => b.shapes.filter((s) => s.kind === "half_space").map((shape) => {
    poseMatrix(q, body, dimension, pose).multiply(poseMatrix(Float32Array.from(shape.pose), 0, dimension, local));
    const normal = new Vector3(shape.size[0], shape.size[1], dimension === 3 ? shape.size[2] : 0).transformDirection(pose);
    const offset = normal.dot(new Vector3().setFromMatrixPosition(pose));
    return { body, shape, normal, offset, ground: normal.dot(up) > 0.5, frame: pose.clone() };
  }));
}

/** Against gravity; without it along the last axis. */
export function upwards(picture: Picture): Vector3 {
  const [x = 0, y = 0, z = 0] = picture.gravity;
  const g = new Vector3(x, y, picture.dimension === 3 ? z : 0);
  return g.length() > 0 ? g.negate().normalize() : picture.dimension === 3 ? new Vector3(0, 0, 1) : new Vector3(0, 1, 0);
}

const length = (box: Box3): number => {
  const s = box.getSize(new Vector3());
  return Math.max(s.x, s.y, s.z);
};

export class Framing {
  /** All that is known to be worth seeing. */
  readonly home = new Box3();
  private readonly boxes: Boxes;
  private readonly start = new Box3();
  private readonly planes: HalfSpace[];
  /** Largest extent of a body that moves [m]: none reaches further from its middle. */
  private readonly reach: number;
  /** Whether it cannot go far. */
  private readonly kept: boolean;

  constructor(private readonly picture: Picture, first: Float32Array) {
    this.boxes = new Boxes(picture);
    this.planes = halfSpaces(picture, first);
    this.reach = Math.max(0, ...this.each(first, (i) => this.moves(i)).map(length));
    this.kept = this.enclosed() || this.tied();
    // At the start everybody counts, however far from the others.
    const moving = this.box(first, (i) => this.moves(i));
    this.start.copy(this.set(moving.isEmpty() ? this.box(first, () => true) : moving, first));
    this.home.copy(this.start);
  }

  private moves(body: number): boolean {
    return this.picture.bodies[body]!.kind !== "static";
  }

  /** More states of the same run: recorded ones, or a look ahead. True when there is more to see. */
  look(states: Float32Array[]): boolean {
    const seen = this.start.clone();
    for (const q of states) seen.union(this.crowd(q));
    // What goes a long way is followed rather than shown small.
    const most = Math.max(LONG * length(this.start), this.kept ? KEPT * this.reach : 0);
    const middle = this.start.getCenter(new Vector3());
    seen.intersect(new Box3().setFromCenterAndSize(middle, new Vector3().setScalar(most)));
    if (states.length > 0) this.stand(seen);
    const grown = !this.home.clone().expandByScalar(1e-3 * length(this.home)).containsBox(seen);
    this.home.union(seen);
    return grown;
  }

  /** A box that holds all that moves, found with little work: where it is in view nobody has to look closer. */
  rough(q: Float32Array): Box3 {
    const { dimension, bodies } = this.picture;
    const { coords } = widths(dimension);
    const out = new Box3();
    const { min, max } = out;
    for (let i = 0; i < bodies.length; i++) {
      if (bodies[i]!.kind === "static") continue;
      const [x, y, z] = [q[coords * i]!, q[coords * i + 1]!, dimension === 3 ? q[coords * i + 2]! : 0];
      if (x < min.x) min.x = x;
      if (y < min.y) min.y = y;
      if (z < min.z) min.z = z;
      if (x > max.x) max.x = x;
      if (y > max.y) max.y = y;
      if (z > max.z) max.z = z;
    }
    return out.expandByScalar(this.reach);
  }

  /** What moves, where it is now; of a crowd that has spread too far, the part around its middle. */
  now(q: Float32Array): Box3 {
    const found = this.crowd(q);
    if (found.isEmpty()) return this.home.clone();
    const most = SPREAD * length(this.home);
    if (length(found) <= most) return found;
    const boxes = this.each(q, (i) => this.moves(i));
    const median = (axis: "x" | "y" | "z"): number => boxes.map((b) => 0.5 * (b.min[axis] + b.max[axis])).sort((a, b) => a - b)[boxes.length >> 1]!;
    const part = new Box3().setFromCenterAndSize(new Vector3(median("x"), median("y"), median("z")), new Vector3().setScalar(most));
    return found.intersect(part);
  }

  /** The box of one body; empty when it has none. */
  of(q: Float32Array, body: number): Box3 {
    return this.box(q, (i) => i === body);
  }

  /** Everything that is bounded, with the ground below it. */
  all(q: Float32Array): Box3 {
    const found = this.crowd(q);
    return this.set(found.isEmpty() ? this.box(q, () => true) : found, q);
  }

  private each(q: Float32Array, wanted: (body: number) => boolean): Box3[] {
    const { dimension, bodies } = this.picture;
    const all = this.boxes.at(q);
    const { coords } = widths(dimension);
    const out: Box3[] = [];
    for (let i = 0; i < bodies.length; i++) {
      if (!wanted(i)) continue;
      const at = 2 * dimension * i;
      const part = bodies[i]!.shapes.length === 0 ? [...q.subarray(coords * i, coords * i + dimension), ...q.subarray(coords * i, coords * i + dimension)] : [...all.subarray(at, at + 2 * dimension)];
      if (!part.every((x) => Number.isFinite(x))) continue;
      const z = (k: number): number => (dimension === 3 ? part[k]! : 0);
      out.push(new Box3(new Vector3(part[0], part[1], z(2)), new Vector3(part[dimension], part[dimension + 1], z(5))));
    }
    return out;
  }

  private box(q: Float32Array, wanted: (body: number) => boolean): Box3 {
    return this.each(q, wanted).reduce((a, b) => a.union(b), new Box3());
  }

  /** What moves, without the few that have left both all others and the place where they were. */
  private crowd(q: Float32Array): Box3 {
    let boxes = this.each(q, (i) => this.moves(i));
    if (boxes.length >= CROWD) {
      const limits = new Box3(new Vector3().setScalar(-Infinity), new Vector3().setScalar(Infinity));
      for (const axis of ["x", "y", "z"] as const) {
        const middles = boxes.map((b) => 0.5 * (b.min[axis] + b.max[axis])).sort((a, b) => a - b);
        const fringe = Math.floor(FRINGE * (middles.length - 1));
        const [low, high] = [middles[fringe]!, middles[middles.length - 1 - fringe]!];
        const widest = boxes.reduce((w, b) => Math.max(w, b.max[axis] - b.min[axis]), 0);
        const reach = FAR_OFF * Math.max(high - low, widest);
        limits.min[axis] = low - reach;
        limits.max[axis] = high + reach;
      }
      boxes = boxes.filter((b) => limits.intersectsBox(b) || this.start.intersectsBox(b));
    }
    return boxes.reduce((a, b) => a.union(b), new Box3());
  }

  /** What moves with what it belongs to: fixed things, the points that joints hold on to, and the ground. */
  private set(moving: Box3, q: Float32Array): Box3 {
    const { picture } = this;
    const out = moving.clone();
    if (out.isEmpty()) out.set(new Vector3(-1, -1, 0), new Vector3(1, 1, 0));
    const size = Math.max(length(out), 1e-6);
    const near = out.clone().expandByScalar(SURROUNDINGS * size);
    const fixed = this.each(q, (i) => !this.moves(i));
    for (const joint of picture.joints) {
      joint.bodies.forEach((body, side) => {
        const p = joint.anchors[side as 0 | 1];
        const at = new Vector3(p[0], p[1], p[2] ?? 0);
        if (body === null) fixed.push(new Box3(at, at.clone()));
      });
    }
    for (const box of fixed) {
      const both = moving.clone().union(box);
      if (length(both) <= WHOLE * size) out.union(box);
      else if (near.intersectsBox(box)) out.union(box.clone().intersect(near));
    }
    // A body alone does not fill the picture.
    if (moving.getSize(new Vector3()).equals(out.getSize(new Vector3()))) out.expandByScalar(0.5 * AIR * Math.max(...this.each(q, (i) => this.moves(i)).map(length), 0));
    if (picture.dimension === 2) out.min.z = out.max.z = 0;
    return this.stand(out);
  }

  /** Whether half-spaces stand below and on all sides. */
  private enclosed(): boolean {
    const up = upwards(this.picture);
    const axes = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)].slice(0, this.picture.dimension);
    const sides = axes.filter((axis) => Math.abs(axis.dot(up)) < 0.5).flatMap((axis) => [axis, axis.clone().negate()]);
    return [up, ...sides].every((towards) => this.planes.some(({ normal }) => normal.dot(towards) > 0.7));
  }

  /** Whether joints hold everything that moves to what does not, over other bodies or directly. */
  private tied(): boolean {
    const { bodies, joints } = this.picture;
    const held = bodies.map((_, i) => !this.moves(i));
    const next: number[][] = bodies.map(() => []);
    const found: number[] = held.flatMap((is, i) => (is ? [i] : []));
    const hold = (body: number): void => {
      if (held[body]) return;
      held[body] = true;
      found.push(body);
    };
    for (const { kind, bodies: [a, b] } of joints) {
      if (RAILS.includes(kind)) continue;
      if (a !== null && b !== null) {
        next[a]!.push(b);
        next[b]!.push(a);
      } else if (a !== null || b !== null) hold((a ?? b)!);
    }
    for (let body = found.pop(); body !== undefined; body = found.pop()) next[body]!.forEach(hold);
    return held.every(Boolean);
  }

  /** Lets a box reach to the ground below it and to walls beside it. */
  private stand(box: Box3): Box3 {
    const size = Math.max(length(box), 1e-6);
    const middle = box.getCenter(new Vector3());
    for (const { normal, offset, ground } of this.planes) {
      const away = normal.dot(middle) - offset;
      if (!(away > 0 && away <= (ground ? DEEP : NEAR) * size)) continue;
      const foot = middle.clone().addScaledVector(normal, -away);
      box.expandByPoint(foot);
      if (this.picture.dimension === 2) box.expandByPoint(foot.addScaledVector(normal, -BELOW * Math.max(size, away)));
    }
    return box;
  }
}
