// Solids drawn with little work, for machines without a graphics processor: light is found at corners, balls are two triangles whose
// rays meet a sphere, and shadows are the bodies themselves, laid along the light onto the ground.
import {
  Color, CustomBlending, NotEqualStencilFunc, OneFactor, OneMinusSrcAlphaFactor, ReplaceStencilOp, ShaderMaterial, SrcAlphaFactor, Vector3, Vector4,
} from "three";
import { ENCODE } from "./materials";
import { POSE } from "./merged";

/** Towards the sun; its light and that of the sky above and below. */
export interface Light {
  sun: Vector3;
  bright: number;
  above: Color;
  below: Color;
}

/** What a white surface with this normal sends back, by the same law as the lit materials. */
export function shine({ sun, bright, above, below }: Light, normal: Vector3): Color {
  const direct = (bright * Math.max(0, normal.dot(sun))) / Math.PI;
  return below.clone().lerp(above, 0.5 + 0.5 * normal.z).multiplyScalar(1 / Math.PI).add(new Color(direct, direct, direct));
}

const uniforms = (light: Light, alpha: number): ShaderMaterial["uniforms"] => ({
  sun: { value: light.sun },
  bright: { value: light.bright / Math.PI },
  above: { value: light.above.clone().multiplyScalar(1 / Math.PI) },
  below: { value: light.below.clone().multiplyScalar(1 / Math.PI) },
  alpha: { value: alpha },
});

const LIGHT = /* glsl */ `
uniform vec3 sun;
uniform float bright;
uniform vec3 above;
uniform vec3 below;`;

const SOLID_VERTEX = /* glsl */ `
${LIGHT}
varying vec3 shade;
${ENCODE}
${POSE}
void main() {
  POSE_AND_TINT
  mat3 turn = mat3(pose);
  vec3 n = normalize(turn * (normal / vec3(dot(turn[0], turn[0]), dot(turn[1], turn[1]), dot(turn[2], turn[2]))));
  shade = encode(tint * (bright * max(dot(n, sun), 0.0) + mix(below, above, 0.5 + 0.5 * n.z)));
  gl_Position = projectionMatrix * viewMatrix * pose * vec4(position, 1.0);
}`;

const SOLID_FRAGMENT = /* glsl */ `
uniform float alpha;
varying vec3 shade;
void main() {
  gl_FragColor = vec4(shade, alpha);
}`;

// The square lies across the line of sight and is as large as the ball seems; each ray then finds the ball itself.
const BALL_VERTEX = /* glsl */ `
uniform vec3 sun;
varying vec3 ray;
flat varying vec4 ball;
flat varying vec3 fill;
flat varying vec3 axis;
flat varying vec3 light;
flat varying vec3 up;
${ENCODE}
${POSE}
void main() {
  POSE_AND_TINT
  mat3 turn = mat3(viewMatrix);
  vec3 c = (viewMatrix * vec4(pose[3].xyz, 1.0)).xyz;
  float r = length(pose[0].xyz);
  float d = length(c);
  vec3 w = c / d;
  vec3 u = normalize(cross(w, abs(w.y) < 0.9 ? vec3(0.0, 1.0, 0.0) : vec3(1.0, 0.0, 0.0)));
  float reach = r * d * inversesqrt(max(d * d - r * r, 1e-4 * r * r));
  ray = c + reach * (position.x * u + position.y * cross(u, w));
  ball = vec4(c, r);
  fill = encode(tint);
  axis = turn * pose[1].xyz / r;
  light = turn * sun;
  up = turn[2];
  gl_Position = projectionMatrix * vec4(ray, 1.0);
}`;

const BALL_FRAGMENT = /* glsl */ `
uniform mat4 projectionMatrix;
uniform float bright;
uniform vec3 above;
uniform vec3 below;
uniform float alpha;
varying vec3 ray;
flat varying vec4 ball;
flat varying vec3 fill;
flat varying vec3 axis;
flat varying vec3 light;
flat varying vec3 up;
void main() {
  float a = dot(ray, ray);
  float b = dot(ray, ball.xyz);
  float h = b * b - a * (dot(ball.xyz, ball.xyz) - ball.w * ball.w);
  if (h < 0.0) discard;
  vec3 hit = ((b - sqrt(h)) / a) * ray;
  vec3 n = (hit - ball.xyz) / ball.w;
  // A lighter belt about the axis, so that one sees a ball turn.
  vec3 skin = mix(fill, vec3(1.0), abs(dot(n, axis)) < 0.2 ? 0.4 : 0.0);
  // The product of roots is the root of the product: the colour has its own already.
  gl_FragColor = vec4(skin * sqrt(bright * max(dot(n, light), 0.0) + mix(below, above, 0.5 + 0.5 * dot(n, up))), alpha);
  gl_FragDepth = 0.5 - 0.5 * (projectionMatrix[2][2] + projectionMatrix[3][2] / hit.z);
}`;

export function leanMaterial(light: Light, { ball = false, alpha = 1 }: { ball?: boolean; alpha?: number }): ShaderMaterial {
  return new ShaderMaterial({
    vertexShader: ball ? BALL_VERTEX : SOLID_VERTEX,
    fragmentShader: ball ? BALL_FRAGMENT : SOLID_FRAGMENT,
    uniforms: uniforms(light, alpha),
    transparent: alpha < 1,
    depthWrite: alpha === 1,
  });
}

const SHADOW_VERTEX = /* glsl */ `
uniform vec3 sun;
uniform vec4 ground;
#ifdef BALL
varying vec2 inside;
#endif
${POSE}
void main() {
  POSE_AND_TINT
  #ifdef BALL
  inside = position.xy;
  vec3 u = normalize(cross(sun, abs(sun.x) < 0.9 ? vec3(1.0, 0.0, 0.0) : vec3(0.0, 1.0, 0.0)));
  vec3 p = pose[3].xyz + length(pose[0].xyz) * (position.x * u + position.y * cross(sun, u));
  #else
  vec3 p = (pose * vec4(position, 1.0)).xyz;
  #endif
  p -= sun * ((dot(ground.xyz, p) - ground.w) / dot(ground.xyz, sun));
  gl_Position = projectionMatrix * viewMatrix * vec4(p, 1.0);
}`;

const SHADOW_FRAGMENT = /* glsl */ `
uniform float alpha;
#ifdef BALL
varying vec2 inside;
#endif
void main() {
  #ifdef BALL
  if (dot(inside, inside) > 1.0) discard;
  #endif
  gl_FragColor = vec4(0.0, 0.0, 0.0, alpha);
}`;

/** The shadow on the plane `ground` (its normal, and its distance from the origin); where two fall it is as dark as one. */
export function shadowMaterial(light: Light, ground: Vector4, alpha: number, ball: boolean): ShaderMaterial {
  return new ShaderMaterial({
    vertexShader: SHADOW_VERTEX,
    fragmentShader: SHADOW_FRAGMENT,
    defines: ball ? { BALL: "" } : {},
    uniforms: { sun: { value: light.sun }, ground: { value: ground }, alpha: { value: alpha } },
    // Mixed with what is behind, and yet drawn before the bodies, with all that hides.
    blending: CustomBlending,
    blendSrc: SrcAlphaFactor,
    blendDst: OneMinusSrcAlphaFactor,
    blendSrcAlpha: OneFactor,
    blendDstAlpha: OneMinusSrcAlphaFactor,
    depthTest: false,
    depthWrite: false,
    stencilWrite: true,
    stencilRef: 1,
    stencilFunc: NotEqualStencilFunc,
    stencilZPass: ReplaceStencilOp,
  });
}
