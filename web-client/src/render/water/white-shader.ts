// Spray, foam and bubbles beside the water's surface that is seen: how much of a pixel each of them covers. Foam is laid
// onto that surface, so that it is as flat as the water and never stands out at its edges; what is behind it is seen
// through water; what is before it, or where there is none, is in the air. Covers add up as what is not covered
// multiplies: no order is needed.
import { secondaryPlace, secondaryShape } from "../secondary-shader.js";

export const whiteVertex = /* glsl */ `
${secondaryPlace}
flat out float reach;  // within which foam belongs to a surface, view space
void main() {
  secondary();
  reach = 1.5 * radius * length(modelViewMatrix[0].xyz);
}
`;

export const whiteFragment = /* glsl */ `
precision highp float;
precision highp sampler2D;

uniform sampler2D surface;   // distance of the water's surface, smoothed, with either sign
uniform sampler2D sceneDepth;
uniform vec2 mapSize;        // of what is drawn here, pixels
uniform vec2 depthToDistance;
uniform float clearM;        // metres through which water is clear
uniform float pixelsPerUnit; // at distance 1
${secondaryShape}
flat in float reach;
out vec4 cover;              // of foam on the surface, of bubbles below it, and of spray; the last is free

/** The lace of bubbles in a patch of foam, 0..1; it goes with the patch. @param p  in its bubbles */
float lace(vec2 p) {
  float turn = 6.2832 * seed;
  p = mat2(cos(turn), sin(turn), -sin(turn), cos(turn)) * p + 40.0 * seed;
  float a = sin(p.x + 1.6 * sin(0.9 * p.y + 3.0 * seed));
  float b = sin(1.1 * p.y + 1.6 * sin(0.8 * p.x));
  return smoothstep(0.15, 0.85, 0.5 + 0.5 * a * b);
}

void main() {
  float r2 = fromMiddle2();
  if (r2 > 1.0) discard;
  vec2 at = gl_FragCoord.xy / mapSize;
  float solid = depthToDistance.y / (depthToDistance.x - textureLod(sceneDepth, at, 0.0).r);
  if (distance_ > solid + reach) discard;
  float soft = kind.w * (1.0 - r2) * (1.0 - r2);
  float water = abs(textureLod(surface, at, 0.0).r);
  float behind = distance_ - water;
  if (water == 0.0) {
    cover = vec4(0.0, 0.0, soft * dot(kind.xyz, vec3(0.75, 0.25, 0.2)), 0.0);
    return;
  }
  float off = behind / (reach + 0.5 * wide);
  float on = max(0.0, 1.0 - r2 - off * off);
  float below = smoothstep(0.0, 2.0 * reach, behind);
  float seen = exp(-2.2 * max(behind, 0.0) / clearM);
  // No finer than the map's pixels.
  float bubbles = lace((2.0 * gl_PointCoord - 1.0) * wide / max(0.22 * reach, 1.2 * distance_ / pixelsPerUnit));
  cover.r = kind.w * kind.y * on * mix(0.08, 0.5, bubbles);
  cover.g = soft * seen * below * dot(kind.xyz, vec3(0.25, 0.3, 0.35));
  cover.b = soft * (1.0 - below) * kind.x * 0.75;
  cover.a = 0.0;
}
`;
