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
  shapes: ShapePicture[];
}

export interface JointPicture {
  name: string;
  kind: string;
  bodies: [number | null, number | null];
  anchors: [number[], number[]];
  axes: [number[], number[]];
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
