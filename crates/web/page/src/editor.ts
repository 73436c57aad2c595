// The text of the scene: coloured, checked while it is typed, every fault where it stands.
import { el } from "./dom";
import type { SceneError } from "./live";

/** Rest after the last key before the text is checked [ms]. */
const REST = 220;

const escape = (text: string): string => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]!);

/** TOML in colours: comments, tables, keys, texts, numbers. */
function coloured(line: string): string {
  const table = /^(\s*)(\[\[?[^\]]*\]\]?)(.*)$/.exec(line);
  if (table) return `${table[1]}<span class="t">${escape(table[2]!)}</span>${coloured(table[3]!)}`;
  let out = "";
  const token = /(#.*$)|("(?:[^"\\]|\\.)*"?|'[^']*'?)|([A-Za-z_][\w-]*)(?=\s*=)|(\b(?:true|false)\b|[-+]?\b\d[\d_.eE+-]*)|([^#"'A-Za-z_\d+-]+|.)/g;
  for (const m of line.matchAll(token)) {
    const kind = m[1] ? "c" : m[2] ? "s" : m[3] ? "k" : m[4] ? "n" : "";
    out += kind ? `<span class="${kind}">${escape(m[0])}</span>` : escape(m[0]);
  }
  return out;
}

export class Editor {
  readonly root: HTMLElement;
  readonly area = el("textarea", {
    spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": "Scene text", "aria-describedby": "faults",
  });
  private readonly back = el("pre", { "aria-hidden": "true" });
  private readonly gutter = el("div", { class: "gutter", "aria-hidden": "true" });
  private readonly bubble = el("div", { class: "bubble", hidden: true });
  private readonly list = el("ol", { class: "faults", id: "faults", "aria-live": "polite" });
  private readonly apply: HTMLButtonElement;
  private readonly state = el("span", { class: "state" });
  private errors: SceneError[] = [];
  private timer = 0;
  private asked = 0;
  private applied = "";

  constructor(private readonly check: (text: string, id: number) => void, private readonly use: (text: string) => void) {
    this.apply = el("button", { type: "button", class: "main apply", onclick: () => this.submit() }, "Apply");
    this.apply.title = "Run this text (Ctrl+Enter)";
    const revert = el("button", { type: "button", onclick: () => this.set(this.applied) }, "Revert");
    const scroller = el("div", { class: "code" }, el("div", {}, this.gutter, el("div", { class: "lines" }, this.back, this.area, this.bubble)));
    this.root = el("div", { class: "editor" }, scroller, this.list, el("div", { class: "editor-foot" }, this.state, revert, this.apply));
    this.area.addEventListener("input", () => this.typed());
    this.area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.submit();
      }
    });
  }

  /** A text that is being shown already. */
  set(text: string): void {
    this.applied = text;
    this.area.value = text;
    this.errors = [];
    this.paint();
    this.tell();
  }

  get text(): string {
    return this.area.value;
  }

  private submit(): void {
    this.use(this.area.value);
  }

  private typed(): void {
    this.paint();
    this.state.textContent = "checking…";
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.check(this.area.value, ++this.asked), REST);
  }

  /** The server's verdict; 0 answers an attempt to apply. */
  show(id: number, errors: SceneError[]): void {
    if (id !== 0 && id !== this.asked) return;
    this.errors = errors;
    this.paint();
    this.tell();
  }

  private tell(): void {
    const changed = this.area.value !== this.applied;
    const count = this.errors.length;
    this.apply.disabled = count > 0;
    this.state.textContent = count > 0 ? `${count} ${count === 1 ? "fault" : "faults"}` : changed ? "valid, not applied yet" : "as shown";
    this.state.dataset.kind = count > 0 ? "error" : "ok";
    this.list.replaceChildren(...this.errors.slice(0, 8).map((error) => {
      const go = el("button", { type: "button", onclick: () => this.go(error) }, el("b", {}, `line ${error.line}`), ` ${error.message}`);
      if (error.hint) go.append(el("em", {}, error.hint));
      return el("li", {}, go);
    }));
  }

  private go(error: SceneError): void {
    this.area.focus();
    const [from, to] = this.span(error);
    this.area.setSelectionRange(from, to);
    const code = this.root.querySelector(".code")!;
    code.scrollTop = Math.max(0, (error.line - 4) * this.lineHeight());
  }

  /** The span in letters: the server counts bytes. */
  private span(error: SceneError): [number, number] {
    const bytes = new TextEncoder().encode(this.area.value);
    const letters = (n: number): number => new TextDecoder().decode(bytes.subarray(0, n)).length;
    return [letters(error.start), letters(error.end)];
  }

  private lineHeight(): number {
    return parseFloat(getComputedStyle(this.area).lineHeight) || 19;
  }

  private paint(): void {
    const lines = this.area.value.split("\n");
    const at = new Map<number, SceneError[]>();
    for (const error of this.errors) at.set(error.line, [...(at.get(error.line) ?? []), error]);
    this.back.innerHTML = lines
      .map((line, i) => (at.has(i + 1) ? `<span class="bad">${coloured(line) || " "}</span>` : coloured(line)))
      .join("\n") + "\n";
    this.gutter.replaceChildren(...lines.map((_, i) => {
      const number = el("div", {}, String(i + 1));
      const faults = at.get(i + 1);
      if (faults) {
        number.className = "bad";
        number.title = faults.map((f) => f.message).join("\n");
      }
      return number;
    }));
    // The first fault speaks in place, right under its line.
    const first = this.errors[0];
    this.bubble.hidden = !first;
    if (first) {
      this.bubble.textContent = first.hint ? `${first.message} — ${first.hint}` : first.message;
      this.bubble.style.top = `${first.line * this.lineHeight() + 8}px`;
      this.bubble.style.left = `${Math.max(0, Math.min(first.column - 1, 24))}ch`;
    }
    const widest = lines.reduce((most, line) => Math.max(most, line.length), 0);
    // The lines are as wide as the longest, or as the panel; texts fill them.
    (this.area.parentElement as HTMLElement).style.width = `${widest + 4}ch`;
    this.area.style.width = this.back.style.width = "100%";
    this.area.style.height = `${lines.length * this.lineHeight() + 40}px`;
  }
}
