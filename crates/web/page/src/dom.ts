// Elements in few words.

type Attributes = Record<string, string | number | boolean | ((event: never) => void)>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key.slice(2), value as unknown as EventListener);
    else if (typeof value === "boolean") node.toggleAttribute(key, value);
    else node.setAttribute(key, String(value));
  }
  node.append(...children);
  return node;
}

const ICONS: Record<string, string> = {
  play: "M5 3.2v9.6L13 8z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  step: "M3 3.2v9.6L9.5 8zM10.5 3H13v10h-2.5z",
  back: "M13 3.2v9.6L6.5 8zM3 3h2.5v10H3z",
  reset: "M8 2.5a5.5 5.5 0 1 1-5.3 4h1.8A3.8 3.8 0 1 0 8 4.2V7L3.8 3.6 8 .2z",
  fit: "M2 2h4v1.6H3.6V6H2zM10 2h4v4h-1.6V3.6H10zM2 10h1.6v2.4H6V14H2zM12.4 10H14v4h-4v-1.6h2.4z",
  panel: "M2 2.5h12v11H2zM9.5 4v8h3V4z",
  close: "M4 2.9 8 6.9l4-4L13.1 4l-4 4 4 4-1.1 1.1-4-4-4 4L2.9 12l4-4-4-4z",
  plus: "M7.2 3h1.6v4.2H13v1.6H8.8V13H7.2V8.8H3V7.2h4.2z",
  theme: "M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM8 3a5 5 0 0 0 0 10z",
  keys: "M5 5.9C5 4.1 6.3 2.8 8.1 2.8s3.1 1.2 3.1 2.8c0 1.3-.7 2-1.5 2.6-.7.5-.9.8-.9 1.7H7.3c0-1.5.4-2.2 1.3-2.9.7-.5 1-.8 1-1.4 0-.8-.6-1.3-1.5-1.3-1 0-1.6.6-1.6 1.6zM7.2 11.3h1.7V13H7.2z",
  "zoom-in": "M7 2a5 5 0 0 1 4 8l3 3-1.1 1.1-3-3A5 5 0 1 1 7 2zm0 1.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM6.3 5h1.4v1.3H9v1.4H7.7V9H6.3V7.7H5V6.3h1.3z",
  "zoom-out": "M7 2a5 5 0 0 1 4 8l3 3-1.1 1.1-3-3A5 5 0 1 1 7 2zm0 1.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM5 6.3h4v1.4H5z",
  save: "M7.2 2h1.6v6l2-2 1.1 1.1L8 11 4.1 7.1 5.2 6l2 2zM2.5 12h11v1.6h-11z",
  plot: "M2 2h1.5v10.5H14V14H2zM5 10l2.6-4 2 2L13 3l1 .8-4.2 6.4-2.1-2.1L6 10.8z",
};

export function icon(name: string): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name] ?? "");
  svg.append(path);
  return svg;
}

/** A button with an icon; a mouse leaves no focus behind, so that the keys of the page go on working. */
export function button(name: string, label: string, pressed: () => void, text = ""): HTMLButtonElement {
  const node = el("button", {
    type: "button", "aria-label": label, title: label,
    onclick: (event: MouseEvent) => {
      pressed();
      if (event.detail > 0) node.blur();
    },
  });
  if (name) node.append(icon(name));
  if (text) node.append(el("span", {}, text));
  return node;
}

/** A number for people: four digits, with an exponent where it must be. */
export function number(x: number): string {
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  if (size === 0) return "0";
  if (size >= 1e4 && size < 1e6) return String(Math.round(x)).replace("-", "−");
  if (size >= 1e6 || size < 1e-3) return x.toExponential(2).replace("e+", "e").replace("-", "−").replace("e-", "e−");
  return x.toPrecision(4).replace("-", "−");
}
