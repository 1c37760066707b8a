// The particles as water: first the distance of the nearest of them, then how much water there is and of what colour.
//
// At the surface a particle is no ball but a tile of that surface, turned as the light volume's density falls off, and
// what is near a wall lies against it, and its middle is moved to where the density is that of a surface: calm water is
// flat before anything is smoothed. A drop by itself stays a ball. Lengths that leave the vertex programs are the view's: a
// headset shows the tank at another scale.
import { SHUTTER_S } from "../../shader/shutter.js";
import { particlePlace } from "../particle-shader.js";
import { tankRay } from "./tank-ray.js";

const place = /* glsl */ `
${particlePlace}
/** Presses what is near a wall of the tank against it. @return the walls' outward directions */
vec3 press(inout vec3 at) {
  float near = 1.9 * radius;
  vec3 low = min(at / near, 1.0);
  vec3 high = min((tankSize - at) / near, 1.0);
  at += near * (low * low - low) - near * (high * high - high);
  at = clamp(at, vec3(0.2 * radius), tankSize - 0.2 * radius);
  return (1.0 - high) - (1.0 - low);
}
`;

export const distanceVertex = /* glsl */ `
${place}
flat out vec3 centre;  // view space
flat out vec3 facing;  // of the surface, view space
flat out float flatness;
flat out float bulge;  // of a tile, in its radii
flat out float wide;   // view space
flat out vec3 streak;  // of a drop: its way on the screen, and how much longer than wide it is drawn
flat out float beside; // what is so near to a pane lies against it, view space; 0: no wall is near

uniform vec3 level;    // upwards, tank coordinates

const float SHUTTER_S = ${SHUTTER_S};

/**
 * @param slow  1: it hardly moves; what rides a little higher than the rest is no drop then
 * @return metres by which a particle near the surface is to move outwards to be where the density falls to a half
 */
float towardsSurface(Particle p, float slow) {
  float voxelM = 1.0 / (voxelsPerMetre.x * float(textureSize(lightVolume, 0).x));
  float perVoxel = length(p.rising) / 2.32;
  float off = voxelM * (p.density - 0.26) / max(perVoxel, 0.02) - 0.45 * radius;
  float sure = smoothstep(0.06, 0.16, perVoxel) * mix(1.0 - p.thin, 1.0 - p.lone, slow);
  return mix(0.8, 1.0, slow) * sure * clamp(off, mix(-0.5, -2.0, slow) * radius, 0.6 * radius);
}

void main() {
  Particle p = particle();
  wide = radius * mix(1.0 / p.nearness, 1.0, 0.6 * p.thin);
  inset(p, wide);
  float slow = 1.0 - smoothstep(0.03, 0.14, p.speed);
  p.at -= towardsSurface(p, slow) * normalize(p.rising + vec3(0.0, 1e-5, 0.0));
  vec3 walls = press(p.at);
  bool isBeside = any(greaterThan(abs(p.at - 0.5 * tankSize), 0.5 * tankSize - 2.2 * wide));
  wide *= 1.12 * (1.0 - 0.5 * p.lone);

  vec4 view = modelViewMatrix * vec4(p.at, 1.0);
  // Walls that the water is seen through, where there is no surface of its own.
  walls *= step(0.0, -walls * (view.xyz * mat3(modelViewMatrix)));
  vec3 surface = -0.9 * p.rising * (1.0 - p.lone);
  float submerged = 1.0 - smoothstep(0.2, 0.5, length(surface));
  vec3 outward = surface + walls * submerged;
  beside = isBeside ? wide * mix(0.6, 1.8, submerged) : 0.0;
  float strength = length(outward);
  // Slow water that faces upwards is level.
  float calm = slow * smoothstep(0.55, 0.9, dot(outward, level) / max(strength, 1e-4));
  outward = mix(outward, strength * level, 0.9 * calm);
  float scale = length(modelViewMatrix[0].xyz);
  facing = (modelViewMatrix * vec4(outward / max(strength, 1e-4), 0.0)).xyz / scale;
  bulge = 0.12 * (1.0 - calm);
  flatness = smoothstep(0.08, 0.35, strength) * (1.0 - p.lone);

  centre = view.xyz;
  wide *= scale;
  beside *= scale;
  // Falling sheets tear into threads and drops along their way.
  vec2 way = p.thin * SHUTTER_S * velocityScale * (modelViewMatrix * vec4(motion.xyz, 0.0)).xy;
  float reach = length(way);
  float longer = 1.0 + min(1.8, reach / wide);
  streak = vec3(reach > 0.0 ? way / reach : vec2(1.0, 0.0), longer);
  wide *= inversesqrt(longer);
  gl_Position = projectionMatrix * view;
  gl_PointSize = max(2.0, 2.0 * wide * longer * pixelsPerUnit / -view.z);
}
`;

