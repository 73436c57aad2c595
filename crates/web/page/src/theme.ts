// The colours of the page, as the stylesheet has them for light or dark.
import { Color } from "three";

export interface Theme {
  dark: boolean;
  sky: Color;
  floor: Color;
  ground: Color;
  line: Color;
  ink: Color;
  css: (name: string) => string;
}

export function theme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const css = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const color = (name: string): Color => new Color(css(name));
  return {
    dark: document.documentElement.dataset.theme === "dark",
    sky: color("sky"),
    floor: color("floor"),
    ground: color("ground"),
    line: color("grid"),
    ink: color("ink"),
    css,
  };
}

const system = matchMedia("(prefers-color-scheme: dark)");
/** Where the reader's choice is kept, if the browser lets it. */
const KEPT = "carom-theme";
const listeners: (() => void)[] = [];

function chosen(): string | null {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

/** Dresses the page as the reader chose, or as the system is. */
function dress(): void {
  const wanted = chosen() ?? (system.matches ? "dark" : "light");
  if (document.documentElement.dataset.theme === wanted) return;
  document.documentElement.dataset.theme = wanted;
  listeners.forEach((changed) => changed());
}

/** The other of light and dark; back at the system's own there is no choice left to keep. */
export function switchTheme(): void {
  const other = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try {
    if ((other === "dark") === system.matches) localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, other);
  } catch {
    // Without a store the choice holds until the page is left.
    document.documentElement.dataset.theme = other;
    listeners.forEach((changed) => changed());
    return;
  }
  dress();
}

dress();
system.addEventListener("change", dress);

export const onThemeChange = (changed: () => void): void => void listeners.push(changed);
