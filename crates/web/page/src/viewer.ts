// The page: bar, stage, transport, plots, and beside them what only a live run has.
import { Color, Vector3 } from "three";
import { Boxes } from "./boxes";
import { button, el, icon } from "./dom";
import { Overlay, type BodyArrow, type Layers } from "./overlay";
import type { Picture } from "./picture";
import { Player, type Source } from "./player";
import { Plots } from "./plots";
import { CHOICES, Governor, LEAN, LEVELS, type Choice } from "./quality";
import { Stage } from "./stage";
import { onThemeChange, theme } from "./theme";
import { Track } from "./track";

/** Speeds that can be chosen. */
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];
/** Pixels that a pointer may move in a click. */
const STILL = 4;

/** What the levels are called in the page. */
const NAMES = ["full", "medium", "low", "coarse", "coarsest"];

/** What a live run does with a body that is dragged. */
export interface Hand {
  grab(body: number, point: Vector3): void;
  pull(to: Vector3): void;
  release(): void;
}

export class Viewer {
  readonly player: Player;
  readonly stage: Stage;
  readonly plots: Plots;
  private readonly overlay: Overlay;
  private look = theme();
  picture: Picture | null = null;
  private q = new Float32Array(0);
  private ghost: { track: Track; q: Float32Array; picture: Picture } | null = null;
  readonly layers: Layers = { contacts: false, impulses: false, joints: false, names: false, boxes: false };
  selected: number | null = null;
  arrows: BodyArrow[] = [];
  private tints: (Color | null)[] | null = null;
  /** Where no engine tells the boxes it searched with. */
  private boxes: Boxes | null = null;
  private drag: { point: Vector3; to: Vector3; body: number; local: Vector3 } | null = null;
  hand: Hand | null = null;
  onLayer: (name: keyof Layers, on: boolean) => void = () => {};

  readonly app = document.getElementById("app")!;
  readonly bar = el("header", { class: "bar" });
  private readonly name = el("h1", {}, "carom");
  private readonly about = el("p", { class: "about" });
  readonly actions = el("div", { class: "actions" });
  readonly toggles = el("div", { class: "toggles", role: "toolbar", "aria-label": "Layers" });
  readonly view = el("main", { class: "view" });
  readonly side = el("aside", { class: "side", "aria-label": "Scene", hidden: true });
  readonly note = el("div", { class: "note", role: "status", "aria-live": "polite" });
  private readonly playButton: HTMLButtonElement;
  private readonly scrub: HTMLInputElement;
  private readonly clock = el("output", { class: "clock" });
  private readonly facts = el("span", { class: "facts" });
  private shown = "";
  private last = performance.now();
  private frames: number[] = [];
  quality: Choice = "auto";
  readonly governor: Governor;
  private worked = false;
  private told = 0;

  constructor(private readonly source: Source | null) {
    this.player = new Player(new Track(2, []), source);
    this.player.changed = () => this.refresh();
    this.plots = new Plots(this.player);
    this.app.append(this.bar, this.view, this.side, el("footer", { class: "dock" }, this.transport(), this.plots.root));
    this.playButton = this.app.querySelector(".play")!;
    this.scrub = this.app.querySelector(".scrub")!;
    this.bar.append(el("div", { class: "title" }, this.name, this.about), this.actions);
    this.stage = new Stage(this.view, this.look);
    this.overlay = new Overlay(this.view, this.stage, this.look);
    this.view.append(this.toggles, this.note);
    this.layerButtons();
    this.actions.append(this.qualityMenu(), button("fit", "Show all bodies (F)", () => this.stage.fit(this.q)));
    this.governor = new Governor(this.stage.software ? LEAN : 0, () => this.applyQuality());
    this.applyQuality();
    document.addEventListener("visibilitychange", () => this.governor.forget());
    const plotButton = button("plot", "Show or hide the plots (P)", () => this.togglePlots());
    plotButton.setAttribute("aria-pressed", "true");
    plotButton.classList.add("plot-toggle");
    this.actions.append(plotButton);
    this.listen();
    onThemeChange(() => {
      this.look = this.overlay.theme = theme();
      this.stage.repaint(this.look);
      this.stage.tint(this.tints);
      this.plots.redraw();
    });
    new ResizeObserver(() => {
      this.stage.resize();
      this.overlay.resize();
      this.plots.redraw();
      this.draw();
    }).observe(this.view);
    requestAnimationFrame((now) => this.frame(now));
  }

