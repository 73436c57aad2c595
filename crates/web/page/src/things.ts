// What can be looked at, a body, a joint or a contact, and the numbers that each has in every shot.
import { Matrix4, Quaternion, Vector3 } from "three";
import { poseMatrix } from "./batches";
import type { Layers } from "./overlay";
import { quantities, widths, type JointPicture, type Picture } from "./picture";
import type { Stage } from "./stage";
import { TOUCH, type Shot, type Track } from "./track";

export type Thing = { kind: "body"; index: number } | { kind: "joint"; index: number } | { kind: "contact"; bodies: [number, number] };

/** A number of a thing over time. */
export interface Quantity {
  key: string;
  label: string;
  unit: string;
  of: (shot: Shot) => number;
  /** Size below which a difference is rounding. */
  floor: (track: Track) => number;
}

export const UNITS: Record<string, string> = {
  x: "m", y: "m", z: "m", angle: "rad", vx: "m/s", vy: "m/s", vz: "m/s", spin: "rad/s", wx: "rad/s", wy: "rad/s", wz: "rad/s", speed: "m/s", force: "N",
};

/** Shots carry poses and velocities in single precision: differences below this share of their size are rounding. */
const SINGLE = 1e-6;
/** Share of a quantity's scale below which what the engine computed is rounding. */
export const ROUNDING = 1e-12;
/** How near a click must be to a dot [pixels]. */
const NEAR = 9;

export const nameOf = (thing: Thing, picture: Picture): string => {
  const body = (i: number): string => picture.bodies[i]?.name ?? "world";
  if (thing.kind === "body") return body(thing.index);
  return thing.kind === "joint" ? (picture.joints[thing.index]?.name ?? "") : `${body(thing.bodies[0])} on ${body(thing.bodies[1])}`;
};

/** The contact or joint drawn within a few pixels of a place. */
export function find(picture: Picture, q: Float32Array, shot: Shot, layers: Layers, stage: Stage, x: number, y: number): Thing | null {
  let best: Thing | null = null;
  let least = NEAR;
  const at = new Vector3();
  const offer = (p: ArrayLike<number>, thing: Thing): void => {
    stage.project(p[0]!, p[1]!, p[2] ?? 0, at);
    const away = Math.hypot(at.x - x, at.y - y);
    if (at.z < 1 && away < least) [best, least] = [thing, away];
  };
  if (layers.contacts || layers.impulses) {
    for (let i = 0; i < shot.touches.length; i += TOUCH) {
      offer(shot.touches.subarray(i + 2, i + 5), { kind: "contact", bodies: [shot.touches[i]!, shot.touches[i + 1]!] });
    }
  }
  if (layers.joints) picture.joints.forEach((joint, index) => offer(ends(joint, q, picture.dimension)[0].toArray(), { kind: "joint", index }));
  return best;
}

const frames = [new Matrix4(), new Matrix4()] as const;

/** The poses of the two bodies of a joint; that of the world is the identity. */
function poses(joint: JointPicture, q: Float32Array, dimension: number): readonly [Matrix4, Matrix4] {
  joint.bodies.forEach((body, side) => (body === null ? frames[side as 0 | 1].identity() : poseMatrix(q, body, dimension, frames[side as 0 | 1])));
  return frames;
}

const vector = (p: number[]): Vector3 => new Vector3(p[0], p[1], p[2] ?? 0);

/** The anchors of a joint in the world. */
export function ends(joint: JointPicture, q: Float32Array, dimension: number): [Vector3, Vector3] {
  const [a, b] = poses(joint, q, dimension);
  return [vector(joint.anchors[0]).applyMatrix4(a), vector(joint.anchors[1]).applyMatrix4(b)];
}

/** Velocity of a point of a body, or of the world. */
function velocity(shot: Shot, body: number | null, p: Vector3, dimension: number): Vector3 {
  if (body === null) return new Vector3();
  const { coords, dof } = widths(dimension);
  const [x, v] = [shot.q.subarray(coords * body), shot.v.subarray(dof * body)];
  const arm = p.clone().sub(new Vector3(x[0], x[1], dimension === 3 ? x[2] : 0));
  const spin = dimension === 3 ? new Vector3(v[3], v[4], v[5]) : new Vector3(0, 0, v[2]);
  return spin.cross(arm).add(new Vector3(v[0], v[1], dimension === 3 ? v[2] : 0));
}

