// Half-spaces that bound each other, as walls of the scene's extent: a bin is drawn as a bin, not as planes without end.
import { Box3, Matrix4, Quaternion, Vector3 } from "three";
import { halfSpaces, upwards, type HalfSpace } from "./framing";
import type { Picture, ShapePicture } from "./picture";

/** How far walls reach beyond what is in view, and how thick they are in the plane; shares of the scene's size. */
const BEYOND = 0.04;
const THICK = 0.035;
/** Half of a plane that is not bounded, in sizes of the scene. */
const FAR = 30;

type Side = Pick<HalfSpace, "normal" | "offset">;

/** The turn that takes the last axis to the normal of a half-space of space. */
export const turnTo = (normal: number[]): Matrix4 =>
  new Matrix4().makeRotationFromQuaternion(new Quaternion().setFromUnitVectors(new Vector3(0, 0, 1), new Vector3(...(normal as [number, number, number])).normalize()));

/**
 * The same picture with the half-spaces that are walls as shapes of kind "wall". Their `points` are corners: in the plane in the shape's frame, in
 * space in that frame turned so that its last axis is the normal.
 */
export function walled(picture: Picture, q: Float32Array, home: Box3, size: number): Picture {
  // Planes that move are drawn whole: their bounds would move too.
  const planes = halfSpaces(picture, q).filter(({ body }) => picture.bodies[body]!.kind === "static");
  if (planes.length < 2) return picture;
  const extent = home.clone().expandByScalar(BEYOND * size);
  const made = new Map<ShapePicture, ShapePicture>();
  for (const plane of planes) {
    const others = planes.filter((other) => other !== plane);
    const found = picture.dimension === 2 ? slab(plane, others, extent, size, upwards(picture)) : panel(plane, others, extent, size);
    if (!found) continue;
    const back = plane.frame.clone();
    if (picture.dimension === 3) back.multiply(turnTo(plane.shape.size));
    back.invert();
    const points = found.flatMap((p) => p.applyMatrix4(back).toArray().slice(0, picture.dimension));
    made.set(plane.shape, { ...plane.shape, kind: "wall", points });
  }
  if (made.size === 0) return picture;
  return { ...picture, bodies: picture.bodies.map((b) => ({ ...b, shapes: b.shapes.map((s) => made.get(s) ?? s) })) };
}

/** The faces of a box as half-spaces that keep its inside. */
function sides(box: Box3, dimension: number): Side[] {
  return (["x", "y", "z"] as const).slice(0, dimension).flatMap((axis) => {
    const normal = new Vector3();
    normal[axis] = 1;
    return [{ normal, offset: box.min[axis] }, { normal: normal.clone().negate(), offset: -box.max[axis] }];
  });
}

/** The point of a plane nearest to another. */
const onto = ({ normal, offset }: Side, p: Vector3): Vector3 => p.clone().addScaledVector(normal, offset - normal.dot(p));

/** What a half-space leaves of a convex polygon. */
function clip(polygon: Vector3[], { normal, offset }: Side): Vector3[] {
  const out: Vector3[] = [];
  polygon.forEach((a, i) => {
    const b = polygon[(i + 1) % polygon.length]!;
    const [da, db] = [normal.dot(a) - offset, normal.dot(b) - offset];
    if (da >= 0) out.push(a);
    if (da * db < 0) out.push(a.clone().lerp(b, da / (da - db)));
  });
  return out;
}

const reaches = (polygon: Vector3[], far: number, middle: Vector3): boolean => polygon.some((p) => p.distanceTo(middle) >= 0.999 * far);

/** A wall of the plane in the world, thick to the side where nothing can be. */
function slab(plane: HalfSpace, others: HalfSpace[], extent: Box3, size: number, up: Vector3): Vector3[] | null {
  const { normal } = plane;
  const along = new Vector3(normal.y, -normal.x, 0);
  const middle = onto(plane, extent.getCenter(new Vector3()));
  const far = FAR * size;
  let ends = [middle.clone().addScaledVector(along, -far), middle.clone().addScaledVector(along, far)];
  for (const other of others) ends = clip(ends, other).slice(0, 2);
  if (ends.length < 2) return null;
  const open = ends.map((p) => reaches([p], far, middle));
  // Ground goes on for ever unless something stands on either side of it.
  if (plane.ground && open.includes(true)) return null;
  // A wall beside things ends where the view does; one over or under them, or open on both sides, goes on like the motion along it.
  const beside = Math.abs(normal.dot(up)) < 0.5 && !(open[0] && open[1]);
  if (beside) for (const side of sides(extent, 2)) ends = clip(ends, side).length >= 2 ? clip(ends, side).slice(0, 2) : ends;
  ends.sort((a, b) => along.dot(a) - along.dot(b));
  const thick = THICK * size;
  // Ends that meet another wall go on behind it, so that corners are closed.
  const [from, to] = [ends[0]!.clone(), ends[1]!.clone()];
  if (!open[0]) from.addScaledVector(along, -thick);
  if (!open[1]) to.addScaledVector(along, thick);
  return [from, to, to.clone().addScaledVector(normal, -thick), from.clone().addScaledVector(normal, -thick)];
}

/** A wall or the floor of a bin in space. */
function panel(plane: HalfSpace, others: HalfSpace[], extent: Box3, size: number): Vector3[] | null {
  const turn = plane.frame.clone().multiply(turnTo(plane.shape.size));
  const [x, y] = [new Vector3(), new Vector3()];
  turn.extractBasis(x, y, new Vector3());
  const middle = onto(plane, extent.getCenter(new Vector3()));
  const far = FAR * size;
  let polygon = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([a, b]) => middle.clone().addScaledVector(x, a! * far).addScaledVector(y, b! * far));
  for (const other of others) polygon = clip(polygon, other);
  if (polygon.length < 3 || (plane.ground && reaches(polygon, far, middle))) return null;
  if (!plane.ground) for (const side of sides(extent, 3)) polygon = clip(polygon, side).length >= 3 ? clip(polygon, side) : polygon;
  return polygon;
}
