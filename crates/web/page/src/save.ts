// What leaves the page: the run as a replay or a film, the scene as text, and a link to the present state.
import { button, el } from "./dom";
import type { Bookmark, Live, Setting } from "./live";
import { inflate } from "./replay";
import { deflate, letters, replayPage } from "./writer";
import type { Viewer } from "./viewer";

/** Frames per second of a film. */
const RATE = 30;
/** Seconds that a film lasts at most. */
const LONGEST = 60;
/** Kinds of film, the first that the browser can write. */
const KINDS: [string, string][] = [["video/webm;codecs=vp9", "webm"], ["video/webm;codecs=vp8", "webm"], ["video/webm", "webm"], ["video/mp4", "mp4"]];

export function download(name: string, parts: BlobPart, type: string): void {
  const link = el("a", { download: name, href: URL.createObjectURL(new Blob([parts], { type })) });
  link.click();
  // The browser has taken the bytes by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** The menu of a live page. */
export class SaveMenu {
  readonly root: HTMLElement;
  private readonly list: HTMLElement;
  /** What a link needs beside the state. */
  scene: { name: string; text: string; embedded: boolean } | null = null;
  set: Setting[] = [];
  controls: number[] = [];

  constructor(private readonly viewer: Viewer, private readonly live: Live, private readonly token: string) {
    const item = (title: string, about: string, act: () => void): HTMLElement =>
      el("button", { type: "button", onclick: () => { this.list.hidden = true; act(); } }, el("b", {}, title), el("span", {}, about));
    this.list = el("div", { hidden: true, role: "menu" },
      item("Replay", "the run so far in one page, .html", () => void this.replay()),
      item("Film", "the run so far as it is drawn, .webm", () => void this.film()),
      item("Scene", "the text with what was set, .toml", () => live.write()),
      item("Link to this state", "the newest state; opens as long as this server runs", () => live.state()));
    const handle = button("save", "Save or share (S)", () => this.toggle());
    handle.setAttribute("aria-haspopup", "menu");
    this.root = el("div", { class: "menu" }, handle, this.list);
    viewer.keys.add({ key: "s", shown: "S", what: "save or share", act: () => this.toggle() });
    document.addEventListener("pointerdown", (event) => {
      if (!this.root.contains(event.target as Node)) this.list.hidden = true;
    });
  }

  private toggle(): void {
    this.list.hidden = !this.list.hidden;
  }

  private fault(error: unknown): void {
    this.viewer.say(error instanceof Error ? error.message : String(error), "error");
  }

  private async replay(): Promise<void> {
    const { picture, player } = this.viewer;
    if (!picture) return;
    try {
      const answer = await fetch(`/blank?token=${encodeURIComponent(this.token)}`);
      if (!answer.ok) throw new Error("the server did not give the page of a replay");
      download(`${picture.name}.html`, await replayPage(await answer.text(), picture, player.track), "text/html");
    } catch (error) {
      this.fault(this.live.connected ? error : "The server has gone: the page of a replay comes from it.");
    }
  }

  /** Plays the run from its start and takes it up as it is drawn. */
  private async film(): Promise<void> {
    const { player, picture, stage } = this.viewer;
    const kind = KINDS.find(([type]) => typeof MediaRecorder !== "undefined" && MediaRecorder.isTypeSupported(type));
    if (!picture || !kind) return this.fault("This browser cannot write films; `carom run --out run.gif` can.");
    const { track } = player;
    const canvas = el("canvas", { width: stage.canvas.width, height: stage.canvas.height });
    const sheet = canvas.getContext("2d")!;
    const recorder = new MediaRecorder(canvas.captureStream(RATE), { mimeType: kind[0], videoBitsPerSecond: 6e6 });
    const parts: Blob[] = [];
    recorder.ondataavailable = (event) => parts.push(event.data);
    const done = new Promise((resolve) => (recorder.onstop = resolve));
    const length = Math.min(LONGEST, (track.end - track.start) / player.speed);
    this.viewer.say(`Filming ${length.toFixed(1)} s…`);
    player.play(false);
    recorder.start();
    const start = performance.now();
    // Every frame of the page is laid into the film, at the time at which it is shown.
    await new Promise<void>((resolve) => {
      const frame = (): void => {
        const passed = (performance.now() - start) / 1000;
        player.seek(track.start + Math.min(length, passed) * player.speed);
        this.viewer.paintNow();
        for (const layer of this.viewer.view.querySelectorAll("canvas")) {
          if (getComputedStyle(layer).visibility !== "hidden") sheet.drawImage(layer, 0, 0, canvas.width, canvas.height);
        }
        if (passed < length) requestAnimationFrame(frame);
        else setTimeout(resolve, 1000 / RATE);
      };
      frame();
    });
    recorder.stop();
    await done;
    this.viewer.say("");
    download(`${picture.name}.${kind[1]}`, new Blob(parts), kind[0]);
  }

  text(name: string, text: string): void {
    download(`${name}.toml`, text, "application/toml");
  }

  /** A state has come: the address of the page becomes a link to it. */
  async state(state: string, time: number): Promise<void> {
    const { scene } = this;
    if (!scene) return;
    const bookmark: Bookmark = { name: scene.name, set: this.set, controls: this.controls, state, ...(scene.embedded ? {} : { text: scene.text }) };
    const coded = letters(await deflate(new TextEncoder().encode(JSON.stringify(bookmark))));
    history.replaceState(null, "", `#state=${coded.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`);
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    this.viewer.say(`The address of this page is a link to the state at ${time.toFixed(3)} s${copied ? "; it is in the clipboard" : ""}.`);
  }
}

/** The bookmark in the address of this page, if there is one. */
export async function bookmarked(): Promise<Bookmark | null> {
  const found = /^#state=([\w-]+)$/.exec(location.hash);
  if (!found) return null;
  return JSON.parse(new TextDecoder().decode(await inflate(found[1]!.replaceAll("-", "+").replaceAll("_", "/")))) as Bookmark;
}