/** The free coordinate of a joint [rad or m] and its rate, as the engine measures them; length and rate of what joins two points. */
export function coordinate(joint: JointPicture, shot: Shot, dimension: number): [number, number] {
  const [pa, pb] = ends(joint, shot.q, dimension);
  const [a, b] = poses(joint, shot.q, dimension);
  const [ia, ib] = joint.bodies;
  if (joint.coordinate === "angle" && dimension === 2) {
    const turn = (i: number | null): number => (i === null ? 0 : shot.q[3 * i + 2]!);
    const rate = (i: number | null): number => (i === null ? 0 : shot.v[3 * i + 2]!);
    return [turn(ia) - turn(ib) - joint.reference[0]!, rate(ia) - rate(ib)];
  }
  if (joint.coordinate === "angle") {
    const turn = new Quaternion().setFromRotationMatrix(b).invert().multiply(new Quaternion().setFromRotationMatrix(a));
    const [w, x, y, z] = joint.reference as [number, number, number, number];
    turn.multiply(new Quaternion(x, y, z, w).invert());
    const axis = vector(joint.axes[1]);
    const angle = 2 * Math.atan2(turn.x * axis.x + turn.y * axis.y + turn.z * axis.z, turn.w);
    const spin = (i: number | null): Vector3 => (i === null ? new Vector3() : new Vector3(...(shot.v.subarray(6 * i + 3, 6 * i + 6) as unknown as [number, number, number])));
    const half = Math.PI;
    return [angle <= -half ? angle + 2 * half : angle > half ? angle - 2 * half : angle, spin(ia).sub(spin(ib)).dot(axis.transformDirection(b))];
  }
  const apart = pa.clone().sub(pb);
  if (joint.coordinate === "slide") {
    const along = vector(joint.axes[0]).transformDirection(a);
    return [along.dot(apart), along.dot(velocity(shot, ia, pb, dimension).sub(velocity(shot, ib, pb, dimension)))];
  }
  const length = apart.length();
  const relative = velocity(shot, ia, pa, dimension).sub(velocity(shot, ib, pb, dimension));
  return [length, length > 0 ? relative.dot(apart) / length : 0];
}

/** Impulses of a shot's contacts as forces [N]: of those of one body, or of those between two. */
export function contactForce(shot: Shot, step: number, wanted: (a: number, b: number) => 1 | -1 | 0): { sum: Vector3; normal: number; friction: number; count: number } {
  const sum = new Vector3();
  let [normal, friction, count] = [0, 0, 0];
  const t = shot.touches;
  for (let i = 0; i < t.length; i += TOUCH) {
    const side = wanted(t[i]!, t[i + 1]!);
    if (side === 0) continue;
    const j = new Vector3(t[i + 8]!, t[i + 9]!, t[i + 10]!).divideScalar(step);
    const along = j.x * t[i + 5]! + j.y * t[i + 6]! + j.z * t[i + 7]!;
    normal += along;
    friction += Math.sqrt(Math.max(0, j.lengthSq() - along * along));
    sum.addScaledVector(j, side);
    count++;
  }
  return { sum, normal, friction, count };
}

/** Largest of a number over the shots that a plot would draw. */
const most = (track: Track, of: (shot: Shot) => number): number => {
  const stride = Math.max(1, Math.floor(track.shots.length / 200));
  let found = 0;
  for (let i = 0; i < track.shots.length; i += stride) found = Math.max(found, Math.abs(of(track.shots[i]!)));
  return found;
};

