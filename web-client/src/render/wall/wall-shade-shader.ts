// The picture of a wall: one program whose middle differs by look (wall-paint-shader.ts has those). What a look gets:
//
//     q      the place, in the wall's edge           n      the surface's normal, z towards the viewer
//     s      its slope and height                    bent   where one sees the ground through it, 0..1
//     dye    colour and amount at the place          m      where its matter came from, in the wall's edge
//     heat   what motion has left                    speed  of the flow
//
// The viewer is taken to stand before the wall's middle, wherever the camera is: two displays of one wall fit together.
import { dither } from "../../shader/dither.js";
import { smoothly } from "../../shader/smoothly.js";
import type { WallLook } from "../../state/wall-look.js";
import { PAINTS } from "./wall-paint-shader.js";

export const shadeVertex = /* glsl */ `
out vec2 at;
void main() {
  at = uv;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}
`;

const before = /* glsl */ `
precision highp float;
precision highp sampler2D;
uniform sampler2D surface;
uniform sampler2D dyes;
uniform sampler2D matter;
uniform sampler2D caustics;
uniform sampler2D noise;
uniform vec2 extent;
uniform float momentS;
in vec2 at;
out vec4 colour;
${dither}
${smoothly}

const vec3 SUN = vec3(-0.43, 0.62, 0.66);

vec3 shown(vec3 c) { return pow(c / (1.0 + 0.22 * c), vec3(1.0 / 2.2)); }
vec4 noiseAt(vec2 q) { return texture(noise, q); }
/** For loops, where nobody knows how far apart neighbours' places are. */
vec4 noiseIn(vec2 q) { return textureLod(noise, q, 0.0); }

/** Colour of some dye, whatever its amount. */
vec3 hueOf(vec4 dye, vec3 none) { return dye.a > 0.004 ? clamp(dye.rgb / dye.a, 0.0, 1.0) : none; }

float random(vec2 cell) {
  return fract(sin(dot(mod(cell, 311.0), vec2(127.1, 311.7))) * 43758.5453);
}

/** What a calm surface mirrors: a bright room with two long windows above the viewer. */
vec3 roomAt(vec3 ray) {
  vec2 p = ray.xy / max(ray.z, 0.15);
  vec3 walls = mix(vec3(0.05, 0.08, 0.11), vec3(0.32, 0.44, 0.55), smoothstep(-1.0, 1.4, p.y));
  vec2 pane = abs(vec2(abs(p.x + 0.1) - 0.42, p.y - 0.62)) - vec2(0.30, 0.34);
  float lit = smoothstep(0.12, -0.12, max(pane.x, pane.y));
  return walls + lit * vec3(1.3, 1.4, 1.5);
}
`;

const after = /* glsl */ `
void main() {
  vec2 q = at * extent;
  vec4 s = smoothly(surface, at, 0.0);
  vec3 n = normalize(vec3(-s.xy, 1.0));
  vec3 eye = normalize(vec3((0.5 * extent - q) * 0.5, 1.0));
  vec2 bent = at + BENDS * s.xy / extent;
  vec4 dye = textureLod(dyes, at, 0.0);
  vec4 material = textureLod(matter, at, 0.0);
  Place place = Place(q, s.xyz, n, eye, bent, dye, q - material.xy, material.z, material.w);
  colour = vec4(shown(max(paint(place), 0.0)) + dither(), 1.0);
}
`;

const place = /* glsl */ `
struct Place {
  vec2 q;
  vec3 s;
  vec3 n;
  vec3 eye;
  vec2 bent;
  vec4 dye;
  vec2 m;
  float heat;
  float speed;
};
`;

/** @param steps  of what a look adds up along a way */
export function shadeFragment(look: WallLook, steps: number): string {
  const { bends, text } = PAINTS[look];
  const numbers = `#define BENDS ${bends.toFixed(3)}\n#define STEPS ${steps}\n`;
  return `${numbers}${before}${place}${text}${after}`;
}
