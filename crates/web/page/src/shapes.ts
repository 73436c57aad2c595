// Shapes as triangles. In the plane every triangle carries how far it is from the rim, 0 there and 1 inside, so that a shader can draw an
// outline of constant width whatever the zoom.
import {
  BoxGeometry, BufferAttribute, BufferGeometry, CapsuleGeometry, ConeGeometry, CylinderGeometry, IcosahedronGeometry, Matrix4, Quaternion,
  SphereGeometry, Vector3,
} from "three";
import type { ShapePicture } from "./picture";

/** A geometry that several shapes share, and how this shape is placed in its body. */
export interface Part {
  /** Equal keys have equal geometries. */
  key: string;
  /** What a hand can reach for; it is drawn as well, unless it is round and its shader makes it of a square. */
  geometry: () => BufferGeometry;
  local: Matrix4;
  /** A disc or ball, whose turning needs a mark. */
  round: boolean;
  /** A half-space or heightfield: ground rather than a thing. */
  ground: boolean;
  /** A half-space that others bound. */
  wall?: boolean;
}

/** Bodies above which round things are drawn with fewer triangles. */
export const CROWD = 300;
/** Corners of a disc that is reached for, and of half the rim of a capsule, alone and in a crowd. */
const DISC = 32;
const CAP = [24, 8] as const;

/** Two triangles that a disc or ball is drawn on. */
export function square(): BufferGeometry {
  const geometry = new BufferGeometry();
  // A little larger than the disc, for its feathered rim.
  const h = 1.1;
  geometry.setAttribute("position", new BufferAttribute(new Float32Array([-h, -h, 0, h, -h, 0, h, h, 0, -h, h, 0]), 3));
  geometry.setIndex([0, 1, 2, 0, 2, 3]);
  return geometry;
}

function fan(points: number[]): BufferGeometry {
  const count = points.length / 2;
  let cx = 0;
  let cy = 0;
  for (let i = 0; i < count; i++) {
    cx += points[2 * i]! / count;
    cy += points[2 * i + 1]! / count;
  }
  const position: number[] = [];
  const edge: number[] = [];
  for (let i = 0; i < count; i++) {
    const j = (i + 1) % count;
    position.push(cx, cy, 0, points[2 * i]!, points[2 * i + 1]!, 0, points[2 * j]!, points[2 * j + 1]!, 0);
    edge.push(1, 0, 0);
  }
  return flat(position, edge);
}

function flat(position: number[], edge: number[]): BufferGeometry {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(position), 3));
  geometry.setAttribute("edge", new BufferAttribute(new Float32Array(edge), 1));
  return geometry;
}

function arc(cx: number, cy: number, r: number, from: number, to: number, corners: number): number[] {
  const out: number[] = [];
  for (let i = 0; i <= corners; i++) {
    const a = from + ((to - from) * i) / corners;
    out.push(cx + r * Math.cos(a), cy + r * Math.sin(a));
  }
  return out;
}

const disc = (): BufferGeometry => fan(arc(0, 0, 1, 0, 2 * Math.PI, DISC).slice(0, 2 * DISC));

function capsule(length: number, r: number, corners: number): BufferGeometry {
  const h = length / 2;
  return fan([...arc(h, 0, r, -Math.PI / 2, Math.PI / 2, corners), ...arc(-h, 0, r, Math.PI / 2, (3 * Math.PI) / 2, corners)]);
}

/** The ground under a polyline, down to `depth` below its lowest point. */
function underground(points: number[], depth: number): BufferGeometry {
  let low = Infinity;
  for (let i = 1; i < points.length; i += 2) low = Math.min(low, points[i]!);
  const bottom = low - depth;
  const position: number[] = [];
  const edge: number[] = [];
  for (let i = 0; i + 3 < points.length; i += 2) {
    const [x0, y0, x1, y1] = points.slice(i, i + 4) as [number, number, number, number];
    position.push(x0, y0, 0, x1, y1, 0, x1, bottom, 0, x0, y0, 0, x1, bottom, 0, x0, bottom, 0);
    edge.push(0, 0, (y1 - bottom) / depth, 0, (y1 - bottom) / depth, (y0 - bottom) / depth);
  }
  return flat(position, edge);
}