export const distanceFragment = /* glsl */ `
precision highp float;

uniform mat4 projectionMatrix;

flat in vec3 centre;
flat in vec3 facing;
flat in float flatness;
flat in float bulge;
flat in float wide;
flat in vec3 streak;
flat in float beside;
out vec4 distance_;    // less than 0: of water that lies against a pane before it
${tankRay}
/** Of a tile, in its own radii: seen from near its edge it is narrow, as a disc is. */
const float TILE2 = 3.2;

void main() {
  vec2 disc = vec2(gl_PointCoord.x * 2.0 - 1.0, 1.0 - gl_PointCoord.y * 2.0) * streak.z;
  vec2 own = vec2(dot(disc, streak.xy) / streak.z, dot(disc, vec2(-streak.y, streak.x)));
  float r2 = dot(own, own);
  if (r2 > 1.0) discard;
  float ball = sqrt(1.0 - r2);
  // A surface seen nearly from its edge would lean without end.
  float lean = dot(facing.xy, disc) / max(facing.z, 0.2);
  float flat_ = flatness * smoothstep(-0.05, 0.15, facing.z);
  if (r2 + flat_ * lean * lean > TILE2) discard;
  float z = centre.z + wide * mix(ball, bulge * ball - clamp(lean, -1.8, 1.8), flat_);
  bool onGlass = false;
  if (beside > 0.0) {
    vec2 tank = tankAlong(vec3((centre.xy + wide * disc) / -centre.z, -1.0));
    if (-z > tank.y || tank.x > tank.y) discard;
    // A drop may bulge out a little: it would look cut.
    onGlass = tank.x > 0.0 && flat_ > 0.3 && -z < tank.x + beside;
    if (onGlass) z = -tank.x;
  }
  distance_ = vec4(onGlass ? z : -z, 0.0, 0.0, 1.0);
  gl_FragDepth = 0.5 + 0.5 * (projectionMatrix[2][2] * z + projectionMatrix[3][2]) / -z;
}
`;

export const thicknessVertex = /* glsl */ `
${place}
uniform vec3 waterColour;

flat out float distance_;
flat out vec3 tint;
flat out vec2 content; // metres of water in the middle, daylight
flat out float deep;   // metres of water that hide what is behind them

void main() {
  Particle p = particle();
  float wide = radius * mix(1.0 / p.nearness, 1.0, 0.6 * p.thin);
  inset(p, wide);
  press(p.at);
#if defined CHANNEL
  tint = scaled(p);
#elif defined COLOURED
  tint = dye();
#else
  tint = waterColour;
#endif
  // Eight particles fill a cell; drawn over 1.7 radii and falling off as below, they add up to that.
  float scale = length(modelViewMatrix[0].xyz);
  wide *= scale;
  content = vec2(0.557 * wide, p.daylight);
  deep = 5.0 * radius * scale;
  vec4 view = modelViewMatrix * vec4(p.at, 1.0);
  distance_ = -view.z;
  gl_Position = projectionMatrix * view;
  gl_PointSize = max(1.5, 3.4 * wide * pixelsPerUnit / -view.z);
}
`;

export const thicknessFragment = /* glsl */ `
precision highp float;
precision highp sampler2D;

uniform sampler2D surface;   // distance of the water's surface, smoothed, with either sign
uniform sampler2D sceneDepth;
uniform vec2 mapSize;        // of what is drawn here, pixels
uniform vec2 depthToDistance;

flat in float distance_;
flat in vec3 tint;
flat in vec2 content;
flat in float deep;
layout(location = 0) out vec4 colour;  // what is near the surface: its colour, weighed, and the weights
layout(location = 1) out vec4 amount;  // metres; daylight, weighed as the colours

void main() {
  vec2 disc = gl_PointCoord * 2.0 - 1.0;
  float r2 = dot(disc, disc);
  if (r2 > 1.0) discard;
  vec2 at = gl_FragCoord.xy / mapSize;
  float solid = depthToDistance.y / (depthToDistance.x - textureLod(sceneDepth, at, 0.0).r);
  if (distance_ > solid) discard;
  float behind = max(0.0, distance_ - abs(textureLod(surface, at, 0.0).r));
  float share = content.x * (1.0 - r2) * (1.0 - r2);
  float weight = share * (1.0 - r2) * exp(-behind / deep);
  colour = weight * vec4(tint, 1.0);
  amount = vec4(share, weight * content.y, 0.0, 0.0);
}
`;
