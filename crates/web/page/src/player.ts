// The clock of the page: where in the track the cursor stands, and whether it runs.
import type { Track } from "./track";

/** A run that can go on beyond its last shot. */
export interface Source {
  /** False when nobody answers any more: only what is there already can be shown. */
  readonly connected: boolean;
  run(on: boolean): void;
  step(): void;
  reset(): void;
  speed(factor: number): void;
}

/** How far behind a live run the cursor is kept [s of real time]. */
const AHEAD = 0.05;
/** How far behind it gives up to follow smoothly [s of real time]. */
const LOST = 0.4;
/** Share of what it is further behind that it makes good in one frame. */
const CATCH_UP = 0.2;

export class Player {
  cursor = 0;
  playing = false;
  speed = 1;
  /** Whether the source itself is running. */
  private asked = false;
  changed: () => void = () => {};
  /** More was asked for than there is, and the source is gone. */
  dry: () => void = () => {};

  constructor(public track: Track, private readonly engine: Source | null) {}

  /** What can go on beyond the last shot. */
  private get source(): Source | null {
    return this.engine?.connected ? this.engine : null;
  }

  /** Another run from its start. */
  load(track: Track): void {
    this.track = track;
    this.cursor = track.start;
    this.playing = false;
    this.ask(false);
    this.changed();
  }

  private ask(on: boolean): void {
    if (on === this.asked) return;
    this.asked = on;
    this.source?.run(on);
  }

  get atEnd(): boolean {
    return this.cursor >= this.track.end - 1e-9;
  }

  play(on: boolean): void {
    if (on && this.atEnd && !this.source) {
      if (this.engine) this.dry();
      this.cursor = this.track.start;
    }
    this.playing = on;
    if (!on) this.ask(false);
    this.changed();
  }

  toggle(): void {
    this.play(!this.playing);
  }

  /** One shot forwards or back; beyond the end the source takes a step. */
  step(by: 1 | -1): void {
    this.playing = false;
    this.ask(false);
    const at = this.track.index(this.cursor);
    if (by > 0 && this.atEnd) {
      if (this.source) this.source.step();
      else if (this.engine) this.dry();
    } else this.cursor = this.track.shots[Math.min(this.track.shots.length - 1, Math.max(0, at + by))]?.time ?? 0;
    this.changed();
  }

  reset(): void {
    this.playing = false;
    this.ask(false);
    if (this.source) this.source.reset();
    else this.cursor = this.track.start;
    this.changed();
  }

  seek(time: number): void {
    this.playing = false;
    this.ask(false);
    this.cursor = Math.min(this.track.end, Math.max(this.track.start, time));
    this.changed();
  }

  setSpeed(factor: number): void {
    this.speed = factor;
    this.source?.speed(factor);
  }

  /** A shot has come from the source: a cursor that stood at the end stays there. */
  follow(wasAtEnd: boolean): void {
    if (wasAtEnd && !this.playing) this.cursor = this.track.end;
  }

  /** The source stopped by itself. */
  stopped(): void {
    this.asked = false;
    this.playing = false;
    this.changed();
  }

  /** Moves on by so much real time [s]; returns whether the picture changed. */
  tick(elapsed: number): boolean {
    if (!this.playing) return false;
    const { track } = this;
    if (this.atEnd && !this.source) {
      this.playing = false;
      this.changed();
      return false;
    }
    const before = this.cursor;
    this.cursor = Math.min(track.end, before + elapsed * this.speed);
    if (this.source) {
      // A little behind the newest shot there is something to move towards; further behind the cursor hurries.
      const lag = track.end - this.cursor;
      if (lag < AHEAD * this.speed) this.ask(true);
      else if (this.asked && lag > LOST * this.speed) this.cursor = track.end - AHEAD * this.speed;
      else if (this.asked) this.cursor += CATCH_UP * (lag - AHEAD * this.speed);
    }
    return this.cursor !== before;
  }
}
