// The other end of the server's websocket: wishes out, scenes and shots in.
import type { Vector3 } from "three";
import type { Parameters, Setter } from "./dials";
import type { Picture } from "./picture";
import type { Source } from "./player";
import type { Hand } from "./viewer";
import { TOUCH, Track, type Shot } from "./track";

export interface SceneError {
  line: number;
  column: number;
  start: number;
  end: number;
  message: string;
  hint: string;
}

export interface Gradient {
  loss: string;
  value: number;
  time: number;
  switches: number;
  dof: number;
  v0: number[];
  q0: number[];
  mass?: number[];
  friction?: number[];
  restitution?: number[];
}

export interface SceneMessage {
  name: string;
  text: string;
  picture: Picture;
  books: string[];
  generation: number;
}

/** What was set since the scene was read: key, of what or of all, number. */
export type Setting = [string, number | null, number];

/** How a run keeps up with its clock. */
export interface Pace {
  /** Simulated seconds per second, over the last second. */
  factor: number | null;
  step: number;
  /** How long the step that is being taken takes already [s]. */
  stepping: number | null;
  /** What the last step did. */
  effort: string;
  /** Whether it waits for this page to draw. */
  page: boolean;
}

/** Everything that leads to a state again. */
export interface Bookmark {
  name: string;
  text?: string;
  set: Setting[];
  controls: number[];
  state: string;
}

/** What a live run tells its page. */
export interface Listener {
  scenes(list: { name: string; summary: string }[]): void;
  scene(message: SceneMessage): void;
  /** The same scene from its start. */
  start(): void;
  shot(shot: Shot): void;
  /** States that the run will come to if nobody disturbs it. */
  ahead(states: Float32Array[]): void;
  dials(parameters: Parameters, set: Setting[]): void;
  notSet(message: string): void;
  pace(pace: Pace): void;
  text(name: string, text: string): void;
  state(digits: string, time: number): void;
  errors(id: number, errors: SceneError[]): void;
  failed(message: string): void;
  gradient(answer: Gradient): void;
  noGradient(message: string): void;
  gone(): void;
}

export class Live implements Source, Hand, Setter {
  private readonly socket: WebSocket;
  private generation = -1;
  private picture: Picture | null = null;
  private books: string[] = [];

  constructor(token: string, private readonly listener: Listener) {
    this.socket = new WebSocket(`ws://${location.host}/ws?token=${encodeURIComponent(token)}`);
    this.socket.binaryType = "arraybuffer";
    this.socket.onmessage = (event) => (typeof event.data === "string" ? this.hear(event.data) : this.see(event.data as ArrayBuffer));
    this.socket.onclose = () => this.listener.gone();
  }

  /** Acts once the server listens. */
  ready(act: () => void): void {
    if (this.socket.readyState === WebSocket.OPEN) act();
    else this.socket.addEventListener("open", act, { once: true });
  }

  /** Whether the server is still there. */
  get connected(): boolean {
    return this.socket.readyState <= WebSocket.OPEN;
  }

  private wish(what: string, more: object = {}): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify({ do: what, ...more }));
  }

  run(on: boolean): void {
    this.wish("run", { on });
  }
  step(): void {
    this.wish("step");
  }
  reset(): void {
    this.wish("reset");
  }
  speed(factor: number): void {
    this.wish("speed", { factor });
  }
  open(name: string): void {
    this.wish("open", { name });
  }
  edit(text: string): void {
    this.wish("edit", { text });
  }
  check(text: string, id: number): void {
    this.wish("check", { text, id });
  }
  boxes(on: boolean): void {
    this.wish("boxes", { on });
  }
  slope(loss: string, time: number): void {
    this.wish("slope", { loss, time });
  }
  grab(body: number, point: Vector3): void {
    this.wish("grab", { body, at: point.toArray() });
  }
  pull(to: Vector3): void {
    this.wish("pull", { to: to.toArray() });
  }
  release(): void {
    this.wish("release");
  }

  set(key: string, index: number | null, value: number): void {
    this.wish("set", { key, index, value });
  }
  control(index: number, value: number): void {
    this.wish("control", { index, value });
  }
  write(): void {
    this.wish("write");
  }
  state(): void {
    this.wish("state");
  }
  restore(bookmark: Bookmark): void {
    this.wish("restore", { text: null, ...bookmark });
  }

  private hear(text: string): void {
    const message = JSON.parse(text) as { is: string; generation?: number } & Record<string, never>;
    // What is told of an earlier run comes too late.
    if (["ahead", "pace"].includes(message.is) && message.generation !== this.generation) return;
    if (message.generation !== undefined) this.generation = message.generation;
    switch (message.is) {
      case "scenes":
        return this.listener.scenes(message.scenes);
      case "scene":
        this.picture = message.picture;
        this.books = message.books;
        return this.listener.scene(message as unknown as SceneMessage);
      case "start":
        return this.listener.start();
      case "ahead":
        return this.listener.ahead((message.states as number[][]).map((q) => Float32Array.from(q)));
      case "dials":
        return this.listener.dials(message.dials, message.set);
      case "not_set":
        return this.listener.notSet(message.message);
      case "pace":
        return this.listener.pace(message as unknown as Pace);
      case "text":
        return this.listener.text(message.name, message.text);
      case "state":
        return this.listener.state(message.state, message.time);
      case "errors":
        return this.listener.errors(message.id, message.errors);
      case "failed":
        return this.listener.failed(message.message);
      case "gradient":
        return this.listener.gradient(message as unknown as Gradient);
      case "no_gradient":
        return this.listener.noGradient(message.message);
    }
  }

  /** An empty track for the present scene. */
  track(): Track {
    return new Track(this.picture?.dimension ?? 2, this.books);
  }

  private see(bytes: ArrayBuffer): void {
    this.wish("seen", { count: 1 });
    const view = new DataView(bytes);
    if (!this.picture || view.getUint32(0, true) !== this.generation) return;
    const { dimension, bodies } = this.picture;
    const [coords, dof] = dimension === 2 ? [3, 3] : [7, 6];
    const touches = view.getUint32(16, true);
    const boxes = view.getUint32(20, true);
    let at = 24 + 8 * this.books.length;
    const take = (count: number): Float32Array => {
      const part = new Float32Array(bytes.slice(at, at + 4 * count));
      at += 4 * count;
      return part;
    };
    const shot: Shot = {
      step: view.getUint32(4, true),
      time: view.getFloat64(8, true),
      books: new Float64Array(bytes.slice(24, 24 + 8 * this.books.length)),
      q: take(bodies.length * coords),
      v: take(bodies.length * dof),
      touches: take(touches * TOUCH),
    };
    if (boxes > 0) shot.boxes = take(boxes * 2 * dimension);
    this.listener.shot(shot);
  }
}
