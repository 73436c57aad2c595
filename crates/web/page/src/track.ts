// The shots of a run, in the order of time: all of a replay, or as far as a live run has come.
import { widths } from "./picture";

export interface Shot {
  step: number;
  time: number;
  q: Float32Array;
  v: Float32Array;
  books: Float64Array;
  /** Of every contact a, b, point, normal, impulse: TOUCH numbers. */
  touches: Float32Array;
  /** Of every body the least and the greatest corner of its box; only when asked for. */
  boxes?: Float32Array;
}

/** Numbers of a contact. */
export const TOUCH = 11;
/** Bytes that a live run may take before every second of its older shots is dropped. */
const MOST_BYTES = 400e6;

export class Track {
  readonly coords: number;
  readonly dof: number;
  shots: Shot[] = [];
  /** Largest impulse so far. */
  strongest = 0;
  /** Grows with every change, so that a plot knows when to draw again. */
  version = 0;
  private bytes = 0;

  constructor(readonly dimension: number, readonly books: string[]) {
    ({ coords: this.coords, dof: this.dof } = widths(dimension));
  }

  push(shot: Shot): void {
    // The same step once more, with more or less in it, takes the place of the first.
    if (this.shots[this.shots.length - 1]?.step === shot.step) this.shots.pop();
    this.shots.push(shot);
    this.version++;
    this.bytes += shot.q.byteLength + shot.v.byteLength + shot.books.byteLength + shot.touches.byteLength;
    for (let i = 0; i < shot.touches.length; i += TOUCH) {
      const size = Math.hypot(shot.touches[i + 8]!, shot.touches[i + 9]!, shot.touches[i + 10]!);
      if (size > this.strongest) this.strongest = size;
    }
    if (this.bytes > MOST_BYTES) this.thin();
  }

  private thin(): void {
    const half = this.shots.length >> 1;
    const kept = this.shots.filter((_, i) => i > half || i % 2 === 0);
    this.bytes *= kept.length / this.shots.length;
    this.shots = kept;
  }

  get start(): number {
    return this.shots[0]?.time ?? 0;
  }
  get end(): number {
    return this.shots[this.shots.length - 1]?.time ?? 0;
  }

  /** The last shot at or before a time. */
  index(time: number): number {
    let low = 0;
    let high = this.shots.length - 1;
    // Times add up roundings: a hair before a shot is that shot.
    const t = time + 1e-9;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.shots[middle]!.time <= t) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  at(time: number): Shot | undefined {
    return this.shots[this.index(time)];
  }

  /** Poses at a time, between two shots by the straight way. */
  poses(time: number, out: Float32Array): void {
    const i = this.index(time);
    const a = this.shots[i];
    if (!a) return;
    const b = this.shots[i + 1];
    const share = b ? Math.min(1, Math.max(0, (time - a.time) / (b.time - a.time))) : 0;
    if (!b || share === 0) {
      out.set(a.q);
      return;
    }
    const { coords, dimension } = this;
    for (let k = 0; k < out.length; k += coords) {
      // Of q and -q the nearer: both are the same turn.
      let sign = 1;
      if (dimension === 3) {
        let dot = 0;
        for (let j = 3; j < 7; j++) dot += a.q[k + j]! * b.q[k + j]!;
        if (dot < 0) sign = -1;
      }
      let norm = 0;
      for (let j = 0; j < coords; j++) {
        const to = j >= dimension ? sign * b.q[k + j]! : b.q[k + j]!;
        const x = a.q[k + j]! + share * (to - a.q[k + j]!);
        out[k + j] = x;
        if (j >= 3) norm += x * x;
      }
      if (dimension === 3 && norm > 0) for (let j = 3; j < 7; j++) out[k + j]! /= Math.sqrt(norm);
    }
  }
}
