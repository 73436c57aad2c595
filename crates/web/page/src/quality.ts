// How well the scene is drawn, and who decides: the reader, or a governor that watches the frames.

/** One way to draw. */
export interface Level {
  /** Pixels of the drawing per pixel of the page, at most. */
  ratio: number;
  /** Pixels of the shadow map along a side; 0 where bodies lay flat shadows on the ground instead. */
  shadowMap: number;
  /** Light at corners, balls as squares, no shadow map. */
  lean: boolean;
  shadows: boolean;
}

/** From the best to the least. */
export const LEVELS: readonly Level[] = [
  { ratio: 2, shadowMap: 2048, lean: false, shadows: true },
  { ratio: 1, shadowMap: 1024, lean: false, shadows: true },
  { ratio: 1, shadowMap: 0, lean: true, shadows: true },
  { ratio: 0.75, shadowMap: 0, lean: true, shadows: true },
  { ratio: 0.5, shadowMap: 0, lean: true, shadows: false },
];
/** The first level that a processor alone can draw, and the one that is meant by "low". */
export const LEAN = 2;

export type Choice = "auto" | "high" | "low";
export const CHOICES: readonly Choice[] = ["auto", "high", "low"];

/** Frames [ms] longer than this on average are too slow: 60 per second, and some room for a late one. */
const SLOW = 1.15 * (1000 / 60);
/** Share of the frames, the shortest, that are averaged. */
const USUAL = 0.9;
/** Frames that are looked at together, and how many suffice when they are hopeless [ms]. */
const WINDOW = 40;
const FEW = 6;
const HOPELESS = 50;
/** Work of a frame [ms] that leaves room for a better level: a step up may cost three times as much. */
const ROOM = 1000 / 60 / 3;
/** How long a level must hold with room before a better one is tried [ms], first and at most. */
const PATIENCE = 3000;
const MOST_PATIENCE = 120000;

/**
 * Steps down until the frame rate holds, and up again where there is room. A step up that had to be taken back doubles the wait for
 * the next: a flicker of sharpness is worse than its lack.
 */
export class Governor {
  level: number;
  private frames: number[] = [];
  private held = 0;
  private patience = PATIENCE;
  private rose = false;
  private work = Infinity;

  /** `best` is the best level it may choose; there it begins. */
  constructor(readonly best: number, private readonly changed: (level: number) => void) {
    this.level = best;
  }

  /** Whether the work of this frame should be measured: only where a better level could follow. */
  get curious(): boolean {
    return this.level > this.best && this.frames.length === WINDOW / 2;
  }

  /** What a frame took from its start to its last pixel [ms]. */
  measured(work: number): void {
    this.work = work;
  }

  /** Frames that have been slow for other reasons do not count: the page was hidden, the scene changed. */
  forget(): void {
    this.frames.length = 0;
    this.held = 0;
    this.work = Infinity;
  }

  /** A frame of a moving scene, so long after the last [ms]. */
  frame(elapsed: number): void {
    this.frames.push(elapsed);
    const count = this.frames.length;
    if (count < WINDOW && (count < FEW || elapsed < HOPELESS)) return;
    // The longest few may be a shader that was compiled, or the processor's other work.
    const usual = [...this.frames].sort((a, b) => a - b).slice(0, Math.floor(USUAL * count));
    const mean = usual.reduce((sum, x) => sum + x, 0) / usual.length;
    if (count < WINDOW && mean < HOPELESS) return;
    const { work } = this;
    this.frames.length = 0;
    this.work = Infinity;
    if (mean > SLOW) {
      // Taken back: the level below is right for long.
      if (this.rose) this.patience = Math.min(MOST_PATIENCE, 2 * this.patience);
      this.held = 0;
      this.go(this.level + 1, false);
    } else if (work < ROOM) {
      this.held += count * mean;
      if (this.held >= this.patience) {
        this.held = 0;
        this.go(this.level - 1, true);
      }
    } else {
      this.held = 0;
      this.rose = false;
    }
  }

  private go(level: number, up: boolean): void {
    const next = Math.min(LEVELS.length - 1, Math.max(this.best, level));
    this.rose = up;
    if (next === this.level) return;
    this.level = next;
    this.changed(next);
  }
}

/** Whether the browser draws with the processor alone. */
export function drawsInSoftware(): boolean {
  const context = document.createElement("canvas").getContext("webgl2");
  if (!context) return false;
  const info = context.getExtension("WEBGL_debug_renderer_info");
  const name = String(context.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : context.RENDERER));
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}
