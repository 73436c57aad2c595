// The page: bar, stage, transport, plots, and beside them what only a live run has.
import { Matrix4, Vector3, type Color } from "three";
import { poseMatrix } from "./batches";
import { Boxes } from "./boxes";
import type { View } from "./camera";
import { button, el, icon } from "./dom";
import { Inspector } from "./inspector";
import { Keys } from "./keys";
import { Overlay, type BodyArrow, type Layers } from "./overlay";
import type { Picture } from "./picture";
import { Player, type Source } from "./player";
import { point, type Drag } from "./pointer";
import { Plots } from "./plots";
import { CHOICES, Governor, LEAN, LEVELS, type Choice } from "./quality";
import { Stage } from "./stage";
import { find, type Thing } from "./things";
import { onThemeChange, switchTheme, theme } from "./theme";
import { Track } from "./track";

/** Speeds that can be chosen. */
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];
/** Time between two looks at whether something has left the view [ms]. */
const WATCH = 120;
/** Time that a closer look is not repeated, in times that it took. */
const CARE = 40;
/** States of a finished run that say how far it goes. */
const AROUND = 24;
/** Views by key. */
const SIDES: [string, View, string][] = [["1", "corner", "view from a corner"], ["2", "front", "view from the front"], ["3", "side", "view from the side"], ["4", "top", "view from above"]];

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
  private readonly pose = new Matrix4();
  private ghost: { track: Track; q: Float32Array; picture: Picture } | null = null;
  readonly layers: Layers = { contacts: false, impulses: false, joints: false, names: false, boxes: false };
  /** What is looked at. */
  thing: Thing | null = null;
  readonly keys: Keys;
  readonly inspector: Inspector;
  arrows: BodyArrow[] = [];
  private tints: (Color | null)[] | null = null;
  /** Where no engine tells the boxes it searched with. */
  private boxes: Boxes | null = null;
  drag: Drag | null = null;
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
  private painted = 0;
  private seen = -1;
  private watched = 0;
  /** Whether a look ahead has come for this scene. */
  foreseen = false;
  /** How a live run keeps up, for the line under the scene. */
  pace = "";
  private readonly followed = el("button", { type: "button", class: "followed", hidden: true, onclick: () => this.goAlong(null) });

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
    this.inspector = new Inspector(this);
    this.keys = new Keys(this.app);
    this.view.append(this.toggles, this.inspector.root, this.followed, this.note);
    this.layerButtons();
    this.stage.camera.onFollow = () => this.tellFollowed();
    this.actions.append(this.qualityMenu(), button("theme", "Light or dark (T)", () => switchTheme()), button("keys", "The keys (?)", () => this.keys.toggle()),
      button("fit", "Show all (F)", () => this.frameAll()));
    this.governor = new Governor(this.stage.software ? LEAN : 0, () => this.applyQuality());
    this.applyQuality();
    document.addEventListener("visibilitychange", () => this.governor.forget());
    const plotButton = button("plot", "Show or hide the plots (P)", () => this.togglePlots());
    plotButton.setAttribute("aria-pressed", "true");
    plotButton.classList.add("plot-toggle");
    this.actions.append(plotButton);
    point(this, this.stage);
    this.listKeys();
    onThemeChange(() => {
      this.look = this.overlay.theme = theme();
      this.stage.repaint(this.look);
      this.stage.tint(this.tints);
      this.plots.redraw();
    });
    new ResizeObserver(() => {
      this.stage.resize(this.toggles.offsetTop + this.toggles.offsetHeight);
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
    this.thing = null;
    if (!keepCamera) this.foreseen = false;
    this.arrows = [];
    this.tints = null;
    document.title = `${picture.name} · carom`;
    this.name.textContent = picture.name;
    this.about.textContent = picture.description;
    const first = track.shots[0]?.q ?? new Float32Array(picture.bodies.length * track.coords);
    this.q = first.slice();
    // A handful of states tell how far a finished run goes.
    const around = Array.from({ length: AROUND }, (_, k) => track.shots[Math.floor(((k + 1) / AROUND) * (track.shots.length - 1))]?.q).filter((q) => q !== undefined);
    if (this.ghost && this.ghost.picture.dimension !== picture.dimension) this.setGhost(null);
    this.stage.show(picture, first, around, keepCamera);
    this.governor.forget();
    this.toggle("contacts", track.books.includes("contacts"));
    this.toggle("impulses", track.books.includes("contacts"));
    this.toggle("joints", picture.joints.length > 0);
    this.player.load(track);
    this.plots.load(picture, track);
    this.inspector.show(null);
    this.tellFollowed();
    this.draw();
  }

  /** States that a live run will come to, if nobody disturbs it. */
  foresee(states: Float32Array[]): void {
    const first = this.player.track.shots[0]?.q;
    if (this.picture && first) this.stage.foresee(this.picture, first, states, this.q);
    this.foreseen = true;
    this.draw();
  }

  /** All bodies in view, from here on followed when they leave it. */
  frameAll(): void {
    const { framing, camera } = this.stage;
    if (!framing) return;
    camera.follow("all");
    camera.frame(framing.all(this.q));
    this.draw();
  }

  /** All in view from a side. */
  lookFrom(view: View): void {
    const { framing, camera } = this.stage;
    if (!framing) return;
    if (typeof camera.following === "number") camera.frame(framing.of(this.q, camera.following).expandByScalar(0.5 * this.stage.size), { view });
    else {
      camera.follow("all");
      camera.frame(framing.all(this.q), { view });
    }
    this.draw();
  }

  /** Frames a body and goes along with it; with none, back to all. */
  goAlong(body: number | null): void {
    const { framing, camera, size } = this.stage;
    if (!framing) return;
    if (body === null || this.picture?.bodies[body]?.kind === "static") return this.frameAll();
    const box = framing.of(this.q, body);
    if (box.isEmpty()) return;
    const extent = box.getSize(new Vector3());
    camera.follow(body);
    camera.frame(box.expandByScalar(Math.max(1.5 * Math.max(extent.x, extent.y, extent.z), 0.04 * size)));
    this.choose({ kind: "body", index: body });
  }

  private tellFollowed(): void {
    const { following } = this.stage.camera;
    const alone = typeof following === "number";
    this.followed.hidden = following === "all";
    this.followed.textContent = alone ? `with ${this.picture?.bodies[following]?.name ?? "a body"} — show all` : "show all";
    this.followed.title = "Show all (F)";
    document.documentElement.dataset.following = alone ? "body" : (following as string);
  }

  /** Looks now and then whether what moves is still in view. */
  private watch(now: number): void {
    const { framing, camera } = this.stage;
    if (!framing || camera.following !== "all" || this.drag || this.player.cursor === this.seen) return;
    // A look that is not taken now is taken later, also when nothing moves any more.
    if (now - this.watched < WATCH) return this.draw();
    this.seen = this.player.cursor;
    const started = performance.now();
    this.watched = now;
    if (camera.sees(framing.rough(this.q))) return;
    const box = framing.now(this.q);
    if (!camera.sees(box)) camera.pursue(box);
    // A closer look at many bodies is not taken in every frame, however slow the frames are.
    this.watched = Math.max(now, performance.now() + CARE * (performance.now() - started) - WATCH);
  }

  /** The button of the second run; also pressed by G. */
  ghostButton(label: string, pressed: () => void): HTMLButtonElement {
    const node = button("", `${label} (G)`, pressed, "Ghost");
    node.dataset.layer = "ghost";
    node.setAttribute("aria-pressed", "false");
    this.toggles.append(node);
    this.keys.add({ key: "g", shown: "G", what: "a second run as a ghost", act: pressed });
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

  /** Draws at once, for whoever takes up what is drawn. */
  paintNow(): void {
    this.paint(performance.now());
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
    this.watch(now);
    this.stage.render(Math.min(0.1, (now - this.painted) / 1000), this.alongside());
    this.painted = now;
    this.overlay.draw({
      picture, q: this.q, shot, boxes: shot.boxes ?? (this.layers.boxes ? this.boxes?.at(this.q) : null) ?? null, strongest: player.track.strongest, layers: this.layers, thing: this.thing, arrows: this.arrows,
      pull: this.drag ? { from: this.held(), to: this.drag.to } : null,
    });
    this.inspector.update(shot, now);
    this.tell(shot.touches.length / 11, now);
  }

  /** Where the followed body is. */
  private alongside(): Vector3 | null {
    const { following } = this.stage.camera;
    return typeof following === "number" ? this.carry(following, new Vector3()) : null;
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
      this.facts.textContent = `${bodies} ${bodies === 1 ? "body" : "bodies"} · ${contacts} ${contacts === 1 ? "contact" : "contacts"}${rate}${this.pace && ` · ${this.pace}`}`;
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
    return local.clone().applyMatrix4(poseMatrix(this.q, body, this.picture?.dimension ?? 2, this.pose));
  }

  /** The same the other way. */
  local(body: number, point: Vector3): Vector3 {
    return point.clone().applyMatrix4(poseMatrix(this.q, body, this.picture?.dimension ?? 2, this.pose).invert());
  }

  /** Whether a hand can move a body. */
  canPull(body: number): boolean {
    return this.hand !== null && this.picture?.bodies[body]?.kind === "dynamic";
  }

  /** What is drawn at a place of the stage [pixels]: contacts and joints where they are shown, then bodies. */
  under(x: number, y: number): Thing | null {
    const { picture, player } = this;
    const shot = player.track.at(player.cursor);
    if (!picture || !shot) return null;
    const near = find(picture, this.q, shot, this.layers, this.stage, x, y);
    if (near) return near;
    const hit = this.stage.pick(x, y);
    return hit ? { kind: "body", index: hit.body } : null;
  }

  /** Looks at a thing, or at none. */
  choose(thing: Thing | null): void {
    this.thing = thing;
    if (thing?.kind === "body" && this.picture?.bodies[thing.index]?.kind !== "static") this.plots.select(thing.index);
    this.inspector.show(thing);
    this.draw();
  }

  /** The body that is looked at. */
  get selected(): number | null {
    return this.thing?.kind === "body" ? this.thing.index : null;
  }

  private listKeys(): void {
    const layer = (key: string, name: keyof Layers): { key: string; shown: string; what: string; act: () => void } =>
      ({ key, shown: key.toUpperCase(), what: `${name}, shown or hidden`, act: () => this.setLayer(name, !this.layers[name]) });
    this.keys.add(
      { key: " ", shown: "space", what: "run and pause", act: () => this.player.toggle(), spare: "button" },
      { key: "ArrowRight", shown: "→", what: "one step on", act: () => this.player.step(1), spare: "slider" },
      { key: "ArrowLeft", shown: "←", what: "one step back", act: () => this.player.step(-1), spare: "slider" },
      { key: "r", shown: "R", what: "back to the start", act: () => this.player.reset() },
      { key: "f", shown: "F", what: "all in view, and followed", act: () => this.frameAll() },
      ...SIDES.map(([key, view, what]) => ({ key, shown: key, what, act: () => this.lookFrom(view) })),
      { key: "Escape", shown: "Esc", what: "look at nothing in particular", act: () => this.choose(null) },
      layer("c", "contacts"), layer("i", "impulses"), layer("j", "joints"), layer("n", "names"), layer("b", "boxes"),
      { key: "p", shown: "P", what: "plots, shown or hidden", act: () => this.togglePlots() },
      { key: "q", shown: "Q", what: "quality of the drawing", act: () => this.setQuality(CHOICES[(CHOICES.indexOf(this.quality) + 1) % CHOICES.length]!) },
      { key: "t", shown: "T", what: "light or dark", act: () => switchTheme() },
    );
  }

  /** Where a body is on the screen [CSS pixels of the page]; for scripts and tests. */
  where(body: number): [number, number] {
    const { x, y, z } = this.carry(body, new Vector3());
    const p = this.stage.project(x, y, z, new Vector3());
    const box = this.stage.canvas.getBoundingClientRect();
    return [box.left + p.x, box.top + p.y];
  }
}
