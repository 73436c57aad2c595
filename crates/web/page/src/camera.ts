// The camera of the plane and that of space behind one face: it frames, follows, looks from any side, and gives way to the reader's hand.
import { Box3, OrthographicCamera, PerspectiveCamera, Vector3, MOUSE, TOUCH } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

/** Field of view [degrees]: long enough that balls at the rim stay round. */
const FIELD = 35;
/** Room around what is framed. */
const MARGIN = 1.12;
/** Share of the view within which things must be to count as seen. */
const RIM = 0.97;
/** Share of the height that is given to buttons at most. */
const MOST_COVERED = 0.3;
/** How long the camera takes to another place [ms]. */
const EASE = 650;
/** How soon a camera that follows a body is where it was [s]. */
const CLOSE = 0.12;
/** Share of half the view by which it is moved ahead of what left it. */
const LEAD = 0.35;

/** Sides to look from: towards the camera. In space it never looks along the vertical itself, where there is no up. */
export const VIEWS = {
  corner: new Vector3(0.55, -1, 0.5),
  front: new Vector3(0, -1, 0.02),
  side: new Vector3(1, 0, 0.02),
  top: new Vector3(0, -0.001, 1),
} as const;
export type View = keyof typeof VIEWS;

/** Where a camera stands: what it looks at, from where, and how much it sees there [m from the middle to the upper rim]. */
interface Place {
  target: Vector3;
  away: Vector3;
  half: number;
}

export class Camera {
  private readonly flat = new OrthographicCamera();
  private readonly deep = new PerspectiveCamera(FIELD);
  private controls: OrbitControls;
  private width = 1;
  private height = 1;
  private size = 1;
  /** Share of the height that buttons cover at the top. */
  private covered = 0;
  private goal: { from: Place; to: Place; since: number } | null = null;
  /** Where the reader's hand found the camera. */
  private held: Place | null = null;
  /** Whether it moves by itself: to what leaves the view, with one body, or not at all since the reader took over. */
  following: "all" | "none" | number = "all";
  onFollow: () => void = () => {};
  private readonly slope = Math.tan((FIELD * Math.PI) / 360);
  private readonly still = matchMedia("(prefers-reduced-motion: reduce)").matches;

  constructor(private plane: boolean, private readonly canvas: HTMLCanvasElement, private readonly changed: () => void) {
    this.deep.up.set(0, 0, 1);
    this.flat.up.set(0, 1, 0);
    this.controls = this.control();
  }

  get eye(): OrthographicCamera | PerspectiveCamera {
    return this.plane ? this.flat : this.deep;
  }
  get target(): Vector3 {
    return this.controls.target;
  }

  private control(): OrbitControls {
    const controls = new OrbitControls(this.eye, this.canvas);
    controls.enableRotate = !this.plane;
    controls.zoomToCursor = true;
    controls.enableDamping = !this.still;
    controls.dampingFactor = 0.18;
    if (this.plane) {
      controls.mouseButtons = { LEFT: MOUSE.PAN, MIDDLE: MOUSE.DOLLY, RIGHT: MOUSE.PAN };
      controls.touches = { ONE: TOUCH.PAN, TWO: TOUCH.DOLLY_PAN };
    } else {
      controls.maxPolarAngle = 0.54 * Math.PI;
    }
    controls.addEventListener("start", () => {
      this.goal = null;
      this.held = this.place();
    });
    controls.addEventListener("end", () => this.taken());
    controls.addEventListener("change", () => this.changed());
    return controls;
  }

  /** To turn the scene is not to leave it; to move or zoom is, unless one body is followed and only the distance changed. */
  private taken(): void {
    const [before, now] = [this.held, this.place()];
    this.held = null;
    if (!before) return;
    const moved = before.target.distanceTo(now.target) > 1e-3 * now.half;
    const zoomed = Math.abs(before.half - now.half) > 1e-3 * now.half;
    if (this.following === "all" ? moved || zoomed : this.following !== "none" && moved) this.follow("none");
  }

  follow(what: "all" | "none" | number): void {
    this.following = what;
    // Around a body that is followed zooming keeps it in the middle.
    this.controls.zoomToCursor = typeof what !== "number";
    this.onFollow();
  }

  /** Another scene, so large; true when the camera is another one now. */
  use(plane: boolean, size: number): boolean {
    this.size = size;
    const other = plane !== this.plane;
    if (other) {
      this.plane = plane;
      this.controls.dispose();
      this.controls = this.control();
    }
    this.goal = null;
    return other;
  }

  free(on: boolean): void {
    this.controls.enabled = on;
  }

  /** `covered` pixels at the top are behind buttons: nothing that is framed lies there. */
  resize(width: number, height: number, covered: number): void {
    [this.width, this.height] = [width, height];
    this.covered = Math.min(MOST_COVERED, covered / height);
    const aspect = width / height;
    this.deep.aspect = aspect;
    const half = (this.flat.top - this.flat.bottom) / 2 || 1;
    Object.assign(this.flat, { left: -half * aspect, right: half * aspect });
    this.eye.updateProjectionMatrix();
  }

  private place(): Place {
    const target = this.controls.target.clone();
    if (this.plane) return { target, away: new Vector3(0, 0, 1), half: (this.flat.top - this.flat.bottom) / 2 / this.flat.zoom };
    const away = this.deep.position.clone().sub(target);
    const distance = away.length() || 1;
    return { target, away: away.divideScalar(distance), half: distance * this.slope };
  }