/** Scales of a whole run: a length, and the speed that such a length gives under gravity or that something has. */
function scales(picture: Picture, track: Track): { length: number; speed: number } {
  const { coords, dof, dimension } = track;
  let [length, speed] = [0, 0];
  const stride = Math.max(1, Math.floor(track.shots.length / 16));
  for (let i = 0; i < track.shots.length; i += stride) {
    const { q, v } = track.shots[i]!;
    for (let b = 0; b < picture.bodies.length; b++) {
      length = Math.max(length, Math.hypot(...q.subarray(b * coords, b * coords + dimension)));
      speed = Math.max(speed, Math.hypot(...v.subarray(b * dof, b * dof + dimension)));
    }
  }
  return { length: length || 1, speed: Math.max(speed, Math.sqrt(Math.hypot(...picture.gravity) * (length || 1))) || 1 };
}

/** Every number of a thing. */
export function numbersOf(thing: Thing, picture: Picture, books: string[]): Quantity[] {
  const { dimension, step } = picture;
  const out: Quantity[] = [];
  const add = (label: string, unit: string, of: (shot: Shot) => number, floor?: (track: Track) => number): void => {
    const key = `${thing.kind}.${nameOf(thing, picture)}.${label}`;
    out.push({ key, label, unit, of, floor: floor ?? ((track) => SINGLE * most(track, of)) });
  };
  const touches = books.includes("contacts");
  if (thing.kind === "body") {
    const { index } = thing;
    for (const name of quantities(dimension)) {
      const of = (shot: Shot): number => quantity(shot, dimension, index, name);
      const speed = (shot: Shot): number => quantity(shot, dimension, index, "speed");
      const unit = UNITS[name] ?? "";
      // A velocity that is rounding beside the speed of the body, or beside what moves here at all, is none.
      add(name, unit, of, (track) => {
        const scale = scales(picture, track);
        const all = unit === "m" ? scale.length : unit === "m/s" ? scale.speed : unit === "rad/s" ? scale.speed / scale.length : 1;
        return Math.max(ROUNDING * all, SINGLE * Math.max(most(track, of), /^v/.test(name) ? most(track, speed) : 0));
      });
    }
    if (touches) {
      const on = (a: number, b: number): 1 | -1 | 0 => (a === index ? 1 : b === index ? -1 : 0);
      add("contact force", "N", (shot) => contactForce(shot, step, on).sum.length());
      (["x", "y", "z"] as const).slice(0, dimension).forEach((axis) => add(`contact force ${axis}`, "N", (shot) => contactForce(shot, step, on).sum[axis]));
    }
  } else if (thing.kind === "contact") {
    const [a, b] = thing.bodies;
    const between = (c: number, d: number): 1 | -1 | 0 => (c === a && d === b ? 1 : c === b && d === a ? -1 : 0);
    add("normal force", "N", (shot) => contactForce(shot, step, between).normal);
    add("friction force", "N", (shot) => contactForce(shot, step, between).friction);
    add("points", "", (shot) => contactForce(shot, step, between).count);
  } else {
    const joint = picture.joints[thing.index]!;
    const unit = joint.coordinate === "angle" ? "rad" : "m";
    const label = joint.coordinate === "angle" ? "angle" : joint.coordinate === "slide" ? "position" : "length";
    add(label, unit, (shot) => coordinate(joint, shot, dimension)[0]);
    add("rate", `${unit}/s`, (shot) => coordinate(joint, shot, dimension)[1]);
    if (joint.kind === "spring") {
      add("force", "N", (shot) => {
        const [now, rate] = coordinate(joint, shot, dimension);
        return -joint.stiffness * (now - joint.rest) - joint.damping * rate;
      });
    }
  }
  return out;
}

/** A number of a body at a shot, by the names of `quantities`. */
export function quantity(shot: Shot, dimension: number, body: number, name: string): number {
  const { coords, dof } = widths(dimension);
  const [q, v] = [body * coords, body * dof];
  const linear = ["x", "y", "z"].slice(0, dimension);
  const at = linear.indexOf(name);
  if (at >= 0) return shot.q[q + at]!;
  if (name === "angle") return shot.q[q + 2]!;
  if (name === "spin") return shot.v[v + 2]!;
  if (name === "speed") return Math.hypot(...shot.v.subarray(v, v + dimension));
  if (name.startsWith("v")) return shot.v[v + linear.indexOf(name[1]!)]!;
  return shot.v[v + dimension + ["x", "y", "z"].indexOf(name[1]!)]!;
}
