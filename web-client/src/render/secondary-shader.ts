// Spray, foam and bubbles as point sprites: where one is, how large, and what it is in the water around it. Spray is
// drawn along its way, as it moves while a picture is taken.
import { BUBBLE_ABOVE, SPRAY_BELOW } from "../codec/secondary-particles.js";
import { SHUTTER_S } from "../shader/shutter.js";

export const secondaryPlace = /* glsl */ `
in vec4 place;    // in shares of the tank's longest edge; then size, and above it the density around it
in vec4 motion;   // velocity units; then how much of it is shown

uniform float placeScale;     // metres
uniform float velocityScale;
uniform float lead;
uniform float radius;         // of a drawn particle of water
uniform float foamM;          // radius of a patch of foam on average
uniform vec3 tankSize;
uniform float pixelsPerUnit;  // at distance 1

flat out vec4 kind;           // shares of spray, foam and bubble; how much of it is shown
flat out vec3 streak;         // on the screen: its direction, and how much narrower than long it is
flat out float distance_;     // from the eye's plane
flat out float wide;          // radius of the sprite, view space
flat out float seed;          // its own, 0..1

const float SHUTTER_S = ${SHUTTER_S};

void secondary() {
  vec3 velocity = motion.xyz * velocityScale;
  vec3 at = clamp(place.xyz * placeScale + velocity * lead, vec3(0.0), tankSize);
  float wet = floor(place.w / 256.0) / 255.0;
  float size = mod(place.w, 256.0) / 255.0;
  seed = fract(97.3 * size + 0.37);
  float spray = 1.0 - smoothstep(${(0.7 * SPRAY_BELOW).toFixed(3)}, ${(1.4 * SPRAY_BELOW).toFixed(3)}, wet);
  float bubble = smoothstep(${(0.88 * BUBBLE_ABOVE).toFixed(3)}, ${(1.15 * BUBBLE_ABOVE).toFixed(3)}, wet);
  kind = vec4(spray, 1.0 - spray - bubble, bubble, motion.w / 127.0);

  vec4 view = modelViewMatrix * vec4(at, 1.0);
  float scale = length(modelViewMatrix[0].xyz);
  float pixels = pixelsPerUnit / -view.z;
  float thin = foamM * scale * dot(kind.xyz, vec3(0.08 + 0.24 * size, 0.60 + 1.30 * size, 0.20 + 0.50 * size));
  vec2 way = spray * 0.5 * SHUTTER_S * (modelViewMatrix * vec4(velocity, 0.0)).xy;
  float reach = length(way);
  wide = thin + reach;
  streak = vec3(reach > 0.0 ? way / reach : vec2(1.0, 0.0), wide / thin);
  // What is thinner than a pixel is drawn wider, and covers less of what it is drawn on: as much as it would in all.
  float shown = 1.3 / (thin * pixels);
  if (shown > 1.0) {
    float wider = thin * shown + reach;
    kind.w *= wide / (shown * wider);
    wide = wider;
    streak.z = wide / (thin * shown);
  }
  distance_ = -view.z;
  gl_Position = projectionMatrix * view;
  gl_PointSize = 2.0 * wide * pixels;
}
`;

/** How far a pixel is from the sprite's middle, in its own radii, squared. */
export const secondaryShape = /* glsl */ `
flat in vec4 kind;
flat in vec3 streak;
flat in float distance_;
flat in float wide;
flat in float seed;

float fromMiddle2() {
  vec2 disc = vec2(gl_PointCoord.x * 2.0 - 1.0, 1.0 - gl_PointCoord.y * 2.0);
  vec2 own = vec2(dot(disc, streak.xy), streak.z * dot(disc, vec2(-streak.y, streak.x)));
  return dot(own, own);
}
`;

/** Beside spheres: over them, without maps. */
export const besideSpheresVertex = /* glsl */ `
${secondaryPlace}
void main() {
  secondary();
  // Nothing smooths it there: it is finer.
  gl_PointSize *= 1.0 - 0.45 * kind.y;
  // The spheres that it lies on bulge.
  vec4 nearer = projectionMatrix * vec4(0.0, 0.0, -distance_ + 2.0 * (1.0 - kind.z) * radius * length(modelViewMatrix[0].xyz), 1.0);
  gl_Position.z = nearer.z / nearer.w * gl_Position.w;
}
`;

export const besideSpheresFragment = /* glsl */ `
precision highp float;
uniform vec3 skyFill;
uniform vec3 sunFill;
${secondaryShape}
out vec4 colour;

void main() {
  float r2 = fromMiddle2();
  if (r2 > 1.0) discard;
  vec3 white = skyFill * vec3(0.20, 0.26, 0.31) + sunFill * 0.62;
  float cover = kind.w * (1.0 - r2) * dot(kind.xyz, vec3(0.6, 0.6, 0.25));
  colour = vec4(pow(white / (1.0 + 0.22 * white), vec3(1.0 / 2.2)), cover);
}
`;
