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
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    sky: color("sky"),
    floor: color("floor"),
    ground: color("ground"),
    line: color("grid"),
    ink: color("ink"),
    css,
  };
}

export const onThemeChange = (changed: () => void): void =>
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