  private put({ target, away, half }: Place): void {
    const aspect = this.width / this.height;
    if (this.plane) {
      Object.assign(this.flat, { top: half, bottom: -half, left: -half * aspect, right: half * aspect, near: -10, far: 10, zoom: 1 });
      this.flat.position.set(target.x, target.y, 1);
      this.controls.target.set(target.x, target.y, 0);
    } else {
      const distance = half / this.slope;
      this.deep.position.copy(target).addScaledVector(away, distance);
      Object.assign(this.deep, { near: 0.01 * Math.min(this.size, distance), far: 60 * this.size + 4 * distance });
      this.controls.target.copy(target);
    }
    this.eye.updateProjectionMatrix();
    this.controls.update();
    // A hand may reach for a body before the next frame is drawn.
    this.eye.updateMatrixWorld();
    this.changed();
  }

  private go(to: Place, at_once: boolean): void {
    this.goal = at_once || this.still ? null : { from: this.place(), to, since: performance.now() };
    if (!this.goal) this.put(to);
  }

  /** Half the height of a view that shows a box whole from a direction [m]. */
  private halfFor(extent: Vector3, away: Vector3): number {
    const aspect = this.width / this.height;
    const free = 1 - this.covered;
    if (this.plane) return 0.5 * MARGIN * Math.max(extent.y / free, extent.x / aspect, 1e-6);
    const right = new Vector3(0, 0, 1).cross(away).normalize();
    const up = away.clone().cross(right);
    let most = 1e-6;
    for (let corner = 0; corner < 8; corner++) {
      const p = new Vector3(corner & 1 ? 0.5 : -0.5, corner & 2 ? 0.5 : -0.5, corner & 4 ? 0.5 : -0.5).multiply(extent);
      const aside = Math.max(Math.abs(p.dot(right)) / (this.slope * aspect), Math.abs(p.dot(up)) / (this.slope * free));
      most = Math.max(most, MARGIN * aside + p.dot(away));
    }
    return most * this.slope;
  }

  /** What the camera looks at so that a point is in the middle of what buttons leave free. */
  private below(centre: Vector3, away: Vector3, half: number): Vector3 {
    const up = this.plane ? new Vector3(0, 1, 0) : away.clone().cross(new Vector3(0, 0, 1).cross(away).normalize());
    return centre.addScaledVector(up, this.covered * half);
  }

  /** A box in view whole; from another side, or from where the camera is. */
  frame(box: Box3, { view, atOnce = false, least = 0 }: { view?: View; atOnce?: boolean; least?: number } = {}): void {
    const away = this.plane ? new Vector3(0, 0, 1) : view ? VIEWS[view].clone().normalize() : this.place().away;
    const half = Math.max(this.halfFor(box.getSize(new Vector3()), away), least);
    this.go({ target: this.below(box.getCenter(new Vector3()), away, half), away, half }, atOnce);
  }

  /** Whether a box is in view, not at its very rim; a view on its way counts as there. */
  sees(box: Box3): boolean {
    const here = this.goal ? this.goal.to : this.place();
    const aspect = this.width / this.height;
    const right = this.plane ? new Vector3(1, 0, 0) : new Vector3(0, 0, 1).cross(here.away).normalize();
    const up = this.plane ? new Vector3(0, 1, 0) : here.away.clone().cross(right);
    for (let corner = 0; corner < (this.plane ? 4 : 8); corner++) {
      const p = new Vector3(corner & 1 ? box.max.x : box.min.x, corner & 2 ? box.max.y : box.min.y, corner & 4 ? box.max.z : box.min.z).sub(here.target);
      const depth = this.plane ? 1 : 1 - (p.dot(here.away) * this.slope) / here.half;
      const half = RIM * here.half * depth;
      const top = half - 2 * this.covered * here.half * depth;
      if (depth <= 0 || Math.abs(p.dot(right)) > half * aspect || p.dot(up) > top || p.dot(up) < -half) return false;
    }
    return true;
  }

  /** Goes to what left the view, a little ahead of it, and never nearer than it is. */
  pursue(box: Box3): void {
    const here = this.place();
    const half = Math.max(here.half, this.halfFor(box.getSize(new Vector3()), here.away));
    const target = this.below(box.getCenter(new Vector3()), here.away, half);
    const way = target.clone().sub(here.target);
    const room = Math.max(0, half - this.halfFor(box.getSize(new Vector3()), here.away));
    if (way.length() > 0) target.addScaledVector(way.normalize(), LEAD * room);
    this.go({ ...here, target, half }, false);
  }

  /** Moves on, along with a body that is followed; true while it is on its way. */
  tick(elapsed: number, body: Vector3 | null): void {
    if (this.goal) {
      const share = Math.min(1, (performance.now() - this.goal.since) / EASE);
      const { from, to } = this.goal;
      const s = share * share * (3 - 2 * share);
      if (share === 1) this.goal = null;
      this.put({
        target: from.target.clone().lerp(to.target, s),
        away: from.away.clone().lerp(to.away, s).normalize(),
        half: from.half * (to.half / from.half) ** s,
      });
    } else if (body && typeof this.following === "number") {
      const way = body.clone().sub(this.controls.target).multiplyScalar(this.still ? 1 : 1 - Math.exp(-elapsed / CLOSE));
      if (this.plane) way.z = 0;
      if (way.length() > 1e-4 * this.place().half) {
        this.controls.target.add(way);
        this.eye.position.add(way);
        this.eye.updateMatrixWorld();
        this.changed();
      }
    }
    this.controls.update();
  }
}
