// The embedded scenes: found by a word, each with its picture.
import { el } from "./dom";
import { onThemeChange } from "./theme";

export interface SceneEntry {
  name: string;
  summary: string;
}

export class SceneList {
  readonly list = el("ul", { class: "scenes" });
  private readonly search = el("input", { type: "search", placeholder: "Search scenes", "aria-label": "Search scenes", oninput: () => this.filter() });
  readonly root = el("div", { class: "scenes-pane" }, el("div", { class: "search" }, this.search), this.list);
  private entries: { entry: SceneEntry; node: HTMLElement; image: HTMLImageElement }[] = [];
  private readonly none = el("li", { class: "none", hidden: true }, "No scene is called so.");

  constructor(private readonly token: string, private readonly open: (name: string) => void) {
    onThemeChange(() => this.entries.forEach(({ entry, image }) => (image.src = this.picture(entry.name))));
    this.search.addEventListener("keydown", (event) => {
      const first = this.entries.find(({ node }) => !node.hidden);
      if (event.key === "Enter" && first) this.open(first.entry.name);
    });
  }

  private picture(name: string): string {
    return `/thumbnail?scene=${encodeURIComponent(name)}&theme=${document.documentElement.dataset.theme}&token=${encodeURIComponent(this.token)}`;
  }

  fill(list: SceneEntry[]): void {
    this.entries = list.map((entry) => {
      // Pictures are asked for when they come into view.
      const image = el("img", { alt: "", loading: "lazy", decoding: "async", width: 84, height: 56 });
      image.src = this.picture(entry.name);
      const node = el("li", {}, el("button", { type: "button", "data-name": entry.name, onclick: () => this.open(entry.name) },
        image, el("b", {}, entry.name.replaceAll("_", " ")), el("span", {}, entry.summary)));
      return { entry, node, image };
    });
    this.list.replaceChildren(...this.entries.map(({ node }) => node), this.none);
    this.filter();
  }

  /** Marks the scene that is shown. */
  mark(name: string): void {
    for (const { entry, node } of this.entries) {
      node.firstElementChild!.setAttribute("aria-pressed", String(entry.name === name));
      if (entry.name === name) node.scrollIntoView({ block: "nearest" });
    }
  }

  private filter(): void {
    const words = this.search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    let found = 0;
    for (const { entry, node } of this.entries) {
      const text = `${entry.name.replaceAll("_", " ")} ${entry.name} ${entry.summary}`.toLowerCase();
      node.hidden = !words.every((word) => text.includes(word));
      if (!node.hidden) found++;
    }
    this.none.hidden = found > 0 || this.entries.length === 0;
  }
}
