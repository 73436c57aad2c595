// The stage: camera, light, ground, and the bodies on it.
import {
  BufferAttribute, BufferGeometry, Color, DirectionalLight, Fog, FrontSide, Group, HemisphereLight, InstancedMesh, Matrix4, Mesh, MeshBasicMaterial,
  MeshLambertMaterial, PCFShadowMap, Plane, PlaneGeometry, Raycaster, Scene, ShaderMaterial, ShadowMaterial, Vector2, Vector3, Vector4, WebGLRenderer,
  type Material,
} from "three";
import { Backdrop } from "./backdrop";
import { Batches, poseMatrix } from "./batches";
import { Camera } from "./camera";
import { Framing } from "./framing";
import { leanMaterial, shadowMaterial, shine, type Light } from "./lean";
import { flatMaterial, gridMaterial, roundLength, solidMaterial } from "./materials";
import type { Picture, ShapePicture } from "./picture";
import type { Part } from "./shapes";
import { drawsInSoftware, LEVELS, type Level } from "./quality";
import type { Theme } from "./theme";
import { turnTo, walled } from "./walls";

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
  readonly camera: Camera;
  /** What should be in view. */
  framing: Framing | null = null;
  /** As it is drawn: half-spaces that bound each other are walls. */
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
  /** Around what the light and the grid are laid. */
  private readonly middle = new Vector3();
  /** Pixels at the top behind buttons. */
  private covered = 0;
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
    this.camera = new Camera(true, this.canvas, () => this.change());
    this.scene.add(this.set);
    this.back.add(this.still);
    this.sun.castShadow = true;
    this.sun.shadow.radius = 3;
    this.sky.position.set(0, 0, 1);
  }

  get canvas(): HTMLCanvasElement {
    return this.renderer.domElement;
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

  show(picture: Picture, first: Float32Array, around: Float32Array[], keepCamera: boolean): void {
    this.clear();
    this.canvas.setAttribute("aria-label", `${picture.name}: ${picture.bodies.length} bodies in ${picture.dimension === 2 ? "the plane" : "space"}`);
    this.framing = new Framing(picture, first);
    this.framing.look(around);
    const { home } = this.framing;
    this.size = Math.max(home.getSize(new Vector3()).length(), 1e-6);
    this.picture = walled(picture, first, home, this.size);
    const other = this.camera.use(picture.dimension === 2, this.size);
    home.getCenter(this.middle);
    this.dress();
    this.resize();
    if (other || !keepCamera) {
      this.camera.follow("all");
      this.camera.frame(home, { view: "corner", atOnce: true });
    }
    this.place(first);
  }

  /** States that the run will come to: if there is more to see, walls and light reach to it, and so does a camera that nobody moved. */
  foresee(picture: Picture, first: Float32Array, around: Float32Array[], q: Float32Array): void {
    if (!this.framing?.look(around)) return;
    const { home } = this.framing;
    this.size = Math.max(home.getSize(new Vector3()).length(), 1e-6);
    this.picture = walled(picture, first, home, this.size);
    home.getCenter(this.middle);
    this.repaint(this.theme);
    this.place(q);
    if (this.camera.following === "all") this.camera.frame(home);
  }

  private clear(): void {
    this.batches?.dispose();
    this.shadows?.dispose();
    this.batches = this.shadows = null;
    for (const group of [this.set, this.still]) {
      for (const node of group.children) {
        if (!(node instanceof Mesh)) continue;
        (node.geometry as BufferGeometry).dispose();
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
    this.sun.position.copy(this.middle).addScaledVector(SUN, 2.4 * size);
    this.sun.target.position.copy(this.middle);
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

  /** Planes to stand on and walls, with their grid; `look` is what they are made of. */
  private ground(parent: Group, look: () => MeshBasicMaterial | MeshLambertMaterial): void {
    const { picture, theme, size, middle, framing } = this;
    if (!picture || !framing) return;
    const kinds = ["half_space", "wall"];
    const planes = picture.bodies.flatMap((b, index) => b.shapes.filter((s) => kinds.includes(s.kind)).map((shape) => ({ index, shape })));
    const far = 60 * size;
    const cell = roundLength(size / 14);
    for (const { index, shape } of planes) {
      // A wall is seen from within alone: the one that stands before the camera does not hide the scene.
      const sheet = (): BufferGeometry => (shape.kind === "wall" ? polygon(shape) : new PlaneGeometry(far, far));
      const floor = new Mesh(sheet(), look());
      floor.receiveShadow = true;
      const grid = new Mesh(sheet(), gridMaterial(theme, cell, 5 * size));
      if (shape.kind === "wall") grid.material.side = FrontSide;
      for (const mesh of [floor, grid]) {
        mesh.userData.ground = { body: index, normal: shape.size, pose: shape.pose };
        parent.add(mesh);
      }
    }
    if (planes.length === 0) {
      // Nothing to stand on: a faint grid below, with shadows, tells up from down.
      const low = framing.home.min.z - 0.05 * size;
      const grid = new Mesh(new PlaneGeometry(far, far), gridMaterial(theme, cell, 2.5 * size));
      const shade = new Mesh(new PlaneGeometry(far, far), new ShadowMaterial({ opacity: theme.dark ? 0.3 : 0.12 }));
      shade.receiveShadow = true;
      grid.position.set(middle.x, middle.y, low);
      shade.position.set(middle.x, middle.y, low);
      parent.add(grid);
      this.shade.set(0, 0, 1, low);
      if (!this.level.lean) parent.add(shade);
    }
    this.lay();
  }

  /** Lays light and grid around the middle. */
  private lay(): void {
    this.sun.position.copy(this.middle).addScaledVector(SUN, 2.4 * this.size);
    this.sun.target.position.copy(this.middle);
    for (const group of [this.set, this.still]) {
      for (const o of group.children) {
        if (o instanceof Mesh && o.material instanceof ShaderMaterial && o.material.uniforms.middle) o.material.uniforms.middle.value = this.middle.toArray();
      }
    }
  }

  /** Takes light and grid along with a camera that went far; in strides, so that shadows do not shimmer. */
  private along(): void {
    const { target } = this.camera;
    if (this.picture?.dimension !== 3 || target.distanceTo(this.middle) < 0.3 * this.size) return;
    this.middle.copy(target);
    this.lay();
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
    let most = 0.2;
    for (const mesh of [...this.set.children, ...this.still.children]) {
      const ground = mesh.userData.ground as { body: number; normal: number[]; pose: number[] } | undefined;
      if (!ground) continue;
      const local = new Matrix4();
      poseMatrix(new Float32Array(ground.pose), 0, 3, local);
      poseMatrix(q, ground.body, 3, pose).multiply(local);
      mesh.matrixAutoUpdate = false;
      mesh.matrix.copy(pose.multiply(turnTo(ground.normal)));
      // Of several grounds the one that the sun sees best has the shadows.
      const normal = up.clone().transformDirection(mesh.matrix);
      const seen = normal.dot(SUN);
      if (seen > most) {
        most = seen;
        this.shade.set(normal.x, normal.y, normal.z, normal.dot(new Vector3().setFromMatrixPosition(mesh.matrix)));
      }
    }
  }

  resize(covered = this.covered): void {
    this.covered = covered;
    const { clientWidth, clientHeight } = this.host;
    this.width = Math.max(1, clientWidth);
    this.height = Math.max(1, clientHeight);
    // Beyond two pixels per pixel nobody sees more.
    this.renderer.setPixelRatio(Math.min(this.level.ratio, devicePixelRatio));
    this.renderer.setSize(this.width, this.height, false);
    this.camera.resize(this.width, this.height, this.covered);
    this.change();
  }

  /** `elapsed` is the time since the last picture [s], `body` where the followed body is. */
  render(elapsed: number, body: Vector3 | null): void {
    // Whatever the camera does from here on is for the next frame.
    this.dirty = false;
    this.camera.tick(elapsed, body);
    this.along();
    if (this.shadows && this.picture?.dimension === 2) {
      // A shadow of constant size on the screen.
      const shift = [(2 * 1.5) / this.width, (-2 * 2) / this.height];
      for (const material of this.shadows.materials) (material as ShaderMaterial).uniforms.shift!.value = shift;
    }
    this.renderer.info.reset();
    const behind = (): void => {
      this.renderer.clear();
      this.renderer.render(this.back, this.camera.eye);
    };
    if (this.backdrop) this.backdrop.begin(behind);
    else behind();
    this.renderer.render(this.scene, this.camera.eye);
  }

  /** Waits until all is drawn. */
  finish(): void {
    const gl = this.renderer.getContext();
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, this.pixel);
  }

  /** A point of the world on the screen [CSS pixels]; z is above 1 when it is behind the camera. */
  project(x: number, y: number, z: number, out: Vector3): Vector3 {
    out.set(x, y, z).project(this.camera.eye);
    out.x = (0.5 + 0.5 * out.x) * this.width;
    out.y = (0.5 - 0.5 * out.y) * this.height;
    return out;
  }

  private aim(x: number, y: number): void {
    this.ray.setFromCamera(new Vector2((2 * x) / this.width - 1, 1 - (2 * y) / this.height), this.camera.eye);
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
    const normal = this.camera.eye.getWorldDirection(new Vector3());
    const plane = new Plane().setFromNormalAndCoplanarPoint(normal, point);
    return this.ray.ray.intersectPlane(plane, new Vector3()) ?? point.clone();
  }
}

/** The corners of a wall as a fan. */
function polygon(shape: ShapePicture): BufferGeometry {
  const points = shape.points!;
  const position: number[] = [];
  for (let i = 3; i + 5 < points.length; i += 3) position.push(...points.slice(0, 3), ...points.slice(i, i + 6));
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(new Float32Array(position), 3));
  geometry.computeVertexNormals();
  return geometry;
}
