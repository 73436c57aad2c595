// The stage: camera, light, ground, and the bodies on it.
import {
  Box3, Color, DirectionalLight, Fog, Group, HemisphereLight, InstancedMesh, Matrix4, Mesh, MeshStandardMaterial, OrthographicCamera,
  PCFShadowMap, PerspectiveCamera, Plane, PlaneGeometry, Quaternion, Raycaster, Scene, ShaderMaterial, ShadowMaterial, Sphere, Vector2, Vector3,
  WebGLRenderer, MOUSE, TOUCH,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { Batches, poseMatrix } from "./batches";
import { flatMaterial, gridMaterial, roundLength, solidMaterial } from "./materials";
import type { Picture } from "./picture";
import type { Theme } from "./theme";

/** Field of view [degrees]: long enough that balls at the rim stay round. */
const FIELD = 35;
/** Opacity of the second run. */
const GHOST = 0.28;
/** Pixels of the shadow map along a side. */
const SHADOW_MAP = 2048;

export interface Hit {
  body: number;
  point: Vector3;
}

export class Stage {
  readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  private readonly flat = new OrthographicCamera();
  private readonly deep = new PerspectiveCamera(FIELD);
  private camera: OrthographicCamera | PerspectiveCamera = this.flat;
  private controls: OrbitControls;
  private picture: Picture | null = null;
  private batches: Batches | null = null;
  private shadows: Batches | null = null;
  private ghost: Batches | null = null;
  private ghostPicture: Picture | null = null;
  private readonly set = new Group();
  private grid: Mesh<PlaneGeometry, ShaderMaterial> | null = null;
  private readonly sun = new DirectionalLight(0xffffff, 2.4);
  private readonly sky = new HemisphereLight(0xffffff, 0x888888, 1.5);
  private readonly ray = new Raycaster();
  private placed = false;
  private width = 1;
  private height = 1;
  private ratio = Math.min(2, devicePixelRatio);
  /** Size of the scene [m]. */
  size = 1;
  private home = new Box3();
  /** Something but the poses changed. */
  dirty = true;

  constructor(private readonly host: HTMLElement, private theme: Theme) {
    // Without a graphics processor every sample costs: edges stay rough, shadows coarse, and motion smooth.
    const software = drawsInSoftware();
    if (software) this.ratio = 1;
    this.renderer = new WebGLRenderer({ antialias: !software, powerPreference: "high-performance" });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.domElement.className = "stage";
    this.renderer.domElement.tabIndex = 0;
    this.renderer.domElement.setAttribute("role", "img");
    host.append(this.renderer.domElement);
    this.controls = this.control();
    this.scene.add(this.set);
    this.sun.castShadow = true;
    const map = software ? SHADOW_MAP / 2 : SHADOW_MAP;
    this.sun.shadow.mapSize.set(map, map);
    this.sun.shadow.radius = 3;
    this.deep.up.set(0, 0, 1);
    this.flat.up.set(0, 1, 0);
  }

  get canvas(): HTMLCanvasElement {
    return this.renderer.domElement;
  }

  private control(): OrbitControls {
    const controls = new OrbitControls(this.camera, this.canvas);
    const plane = this.camera === this.flat;
    controls.enableRotate = !plane;
    controls.zoomToCursor = true;
    controls.enableDamping = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    controls.dampingFactor = 0.18;
    if (plane) {
      controls.mouseButtons = { LEFT: MOUSE.PAN, MIDDLE: MOUSE.DOLLY, RIGHT: MOUSE.PAN };
      controls.touches = { ONE: TOUCH.PAN, TWO: TOUCH.DOLLY_PAN };
    } else {
      controls.maxPolarAngle = 0.54 * Math.PI;
    }
    controls.addEventListener("change", () => (this.dirty = true));
    return controls;
  }

  /** Whether a drag turns or moves the camera. */
  free(on: boolean): void {
    this.controls.enabled = on;
  }

  show(picture: Picture, first: Float32Array, around: Float32Array[], keepCamera: boolean): void {
    this.clear();
    const swap = picture.dimension !== this.picture?.dimension;
    this.picture = picture;
    this.canvas.setAttribute("aria-label", `${picture.name}: ${picture.bodies.length} bodies in ${picture.dimension === 2 ? "the plane" : "space"}`);
    if (swap || !keepCamera) {
      this.controls.dispose();
      this.camera = picture.dimension === 2 ? this.flat : this.deep;
      this.controls = this.control();
    }
    this.home = bounds(picture, [first]);
    const all = bounds(picture, around);
    // A body that flies away must not make all others specks.
    const sphere = this.home.getBoundingSphere(new Sphere());
    const limit = new Box3().setFromCenterAndSize(sphere.center, new Vector3().setScalar(Math.max(3 * sphere.radius, 1e-6)));
    this.home.union(all.intersect(limit));
    this.size = Math.max(this.home.getSize(new Vector3()).length(), 1e-6);
    this.dress();
    this.resize();
    if (swap || !keepCamera) this.fit();
    this.place(first);
  }

  private clear(): void {
    this.batches?.dispose();
    this.shadows?.dispose();
    this.batches = this.shadows = null;
    this.set.clear();
    this.grid = null;
    this.placed = false;
  }

  /** Builds everything but the camera, for the present theme. */
  private dress(): void {
    const { picture, theme, size } = this;
    if (!picture) return;
    this.scene.background = theme.sky;
    this.scene.fog = null;
    if (picture.dimension === 2) {
      this.grid = new Mesh(new PlaneGeometry(200 * size, 200 * size), gridMaterial(theme, roundLength(size / 12), 0));
      this.grid.renderOrder = 0;
      this.grid.material.depthTest = false;
      this.set.add(this.grid);
      this.shadows = new Batches(picture, size, this.set, (part) => (part.ground ? null : flatMaterial(theme, { alpha: theme.dark ? 0.3 : 0.1, shadow: true })),
        (mesh) => (mesh.renderOrder = 5));
      this.batches = new Batches(picture, size, this.set, (part) => flatMaterial(theme, { tick: part.round }));
    } else {
      this.light();
      this.batches = new Batches(picture, size, this.set, (part) => solidMaterial({ band: part.round }), (mesh, _part, still) => {
        mesh.castShadow = true;
        mesh.receiveShadow = true;
        if (still) mesh.userData.still = true;
      });
    }
    this.batches.paint(theme);
  }

  private light(): void {
    const { picture, theme, size } = this;
    if (!picture) return;
    this.sky.color.set(theme.dark ? 0xcfd8e3 : 0xffffff);
    this.sky.groundColor.copy(theme.floor).lerp(new Color(0xffffff), theme.dark ? 0.15 : 0.3);
    this.sky.intensity = theme.dark ? 1.1 : 1.7;
    this.sun.intensity = theme.dark ? 2.6 : 2.2;
    const middle = this.home.getCenter(new Vector3());
    this.sun.position.copy(middle).add(new Vector3(0.5, -0.35, 1).multiplyScalar(2 * size));
    this.sun.target.position.copy(middle);
    const shadow = this.sun.shadow;
    const reach = 0.9 * size;
    Object.assign(shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.2 * size, far: 5 * size });
    shadow.camera.updateProjectionMatrix();
    shadow.normalBias = 0.003 * size;
    shadow.bias = -0.0005;
    this.set.add(this.sky, this.sun, this.sun.target);
    this.scene.fog = new Fog(theme.sky, 6 * size, 22 * size);
    const planes = picture.bodies.flatMap((b, index) => b.shapes.filter((s) => s.kind === "half_space").map((shape) => ({ index, shape })));
    const far = 60 * size;
    const cell = roundLength(size / 14);
    for (const { index, shape } of planes) {
      const floor = new Mesh(new PlaneGeometry(far, far), new MeshStandardMaterial({ color: theme.floor, roughness: 1, metalness: 0 }));
      floor.receiveShadow = true;
      const grid = new Mesh(new PlaneGeometry(far, far), gridMaterial(theme, cell, 5 * size));
      for (const mesh of [floor, grid]) {
        mesh.userData.ground = { body: index, normal: shape.size, pose: shape.pose };
        this.set.add(mesh);
      }
    }
    if (planes.length === 0) {
      // Nothing to stand on: a faint grid below, with shadows, tells up from down.
      const low = this.home.min.z - 0.05 * size;
      const grid = new Mesh(new PlaneGeometry(far, far), gridMaterial(theme, cell, 2.5 * size));
      const shade = new Mesh(new PlaneGeometry(far, far), new ShadowMaterial({ opacity: theme.dark ? 0.3 : 0.12 }));
      shade.receiveShadow = true;
      grid.position.set(middle.x, middle.y, low);
      shade.position.set(middle.x, middle.y, low);
      this.set.add(grid, shade);
    }
    this.set.traverse((o) => {
      if (o instanceof Mesh && o.material instanceof ShaderMaterial && o.material.uniforms.middle) o.material.uniforms.middle.value = middle.toArray();
    });
  }

  repaint(theme: Theme): void {
    this.theme = theme;
    if (!this.picture) return;
    this.clear();
    this.dress();
    const ghost = this.ghostPicture;
    this.setGhost(null);
    this.setGhost(ghost);
    this.dirty = true;
  }

  tint(tints: (Color | null)[] | null): void {
    this.batches?.paint(this.theme, tints);
    this.dirty = true;
  }

  setGhost(picture: Picture | null): void {
    this.ghost?.dispose();
    this.ghost = null;
    this.ghostPicture = picture;
    if (picture) {
      const look = picture.dimension === 2
        ? () => flatMaterial(this.theme, { alpha: GHOST })
        : () => solidMaterial({ alpha: GHOST });
      this.ghost = new Batches(picture, this.size, this.scene, (part, still) => (still || part.ground ? null : look()), (mesh) => (mesh.renderOrder = 8));
      this.ghost.paint(this.theme);
    }
    this.dirty = true;
  }

  place(q: Float32Array, ghost: Float32Array | null = null): void {
    const all = !this.placed;
    this.batches?.place(q, all);
    this.shadows?.place(q, all);
    if (all && this.picture?.dimension === 3) this.placeGround(q);
    this.placed = true;
    if (ghost) this.ghost?.place(ghost, true);
  }

  private placeGround(q: Float32Array): void {
    const up = new Vector3(0, 0, 1);
    const pose = new Matrix4();
    for (const mesh of this.set.children) {
      const ground = mesh.userData.ground as { body: number; normal: number[]; pose: number[] } | undefined;
      if (!ground) continue;
      const local = new Matrix4();
      poseMatrix(new Float32Array(ground.pose), 0, 3, local);
      poseMatrix(q, ground.body, 3, pose).multiply(local);
      const turn = new Matrix4().makeRotationFromQuaternion(new Quaternion().setFromUnitVectors(up, new Vector3(...(ground.normal as [number, number, number]))));
      mesh.matrixAutoUpdate = false;
      mesh.matrix.copy(pose.multiply(turn));
    }
  }

  resize(): void {
    const { clientWidth, clientHeight } = this.host;
    this.width = Math.max(1, clientWidth);
    this.height = Math.max(1, clientHeight);
    this.renderer.setPixelRatio(this.ratio);
    this.renderer.setSize(this.width, this.height, false);
    const aspect = this.width / this.height;
    this.deep.aspect = aspect;
    const half = (this.flat.top - this.flat.bottom) / 2 || 1;
    Object.assign(this.flat, { left: -half * aspect, right: half * aspect });
    this.camera.updateProjectionMatrix();
    this.dirty = true;
  }

  /** Draws coarser when the machine cannot keep up, and finer again never: a flicker of sharpness is worse than its lack. */
  coarser(): boolean {
    if (this.ratio > 1) this.ratio = 1;
    else if (this.sun.shadow.mapSize.x > SHADOW_MAP / 2) {
      this.sun.shadow.mapSize.set(SHADOW_MAP / 2, SHADOW_MAP / 2);
      this.sun.shadow.map?.dispose();
      this.sun.shadow.map = null;
    } else return false;
    this.resize();
    return true;
  }

  /** All of the scene in view. */
  fit(q?: Float32Array): void {
    if (!this.picture) return;
    const box = q ? bounds(this.picture, [q]) : this.home;
    const middle = box.getCenter(new Vector3());
    const extent = box.getSize(new Vector3());
    const aspect = this.width / this.height;
    if (this.picture.dimension === 2) {
      const half = 0.58 * Math.max(extent.y, extent.x / aspect, 1e-6);
      Object.assign(this.flat, { top: half, bottom: -half, left: -half * aspect, right: half * aspect, near: -10, far: 10, zoom: 1 });
      this.flat.position.set(middle.x, middle.y, 1);
    } else {
      const away = new Vector3(0.55, -1, 0.5).normalize();
      const reach = distanceFor(extent, away, Math.tan((FIELD * Math.PI) / 360), aspect);
      this.deep.position.copy(middle).add(away.multiplyScalar(reach));
      Object.assign(this.deep, { near: 0.01 * this.size, far: 60 * this.size + 4 * reach });
    }
    this.controls.target.set(middle.x, middle.y, this.picture.dimension === 2 ? 0 : middle.z);
    this.camera.updateProjectionMatrix();
    this.controls.update();
    // A hand may reach for a body before the next frame is drawn.
    this.camera.updateMatrixWorld();
    this.dirty = true;
  }

  render(): void {
    this.controls.update();
    if (this.shadows) {
      // A shadow of constant size on the screen.
      const shift = [(2 * 1.5) / this.width, (-2 * 2) / this.height];
      for (const mesh of this.shadows.meshes) (mesh.material as ShaderMaterial).uniforms.shift!.value = shift;
    }
    this.renderer.render(this.scene, this.camera);
    this.dirty = false;
  }

  /** A point of the world on the screen [CSS pixels]; z is above 1 when it is behind the camera. */
  project(x: number, y: number, z: number, out: Vector3): Vector3 {
    out.set(x, y, z).project(this.camera);
    out.x = (0.5 + 0.5 * out.x) * this.width;
    out.y = (0.5 - 0.5 * out.y) * this.height;
    return out;
  }

  private aim(x: number, y: number): void {
    this.ray.setFromCamera(new Vector2((2 * x) / this.width - 1, 1 - (2 * y) / this.height), this.camera);
  }

  /** The nearest body that can be seen at a place of the screen [CSS pixels]. */
  pick(x: number, y: number): Hit | null {
    if (!this.batches) return null;
    this.aim(x, y);
    let best: Hit | null = null;
    let least = Infinity;
    for (const mesh of this.batches.meshes) {
      mesh.computeBoundingSphere();
      for (const hit of this.ray.intersectObject<InstancedMesh>(mesh, false)) {
        const body = (mesh.userData.bodies as number[])[hit.instanceId ?? 0]!;
        // In the plane all lie equally deep: what moves wins.
        const depth = hit.distance + (this.picture?.dimension === 2 ? -mesh.renderOrder : 0);
        if (depth < least) {
          least = depth;
          best = { body, point: hit.point.clone() };
        }
      }
    }
    return best;
  }

  /** The point under the cursor as deep as another point. */
  beside(x: number, y: number, point: Vector3): Vector3 {
    this.aim(x, y);
    const normal = this.camera.getWorldDirection(new Vector3());
    const plane = new Plane().setFromNormalAndCoplanarPoint(normal, point);
    return this.ray.ray.intersectPlane(plane, new Vector3()) ?? point.clone();
  }
}

/** How far off a box must be seen, from a direction, to be in view whole [m]. */
function distanceFor(extent: Vector3, away: Vector3, slope: number, aspect: number): number {
  const right = new Vector3(0, 0, 1).cross(away).normalize();
  const up = away.clone().cross(right);
  let most = 1e-6;
  for (let corner = 0; corner < 8; corner++) {
    const p = new Vector3(corner & 1 ? 0.5 : -0.5, corner & 2 ? 0.5 : -0.5, corner & 4 ? 0.5 : -0.5).multiply(extent);
    const aside = Math.max(Math.abs(p.dot(right)) / (slope * aspect), Math.abs(p.dot(up)) / slope);
    most = Math.max(most, 1.15 * aside + p.dot(away));
  }
  return most;
}

/** Whether the browser draws with the processor alone. */
function drawsInSoftware(): boolean {
  const context = document.createElement("canvas").getContext("webgl2");
  if (!context) return false;
  const info = context.getExtension("WEBGL_debug_renderer_info");
  const name = String(context.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : context.RENDERER));
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software|basic render/i.test(name);
}

/** The box of all bounded shapes at some poses. */
function bounds(picture: Picture, states: Float32Array[]): Box3 {
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
