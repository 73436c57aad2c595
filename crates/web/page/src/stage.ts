// The stage: camera, light, ground, and the bodies on it.
import {
  Box3, Color, DirectionalLight, Fog, Group, HemisphereLight, InstancedMesh, Matrix4, Mesh, MeshBasicMaterial, MeshLambertMaterial,
  OrthographicCamera, PCFShadowMap, PerspectiveCamera, Plane, PlaneGeometry, Quaternion, Raycaster, Scene, ShaderMaterial, ShadowMaterial, Sphere,
  Vector2, Vector3, Vector4, WebGLRenderer, MOUSE, TOUCH, type Material,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { Backdrop } from "./backdrop";
import { Batches, poseMatrix } from "./batches";
import { bounds } from "./bounds";
import { leanMaterial, shadowMaterial, shine, type Light } from "./lean";
import { flatMaterial, gridMaterial, roundLength, solidMaterial } from "./materials";
import type { Picture } from "./picture";
import type { Part } from "./shapes";
import { drawsInSoftware, LEVELS, type Level } from "./quality";
import type { Theme } from "./theme";

/** Field of view [degrees]: long enough that balls at the rim stay round. */
const FIELD = 35;
/** Opacity of the second run. */
const GHOST = 0.28;
/** Towards the sun. */
const SUN = new Vector3(0.5, -0.35, 1).normalize();

export interface Hit {
  body: number;
  point: Vector3;
}

export class Stage {
  readonly renderer: WebGLRenderer;
  private readonly scene = new Scene();
  /** What stands still behind the bodies. */
  private readonly back = new Scene();
  private readonly backdrop: Backdrop | null;
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
  private readonly still = new Group();
  private readonly sun = new DirectionalLight(0xffffff, 2.4);
  private readonly sky = new HemisphereLight(0xffffff, 0x888888, 1.5);
  private readonly ray = new Raycaster();
  private placed = false;
  /** The plane that flat shadows lie on: its normal, and its distance from the origin. */
  private readonly shade = new Vector4(0, 0, 1, 0);
  private readonly pixel = new Uint8Array(4);
  private width = 1;
  private height = 1;
  private level: Level = LEVELS[0]!;
  /** Whether the browser draws without a graphics processor. */
  readonly software = drawsInSoftware();
  /** Size of the scene [m]. */
  size = 1;
  private home = new Box3();
  /** Something but the poses changed. */
  dirty = true;

  constructor(private readonly host: HTMLElement, private theme: Theme) {
    // Without a graphics processor every sample costs.
    this.renderer = new WebGLRenderer({ antialias: !this.software, alpha: this.software, stencil: true, powerPreference: "high-performance" });
    this.renderer.autoClear = false;
    this.renderer.info.autoReset = false;
    this.backdrop = this.software ? new Backdrop(this.renderer) : null;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.domElement.className = "stage";
    this.renderer.domElement.tabIndex = 0;
    this.renderer.domElement.setAttribute("role", "img");
    if (this.backdrop) host.append(this.backdrop.canvas);
    host.append(this.renderer.domElement);
    this.controls = this.control();
    this.scene.add(this.set);
    this.back.add(this.still);
    this.sun.castShadow = true;
    this.sun.shadow.radius = 3;
    this.sky.position.set(0, 0, 1);
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
    controls.addEventListener("change", () => this.change());
    return controls;
  }

  /** Something but the poses of moving bodies changed. */
  private change(): void {
    this.dirty = true;
    this.backdrop?.drop();
  }

  /** Draws so well from now on. */
  use(level: Level): void {
    const anew = level.lean !== this.level.lean || level.shadows !== this.level.shadows;
    this.level = level;
    if (level.shadowMap > 0 && level.shadowMap !== this.sun.shadow.mapSize.x) {
      this.sun.shadow.mapSize.set(level.shadowMap, level.shadowMap);
      this.sun.shadow.map?.dispose();
      this.sun.shadow.map = null;
    }
    if (anew) this.repaint(this.theme);
    this.resize();
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
    for (const group of [this.set, this.still]) {
      for (const node of group.children) {
        if (!(node instanceof Mesh)) continue;
        (node.geometry as PlaneGeometry).dispose();
        (node.material as ShaderMaterial).dispose();
      }
      group.clear();
    }
    this.placed = false;
  }

  /** Builds everything but the camera, for the present theme and level. */
  private dress(): void {
    const { picture, theme, size, level } = this;
    if (!picture) return;
    this.renderer.setClearColor(theme.sky, 1);
    this.scene.fog = this.back.fog = null;
    if (picture.dimension === 2) {
      const grid = new Mesh(new PlaneGeometry(200 * size, 200 * size), gridMaterial(theme, roundLength(size / 12), 0));
      grid.material.depthTest = false;
      grid.renderOrder = 0;
      this.still.add(grid);
      const kind = { squares: true, lean: level.lean };
      if (!level.lean) {
        const look = { alpha: theme.dark ? 0.3 : 0.1, shadow: true };
        this.shadows = new Batches(picture, size, () => this.set, kind, (part, still) => (part.ground || still ? null : flatMaterial(theme, { ...look, disc: part.round })),
          (mesh) => (mesh.renderOrder = 5));
      }
      this.batches = new Batches(picture, size, (still) => (still ? this.still : this.set), kind, (part) => flatMaterial(theme, { disc: part.round }));
    } else if (level.lean) {
      const light = this.light();
      const kind = { squares: true, lean: true };
      this.ground(this.still, () => {
        const lit = theme.floor.clone().multiply(shine(light, new Vector3(0, 0, 1)));
        return new MeshBasicMaterial({ color: lit });
      });
      if (level.shadows) {
        const dark = this.darkness(light);
        this.shadows = new Batches(picture, size, () => this.set, kind, (part) => (part.ground ? null : shadowMaterial(light, this.shade, dark, part.round)),
          (mesh) => (mesh.renderOrder = -1));
      }
      this.batches = new Batches(picture, size, () => this.set, kind, (part) => leanMaterial(light, { ball: part.round }));
    } else {
      this.light();
      this.set.add(this.sky, this.sun, this.sun.target);
      this.ground(this.set, () => new MeshLambertMaterial({ color: theme.floor }));
      this.batches = new Batches(picture, size, () => this.set, { squares: false, lean: false }, (part) => solidMaterial({ band: part.round }), (mesh) => {
        mesh.castShadow = true;
        mesh.receiveShadow = true;
      });
    }
    this.batches.paint(theme);
  }

  /** Sets sun and sky. */
  private light(): Light {
    const { theme, size } = this;
    this.sky.color.set(theme.dark ? 0xcfd8e3 : 0xffffff);
    this.sky.groundColor.copy(theme.floor).lerp(new Color(0xffffff), theme.dark ? 0.15 : 0.3);
    this.sky.intensity = theme.dark ? 1.1 : 1.7;
    this.sun.intensity = theme.dark ? 2.6 : 2.2;
    const middle = this.home.getCenter(new Vector3());
    this.sun.position.copy(middle).addScaledVector(SUN, 2.4 * size);
    this.sun.target.position.copy(middle);
    const shadow = this.sun.shadow;
    const reach = 0.9 * size;
    Object.assign(shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.2 * size, far: 5 * size });
    shadow.camera.updateProjectionMatrix();
    shadow.normalBias = 0.003 * size;
    shadow.bias = -0.0005;
    this.scene.fog = this.back.fog = new Fog(theme.sky, 6 * size, 22 * size);
    const times = (color: Color): Color => color.clone().multiplyScalar(this.sky.intensity);
    return { sun: SUN, bright: this.sun.intensity, above: times(this.sky.color), below: times(this.sky.groundColor) };
  }

  /** How much darker the ground is where only the sky lights it; faint where the ground is but a grid. */
  private darkness(light: Light): number {
    const { theme } = this;
    const flat = this.picture?.bodies.some((b) => b.shapes.some((s) => s.kind === "half_space"));
    if (!flat) return theme.dark ? 0.3 : 0.12;
    const up = new Vector3(0, 0, 1);
    return 1 - Math.sqrt(shine({ ...light, bright: 0 }, up).g / shine(light, up).g);
  }

  /** Planes to stand on, with their grid; `look` is what they are made of. */
  private ground(parent: Group, look: () => MeshBasicMaterial | MeshLambertMaterial): void {
    const { picture, theme, size } = this;
    if (!picture) return;
    const middle = this.home.getCenter(new Vector3());
    const planes = picture.bodies.flatMap((b, index) => b.shapes.filter((s) => s.kind === "half_space").map((shape) => ({ index, shape })));
    const far = 60 * size;
    const cell = roundLength(size / 14);
    for (const { index, shape } of planes) {
      const floor = new Mesh(new PlaneGeometry(far, far), look());
      floor.receiveShadow = true;
      const grid = new Mesh(new PlaneGeometry(far, far), gridMaterial(theme, cell, 5 * size));
      for (const mesh of [floor, grid]) {
        mesh.userData.ground = { body: index, normal: shape.size, pose: shape.pose };
        parent.add(mesh);
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
      parent.add(grid);
      this.shade.set(0, 0, 1, low);
      if (!this.level.lean) parent.add(shade);
    }
    parent.traverse((o) => {
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
    this.change();
  }

  tint(tints: (Color | null)[] | null): void {
    this.batches?.paint(this.theme, tints);
    this.change();
  }

  setGhost(picture: Picture | null): void {
    this.ghost?.dispose();
    this.ghost = null;
    this.ghostPicture = picture;
    if (picture) {
      const { lean } = this.level;
      const light = lean && picture.dimension === 3 ? this.light() : null;
      const look = (part: Part): Material => {
        if (picture.dimension === 2) return flatMaterial(this.theme, { alpha: GHOST, disc: part.round });
        return light ? leanMaterial(light, { alpha: GHOST, ball: part.round }) : solidMaterial({ alpha: GHOST });
      };
      this.ghost = new Batches(picture, this.size, () => this.scene, { squares: picture.dimension === 2 || lean, lean },
        (part, still) => (still || part.ground ? null : look(part)), (mesh) => (mesh.renderOrder = 8));
      this.ghost.paint(this.theme);
    }
    this.dirty = true;
  }

  place(q: Float32Array, ghost: Float32Array | null = null): void {
    const all = !this.placed;
    this.batches?.place(q, all);
    this.shadows?.place(q, all);
    if (all) {
      if (this.picture?.dimension === 3) this.placeGround(q);
      this.backdrop?.drop();
    }
    this.placed = true;
    if (ghost) this.ghost?.place(ghost, true);
  }

  private placeGround(q: Float32Array): void {
    const up = new Vector3(0, 0, 1);
    const pose = new Matrix4();
    let most = 0;
    for (const mesh of [...this.set.children, ...this.still.children]) {
      const ground = mesh.userData.ground as { body: number; normal: number[]; pose: number[] } | undefined;
      if (!ground) continue;
      const local = new Matrix4();
      poseMatrix(new Float32Array(ground.pose), 0, 3, local);
      poseMatrix(q, ground.body, 3, pose).multiply(local);
      const turn = new Matrix4().makeRotationFromQuaternion(new Quaternion().setFromUnitVectors(up, new Vector3(...(ground.normal as [number, number, number]))));
      mesh.matrixAutoUpdate = false;
      mesh.matrix.copy(pose.multiply(turn));
      // Of several grounds the one that the sun sees best has the shadows.
      const normal = up.clone().transformDirection(mesh.matrix);
      const seen = normal.dot(SUN);
      if (seen > most) {
        most = seen;
        this.shade.set(normal.x, normal.y, normal.z, normal.dot(new Vector3().setFromMatrixPosition(mesh.matrix)));
      }
    }
  }

  resize(): void {
    const { clientWidth, clientHeight } = this.host;
    this.width = Math.max(1, clientWidth);
    this.height = Math.max(1, clientHeight);
    // Beyond two pixels per pixel nobody sees more.
    this.renderer.setPixelRatio(Math.min(this.level.ratio, devicePixelRatio));
    this.renderer.setSize(this.width, this.height, false);
    const aspect = this.width / this.height;
    this.deep.aspect = aspect;
    const half = (this.flat.top - this.flat.bottom) / 2 || 1;
    Object.assign(this.flat, { left: -half * aspect, right: half * aspect });
    this.camera.updateProjectionMatrix();
    this.change();
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
    this.change();
  }

  render(): void {
    this.controls.update();
    if (this.shadows && this.picture?.dimension === 2) {
      // A shadow of constant size on the screen.
      const shift = [(2 * 1.5) / this.width, (-2 * 2) / this.height];
      for (const material of this.shadows.materials) (material as ShaderMaterial).uniforms.shift!.value = shift;
    }
    this.renderer.info.reset();
    const behind = (): void => {
      this.renderer.clear();
      this.renderer.render(this.back, this.camera);
    };
    if (this.backdrop) this.backdrop.begin(behind);
    else behind();
    this.renderer.render(this.scene, this.camera);
    this.dirty = false;
  }

  /** Waits until all is drawn. */
  finish(): void {
    const gl = this.renderer.getContext();
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, this.pixel);
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
    this.batches.reach((mesh, bodies, order) => {
      for (const hit of this.ray.intersectObject<InstancedMesh>(mesh, false)) {
        const body = bodies[hit.instanceId ?? 0]!;
        // In the plane all lie equally deep: what moves wins.
        const depth = hit.distance + (this.picture?.dimension === 2 ? -order : 0);
        if (depth < least) {
          least = depth;
          best = { body, point: hit.point.clone() };
        }
      }
    });
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
