// How things look: flat shapes with a crisp outline in the plane, lit solids in space, and the grid behind both.
import { Color, DoubleSide, MeshStandardMaterial, ShaderMaterial, type Material } from "three";
import { POSE } from "./merged";
import type { Theme } from "./theme";

/** Width of outlines [device pixels]. */
const OUTLINE = 1.4;

/** How light becomes a number of the screen, for shaders that mix their colours there: one root per corner, not per pixel. */
export const ENCODE = /* glsl */ `
vec3 encode(vec3 light) {
  return mix(1.055 * pow(light, vec3(1.0 / 2.4)) - 0.055, 12.92 * light, vec3(lessThan(light, vec3(0.0031308))));
}`;

const FLAT_VERTEX = /* glsl */ `
#ifndef DISC
attribute float edge;
varying float rim;
#endif
uniform vec2 shift;
varying vec2 inside;
varying vec3 fill;
${ENCODE}
${POSE}
void main() {
  POSE_AND_TINT
  #ifndef DISC
  rim = edge;
  #endif
  inside = position.xy;
  fill = encode(tint);
  gl_Position = projectionMatrix * viewMatrix * pose * vec4(position, 1.0);
  gl_Position.xy += shift * gl_Position.w;
}`;

// Edges are feathered here, over one pixel, and need no samples; a disc is two triangles whose rim is a circle.
const FLAT_FRAGMENT = /* glsl */ `
uniform vec3 ink;
uniform float strength;
uniform float alpha;
uniform float width;
varying vec2 inside;
varying vec3 fill;
#ifndef DISC
varying float rim;
#endif
void main() {
  #ifdef DISC
  float rim = 1.0 - length(inside);
  #endif
  float pixel = fwidth(rim);
  float depth = rim / pixel;
  float cover = alpha * clamp(depth + 0.5, 0.0, 1.0);
  #ifdef SHADOW
  gl_FragColor = vec4(ink, cover);
  #else
  float mark = clamp(width + 1.0 - depth, 0.0, 1.0);
  #ifdef DISC
  mark = max(mark, 0.8 * clamp((0.045 - abs(inside.y)) / pixel + 1.0, 0.0, 1.0) * clamp((inside.x - 0.25) / pixel, 0.0, 1.0));
  #endif
  gl_FragColor = vec4(mix(fill, ink, strength * mark), cover);
  #endif
}`;

export interface FlatOptions {
  disc?: boolean;
  alpha?: number;
  shadow?: boolean;
}

export function flatMaterial(theme: Theme, { disc = false, alpha = 1, shadow = false }: FlatOptions): ShaderMaterial {
  return new ShaderMaterial({
    vertexShader: FLAT_VERTEX,
    fragmentShader: FLAT_FRAGMENT,
    defines: { ...(disc ? { DISC: "" } : {}), ...(shadow ? { SHADOW: "" } : {}) },
    uniforms: {
      ink: { value: shadow ? new Color(0x000000) : theme.ink.clone().convertLinearToSRGB() },
      strength: { value: theme.dark ? 0.55 : 0.62 },
      alpha: { value: alpha },
      width: { value: OUTLINE },
      shift: { value: [0, 0] },
    },
    depthTest: false,
    depthWrite: false,
    // All in one list, so that the order of drawing is ours alone.
    transparent: true,
    side: DoubleSide,
    // One pass for both sides: flat things hide nothing of themselves.
    forceSinglePass: true,
  });
}

export function solidMaterial({ band = false, alpha = 1 }: { band?: boolean; alpha?: number }): Material {
  const material = new MeshStandardMaterial({ roughness: 0.5, metalness: 0, transparent: alpha < 1, opacity: alpha, depthWrite: alpha === 1 });
  if (band) {
    // A lighter belt about the axis, so that one sees a ball turn.
    material.onBeforeCompile = (shader) => {
      shader.vertexShader = shader.vertexShader
        .replace("#include <common>", "#include <common>\nvarying vec3 onBall;")
        .replace("#include <begin_vertex>", "#include <begin_vertex>\nonBall = position;");
      shader.fragmentShader = shader.fragmentShader
        .replace("#include <common>", "#include <common>\nvarying vec3 onBall;")
        .replace(
          "#include <color_fragment>",
          `#include <color_fragment>
          float high = abs(normalize(onBall).y);
          float soft = fwidth(high);
          diffuseColor.rgb = mix(diffuseColor.rgb, mix(diffuseColor.rgb, vec3(1.0), 0.55), 1.0 - smoothstep(0.2, 0.2 + soft, high));`,
        );
    };
    material.customProgramCacheKey = () => "band";
  }
  return material;
}

const GRID_FRAGMENT = /* glsl */ `
uniform vec3 line;
uniform float cell;
uniform float strength;
uniform float reach;
uniform vec3 middle;
varying vec2 at;
varying vec3 world;
float lines(float size, float width) {
  vec2 place = at / size;
  vec2 pixel = fwidth(place);
  vec2 away = abs(fract(place - 0.5) - 0.5) / max(pixel, vec2(1e-6));
  float crowd = clamp(1.0 - max(pixel.x, pixel.y) * 3.0, 0.0, 1.0);
  return (1.0 - clamp(min(away.x, away.y) - width + 0.5, 0.0, 1.0)) * crowd;
}
void main() {
  float seen = max(0.45 * lines(cell, 0.5), lines(5.0 * cell, 0.6));
  float fade = reach > 0.0 ? 1.0 - smoothstep(0.35 * reach, reach, distance(world, middle)) : 1.0;
  gl_FragColor = vec4(line, strength * seen * fade);
  #include <colorspace_fragment>
}`;

const GRID_VERTEX = /* glsl */ `
varying vec2 at;
varying vec3 world;
void main() {
  vec4 place = modelMatrix * vec4(position, 1.0);
  at = position.xy;
  world = place.xyz;
  gl_Position = projectionMatrix * viewMatrix * place;
}`;

/** Lines every `cell` metres and heavier ones every five cells; they fade at `reach` metres, or not at all. */
export function gridMaterial(theme: Theme, cell: number, reach: number): ShaderMaterial {
  return new ShaderMaterial({
    vertexShader: GRID_VERTEX,
    fragmentShader: GRID_FRAGMENT,
    uniforms: {
      line: { value: theme.line },
      cell: { value: cell },
      strength: { value: 1 },
      reach: { value: reach },
      middle: { value: [0, 0, 0] },
    },
    transparent: true,
    depthWrite: false,
    side: DoubleSide,
    // One pass for both sides: flat things hide nothing of themselves.
    forceSinglePass: true,
    polygonOffset: true,
    polygonOffsetFactor: -1,
    polygonOffsetUnits: -1,
  });
}

/** A round length near `size`: 1, 2 or 5 times a power of ten. */
export function roundLength(size: number): number {
  const power = 10 ** Math.floor(Math.log10(size));
  const rest = size / power;
  return power * (rest < 2 ? 1 : rest < 5 ? 2 : 5);
}
