// The particles' shader: one point sprite each, shaded as a sphere. Positions arrive as the integers that the frame
// holds; the vertex shader scales them, moves them on by their velocity and looks up how much light reaches them.
//
// Where layers were cut off a particle stands for its neighbours, too: it is as large as closes the water, but bulges
// no more than they would, and looks more like the surface that they would make than like a sphere of its own.
//
// FLAT: without a surface that they share and without a depth of their own, for machines that can do no more.
// What depends on the camera comes from its matrices alone, so that each eye of a headset gets its own; the tank may be
// drawn at any scale.

import { EXTINCTION } from "../codec/light-volume.js";
import { absorbedPerEdge } from "../shader/absorption.js";
import { STOPS } from "../shader/stops.js";
import { tone } from "../shader/tone.js";

/** A colour in GLSL, from sRGB. */
export function linearText(colour: number): string {
  const linear = (byte: number): string => ((byte / 255) ** 2.2).toFixed(4);
  return `vec3(${linear(colour >> 16)}, ${linear((colour >> 8) & 255)}, ${linear(colour & 255)})`;
}

/** Where a particle is and what the water around it is like: for every program that draws particles. */
export const particlePlace = /* glsl */ `
in vec4 quantized;   // quanta; then the colour, where there are any, and above it the level of a channel
in vec4 motion;      // velocity units

uniform float quantum;        // metres
uniform float velocityScale;  // metres per second of a velocity unit
uniform float lead;           // seconds that the display is ahead of the frame
uniform vec3 tankSize;
uniform float radius;
uniform float pixelsPerUnit;  // at distance 1
uniform float speedRange;
uniform vec3 voxelsPerMetre;  // texture coordinates of the light volume per metre
uniform vec3 voxel;           // 0.58 of a voxel in those coordinates
uniform mediump sampler3D lightVolume;

struct Particle {
  vec3 at;         // tank coordinates
  vec3 rising;     // where the density grows
  float speed;     // 0..1
  float daylight;
  float density;   // 0.5: that of calm water
  float nearness;  // of the particles at hand
  float thin;      // 1: hardly any water around it
  float lone;      // 1: a drop by itself
  float foam;
};

Particle particle() {
  Particle p;
  vec3 velocity = motion.xyz * velocityScale;
  p.at = (quantized.xyz + 0.5) * quantum + velocity * lead;
  p.at = clamp(p.at, vec3(0.35 * radius), tankSize - 0.35 * radius);

  vec3 uvw = p.at * voxelsPerMetre;
#ifdef FLAT
  vec3 here = textureLod(lightVolume, uvw, 0.0).rgb;
  p.rising = vec3(0.0);
#else
  // Four samples on a tetrahedron give both the mean around the particle and the density's gradient.
  vec3 a = textureLod(lightVolume, uvw + voxel * vec3(1, 1, 1), 0.0).rgb;
  vec3 b = textureLod(lightVolume, uvw + voxel * vec3(1, -1, -1), 0.0).rgb;
  vec3 c = textureLod(lightVolume, uvw + voxel * vec3(-1, 1, -1), 0.0).rgb;
  vec3 d = textureLod(lightVolume, uvw + voxel * vec3(-1, -1, 1), 0.0).rgb;
  vec3 here = 0.25 * (a + b + c + d);
  p.rising = vec3(a.g + b.g - c.g - d.g, a.g - b.g + c.g - d.g, a.g - b.g - c.g + d.g);
#endif
  p.daylight = here.r;
  p.density = here.g;
  p.nearness = here.b;

  p.speed = clamp(length(velocity) / speedRange, 0.0, 1.0);
  p.thin = 1.0 - smoothstep(0.08, 0.36, here.g);
  p.lone = 1.0 - smoothstep(0.03, 0.16, here.g);
  p.foam = clamp(p.thin * smoothstep(0.18, 0.75, p.speed) * 1.2, 0.0, 1.0);
#ifdef CHANNEL
  p.foam = 0.0; // it would hide the colours
#endif
  return p;
}

/** Moves a larger particle inwards, so that the water doesn't grow. */
void inset(inout Particle p, float wide) {
  float inset = wide - radius;
  p.at += inset * p.rising / max(length(p.rising), 0.3);
  p.at = clamp(p.at, vec3(0.35 * radius + 0.4 * inset), tankSize - 0.35 * radius - 0.4 * inset);
}

#ifdef CHANNEL
uniform int channel;   // SOURCE of state/colour-by.ts

const vec3 STOPS[${STOPS.length}] = vec3[](${STOPS.map(linearText).join(", ")});

/** The colour of the particle's value, linear. */
vec3 scaled(Particle p) {
  float value = channel == 1 ? p.speed : channel == 2 ? p.at.y / tankSize.y : floor(quantized.w / 256.0) / 255.0;
  float at = clamp(value, 0.0, 1.0) * float(STOPS.length() - 1);
  int below = min(int(at), STOPS.length() - 2);
  return mix(STOPS[below], STOPS[below + 1], at - float(below));
}
#endif

#ifdef COLOURED
/** sRGB in 3, 3 and 2 bits to linear. */
vec3 dye() {
  int c = int(quantized.w) & 255;
  return pow(vec3(c >> 5, c >> 2 & 7, c & 3) / vec3(7.0, 7.0, 3.0), vec3(2.2));
}
#endif
`;

