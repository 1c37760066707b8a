// Programs that show what can't be seen in a fluid: a plane, arrows in it, lines with the look of tubes, and dots.
//
// It is drawn over the picture of the fluid; opaque-depths.ts has it hidden by what is opaque.
import { SIGNED_STOPS } from "../../shader/signed-stops.js";
import { STOPS } from "../../shader/stops.js";

const vec = (c: number): string =>
  `vec3(${[16, 8, 0].map((shift) => (((c >> shift) & 255) / 255).toFixed(4)).join(", ")})`;

const ramp = (name: string, stops: readonly number[]): string => /* glsl */ `
vec3 ${name}(float share) {
  const vec3 STOPS[${stops.length}] = vec3[](${stops.map(vec).join(", ")});
  float at = clamp(share, 0.0, 1.0) * ${(stops.length - 1).toFixed(1)};
  int below = min(int(at), ${stops.length - 2});
  return mix(STOPS[below], STOPS[below + 1], at - float(below));
}`;

/** @param bias  of depths: what is larger lies over what is in the same place */
const lift = /* glsl */ `
void lift(float bias) { gl_Position.z -= bias * gl_Position.w; }`;

const LIT = /* glsl */ `
// Of something round: light from above the eye's left shoulder. facing: view space.
vec3 lit(vec3 tint, vec3 facing) {
  const vec3 SUN = normalize(vec3(-0.35, 0.75, 0.56));
  float shine = pow(max(0.0, dot(facing, normalize(SUN + vec3(0.0, 0.0, 1.0)))), 40.0);
  return tint * (0.7 + 0.4 * max(0.0, dot(facing, SUN))) + 0.35 * shine;
}`;

export const planeVertex = /* glsl */ `
out vec2 at;
void main() {
  at = uv;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
  }`;

/** Texels have the value's share of the scale times how much fluid is there, and that. */
export const planeFragment = /* glsl */ `
uniform mediump sampler2D texels;
uniform bool isSigned;
uniform vec3 border;
in vec2 at;
out vec4 colour;
${ramp("unsignedColour", STOPS)}
${ramp("signedColour", SIGNED_STOPS)}
void main() {
  vec2 pair = texture(texels, at).rg;
  vec2 edge = min(at, 1.0 - at) / fwidth(at);
  float line = clamp(2.0 - min(edge.x, edge.y), 0.0, 1.0);
  float fluid = smoothstep(0.3, 0.5, pair.g);
  float share = pair.g > 0.0 ? pair.r / pair.g : 0.0;
  vec3 tint = isSigned ? signedColour(share) : unsignedColour(share);
  colour = vec4(mix(tint, border, line), max(0.95 * fluid, 0.85 * line));
  // Of air nothing is drawn, nor does it hide anything.
  if (colour.a < 0.02) discard;
}`;

export const arrowVertex = /* glsl */ `
in vec3 middle;
in vec3 velocity;
uniform float metresPerSpeed; // length of an arrow of 1 m/s
uniform float longest;
uniform float rim;            // of what is dark around it, metres
uniform vec3 across;
flat out float shade;
${lift}
void main() {
  // position: 0 tail, 1 neck, 2 tip; -1, 0, 1 across; 0 shaft, 1 head, less 2 where it is dark.
  float speed = length(velocity);
  float size = min(longest, speed * metresPerSpeed);
  bool isDark = position.z < -0.5;
  float part = isDark ? position.z + 2.0 : position.z;
  float head = min(0.42 * size, 0.32 * longest);
  float wide = mix(0.17, 0.5, part) * head;
  float along = position.x < 0.5 ? -0.5 * size : position.x < 1.5 ? 0.5 * size - head : 0.5 * size;
  if (isDark) {
    wide += mix(1.0, 1.7, part) * rim;
    along += position.x < 0.5 ? -rim : position.x < 1.5 ? -part * rim : 2.2 * rim;
  }
  vec3 way = velocity / max(speed, 1e-9);
  vec3 place = middle + way * along + cross(across, way) * position.y * wide;
  shade = isDark ? 0.0 : 1.0;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(place, 1.0);
  lift(isDark ? 4e-6 : 8e-6);
  if (size < 0.05 * longest) gl_Position = vec4(0.0, 0.0, 2.0, 1.0); // it stands
}`;

export const arrowFragment = /* glsl */ `
flat in float shade;
out vec4 colour;
void main() { colour = mix(vec4(0.02, 0.05, 0.08, 0.55), vec4(1.0), shade); }`;

