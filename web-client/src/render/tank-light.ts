// How the tank's content lets the sun through: for its floor, the panes that shine and the table.
import type * as THREE from "three";
import { volumeLight } from "./volume-light.js";

/** What the tank's programs share with the particles'. */
export const SHARED = [
  "lightVolume",
  "voxelsPerMetre",
  "tankSize",
  "shadowing",
  "pigment",
  "sunTank",
  "momentS",
  "viewHeight",
] as const;
export type TankShared = Record<(typeof SHARED)[number], THREE.IUniform>;

/** `sunlight(place)` is what of the sun gets through what isn't water to a place of the tank. */
export const sunlight = /* glsl */ `
uniform mediump sampler3D lightVolume;
uniform vec3 voxelsPerMetre;
uniform vec3 tankSize;
uniform float shadowing; // of what isn't water, optical depth of a metre; 0: the tank holds water
uniform vec3 sunTank;
${volumeLight}
float sunlight(vec3 place) { return exp(-depthAlong(place, sunTank, 1e6, shadowing)); }
`;

/** `web(p)` is the bright net under moving water, 0..1: the crests of waves that run in several directions. */
export const web = /* glsl */ `
float web(vec2 p) {
  p += 0.35 * vec2(sin(1.7 * p.y + 0.8 * momentS), sin(1.9 * p.x - 0.7 * momentS));
  float a = sin(3.1 * p.x + 0.9 * p.y + 1.1 * momentS) + sin(2.7 * p.y - 1.3 * p.x - 0.9 * momentS);
  float b = sin(2.3 * p.x - 2.2 * p.y - 1.3 * momentS) + sin(1.1 * p.x + 3.3 * p.y + 0.7 * momentS);
  float crest = max(1.0 - abs(a), 1.0 - abs(b));
  return crest * crest * crest * step(0.0, crest);
}
`;
