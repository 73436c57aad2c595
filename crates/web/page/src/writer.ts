// A run as a replay, written in the page: the other side of replay.ts, in the numbers of the crate's recorder.rs and pack.rs.
import type { Picture } from "./picture";
import { TOUCH, type Track } from "./track";

/** Levels into which the largest of its kind is divided; those of the recorder. */
const LEVELS = 2 ** 20;
const TURN = 2 ** -15;
const BOOK_LEVELS = 2 ** 24;
const NORMAL = 2 ** -9;
const TOUCH_LEVELS = 2 ** 16;
/** Doubled and subtracted a number must stay whole. */
const MOST = 2 ** 50;
/** Where the blank page takes the letters of a run. */
const PLACE = "<!--carom-run-->";

class Pack {
  private bytes = new Uint8Array(1 << 16);
  private used = 0;
  unsigned(x: number): void {
    if (this.used + 10 > this.bytes.length) {
      const larger = new Uint8Array(2 * this.bytes.length);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    // Divided, not shifted: numbers may have more than 32 bits.
    while (x >= 128) {
      this.bytes[this.used++] = (x % 128) + 128;
      x = Math.floor(x / 128);
    }
    this.bytes[this.used++] = x;
  }
  signed(x: number): void {
    this.unsigned(x < 0 ? -2 * x - 1 : 2 * x);
  }
  series(count: number, quantum: number, of: (k: number) => number): void {
    let [last, before] = [0, 0];
    for (let k = 0; k < count; k++) {
      const now = quantised(of(k), quantum);
      this.signed(now - (k < 2 ? last : 2 * last - before));
      [before, last] = [last, now];
    }
  }
  get taken(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.used);
  }
}

const quantised = (x: number, quantum: number): number => {
  const steps = Math.round(x / quantum);
  return Number.isNaN(steps) ? 0 : Math.min(MOST, Math.max(-MOST, steps));
};

/** The quantum that divides the largest of some numbers into levels; 1 when all are 0. */
function quantum(levels: number, each: (see: (x: number) => void) => void): number {
  let largest = 0;
  each((x) => (Number.isFinite(x) && Math.abs(x) > largest ? (largest = Math.abs(x)) : 0));
  return largest > 0 ? largest / levels : 1;
}

/** The bytes of a replay before they are deflated. */
export function pack(picture: Picture, track: Track): Uint8Array<ArrayBuffer> {
  const { shots, coords, dof, dimension } = track;
  const count = shots.length;
  const bodies = picture.bodies.length;
  const part = (values: "q" | "v", width: number, from: number, to: number) => (see: (x: number) => void): void => {
    for (const shot of shots) for (let b = 0; b < bodies; b++) for (let k = from; k < to; k++) see(shot[values][b * width + k]!);
  };
  const touch = (from: number) => (see: (x: number) => void): void => {
    for (const { touches } of shots) for (let i = 0; i < touches.length; i += TOUCH) for (let k = 0; k < dimension; k++) see(touches[i + from + k]!);
  };
  const quanta = {
    place: quantum(LEVELS, part("q", coords, 0, dimension)), turn: TURN,
    speed: quantum(LEVELS, part("v", dof, 0, dimension)), spin: quantum(LEVELS, part("v", dof, dimension, dof)),
    books: track.books.map((_, i) => quantum(BOOK_LEVELS, (see) => shots.forEach((s) => see(s.books[i]!)))),
    point: quantum(TOUCH_LEVELS, touch(2)), normal: NORMAL, impulse: quantum(TOUCH_LEVELS, touch(8)),
  };
  const out = new Pack();
  // Steps count from the first shot, whatever came before it.
  const first = shots[0]?.step ?? 0;
  out.series(count, 1, (k) => shots[k]!.step - first);
  for (let i = 0; i < bodies * coords; i++) out.series(count, i % coords < dimension ? quanta.place : TURN, (k) => shots[k]!.q[i]!);
  for (let i = 0; i < bodies * dof; i++) out.series(count, i % dof < dimension ? quanta.speed : quanta.spin, (k) => shots[k]!.v[i]!);
  track.books.forEach((_, i) => out.series(count, quanta.books[i]!, (k) => shots[k]!.books[i]!));
  for (const { touches } of shots) {
    out.unsigned(touches.length / TOUCH);
    for (let i = 0; i < touches.length; i += TOUCH) {
      out.unsigned(touches[i]!);
      out.unsigned(touches[i + 1]!);
      [quanta.point, NORMAL, quanta.impulse].forEach((size, at) => {
        for (let k = 0; k < dimension; k++) out.signed(quantised(touches[i + 2 + 3 * at + k]!, size));
      });
    }
  }
  const head = new TextEncoder().encode(JSON.stringify({ ...picture, shots: count, start: track.start, books: track.books, quanta }));
  const numbers = out.taken;
  const bytes = new Uint8Array(4 + head.length + numbers.length);
  new DataView(bytes.buffer).setUint32(0, head.length, true);
  bytes.set(head, 4);
  bytes.set(numbers, 4 + head.length);
  return bytes;
}

export async function deflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Bytes as letters that may stand in a page. */
export function letters(bytes: Uint8Array): string {
  let out = "";
  // In parts: a call takes only so many arguments.
  for (let i = 0; i < bytes.length; i += 0x8000) out += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(out);
}

/** A run in a page that needs nothing else; `blank` is the page without one. */
export async function replayPage(blank: string, picture: Picture, track: Track): Promise<string> {
  const run = letters(await deflate(pack(picture, track)));
  return blank.replace(PLACE, () => run);
}
