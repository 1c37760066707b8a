// An arrow as one point sprite: the axis that something turns about, after the rule of the right hand.
import { STOPS } from "../../shader/stops.js";
import { linearText } from "../particle-shader.js";

export const arrowVertex = /* glsl */ `
in vec3 vorticity;
uniform float longest;      // of an arrow from its middle, metres
uniform float topVorticity; // what the longest one stands for, 1/s
uniform float pixelsPerUnit;
out vec3 tint;
flat out vec2 axis;         // from its middle to its tip, shares of the sprite's half
flat out float halfPixels;

const float FAINT = 0.08;
const float REST_PIXELS = 5.0;
const vec3 STOPS[${STOPS.length}] = vec3[](${STOPS.map(linearText).join(", ")});

void main() {
  float size = length(vorticity) / topVorticity;
  vec3 along = normalize(vorticity) * longest * sqrt(min(size, 1.0));
  vec4 middle = modelViewMatrix * vec4(position, 1.0);
  vec4 tip = modelViewMatrix * vec4(position + along, 1.0);
  vec2 pixels = pixelsPerUnit * (tip.xy / -tip.z - middle.xy / -middle.z);
  halfPixels = length(pixels) + REST_PIXELS;
  axis = pixels / halfPixels;
  float at = min(size, 1.0) * float(STOPS.length() - 1);
  int below = min(int(at), STOPS.length() - 2);
  tint = pow(mix(STOPS[below], STOPS[below + 1], at - float(below)), vec3(1.0 / 2.2));
  gl_Position = projectionMatrix * middle;
  gl_PointSize = 2.0 * halfPixels;
  // What hardly turns has no arrow, nor has what is behind the eye.
  if (size < FAINT || tip.z > 0.0) gl_Position = vec4(0.0, 0.0, 2.0, 1.0);
}
`;

export const arrowFragment = /* glsl */ `
precision highp float;
in vec3 tint;
flat in vec2 axis;
flat in float halfPixels;
out vec4 colour;

const float SHAFT_PIXELS = 0.9;
const float HEAD_PIXELS = 8.0;
const float HEAD_HALF_PIXELS = 3.0;

void main() {
  vec2 p = vec2(gl_PointCoord.x * 2.0 - 1.0, 1.0 - gl_PointCoord.y * 2.0) * halfPixels;
  float reach = length(axis) * halfPixels;
  vec2 along = reach > 0.5 ? normalize(axis) : vec2(0.0, 1.0);
  vec2 at = vec2(dot(p, along), abs(p.x * along.y - p.y * along.x)); // along the arrow, beside it
  float head = min(HEAD_PIXELS, 1.2 * reach);
  float fromTip = reach - at.x;
  float wide = fromTip < head ? HEAD_HALF_PIXELS * fromTip / max(head, 1.0) : SHAFT_PIXELS;
  float outside = max(at.y - wide, max(-fromTip, -reach - at.x));
  // One that looks at us is a dot.
  if (reach < HEAD_HALF_PIXELS) outside = length(p) - HEAD_HALF_PIXELS;
  float cover = clamp(0.5 - outside, 0.0, 1.0);
  if (cover <= 0.0) discard;
  colour = vec4(tint, cover);
}
`;
