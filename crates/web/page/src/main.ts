import "./style.css";
import { readReplay } from "./replay";
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
  viewer.toggle("boxes", false);
  viewer.load(replay.picture, replay.track);
  viewer.toggle("boxes", false);
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) viewer.player.play(true);
}

start().catch((error: unknown) => {
  const app = document.getElementById("app")!;
  app.className = "broken";
  app.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
});