export const particleVertex = /* glsl */ `
${particlePlace}
uniform float viewHeight; // pixels
uniform float roomOpen;
uniform vec3 tileColour;
${tone}
flat out vec3 centre;   // view space
flat out vec3 tint;
flat out vec3 facing;   // of the water's surface as a whole, view space
flat out vec2 exposure; // daylight, foam
flat out float wide;    // radius of what is drawn
flat out float bulge;   // radius of the sphere, view space

#ifndef FLAT
/** Clear water on a bright floor: what of the floor's light comes back through the water that the particle is part of. */
vec3 onFloor(Particle p) {
  const vec3 ABSORBED = ${absorbedPerEdge()};  // of an edge of a cube as large as the tank
  const float WAY = 2.4;                       // down and up again, aslant, for the depth
  const vec3 MIRRORED = vec3(0.05, 0.07, 0.08); // of the sky
  const float WHITE = 0.62;                    // what a particle's light makes 1 of
  vec2 column = p.at.xz * voxelsPerMetre.xz;
  float depth = -log(max(textureLod(lightVolume, vec3(column.x, 0.0, column.y), 0.0).r, 0.01)) / ${EXTINCTION.toFixed(2)} * tankSize.y;
  float edges = WAY * depth * inversesqrt(pow(tankSize.x * tankSize.y * tankSize.z, 0.6667));
  return WHITE * (lightShown(tileColour) * exp(-ABSORBED * edges) + MIRRORED);
}
#endif

vec3 ramp(float t, Particle p) {
  const vec3 deep = vec3(0.004, 0.036, 0.160);
  const vec3 blue = vec3(0.008, 0.150, 0.460);
  const vec3 cyan = vec3(0.040, 0.500, 0.760);
  const vec3 pale = vec3(0.420, 0.820, 0.930);
  const vec3 foam = vec3(0.860, 0.945, 0.975);
  vec3 c = mix(deep, blue, smoothstep(0.00, 0.34, t));
  c = mix(c, cyan, smoothstep(0.24, 0.60, t));
#ifndef FLAT
  // In bright light foam has particles of its own (secondary-shader.ts).
  if (roomOpen > 0.0) return mix(onFloor(p), pale, 0.6 * smoothstep(0.5, 1.0, t));
#endif
  c = mix(c, pale, smoothstep(0.56, 0.84, t));
  return mix(c, foam, smoothstep(0.82, 1.00, t));
}

void main() {
  Particle p = particle();
#if defined CHANNEL
  tint = 0.01 + 0.62 * scaled(p);
#elif defined COLOURED
  // Its own colour, paler where it is fast and where it foams.
  tint = mix(0.01 + 0.62 * dye(), vec3(0.860, 0.945, 0.975), 0.22 * p.speed + 0.40 * p.foam);
#else
  tint = ramp(clamp(pow(p.speed, 0.62) * 0.90 + 0.26 * p.foam, 0.0, 1.0), p);
#endif
  exposure = vec2(p.daylight, p.foam);
  float scale = length(modelViewMatrix[0].xyz);
  facing = (modelViewMatrix * vec4(-0.5 * p.rising, 0.0)).xyz / scale;
  bulge = radius * scale;

  // Drops by themselves have nothing to close.
  wide = radius * mix(1.0 / p.nearness, 1.0, 0.6 * p.thin);
  inset(p, wide);

  vec4 view = modelViewMatrix * vec4(p.at, 1.0);
  centre = view.xyz;
  gl_Position = projectionMatrix * view;
  float pixels = 0.5 * viewHeight * projectionMatrix[1][1]; // of a metre at distance 1
  gl_PointSize = max(1.5, 2.0 * wide * scale * (1.0 - 0.38 * p.thin) * pixels / -view.z);
}
`;

