// A run out of the page itself: base64, deflate, numbers written short. The other side is the crate's recorder.rs.
import type { Picture } from "./picture";
import { TOUCH, Track } from "./track";

interface Head extends Picture {
  shots: number;
  start: number;
  books: string[];
  quanta: { place: number; turn: number; speed: number; spin: number; books: number[]; point: number; normal: number; impulse: number };
}

class Reader {
  private at = 0;
  constructor(private readonly bytes: Uint8Array) {}
  unsigned(): number {
    let x = 0;
    let scale = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Error("the run in this page is cut short");
      // Multiplied, not shifted: numbers may have more than 32 bits.
      x += (byte & 127) * scale;
      if (byte < 128) return x;
      scale *= 128;
    }
  }
  signed(): number {
    const x = this.unsigned();
    return x % 2 === 0 ? x / 2 : -(x + 1) / 2;
  }
  series(count: number, quantum: number, put: (shot: number, value: number) => void): void {
    let last = 0;
    let before = 0;
    for (let k = 0; k < count; k++) {
      const now = this.signed() + (k < 2 ? last : 2 * last - before);
      put(k, now * quantum);
      before = last;
      last = now;
    }
  }
}

export async function inflate(text: string): Promise<Uint8Array> {
  const letters = atob(text.trim());
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export interface Replay {
  picture: Picture;
  track: Track;
}

/** The run in this page, if it has one. */
export async function readReplay(): Promise<Replay | null> {
  const place = document.getElementById("carom-run");
  if (!place) return null;
  place.remove();
  return unpack(place.textContent ?? "");
}

/** The run in another replay. */
export async function readOther(file: File): Promise<Replay> {
  // Read as a document, nothing in it runs.
  const found = new DOMParser().parseFromString(await file.text(), "text/html").getElementById("carom-run")?.textContent;
  if (!found) throw new Error(`${file.name} is no replay: choose a page that \`carom run --out run.html\` wrote`);
  return unpack(found);
}

async function unpack(text: string): Promise<Replay> {
  const bytes = await inflate(text);
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length))) as Head;
  const reader = new Reader(bytes.subarray(4 + length));
  const { quanta, shots: count, dimension } = head;
  const track = new Track(dimension, head.books);
  const shots = Array.from({ length: count }, () => ({
    step: 0,
    time: 0,
    q: new Float32Array(head.bodies.length * track.coords),
    v: new Float32Array(head.bodies.length * track.dof),
    books: new Float64Array(head.books.length),
    touches: new Float32Array(0),
  }));
  reader.series(count, 1, (k, step) => {
    shots[k]!.step = step;
    shots[k]!.time = head.start + step * head.step;
  });
  for (let i = 0; i < head.bodies.length * track.coords; i++) {
    reader.series(count, i % track.coords < dimension ? quanta.place : quanta.turn, (k, x) => (shots[k]!.q[i] = x));
  }
  for (let i = 0; i < head.bodies.length * track.dof; i++) {
    reader.series(count, i % track.dof < dimension ? quanta.speed : quanta.spin, (k, x) => (shots[k]!.v[i] = x));
  }
  head.books.forEach((_, i) => reader.series(count, quanta.books[i]!, (k, x) => (shots[k]!.books[i] = x)));
  for (const shot of shots) {
    const touches = reader.unsigned();
    shot.touches = new Float32Array(touches * TOUCH);
    for (let i = 0; i < touches; i++) {
      shot.touches[i * TOUCH] = reader.unsigned();
      shot.touches[i * TOUCH + 1] = reader.unsigned();
      [quanta.point, quanta.normal, quanta.impulse].forEach((quantum, part) => {
        for (let k = 0; k < dimension; k++) shot.touches[i * TOUCH + 2 + 3 * part + k] = reader.signed() * quantum;
      });
    }
    track.push(shot);
  }
  return { picture: head, track };
}