  private transport(): HTMLElement {
    const speed = el("select", { class: "speed", "aria-label": "Speed", title: "Speed", onchange: () => this.player.setSpeed(Number(speed.value)) });
    for (const factor of SPEEDS) speed.append(el("option", { value: factor, selected: factor === 1 }, `${factor}×`));
    const play = button("play", "Run (Space)", () => this.player.toggle());
    play.classList.add("play");
    const scrub = el("input", {
      class: "scrub", type: "range", min: 0, max: 1, step: "any", value: 0, "aria-label": "Time",
      oninput: () => this.player.seek(Number(scrub.value)),
    });
    return el("div", { class: "transport", role: "toolbar", "aria-label": "Playback" },
      button("reset", "Back to the start (R)", () => this.player.reset()),
      button("back", "One step back (left arrow)", () => this.player.step(-1)),
      play,
      button("step", "One step (right arrow)", () => this.player.step(1)),
      scrub, this.clock, speed, this.facts);
  }

  private qualityMenu(): HTMLElement {
    const label = "Quality of the drawing (Q): automatic, high or low";
    const menu = el("select", { class: "quality", "aria-label": label, title: label, onchange: () => this.setQuality(menu.value as Choice) });
    for (const choice of CHOICES) menu.append(el("option", { value: choice }, choice));
    return el("label", { class: "quality-label" }, el("span", {}, "Quality"), menu);
  }

  setQuality(choice: Choice): void {
    this.quality = choice;
    this.governor.forget();
    this.applyQuality();
  }

  /** The level in use, 0 the best. */
  get level(): number {
    return this.quality === "high" ? 0 : this.quality === "low" ? LEAN : this.governor.level;
  }

  private applyQuality(): void {
    const menu = this.app.querySelector<HTMLSelectElement>(".quality")!;
    menu.value = this.quality;
    // What the governor chose is said where it is chosen.
    menu.options[0]!.textContent = `auto: ${NAMES[this.governor.level]!}`;
    this.stage.use(LEVELS[this.level]!);
    this.draw();
  }

  private layerButtons(): void {
    const layer = (name: keyof Layers, label: string, key: string): void => {
      const node = button("", `${label} (${key})`, () => this.setLayer(name, !this.layers[name]), label);
      node.dataset.layer = name;
      node.setAttribute("aria-pressed", "false");
      this.toggles.append(node);
    };
    layer("contacts", "Contacts", "C");
    layer("impulses", "Impulses", "I");
    layer("joints", "Joints", "J");
    layer("names", "Names", "N");
    layer("boxes", "Boxes", "B");
  }

  setLayer(name: keyof Layers, on: boolean): void {
    this.layers[name] = on;
    this.toggles.querySelector(`[data-layer=${name}]`)?.setAttribute("aria-pressed", String(on));
    this.onLayer(name, on);
    this.draw();
  }

  private togglePlots(): void {
    this.plots.root.hidden = !this.plots.root.hidden;
    this.actions.querySelector(".plot-toggle")?.setAttribute("aria-pressed", String(!this.plots.root.hidden));
    this.plots.redraw();
  }

  /** Shows a run from its start. */
  load(picture: Picture, track: Track, keepCamera = false): void {
    this.picture = picture;
    this.boxes = this.source ? null : new Boxes(picture);
    this.selected = null;
    this.arrows = [];
    this.tints = null;
    document.title = `${picture.name} · carom`;
    this.name.textContent = picture.name;
    this.about.textContent = picture.description;
    const first = track.shots[0]?.q ?? new Float32Array(picture.bodies.length * track.coords);
    this.q = first.slice();
    // A handful of states tell how far a finished run goes.
    const around = [0.25, 0.5, 0.75, 1].map((share) => track.shots[Math.floor(share * (track.shots.length - 1))]?.q).filter((q) => q !== undefined);
    if (this.ghost && this.ghost.picture.dimension !== picture.dimension) this.setGhost(null);
    this.stage.show(picture, first, around, keepCamera);
    this.governor.forget();
    this.toggle("contacts", track.books.includes("contacts"));
    this.toggle("impulses", track.books.includes("contacts"));
    this.toggle("joints", picture.joints.length > 0);
    this.player.load(track);
    this.plots.load(picture, track);
    this.draw();
  }

