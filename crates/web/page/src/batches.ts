// Bodies in batches: one draw call for all shapes of one geometry, however many bodies there are.
import { BufferGeometry, Color, DynamicDrawUsage, InstancedMesh, Matrix4, ShaderMaterial, type Material, type Object3D } from "three";
import { corners, Merged, MOST_CORNERS } from "./merged";
import type { Picture } from "./picture";
import { CROWD, planarPart, spatialPart, square, type Part } from "./shapes";
import type { Theme } from "./theme";

interface Batch {
  mesh: InstancedMesh | Merged;
  /** Sixteen numbers of each shape: its matrix, and in the free places of a merged mesh its colour. */
  data: Float32Array;
  /** What is drawn, and what a hand can reach for. */
  drawn: BufferGeometry;
  solid: BufferGeometry;
  bodies: number[];
  locals: Matrix4[];
  ground: boolean[];
}

const body = new Matrix4();
const whole = new Matrix4();
const tint = new Color();

/** The matrix of a body's pose. */
export function poseMatrix(q: Float32Array, index: number, dimension: number, out: Matrix4): Matrix4 {
  const e = out.elements;
  if (dimension === 2) {
    const at = 3 * index;
    const c = Math.cos(q[at + 2]!);
    const s = Math.sin(q[at + 2]!);
    out.set(c, -s, 0, q[at]!, s, c, 0, q[at + 1]!, 0, 0, 1, 0, 0, 0, 0, 1);
    return out;
  }
  const at = 7 * index;
  const [w, x, y, z] = [q[at + 3]!, q[at + 4]!, q[at + 5]!, q[at + 6]!];
  e[0] = 1 - 2 * (y * y + z * z);
  e[1] = 2 * (x * y + w * z);
  e[2] = 2 * (x * z - w * y);
  e[3] = 0;
  e[4] = 2 * (x * y - w * z);
  e[5] = 1 - 2 * (x * x + z * z);
  e[6] = 2 * (y * z + w * x);
  e[7] = 0;
  e[8] = 2 * (x * z + w * y);
  e[9] = 2 * (y * z - w * x);
  e[10] = 1 - 2 * (x * x + y * y);
  e[11] = 0;
  e[12] = q[at]!;
  e[13] = q[at + 1]!;
  e[14] = q[at + 2]!;
  e[15] = 1;
  return out;
}

export class Batches {
  private readonly batches: Batch[] = [];
  private readonly moving: Batch[] = [];

  /**
   * `look` gives the material of a part, or none where it is drawn otherwise. Bodies that never move are batched apart, and may have another
   * parent. With `squares` discs and balls are drawn on squares, which their material must know; with `lean` the rest has few triangles, and
   * copies are merged.
   */
  constructor(
    private readonly picture: Picture,
    size: number,
    parent: (still: boolean) => Object3D,
    { squares, lean }: { squares: boolean; lean: boolean },
    look: (part: Part, still: boolean) => Material | null,
    prepare: (mesh: InstancedMesh | Merged) => void = () => {},
  ) {
    const crowd = lean || picture.bodies.length > CROWD;
    const groups = new Map<string, { part: Part; still: boolean; members: { body: number; part: Part }[] }>();
    picture.bodies.forEach((b, index) => {
      for (const shape of b.shapes) {
        if (picture.dimension === 3 && (shape.kind === "half_space" || shape.kind === "wall")) continue;
        const part = picture.dimension === 2 ? planarPart(shape, size, crowd) : spatialPart(shape, size, crowd);
        const still = b.kind === "static";
        const key = `${still} ${part.key}`;
        const group = groups.get(key);
        if (group) group.members.push({ body: index, part });
        else groups.set(key, { part, still, members: [{ body: index, part }] });
      }
    });
    // Walls first, whose feet the ground hides, then still things: what moves is seen before them.
    const order = (g: { part: Part; still: boolean }): number => (g.part.wall ? -1 : g.part.ground ? 0 : g.still ? 1 : 2);
    for (const { part, still, members } of [...groups.values()].sort((a, b) => order(a) - order(b))) {
      const material = look(part, still);
      if (!material) continue;
      const solid = part.geometry();
      const drawn = squares && part.round ? square() : solid;
      const merge = lean && members.length > 1 && material instanceof ShaderMaterial && members.length * corners(drawn) <= MOST_CORNERS;
      const mesh = merge ? new Merged(drawn, material, members.length) : new InstancedMesh(drawn, material, members.length);
      if (mesh instanceof InstancedMesh) mesh.instanceMatrix.setUsage(DynamicDrawUsage);
      const data = mesh instanceof Merged ? mesh.data : (mesh.instanceMatrix.array as Float32Array);
      for (let k = 15; k < 16 * members.length; k += 16) data[k] = 1;
      mesh.frustumCulled = false;
      mesh.renderOrder = 10 + order({ part, still });
      const batch = { mesh, data, drawn, solid, bodies: members.map((m) => m.body), locals: members.map((m) => m.part.local), ground: members.map((m) => m.part.ground) };
      this.batches.push(batch);
      if (!still) this.moving.push(batch);
      prepare(mesh);
      parent(still).add(mesh);
    }
  }