export const particleFragment = /* glsl */ `
precision highp float;

const float RIM_MEAN = 0.1; // of rim over a sphere's disc

uniform mat4 projectionMatrix;
uniform float radius;
uniform vec3 roomSun;
uniform vec3 skyFill;
uniform vec3 sunFill;

flat in vec3 centre;
flat in vec3 tint;
flat in vec3 facing;
flat in vec2 exposure;
flat in float wide;
flat in float bulge;
out vec4 colour;

void main() {
  vec2 disc = vec2(gl_PointCoord.x * 2.0 - 1.0, 1.0 - gl_PointCoord.y * 2.0);
  float r2 = dot(disc, disc);
  float rimWidth = fwidth(r2);
  if (r2 > 1.0) discard;
  vec3 sphere = vec3(disc, sqrt(1.0 - r2));

  // The sphere's own normal, bent towards that of the surface that it is part of.
  float own = radius / wide;
  vec3 normal = normalize(sphere + 4.5 / own * facing * (1.0 - 0.85 * exposure.y));

  float daylight = exposure.x;
  vec3 sunDirection = mat3(viewMatrix) * roomSun;
  vec3 upDirection = viewMatrix[1].xyz;
  float sun = 0.5 + 0.5 * dot(normal, sunDirection);
  float sky = 0.5 + 0.5 * dot(normal, upDirection);
  vec3 toEye = normalize(-centre);
  float glint = pow(max(dot(normal, normalize(sunDirection + toEye)), 0.0), 48.0);
  float rim = pow(1.0 - clamp(dot(normal, toEye), 0.0, 1.0), 3.0);

  vec3 lit = tint * (skyFill * vec3(0.30, 0.38, 0.46) * (0.45 + 0.55 * sky) +
                     sunFill * vec3(1.30, 1.24, 1.14) * sun * sun * (0.25 + 0.75 * daylight));
  lit = mix(lit, tint * vec3(0.25, 0.38, 0.55), 0.45 * (1.0 - daylight));
  lit += vec3(0.85, 0.95, 1.0) * glint * own * 0.42 * daylight;
  lit += vec3(0.10, 0.24, 0.34) * mix(RIM_MEAN, rim, own) * (0.2 + 0.8 * daylight);
  lit = lit / (1.0 + 0.22 * lit);
  // Where the screen has several samples a pixel, the rim covers only some of them.
  colour = vec4(pow(lit, vec3(1.0 / 2.2)), clamp((1.0 - r2) / max(rimWidth, 1e-4) + 0.35, 0.0, 1.0));

#ifndef FLAT
  float z = centre.z + sphere.z * bulge;
  gl_FragDepth = 0.5 + 0.5 * (projectionMatrix[2][2] * z + projectionMatrix[3][2]) / -z;
#endif
}
`;
