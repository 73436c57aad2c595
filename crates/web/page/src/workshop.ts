// What only a live run has: the list of scenes, sliders, the editor, gradients, the second run, and what is saved of them.
import { DialPanel } from "./dials";
import { button, el } from "./dom";
import { Editor } from "./editor";
import { GradientPanel } from "./gradient";
import { Live, type Listener, type Pace, type SceneMessage } from "./live";
import { bookmarked, SaveMenu } from "./save";
import { SceneList } from "./scenes";
import { Track } from "./track";
import { Viewer } from "./viewer";

/** Width of the page below which the panel covers the scene. */
const NARROW = 700;

/** Share of the wanted speed below which a run is called slow, and seconds after which a single step is. */
const SLOW = 0.9;
const LONG_STEP = 1;

const GONE = "The server has gone; what was simulated can still be looked at.";

type Tab = "scenes" | "dials" | "text" | "gradient";

export function openWorkshop(token: string): Viewer {
  let viewer: Viewer;
  let message: SceneMessage | null = null;
  let pending: SceneMessage | null = null;
  let restart = false;
  let track = new Track(2, []);
  let ghosted: Track | null = null;
  let names: string[] = [];
  let foreseen: Float32Array[] | null = null;
  /** Texts of embedded scenes as they came: an edited one has to be in a link. */
  const texts: Record<string, string> = {};

  const listener: Listener = {
    scenes: (list) => {
      names = list.map((scene) => scene.name);
      scenes.fill(list);
    },
    scene: (told) => {
      pending = told;
      editor.set(told.text);
      scenes.mark(told.name);
      texts[told.name] ??= told.text;
      save.scene = { name: told.name, text: told.text, embedded: names.includes(told.name) && texts[told.name] === told.text };
    },
    start: () => {
      restart = true;
    },
    shot: (shot) => {
      // The first shot of a run comes right after the word of it.
      if (pending || restart) {
        const same = pending === null || (message?.name === pending.name && message?.picture.dimension === pending.picture.dimension);
        // What was said of the run before is over. Before the first there was none: a link that cannot be read has been told of by then.
        if (message) viewer.say("");
        if (pending) message = pending;
        track = live.track();
        track.push(shot);
        viewer.load(message!.picture, track, same);
        if (pending) gradient.load(message!.picture, shot);
        else gradient.start(shot);
        pending = null;
        restart = false;
        viewer.pace = "";
        if (foreseen) viewer.foresee(foreseen);
        foreseen = null;
        return;
      }
      const atEnd = viewer.player.atEnd;
      track.push(shot);
      viewer.player.follow(atEnd);
      viewer.draw();
    },
    ahead: (states) => {
      // It may come before the first shot, which waits for nothing.
      if (pending || restart) foreseen = states;
      else viewer.foresee(states);
    },
    dials: (parameters, set) => {
      save.set = set;
      save.controls = parameters.controls.map((c) => c.value);
      viewer.inspector.parameters = parameters;
      viewer.inspector.writeDials();
      const picture = pending?.picture ?? message?.picture;
      if (picture && !dials.root.contains(document.activeElement)) dials.show(parameters, picture);
    },
    notSet: (text) => viewer.say(text, "error"),
    pace: (pace) => tellPace(pace),
    text: (name, text) => save.text(name, text),
    state: (state, time) => void save.state(state, time),
    errors: (id, errors) => editor.show(id, errors),
    failed: (text) => {
      viewer.say(text, "error");
      viewer.player.stopped();
    },
    gradient: (found) => {
      gradient.take(found);
      viewer.player.seek(track.start);
    },
    noGradient: (text) => gradient.fail(text),
    gone: () => {
      viewer.say(GONE, "error");
      viewer.hand = null;
      viewer.pace = "";
      viewer.inspector.setter = null;
      viewer.inspector.parameters = null;
      viewer.player.stopped();
    },
  };

  const live = new Live(token, listener);
  viewer = new Viewer(live);
  live.ready(() => void bookmarked().then((bookmark) => bookmark && live.restore(bookmark), (error: unknown) => viewer.say(`This link cannot be read: ${String(error)}`, "error")));
  viewer.hand = live;
  viewer.inspector.setter = live;
  viewer.player.dry = () => viewer.say(GONE, "error");
  const dials = new DialPanel(live);
  const save = new SaveMenu(viewer, live, token);
  const editor = new Editor((text, id) => live.check(text, id), (text) => live.edit(text));
  const gradient = new GradientPanel((loss, time) => live.slope(loss, time), (arrows, tints) => {
    viewer.arrows = arrows;
    viewer.tint(tints);
    viewer.draw();
  });
  const scenes = new SceneList(token, (name) => {
    if (live.connected) live.open(name);
    else viewer.say(GONE, "error");
  });

  /** How the run keeps up: always beside the time, and in words where it does not. */
  let waiting = false;
  const tellPace = ({ factor, step, stepping, effort, page }: Pace): void => {
    viewer.pace = factor === null || !viewer.player.playing ? "" : `${factor.toPrecision(2)}× real time`;
    const slow = factor !== null && factor < SLOW * viewer.player.speed;
    const long = stepping !== null && stepping > LONG_STEP;
    if (long) viewer.say(`Step ${step + 1} takes ${stepping.toFixed(1)} s so far${effort && `; the one before had ${effort}`}.`);
    else if (slow && !page && viewer.player.playing) viewer.say(`Slower than real time: a step has ${effort}.`);
    else if (waiting) viewer.say("");
    waiting = long || (slow && !page && viewer.player.playing);
    document.documentElement.dataset.pace = factor === null ? "" : factor.toFixed(3);
    viewer.draw();
  };

  // The panel and its tabs.
  const panes: Record<Tab, { label: string; node: HTMLElement }> = {
    scenes: { label: "Scenes", node: scenes.root },
    dials: { label: "Dials", node: dials.root },
    text: { label: "Text", node: editor.root },
    gradient: { label: "Gradient", node: gradient.root },
  };
  const tabs = el("div", { class: "tabs", role: "tablist" });
  const choose = (tab: Tab): void => {
    for (const [name, { node }] of Object.entries(panes)) {
      node.hidden = name !== tab;
      const handle = tabs.querySelector<HTMLElement>(`[data-tab=${name}]`)!;
      handle.setAttribute("aria-selected", String(name === tab));
      handle.tabIndex = name === tab ? 0 : -1;
    }
  };
  for (const [name, { label, node }] of Object.entries(panes)) {
    node.id = `pane-${name}`;
    node.setAttribute("role", "tabpanel");
    const handle = el("button", { type: "button", role: "tab", "data-tab": name, "aria-controls": node.id, onclick: () => choose(name as Tab) }, label);
    tabs.append(handle);
    viewer.side.append(node);
  }
  tabs.addEventListener("keydown", (event) => {
    const names = Object.keys(panes) as Tab[];
    const at = names.indexOf((document.activeElement as HTMLElement).dataset.tab as Tab);
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (at < 0 || by === 0) return;
    const next = names[(at + by + names.length) % names.length]!;
    choose(next);
    tabs.querySelector<HTMLElement>(`[data-tab=${next}]`)!.focus();
    event.stopPropagation();
  });
  const open = (on: boolean): void => {
    viewer.side.hidden = !on;
    panel.setAttribute("aria-pressed", String(on));
    panel.setAttribute("aria-expanded", String(on));
  };
  const panel = button("panel", "Scenes, dials, text, gradient (E)", () => open(viewer.side.hidden === true));
  viewer.actions.append(save.root, panel);
  viewer.side.prepend(el("div", { class: "side-head" }, tabs, button("close", "Close the panel", () => open(false))));
  choose("scenes");
  open(innerWidth >= 1000);
  scenes.list.addEventListener("click", (event) => {
    // A mouse leaves no focus behind, so that the space key runs the scene.
    if (event.detail > 0) (document.activeElement as HTMLElement | null)?.blur();
    if (innerWidth < NARROW) open(false);
  });
  window.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.key === "Escape" && target.closest(".side")) {
      open(false);
      viewer.stage.canvas.focus();
    }
  });

  viewer.keys.add({ key: "e", shown: "E", what: "the panel with scenes, dials, text and gradient", act: () => open(viewer.side.hidden === true) });

  // The second run.
  const ghost = viewer.ghostButton("Keep this run as a ghost behind the next", () => {
    ghosted = ghosted ? null : track;
    ghost.setAttribute("aria-pressed", String(ghosted !== null));
    viewer.setGhost(ghosted);
  });
  viewer.onLayer = (name, on) => {
    if (name === "boxes") live.boxes(on);
  };
  return viewer;
}
