// What never changes in what is drawn; written by the crate's picture.rs.

export interface ShapePicture {
  kind: string;
  /** In the order of the scene's keys: ball r; box full extents; capsule, cylinder, cone length and r; corners of convex and segment. */
  size: number[];
  pose: number[];
  points?: number[];
  triangles?: number[];
}

export interface BodyPicture {
  name: string;
  kind: "dynamic" | "static" | "kinematic";
  color: number;
  mass: number | null;
  friction: number;
  restitution: number;
  shapes: ShapePicture[];
}

export interface JointPicture {
  name: string;
  kind: string;
  bodies: [number | null, number | null];
  anchors: [number[], number[]];
  axes: [number[], number[]];
  /** What its free coordinate is, if it has one. */
  coordinate: "angle" | "slide" | null;
  /** Orientation of a in the frame of b where the coordinate is 0. */
  reference: number[];
  limits: [number, number] | null;
  /** What drives it: towards a rate, to a place, or by a control; with its largest torque or force, null without a bound. */
  motor: { kind: "velocity" | "position" | "control"; target: number; max: number | null } | null;
  friction: number;
  length: number;
  rest: number;
  stiffness: number;
  damping: number;
}

export interface Picture {
  dimension: 2 | 3;
  name: string;
  description: string;
  duration: number;
  step: number;
  gravity: number[];
  bodies: BodyPicture[];
  joints: JointPicture[];
}

/** Numbers of a pose and of a velocity. */
export const widths = (dimension: number): { coords: number; dof: number } =>
  dimension === 2 ? { coords: 3, dof: 3 } : { coords: 7, dof: 6 };

/** Names of the numbers of a body, poses first. */
export const quantities = (dimension: number): string[] =>
  dimension === 2
    ? ["x", "y", "angle", "vx", "vy", "spin", "speed"]
    : ["x", "y", "z", "vx", "vy", "vz", "wx", "wy", "wz", "speed"];