/** A shape of the plane; `size` is that of the scene, for what reaches to infinity. */
export function planarPart(shape: ShapePicture, size: number, crowd: boolean): Part {
  const [x, y, angle] = shape.pose as [number, number, number];
  const local = new Matrix4().makeRotationZ(angle).setPosition(x, y, 0);
  const part = (key: string, geometry: () => BufferGeometry, scale?: [number, number], round = false, ground = false): Part => ({
    key,
    geometry,
    local: scale ? local.scale(new Vector3(scale[0], scale[1], 1)) : local,
    round,
    ground,
  });
  const s = shape.size;
  const own = `${shape.kind} ${s.join(" ")}`;
  switch (shape.kind) {
    case "ball":
      return part("disc", disc, [s[0]!, s[0]!], true);
    case "box":
      return part("box", () => fan([-0.5, -0.5, 0.5, -0.5, 0.5, 0.5, -0.5, 0.5]), [s[0]!, s[1]!]);
    case "capsule":
      return part(own, () => capsule(s[0]!, s[1]!, CAP[crowd ? 1 : 0]));
    case "segment": {
      const [ax, ay, bx, by] = s as [number, number, number, number];
      const length = Math.hypot(bx - ax, by - ay);
      const turn = new Matrix4().makeRotationZ(Math.atan2(by - ay, bx - ax)).setPosition((ax + bx) / 2, (ay + by) / 2, 0);
      const made = part(own, () => capsule(length, size * 0.004, CAP[1]), undefined, false, true);
      made.local = local.clone().multiply(turn);
      return made;
    }
    case "half_space": {
      const far = 40 * size;
      const made = part(own, () => underground([-far, 0, far, 0], far), undefined, false, true);
      made.local = local.clone().multiply(new Matrix4().makeRotationZ(Math.atan2(s[1]!, s[0]!) - Math.PI / 2));
      return made;
    }
    case "wall":
      return { ...part(`wall ${shape.points}`, () => fan(shape.points!), undefined, false, true), wall: true };
    case "heightfield":
      return part(`${own} ${shape.points}`, () => underground(shape.points!, 10 * size), undefined, false, true);
    default:
      return part(own, () => fan(s));
  }
}

function surface(shape: ShapePicture): BufferGeometry {
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(shape.points!), 3));
  geometry.setIndex(shape.triangles!);
  const split = geometry.toNonIndexed();
  split.computeVertexNormals();
  return split;
}

/** A shape of space. */
export function spatialPart(shape: ShapePicture, size: number, crowd: boolean): Part {
  const [x, y, z, w, i, j, k] = shape.pose as [number, number, number, number, number, number, number];
  const place = (scale: Vector3, turn = new Quaternion()): Matrix4 =>
    new Matrix4().compose(new Vector3(x, y, z), new Quaternion(i, j, k, w).multiply(turn), scale);
  const s = shape.size;
  const own = `${shape.kind} ${s.join(" ")}`;
  const one = new Vector3(1, 1, 1);
  // The library has its round solids along y, scenes along z.
  const upright = new Quaternion().setFromAxisAngle(new Vector3(1, 0, 0), Math.PI / 2);
  switch (shape.kind) {
    case "ball": {
      const geometry = crowd ? () => new IcosahedronGeometry(1, 2) : () => new SphereGeometry(1, 48, 32);
      return { key: "ball", geometry, local: place(new Vector3(s[0], s[0], s[0])), round: true, ground: false };
    }
    case "box":
      return { key: "box", geometry: () => new BoxGeometry(), local: place(new Vector3(s[0], s[1], s[2])), round: false, ground: false };
    case "capsule":
      return {
        key: own, geometry: () => new CapsuleGeometry(s[1]!, s[0]!, crowd ? 4 : 12, crowd ? 12 : 32), local: place(one, upright), round: false, ground: false,
      };
    case "cylinder":
      return {
        key: "cylinder", geometry: () => new CylinderGeometry(1, 1, 1, crowd ? 24 : 48), local: place(new Vector3(s[1], s[0], s[1]), upright),
        round: false, ground: false,
      };
    case "cone":
      return {
        key: "cone", geometry: () => new ConeGeometry(1, 1, crowd ? 24 : 48), local: place(new Vector3(s[1], s[0], s[1]), upright), round: false, ground: false,
      };
    case "segment": {
      const a = new Vector3(s[0], s[1], s[2]);
      const b = new Vector3(s[3], s[4], s[5]);
      const along = b.clone().sub(a);
      const turn = new Quaternion().setFromUnitVectors(new Vector3(0, 1, 0), along.clone().normalize());
      const inner = new Matrix4().compose(a.add(b).multiplyScalar(0.5), turn, one);
      return {
        key: own, geometry: () => new CapsuleGeometry(size * 0.004, along.length(), 4, 12), local: place(one).multiply(inner), round: false, ground: false,
      };
    }
    case "heightfield":
      return { key: `${own} ${shape.points}`, geometry: () => surface(shape), local: place(one), round: false, ground: true };
    default:
      return { key: `${own} ${shape.points}`, geometry: () => surface(shape), local: place(one), round: false, ground: false };
  }
}