  /** The button of the second run; also pressed by G. */
  ghostButton(label: string, pressed: () => void): HTMLButtonElement {
    const node = button("", `${label} (G)`, pressed, "Ghost");
    node.dataset.layer = "ghost";
    node.setAttribute("aria-pressed", "false");
    this.toggles.append(node);
    window.addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() === "g" && !event.ctrlKey && !event.metaKey && !(event.target as HTMLElement).closest("textarea, input, select")) pressed();
    });
    return node;
  }

  toggle(name: keyof Layers, there: boolean): void {
    const node = this.toggles.querySelector<HTMLButtonElement>(`[data-layer=${name}]`);
    if (node) node.hidden = !there;
  }

  /** Keeps a run, of this scene or another, to be seen through the one that is shown. */
  setGhost(track: Track | null, picture = this.picture): void {
    this.ghost = track && picture ? { track, q: new Float32Array(picture.bodies.length * track.coords), picture } : null;
    this.stage.setGhost(this.ghost?.picture ?? null);
    this.draw();
  }
  get hasGhost(): boolean {
    return this.ghost !== null;
  }

  tint(tints: (Color | null)[] | null): void {
    this.tints = tints;
    this.stage.tint(tints);
  }

  say(text: string, kind: "info" | "error" = "info"): void {
    this.note.textContent = text;
    this.note.dataset.kind = kind;
    this.note.hidden = text === "";
  }

  private refresh(): void {
    const { playing } = this.player;
    this.playButton.replaceChildren(icon(playing ? "pause" : "play"));
    this.playButton.setAttribute("aria-label", playing ? "Pause (Space)" : "Run (Space)");
    this.playButton.title = playing ? "Pause (Space)" : "Run (Space)";
    document.documentElement.dataset.playing = String(playing);
    this.draw();
  }

  private frame(now: number): void {
    requestAnimationFrame((next) => this.frame(next));
    const passed = now - this.last;
    const elapsed = Math.min(0.1, passed / 1000);
    this.last = now;
    const moved = this.player.tick(elapsed);
    if (moved || this.worked || this.stage.dirty) {
      this.worked = false;
      this.paint(now);
      this.frames.push(now);
      if (moved && this.quality === "auto") {
        if (this.governor.curious) {
          this.stage.finish();
          this.governor.measured(performance.now() - now);
        }
        this.governor.frame(passed);
      }
    }
    while (this.frames.length > 0 && this.frames[0]! < now - 1000) this.frames.shift();
    this.plots.update(this.look, now);
  }

  /** Draws in the next frame. */
  draw(): void {
    this.worked = true;
  }

  get fps(): number {
    return this.frames.length;
  }

  private paint(now: number): void {
    const { picture, player } = this;
    const shot = player.track.at(player.cursor);
    if (!picture || !shot) return;
    player.track.poses(player.cursor, this.q);
    this.ghost?.track.poses(player.cursor, this.ghost.q);
    this.stage.place(this.q, this.ghost?.q ?? null);
    this.stage.render();
    this.overlay.draw({
      picture, q: this.q, shot, boxes: shot.boxes ?? (this.layers.boxes ? this.boxes?.at(this.q) : null) ?? null, strongest: player.track.strongest, layers: this.layers, selected: this.selected, arrows: this.arrows,
      pull: this.drag ? { from: this.held(), to: this.drag.to } : null,
    });
    this.tell(shot.touches.length / 11, now);
  }

  private tell(contacts: number, now: number): void {
    const { track, cursor } = this.player;
    this.scrub.min = String(track.start);
    this.scrub.max = String(Math.max(track.end, track.start + 1e-9));
    this.scrub.value = String(cursor);
    const share = (cursor - track.start) / (track.end - track.start || 1);
    this.scrub.style.setProperty("--done", `${100 * share}%`);
    const time = `${cursor.toFixed(3)} s`;
    if (time !== this.shown) {
      this.shown = time;
      this.clock.textContent = time;
      this.scrub.setAttribute("aria-valuetext", time);
      document.documentElement.dataset.time = cursor.toFixed(6);
      document.documentElement.dataset.end = track.end.toFixed(6);
    }
    if (now - this.told > 250 || !this.player.playing) {
      this.told = now;
      const bodies = this.picture?.bodies.length ?? 0;
      const rate = this.player.playing && this.fps > 1 ? ` · ${this.fps} fps` : "";
      this.facts.textContent = `${bodies} ${bodies === 1 ? "body" : "bodies"} · ${contacts} ${contacts === 1 ? "contact" : "contacts"}${rate}`;
    }
  }

  /** Where the hand holds the dragged body now. */
  private held(): Vector3 {
    const { drag } = this;
    if (!drag) return new Vector3();
    return this.carry(drag.body, drag.local);
  }

  /** A point of a body in the world. */
  private carry(body: number, local: Vector3): Vector3 {
    if (this.picture?.dimension === 2) {
      const [x, y, a] = [this.q[3 * body]!, this.q[3 * body + 1]!, this.q[3 * body + 2]!];
      return new Vector3(x + Math.cos(a) * local.x - Math.sin(a) * local.y, y + Math.sin(a) * local.x + Math.cos(a) * local.y, 0);
    }
    const at = 7 * body;
    const [w, x, y, z] = [this.q[at + 3]!, this.q[at + 4]!, this.q[at + 5]!, this.q[at + 6]!];
    return local.clone().applyQuaternion({ w, x, y, z } as never).add(new Vector3(this.q[at], this.q[at + 1], this.q[at + 2]));
  }

  /** The same the other way. */
  local(body: number, point: Vector3): Vector3 {
    if (this.picture?.dimension === 2) {
      const [x, y, a] = [point.x - this.q[3 * body]!, point.y - this.q[3 * body + 1]!, this.q[3 * body + 2]!];
      return new Vector3(Math.cos(a) * x + Math.sin(a) * y, -Math.sin(a) * x + Math.cos(a) * y, 0);
    }
    const at = 7 * body;
    const [w, x, y, z] = [this.q[at + 3]!, this.q[at + 4]!, this.q[at + 5]!, this.q[at + 6]!];
    return point.clone().sub(new Vector3(this.q[at], this.q[at + 1], this.q[at + 2])).applyQuaternion({ w, x: -x, y: -y, z: -z } as never);
  }

  private listen(): void {
    const canvas = this.stage.canvas;
    let down: { x: number; y: number; body: number | null } | null = null;
    const place = (event: PointerEvent): [number, number] => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    // Before the camera sees it: a hand on a body does not turn the scene.
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !event.isPrimary) return;
      const [x, y] = place(event);
      const hit = this.stage.pick(x, y);
      down = { x, y, body: hit?.body ?? null };
      if (hit && this.hand && this.picture?.bodies[hit.body]?.kind === "dynamic") {
        this.stage.free(false);
        canvas.setPointerCapture(event.pointerId);
        this.drag = { point: hit.point, to: hit.point.clone(), body: hit.body, local: this.local(hit.body, hit.point) };
        this.hand.grab(hit.body, this.drag.local);
        this.hand.pull(hit.point);
        this.draw();
      }
    }, { capture: true });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.drag) return;
      const [x, y] = place(event);
      this.drag.to = this.stage.beside(x, y, this.drag.point);
      this.hand?.pull(this.drag.to);
      this.draw();
    });
    const up = (event: PointerEvent): void => {
      const [x, y] = place(event);
      if (this.drag) {
        this.drag = null;
        this.hand?.release();
        this.stage.free(true);
      }
      if (down && Math.hypot(x - down.x, y - down.y) < STILL && event.type === "pointerup") this.select(down.body);
      down = null;
      this.draw();
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    window.addEventListener("keydown", (event) => this.key(event));
  }

  select(body: number | null): void {
    const moves = body !== null && this.picture?.bodies[body]?.kind !== "static";
    this.selected = moves ? body : null;
    if (moves) this.plots.select(body!);
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("textarea, select, input:not(.scrub), [contenteditable]")) return;
    const onButton = target.closest("button") !== null;
    const onSlider = target.closest(".scrub") !== null;
    const act: Record<string, () => void> = {
      r: () => this.player.reset(),
      f: () => this.stage.fit(this.q),
      p: () => this.togglePlots(),
      q: () => this.setQuality(CHOICES[(CHOICES.indexOf(this.quality) + 1) % CHOICES.length]!),
      c: () => this.setLayer("contacts", !this.layers.contacts),
      i: () => this.setLayer("impulses", !this.layers.impulses),
      j: () => this.setLayer("joints", !this.layers.joints),
      n: () => this.setLayer("names", !this.layers.names),
      b: () => this.setLayer("boxes", !this.layers.boxes),
    };
    // A focused button is pressed by the space key, as everywhere.
    if (!onButton) act[" "] = () => this.player.toggle();
    if (!onSlider) Object.assign(act, { ArrowRight: () => this.player.step(1), ArrowLeft: () => this.player.step(-1) });
    const found = act[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (found) {
      found();
      event.preventDefault();
    }
  }

  /** Where a body is on the screen [CSS pixels of the page]; for scripts and tests. */
  where(body: number): [number, number] {
    const width = this.picture?.dimension === 2 ? 3 : 7;
    const p = this.stage.project(this.q[width * body]!, this.q[width * body + 1]!, width === 7 ? this.q[width * body + 2]! : 0, new Vector3());
    const box = this.stage.canvas.getBoundingClientRect();
    return [box.left + p.x, box.top + p.y];
  }
}