  get materials(): Material[] {
    return this.batches.map((b) => b.mesh.material as Material);
  }

  /** Colours of the scene, or others per body. */
  paint(theme: Theme, tints: (Color | null)[] | null = null): void {
    for (const { mesh, data, bodies, ground } of this.batches) {
      bodies.forEach((index, i) => {
        const picture = this.picture.bodies[index]!;
        tint.set(picture.color);
        // What cannot move stands back.
        if (ground[i]) tint.copy(theme.ground);
        else if (picture.kind === "static") tint.lerp(theme.ground, 0.72);
        const other = tints?.[index];
        if (other) tint.copy(other);
        if (mesh instanceof InstancedMesh) mesh.setColorAt(i, tint);
        else [data[16 * i + 3], data[16 * i + 7], data[16 * i + 11]] = [tint.r, tint.g, tint.b];
      });
      if (mesh instanceof Merged) mesh.moved();
      else if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
    }
  }

  /** Poses of all bodies; those that never move are placed only when `all`. */
  place(q: Float32Array, all: boolean): void {
    const { dimension } = this.picture;
    for (const { mesh, data, bodies, locals } of all ? this.batches : this.moving) {
      let last = -1;
      for (let i = 0; i < bodies.length; i++) {
        if (bodies[i] !== last) {
          last = bodies[i]!;
          poseMatrix(q, last, dimension, body);
        }
        const m = whole.multiplyMatrices(body, locals[i]!).elements;
        for (let k = 0; k < 16; k += 4) {
          data[16 * i + k] = m[k]!;
          data[16 * i + k + 1] = m[k + 1]!;
          data[16 * i + k + 2] = m[k + 2]!;
        }
      }
      if (mesh instanceof Merged) mesh.moved();
      else mesh.instanceMatrix.needsUpdate = true;
    }
  }

  /** Shapes as they are rather than as they are drawn, to look for one: `act` is told whose they are, and how late they are drawn. */
  reach(act: (mesh: InstancedMesh, bodies: number[], order: number) => void): void {
    for (const { mesh, data, solid, bodies } of this.batches) {
      const shapes = new InstancedMesh(solid, undefined, bodies.length);
      bodies.forEach((_, i) => {
        shapes.setMatrixAt(i, whole.fromArray(data, 16 * i));
        const m = shapes.instanceMatrix.array;
        m[16 * i + 3] = m[16 * i + 7] = m[16 * i + 11] = 0;
      });
      act(shapes, bodies, mesh.renderOrder);
      shapes.dispose();
    }
  }

  dispose(): void {
    for (const { mesh, drawn, solid } of this.batches) {
      mesh.removeFromParent();
      drawn.dispose();
      solid.dispose();
      (mesh.material as Material).dispose();
      mesh.dispose();
    }
  }
}
