// What only a live run has: the list of scenes, the editor, gradients, the second run.
import { button, el } from "./dom";
import { Editor } from "./editor";
import { GradientPanel } from "./gradient";
import { Live, type Listener, type SceneMessage } from "./live";
import { Track } from "./track";
import { Viewer } from "./viewer";

/** Width of the page below which the panel covers the scene. */
const NARROW = 700;

type Tab = "scenes" | "text" | "gradient";

export function openWorkshop(token: string): Viewer {
  let viewer: Viewer;
  let message: SceneMessage | null = null;
  let pending: SceneMessage | null = null;
  let restart = false;
  let track = new Track(2, []);
  let ghosted: Track | null = null;

  const listener: Listener = {
    scenes: (list) => {
      scenes.replaceChildren(...list.map((scene) =>
        el("li", {}, el("button", { type: "button", "data-name": scene.name, onclick: () => live.open(scene.name) }, el("b", {}, scene.name.replaceAll("_", " ")), el("span", {}, scene.summary)))));
    },
    scene: (told) => {
      pending = told;
      editor.set(told.text);
      for (const node of scenes.querySelectorAll<HTMLButtonElement>("button")) node.setAttribute("aria-pressed", String(node.dataset.name === told.name));
    },
    start: () => {
      restart = true;
    },
    shot: (shot) => {
      // The first shot of a run comes right after the word of it.
      if (pending || restart) {
        const same = pending === null || (message?.name === pending.name && message?.picture.dimension === pending.picture.dimension);
        if (pending) message = pending;
        track = live.track();
        track.push(shot);
        viewer.say("");
        viewer.load(message!.picture, track, same);
        if (pending) gradient.load(message!.picture, shot);
        else gradient.start(shot);
        pending = null;
        restart = false;
        return;
      }
      const atEnd = viewer.player.atEnd;
      track.push(shot);
      viewer.player.follow(atEnd);
      viewer.draw();
    },
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
      viewer.say("The server has gone; what was simulated can still be looked at.", "error");
      viewer.hand = null;
      viewer.player.stopped();
    },
  };

  const live = new Live(token, listener);
  viewer = new Viewer(live);
  viewer.hand = live;
  const editor = new Editor((text, id) => live.check(text, id), (text) => live.edit(text));
  const gradient = new GradientPanel((loss, time) => live.slope(loss, time), (arrows, tints) => {
    viewer.arrows = arrows;
    viewer.tint(tints);
    viewer.draw();
  });
  const scenes = el("ul", { class: "scenes" });

  // The panel and its tabs.
  const panes: Record<Tab, { label: string; node: HTMLElement }> = {
    scenes: { label: "Scenes", node: scenes },
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
  const panel = button("panel", "Scenes, text, gradient (E)", () => open(viewer.side.hidden === true));
  viewer.actions.append(panel);
  viewer.side.prepend(el("div", { class: "side-head" }, tabs, button("close", "Close the panel", () => open(false))));
  choose("scenes");
  open(innerWidth >= 1000);
  scenes.addEventListener("click", (event) => {
    // A mouse leaves no focus behind, so that the space key runs the scene.
    if (event.detail > 0) (document.activeElement as HTMLElement | null)?.blur();
    if (innerWidth < NARROW) open(false);
  });
  window.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.key.toLowerCase() === "e" && !event.ctrlKey && !event.metaKey && !target.closest("textarea, input, select")) open(viewer.side.hidden === true);
    if (event.key === "Escape" && target.closest(".side")) {
      open(false);
      viewer.stage.canvas.focus();
    }
  });

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
