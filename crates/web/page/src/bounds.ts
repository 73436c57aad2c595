// How large things are: the box of a scene, and how far a shape reaches.
import { Box3, Vector3 } from "three";
import type { Picture } from "./picture";

/** The box of all bounded shapes at some poses. */
export function bounds(picture: Picture, states: Float32Array[]): Box3 {
  const box = new Box3();
  const width = picture.dimension === 2 ? 3 : 7;
  const reaches = picture.bodies.map((b) => Math.max(0, ...b.shapes.map((s) => reach(s, picture.dimension))));
  for (const q of states) {
    picture.bodies.forEach((b, i) => {
      const r = reaches[i]!;
      if (!Number.isFinite(r) || (b.kind === "static" && r > 1e3)) return;
      const p = new Vector3(q[width * i], q[width * i + 1], picture.dimension === 3 ? q[width * i + 2] : 0);
      const rise = picture.dimension === 3 ? r : 0;
      box.expandByPoint(p.clone().addScalar(-r)).expandByPoint(p.clone().addScalar(r));
      if (rise === 0) box.min.z = box.max.z = 0;
    });
  }
  if (box.isEmpty()) box.set(new Vector3(-1, -1, 0), new Vector3(1, 1, 0));
  return box;
}

/** How far a shape reaches from the origin of its body [m]. */
function reach(shape: { kind: string; size: number[]; pose: number[]; points?: number[] }, dimension: number): number {
  const s = shape.size;
  const offset = Math.hypot(...shape.pose.slice(0, dimension));
  const farthest = (points: number[]): number => {
    let most = 0;
    for (let i = 0; i < points.length; i += dimension) most = Math.max(most, Math.hypot(...points.slice(i, i + dimension)));
    return most;
  };
  switch (shape.kind) {
    case "ball":
      return offset + s[0]!;
    case "box":
      return offset + 0.5 * Math.hypot(...s);
    case "capsule":
      return offset + 0.5 * s[0]! + s[1]!;
    case "cylinder":
    case "cone":
      return offset + Math.hypot(0.5 * s[0]!, s[1]!);
    case "half_space":
      return Infinity;
    default:
      return offset + farthest(shape.points ?? s);
  }
}
