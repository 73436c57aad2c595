// What the keys of the page do, said once: for the keyboard, and for the sheet that `?` opens.
import { button, el } from "./dom";

export interface Key {
  /** As the browser names it; single letters in lower case. */
  key: string;
  /** As a person names it. */
  shown: string;
  what: string;
  act: () => void;
  /** A focused button has this key for itself; a focused slider has the arrows. */
  spare?: "button" | "slider";
}

/** Whether a key belongs to a field that is being typed in. */
export const typing = (event: KeyboardEvent): boolean =>
  event.ctrlKey || event.metaKey || event.altKey || (event.target as HTMLElement).closest("textarea, select, input:not([type=range]), [contenteditable], dialog[open]") !== null;

export class Keys {
  private readonly keys: Key[] = [];
  private readonly table = el("table", { class: "keys" });
  private readonly sheet: HTMLDialogElement;

  constructor(host: HTMLElement) {
    this.sheet = el("dialog", { class: "sheet", "aria-label": "Keys" },
      el("div", { class: "sheet-head" }, el("h2", {}, "Keys"), button("close", "Close the keys", () => this.sheet.close())), this.table,
      el("p", { class: "hint" }, "Drag the background to move or turn the view, the wheel or two fingers to zoom. Click a body, a joint or a contact to look at its numbers; double click a body to go along with it. In a live run drag a body to pull it."));
    this.sheet.addEventListener("click", (event) => event.target === this.sheet && this.sheet.close());
    host.append(this.sheet);
    window.addEventListener("keydown", (event) => this.hear(event));
    this.add({ key: "?", shown: "?", what: "these keys", act: () => this.toggle() });
  }

  add(...keys: Key[]): void {
    this.keys.push(...keys);
    this.table.replaceChildren(...this.keys.map((k) => el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, k.shown)), el("td", {}, k.what))));
  }

  toggle(): void {
    if (this.sheet.open) this.sheet.close();
    else this.sheet.showModal();
  }

  private hear(event: KeyboardEvent): void {
    if (typing(event) && !(event.key === "?" && this.sheet.open)) return;
    const target = event.target as HTMLElement;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const found = this.keys.find((k) => k.key === name);
    if (!found || (found.spare === "button" && target.closest("button")) || (found.spare === "slider" && target.closest("input"))) return;
    found.act();
    event.preventDefault();
  }
}