export const lineVertex = /* glsl */ `
in vec4 first;   // place, speed: less than 0 where a line has ended
in vec4 second;
in float firstS; // on the way since the line's seed
in float secondS;
uniform float radius;    // metres
uniform float leastPx;
uniform float viewHeight;
out vec2 at;       // across, -1..1; beyond the ends, radii
out float reach;   // the piece's own length, radii
out float speed;
out float timeS;
out vec3 side;
void main() {
  vec3 a = (modelViewMatrix * vec4(first.xyz, 1.0)).xyz;
  vec3 b = (modelViewMatrix * vec4(second.xyz, 1.0)).xyz;
  bool isEnd = position.x > 0.0;
  vec3 here = isEnd ? b : a;
  vec3 way = b - a;
  float size = length(way);
  way = size > 0.0 ? way / size : vec3(1.0, 0.0, 0.0);
  side = normalize(cross(way, -here) + vec3(0.0, 1e-6, 0.0));
  float pixel = -here.z * 2.0 / (viewHeight * projectionMatrix[1][1]);
  float wide = max(radius, 0.5 * leastPx * pixel);
  at = vec2(position.y, position.x > 0.0 ? size / wide + 1.0 : -1.0);
  reach = size / wide;
  speed = isEnd ? second.w : first.w;
  timeS = isEnd ? secondS : firstS;
  gl_Position = projectionMatrix * vec4(here + (side * position.y + way * position.x) * wide, 1.0);
    if (first.w < 0.0 || second.w < 0.0) gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
}`;

export const lineFragment = /* glsl */ `
uniform float topSpeed;
uniform float momentS;
uniform vec4 plain;   // a colour in the place of the speed's, and how much
uniform float pulseS; // a pulse comes so often, seconds on the way; 0: none
in vec2 at;
in float reach;
in float speed;
in float timeS;
in vec3 side;
out vec4 colour;
${ramp("unsignedColour", STOPS)}
${LIT}
void main() {
  // Round ends, so that pieces join.
  float beyond = at.y < 0.0 ? -at.y : max(0.0, at.y - reach);
  float square = at.x * at.x + beyond * beyond;
  if (square > 1.0) discard;
  vec3 facing = normalize(vec3(side.xy * at.x, sqrt(1.0 - at.x * at.x)));
  vec3 tint = mix(unsignedColour(speed / topSpeed), plain.rgb, plain.a);
  // It fades behind its head: so a still picture, too, tells which way the flow goes.
  float behind = pulseS > 0.0 ? fract((momentS - timeS) / pulseS) : 1.0;
  tint *= pulseS > 0.0 ? 0.85 + 0.5 * exp(-3.5 * behind) : 1.0;
  colour = vec4(lit(tint, facing), 1.0);
}`;

export const dotVertex = /* glsl */ `
in vec3 velocity;
in float row;
uniform float lead;
uniform float radius;
uniform float viewHeight;
flat out vec3 tint;
flat out float halfPixels;
${lift}
void main() {
  vec4 view = modelViewMatrix * vec4(position + lead * velocity, 1.0);
  halfPixels = max(2.0, radius * 0.5 * viewHeight * projectionMatrix[1][1] / -view.z);
  // Rows beside each other are told apart.
  tint = mod(row, 2.0) < 0.5 ? vec3(0.98, 0.98, 1.0) : vec3(1.0, 0.62, 0.24);
  gl_Position = projectionMatrix * view;
  gl_PointSize = 2.0 * halfPixels + 1.0;
  lift(1.2e-5);
  if (view.z > -1e-3) gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
}`;

export const dotFragment = /* glsl */ `
precision highp float;
flat in vec3 tint;
flat in float halfPixels;
out vec4 colour;
${LIT}
void main() {
  vec2 p = vec2(2.0 * gl_PointCoord.x - 1.0, 1.0 - 2.0 * gl_PointCoord.y) * (halfPixels + 0.5) / halfPixels;
  float square = dot(p, p);
  float cover = clamp((1.0 - sqrt(square)) * halfPixels + 0.5, 0.0, 1.0);
  if (cover < 0.2) discard;
  vec3 facing = vec3(p, sqrt(max(0.0, 1.0 - square)));
  colour = vec4(lit(tint, facing) * mix(0.35, 1.0, smoothstep(1.0, 0.75, square)), cover);
}`;
