// The boxes of bodies from their shapes and poses, where no engine tells those it searched with.
import { Matrix4 } from "three";
import { poseMatrix } from "./batches";
import type { Picture, ShapePicture } from "./picture";

const whole = new Matrix4();
const body = new Matrix4();

export class Boxes {
  private readonly locals: Matrix4[][];
  private readonly corners: Float32Array;

  constructor(private readonly picture: Picture) {
    const { bodies, dimension } = picture;
    this.locals = bodies.map((b) => b.shapes.map((s) => poseMatrix(Float32Array.from(s.pose), 0, dimension, new Matrix4())));
    this.corners = new Float32Array(2 * dimension * bodies.length);
  }

  /** Least and greatest corner of the box of every body; not finite where there is none. */
  at(q: Float32Array): Float32Array {
    const { bodies, dimension } = this.picture;
    const out = this.corners;
    bodies.forEach((b, i) => {
      poseMatrix(q, i, dimension, body);
      const at = 2 * dimension * i;
      out.fill(Infinity, at, at + dimension).fill(-Infinity, at + dimension, at + 2 * dimension);
      b.shapes.forEach((shape, k) => {
        const m = whole.multiplyMatrices(body, this.locals[i]![k]!).elements;
        for (let axis = 0; axis < dimension; axis++) {
          const [low, high] = span(shape, [m[axis]!, m[4 + axis]!, m[8 + axis]!], dimension);
          out[at + axis] = Math.min(out[at + axis]!, m[12 + axis]! + low);
          out[at + dimension + axis] = Math.max(out[at + dimension + axis]!, m[12 + axis]! + high);
        }
      });
    });
    return out;
  }
}

/** How far a shape reaches along a direction and against it, seen from its own origin and in its own frame [m]. */
function span(shape: ShapePicture, along: [number, number, number], dimension: number): [number, number] {
  const s = shape.size;
  // Round solids stand along z, in the plane along x.
  const axis = along[dimension === 2 ? 0 : 2];
  const aside = Math.sqrt(Math.max(0, 1 - axis * axis));
  const even = (x: number): [number, number] => [-x, x];
  switch (shape.kind) {
    case "ball":
      return even(s[0]!);
    case "box":
      return even(0.5 * s.reduce((sum, side, k) => sum + side * Math.abs(along[k]!), 0));
    case "capsule":
      return even(0.5 * s[0]! * Math.abs(axis) + s[1]!);
    case "cylinder":
      return even(0.5 * s[0]! * Math.abs(axis) + s[1]! * aside);
    case "cone": {
      const top = 0.5 * s[0]! * axis;
      return [Math.min(top, -top - s[1]! * aside), Math.max(top, -top + s[1]! * aside)];
    }
    case "half_space":
      return [-Infinity, Infinity];
    default: {
      const points = shape.points ?? s;
      let [low, high] = [Infinity, -Infinity];
      for (let i = 0; i < points.length; i += dimension) {
        let x = 0;
        for (let k = 0; k < dimension; k++) x += points[i + k]! * along[k]!;
        if (x < low) low = x;
        if (x > high) high = x;
      }
      return [low, high];
    }
  }
}
