// Bodies as instances: one draw call for all shapes of one geometry, however many bodies there are.
import { BufferGeometry, Color, DynamicDrawUsage, InstancedMesh, Matrix4, type Material, type Object3D } from "three";
import type { Picture } from "./picture";
import { planarPart, spatialPart, type Part } from "./shapes";
import type { Theme } from "./theme";

interface Batch {
  mesh: InstancedMesh;
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

  /** `look` gives the material of a part, or none where it is drawn otherwise. Bodies that never move are batched apart. */
  constructor(
    private readonly picture: Picture,
    size: number,
    private readonly parent: Object3D,
    look: (part: Part, still: boolean) => Material | null,
    prepare: (mesh: InstancedMesh, part: Part, still: boolean) => void = () => {},
  ) {
    const groups = new Map<string, { part: Part; still: boolean; members: { body: number; part: Part }[] }>();
    picture.bodies.forEach((b, index) => {
      for (const shape of b.shapes) {
        if (picture.dimension === 3 && shape.kind === "half_space") continue;
        const part = picture.dimension === 2 ? planarPart(shape, size, picture.bodies.length) : spatialPart(shape, size, picture.bodies.length);
        const still = b.kind === "static";
        const key = `${still} ${part.key}`;
        const group = groups.get(key);
        if (group) group.members.push({ body: index, part });
        else groups.set(key, { part, still, members: [{ body: index, part }] });
      }
    });
    // Ground first, still things next: what moves is seen before them.
    const order = (g: { part: Part; still: boolean }): number => (g.part.ground ? 0 : g.still ? 1 : 2);
    for (const { part, still, members } of [...groups.values()].sort((a, b) => order(a) - order(b))) {
      const material = look(part, still);
      if (!material) continue;
      const geometry: BufferGeometry = part.geometry();
      const mesh = new InstancedMesh(geometry, material, members.length);
      mesh.instanceMatrix.setUsage(DynamicDrawUsage);
      mesh.frustumCulled = false;
      mesh.renderOrder = 10 + order({ part, still });
      const batch = { mesh, bodies: members.map((m) => m.body), locals: members.map((m) => m.part.local), ground: members.map((m) => m.part.ground) };
      mesh.userData.bodies = batch.bodies;
      this.batches.push(batch);
      if (!still) this.moving.push(batch);
      prepare(mesh, part, still);
      parent.add(mesh);
    }
  }

  get meshes(): InstancedMesh[] {
    return this.batches.map((b) => b.mesh);
  }

  /** Colours of the scene, or others per body. */
  paint(theme: Theme, tints: (Color | null)[] | null = null): void {
    for (const { mesh, bodies, ground } of this.batches) {
      bodies.forEach((index, i) => {
        const picture = this.picture.bodies[index]!;
        tint.set(picture.color);
        // What cannot move stands back.
        if (ground[i]) tint.copy(theme.ground);
        else if (picture.kind === "static") tint.lerp(theme.ground, 0.72);
        const other = tints?.[index];
        if (other) tint.copy(other);
        mesh.setColorAt(i, tint);
      });
      if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
    }
  }

  /** Poses of all bodies; those that never move are placed only when `all`. */
  place(q: Float32Array, all: boolean): void {
    const { dimension } = this.picture;
    for (const { mesh, bodies, locals } of all ? this.batches : this.moving) {
      const out = mesh.instanceMatrix.array as Float32Array;
      let last = -1;
      for (let i = 0; i < bodies.length; i++) {
        if (bodies[i] !== last) {
          last = bodies[i]!;
          poseMatrix(q, last, dimension, body);
        }
        whole.multiplyMatrices(body, locals[i]!).toArray(out, 16 * i);
      }
      mesh.instanceMatrix.needsUpdate = true;
    }
  }

  dispose(): void {
    for (const { mesh } of this.batches) {
      this.parent.remove(mesh);
      mesh.geometry.dispose();
      (mesh.material as Material).dispose();
      mesh.dispose();
    }
  }
}
