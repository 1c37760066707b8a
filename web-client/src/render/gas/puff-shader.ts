// A particle of smoke or dye: a soft sprite that adds its optical depth, which needs no order, and the light that it
// scatters towards the eye. That is weighed by how much of it gets through what is before it (a weighted, blended
// transparency after McGuire and Bavoil, 2013), which the light volume tells instead of a guess from the distance.
import { particlePlace } from "../particle-shader.js";
import { volumeLight } from "../volume-light.js";
import { tankRay } from "../water/tank-ray.js";

export const puffVertex = /* glsl */ `
${particlePlace}
${volumeLight}
uniform vec3 slowColour;
uniform vec3 fastColour;
uniform float inky;
uniform float scatter;
uniform float section;   // m^2 of a particle times its optical depth
uniform float spread;    // radius of a puff around the average particle, metres
uniform float flatTank;  // 1: one cell deep
uniform float covering;  // optical depth of a metre where the volume's density is that around the average particle
uniform float shadowing; // the same, for shadows
uniform vec3 sunTank;
uniform vec3 eyeTank;
uniform vec3 skyFill;
uniform vec3 sunFill;

flat out vec3 centre;    // view space
flat out float wide;     // view space
flat out float amount;   // optical depth in the middle
flat out vec4 light;     // that it scatters towards the eye, times its weight; weight
flat out vec4 takes;     // shares of optical depth: red, green, blue, what is scattered

const vec3 SUN = vec3(1.36, 1.24, 1.06);
const vec3 SKY = vec3(0.10, 0.16, 0.25);
/** Optical depth that hides all but a last rest: what is behind it still has a colour. */
const float HIDDEN_MAX = 6.0;

void main() {
  Particle p = particle();
#if defined CHANNEL
  vec3 tint = 0.01 + 0.85 * scaled(p);
#elif defined COLOURED
  vec3 tint = 0.01 + 0.85 * dye();
#else
  vec3 tint = mix(slowColour, fastColour, smoothstep(0.02, 0.35, p.speed));
#endif

  // Alone it is larger, so that thin smoke is no heap of dots.
  float sparse = clamp(pow(2.0 * max(p.density, 0.01), mix(-0.333, -0.5, flatTank)), 0.75, 2.2);
  float scale = length(modelViewMatrix[0].xyz);
  vec4 view = modelViewMatrix * vec4(p.at, 1.0);
  float pixels = pixelsPerUnit * scale / -view.z; // of a metre of the tank
  float radius_ = max(spread * sparse / p.nearness, 1.5 / pixels);
  amount = section * 0.955 / (radius_ * radius_); // falling off as below it adds up to that
  wide = radius_ * scale;
  centre = view.xyz;
  gl_Position = projectionMatrix * view;
  gl_PointSize = 2.0 * radius_ * pixels;

  vec3 toEye = eyeTank - p.at;
  float away = length(toEye);
  float hidden = depthAlong(p.at, toEye / away, away, covering);
  float weight = exp(-min(hidden, HIDDEN_MAX));

  // Light that was scattered on its way gets farther than that which comes straight.
  float shade = depthAlong(p.at, sunTank, 1e6, shadowing);
  float sun = 0.74 * exp(-shade) + 0.26 * exp(-0.25 * shade);
  float edge = length(p.rising);
  float facing = -dot(p.rising, sunTank) / max(edge, 1e-4);
  sun *= 1.0 + 0.35 * facing * smoothstep(0.02, 0.3, edge);
  float sky = 0.35 + 0.65 * sqrt(p.daylight);
  light = weight * vec4(tint * (sunFill * SUN * sun + skyFill * SKY * sky), 1.0);
  takes = vec4(mix(vec3(0.94, 1.0, 1.06), -log(tint), inky), scatter);
}
`;

export const puffFragment = /* glsl */ `
precision highp float;
precision highp sampler2D;

uniform sampler2D sceneDepth;
uniform vec2 mapSize;         // of what is drawn here, pixels
uniform vec4 lens;
uniform vec2 depthToDistance;
${tankRay}

flat in vec3 centre;
flat in float wide;
flat in float amount;
flat in vec4 light;
flat in vec4 takes;
layout(location = 0) out vec4 lit;   // scattered light, weighed, and the weights
layout(location = 1) out vec4 taken; // optical depth of red, green, blue and of what is scattered

void main() {
  vec2 disc = gl_PointCoord * 2.0 - 1.0;
  float r2 = dot(disc, disc);
  if (r2 > 1.0) discard;
  vec2 at = gl_FragCoord.xy / mapSize;
  // The part of it that is inside the tank and before what is solid.
  vec2 tank = tankAlong(vec3(lens.xy + lens.zw * at, -1.0));
  float solid = depthToDistance.y / (depthToDistance.x - textureLod(sceneDepth, at, 0.0).r);
  float deep = min(wide, 0.5 * (tank.y - tank.x));
  float share = smoothstep(-deep, deep, min(tank.y, solid) + centre.z) - smoothstep(-deep, deep, tank.x + centre.z);
  if (tank.x >= tank.y || share <= 0.0) discard;
  float depth = amount * share * (1.0 - r2) * (1.0 - r2);
  lit = depth * light;
  taken = depth * takes;
}
`;
