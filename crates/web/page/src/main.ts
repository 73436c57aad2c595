import "./style.css";
import { el } from "./dom";
import { readOther, readReplay } from "./replay";
import { Viewer } from "./viewer";
import { openWorkshop } from "./workshop";

declare global {
  interface Window {
    /** The viewer, for scripts and tests. */
    carom?: Viewer;
  }
}

async function start(): Promise<void> {
  const replay = await readReplay();
  if (!replay) {
    document.documentElement.dataset.mode = "live";
    window.carom = openWorkshop(new URLSearchParams(location.search).get("token") ?? "");
    return;
  }
  document.documentElement.dataset.mode = "replay";
  const viewer = (window.carom = new Viewer(null));
  viewer.load(replay.picture, replay.track);
  offerGhost(viewer);
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) viewer.player.play(true);
}

/** A second replay out of a file, to be seen through the first. */
function offerGhost(viewer: Viewer): void {
  const choose = el("input", { type: "file", accept: ".html", hidden: true, "aria-label": "Another replay" });
  const ghost = viewer.ghostButton("Another replay as a ghost", () => {
    if (!viewer.hasGhost) return choose.click();
    viewer.setGhost(null);
    ghost.setAttribute("aria-pressed", "false");
  });
  choose.addEventListener("change", async () => {
    const file = choose.files?.[0];
    choose.value = "";
    if (!file) return;
    try {
      const other = await readOther(file);
      if (other.picture.dimension !== viewer.picture?.dimension) throw new Error(`${file.name} is of dimension ${other.picture.dimension}, this replay of ${viewer.picture?.dimension}`);
      viewer.say("");
      viewer.setGhost(other.track, other.picture);
      ghost.setAttribute("aria-pressed", "true");
    } catch (error) {
      viewer.say(error instanceof Error ? error.message : String(error), "error");
    }
  });
  viewer.toggles.append(choose);
}

start().catch((error: unknown) => {
  const app = document.getElementById("app")!;
  app.className = "broken";
  app.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
});
