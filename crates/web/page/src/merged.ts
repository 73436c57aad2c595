// Many copies of one geometry as a single mesh, for processors that draw every instance as if it were alone: each corner knows whose it is
// and finds the pose, and the colour, in a texture. To a shader with POSE in it this and an InstancedMesh are the same.
import { BufferAttribute, BufferGeometry, DataTexture, FloatType, Mesh, RGBAFormat, type ShaderMaterial } from "three";

/** Copies in a row of the texture; each takes four texels. */
const ROW = 128;
/** Corners of one mesh at most: beyond it copies are not worth their memory. */
export const MOST_CORNERS = 400000;

/** Gives `pose` and `tint` of the body that a corner belongs to. The last numbers of the columns of a pose are free, and hold the colour. */
export const POSE = /* glsl */ `
#ifdef USE_INSTANCING
#ifdef USE_INSTANCING_COLOR
#define POSE_AND_TINT mat4 pose = instanceMatrix; vec3 tint = instanceColor;
#else
#define POSE_AND_TINT mat4 pose = instanceMatrix; vec3 tint = vec3(0.0);
#endif
#else
attribute float whose;
uniform highp sampler2D poses;
mat4 texels() {
  int i = int(whose);
  ivec2 at = ivec2(4 * (i % ${ROW}), i / ${ROW});
  return mat4(texelFetch(poses, at, 0), texelFetch(poses, at + ivec2(1, 0), 0), texelFetch(poses, at + ivec2(2, 0), 0), texelFetch(poses, at + ivec2(3, 0), 0));
}
#define POSE_AND_TINT mat4 pose = texels(); vec3 tint = vec3(pose[0].w, pose[1].w, pose[2].w); pose[0].w = pose[1].w = pose[2].w = 0.0;
#endif`;

export const corners = (geometry: BufferGeometry): number => geometry.getAttribute("position").count;

export class Merged extends Mesh<BufferGeometry, ShaderMaterial> {
  /** Sixteen numbers of each copy: the columns of its pose. */
  readonly data: Float32Array;
  private readonly texture: DataTexture;

  constructor(one: BufferGeometry, material: ShaderMaterial, count: number) {
    super(repeat(one, count), material);
    const rows = Math.ceil(count / ROW);
    this.data = new Float32Array(16 * ROW * rows);
    this.texture = new DataTexture(this.data, 4 * ROW, rows, RGBAFormat, FloatType);
    material.uniforms.poses = { value: this.texture };
  }

  moved(): void {
    this.texture.needsUpdate = true;
  }

  dispose(): void {
    this.geometry.dispose();
    this.texture.dispose();
  }
}

function repeat(one: BufferGeometry, count: number): BufferGeometry {
  const many = new BufferGeometry();
  const each = corners(one);
  for (const name of ["position", "normal", "edge"]) {
    const from = one.getAttribute(name);
    if (!from) continue;
    const numbers = from.array as Float32Array;
    const to = new Float32Array(numbers.length * count);
    for (let i = 0; i < count; i++) to.set(numbers, i * numbers.length);
    many.setAttribute(name, new BufferAttribute(to, from.itemSize));
  }
  const whose = new Float32Array(each * count);
  for (let i = 0; i < count; i++) whose.fill(i, i * each, (i + 1) * each);
  many.setAttribute("whose", new BufferAttribute(whose, 1));
  const index = one.getIndex();
  if (index) {
    const to = new Uint32Array(index.count * count);
    for (let i = 0; i < count; i++) for (let k = 0; k < index.count; k++) to[i * index.count + k] = index.getX(k) + i * each;
    many.setIndex(new BufferAttribute(to, 1));
  }
  return many;
}
