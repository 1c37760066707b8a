// What is carried from picture to picture on a wall, each a program that fills a map of the whole wall:
//
//     splat   the particles' colours and velocities, added up cell by cell
//     flow    of those the velocity everywhere: where no particles are, from farther and farther away, and slower; and how
//             fast it is, where no particles are as frames say of the cells
//     dye     what was where this comes from, drawn towards the particles' colours; and where the matter came from
//     waves   height and its speed, raised by the flow
//     surface the height's slope, with small waves that are always there; an aurora's curtains
//
// Places are 0..1 in the maps; lengths are in the edge of a square as large as the wall, so that all walls are alike.
// `extent` is the wall's width and height in that.
import { smoothly } from "../../shader/smoothly.js";
import { HANDS } from "../../state/wall-hands.js";
import { particlePlace } from "../particle-shader.js";

export const splatVertex = /* glsl */ `
${particlePlace}
uniform float edgeM;      // of that square, metres
uniform float splatPixels;
uniform float splatAmount;
uniform vec3 plain;       // colour of particles without one
flat out vec4 tint;
flat out vec2 going;

void main() {
  Particle p = particle();
#if defined CHANNEL
  vec3 c = 0.01 + 0.85 * scaled(p);
#elif defined COLOURED
  vec3 c = 0.01 + 0.85 * dye();
#else
  vec3 c = plain;
#endif
  tint = vec4(c, 1.0) * splatAmount;
  going = motion.xy * velocityScale / edgeM;
  gl_Position = vec4(2.0 * p.at.xy / tankSize.xy - 1.0, 0.0, 1.0);
  gl_PointSize = splatPixels;
}
`;

export const splatFragment = /* glsl */ `
precision highp float;
flat in vec4 tint;
flat in vec2 going;
layout(location = 0) out vec4 colour;
layout(location = 1) out vec4 momentum;

void main() {
  vec2 d = 2.0 * gl_PointCoord - 1.0;
  float w = max(0.0, 1.0 - dot(d, d));
  w *= w;
  colour = tint * w;
  momentum = vec4(going, 0.0, 1.0) * tint.a * w;
}
`;

export const flowFragment = /* glsl */ `
precision highp float;
precision highp sampler2D;
uniform sampler2D splat;   // momentum and mass, with ever coarser levels
uniform sampler2D before;
uniform vec2 extent;
uniform sampler2D speeds;  // of the cells
uniform float low;         // what their levels 0 and 1 stand for, edges/s: low, and so much more;
uniform float range;       // below 0: nothing is known of them
uniform float kept;        // share of the picture before that stays
uniform float stepS;
uniform vec4 hands[${HANDS}];
uniform vec2 kinds[${HANDS}];
in vec2 at;
out vec4 flow;             // velocity; speed, and its change, 1/s
${smoothly}

const int LEVELS = 7;
/** Particles say how fast it is where they are, up to this level; what is filled in from farther away doesn't. */
const int NEAR = 1;
/** Slower than this nobody sees it, edges/s: what levels lose is less. */
const float QUIET = 0.002;

void main() {
  vec2 v = vec2(0.0);
  float open = 1.0;
  float reach = 1.0;
  float bare = 1.0;
  for (int level = 0; level < LEVELS; level++) {
    vec4 sum = smoothly(splat, at, float(level));
    // A level's texels stand for four times as many of the one before; how far away makes what they say weaker.
    float sure = (1.0 - exp(-1.5 * sum.w * exp2(2.0 * float(level)))) * reach;
    v += open * sure * sum.xy / max(sum.w, 1e-4);
    open *= 1.0 - sure;
    reach *= 0.78;
    if (level == NEAR) bare = open;
  }
  vec4 was = textureLod(before, at, 0.0);
  float told = range < 0.0 ? 0.0 : max(0.0, low + range * smoothly(speeds, at, 0.0).r - QUIET);
  // What is filled in from far away is no faster than the cells are.
  if (range >= 0.0) v *= mix(min(1.0, told / max(length(v), 1e-5)), 1.0, 1.0 - bare);
  v = mix(v, was.xy, kept);
  for (int i = 0; i < ${HANDS}; i++) {
    vec2 d = (at * extent - hands[i].xy) / kinds[i].x;
    v += exp(-0.5 * dot(d, d)) * hands[i].zw * mix(open, 1.0, kinds[i].y) * (1.0 - kept);
  }
  float speed = length(v);
  if (range >= 0.0) speed = max(speed, mix(was.z, mix(speed, told, bare), 1.0 - kept));
  flow = vec4(v, speed, stepS > 0.0 ? clamp((speed - was.z) / stepS, -4.0, 4.0) : 0.0);
}
`;

export const dyeFragment = /* glsl */ `
precision highp float;
precision highp sampler2D;
uniform sampler2D flow;
uniform sampler2D splat;   // colours and amount
uniform sampler2D dyeBefore;
uniform sampler2D matterBefore;
uniform vec2 extent;
uniform float stepS;
uniform float pullS;       // the same, while the tank is paused, too
uniform float pulls;       // towards the particles, 1/s
uniform float clears;      // where there are none
uniform float settles;     // the matter's way back, 1/s
uniform float heats;
uniform float cools;
uniform float fresh;       // 1: there is nothing from before
in vec2 at;
layout(location = 0) out vec4 dye;    // colour times amount, amount
layout(location = 1) out vec4 matter; // how far it has come: x, y; heat by motion; speed
${smoothly}

/** Catmull and Rom's cubic, kept within the nearest four so that it makes no rings. */
vec4 sharply(sampler2D map, vec2 at) {
  vec2 size = vec2(textureSize(map, 0));
  vec2 p = at * size - 0.5;
  vec2 f = fract(p);
  vec2 base = (floor(p) + 0.5) / size;
  vec2 w0 = f * (-0.5 + f * (1.0 - 0.5 * f));
  vec2 w1 = 1.0 + f * f * (-2.5 + 1.5 * f);
  vec2 w2 = f * (0.5 + f * (2.0 - 1.5 * f));
  vec2 w3 = f * f * (-0.5 + 0.5 * f);
  vec2 w12 = w1 + w2;
  vec2 a = base - 1.0 / size;
  vec2 b = base + w2 / w12 / size;
  vec2 c = base + 2.0 / size;
  vec4 sum = textureLod(map, b, 0.0) * w12.x * w12.y;
  float total = w12.x * w12.y;
  vec4 side = vec4(w12.x * w0.y, w0.x * w12.y, w3.x * w12.y, w12.x * w3.y);
  sum += textureLod(map, vec2(b.x, a.y), 0.0) * side.x + textureLod(map, vec2(a.x, b.y), 0.0) * side.y +
         textureLod(map, vec2(c.x, b.y), 0.0) * side.z + textureLod(map, vec2(b.x, c.y), 0.0) * side.w;
  total += side.x + side.y + side.z + side.w;
  vec4 q = textureLod(map, base, 0.0), r = textureLod(map, base + vec2(1, 0) / size, 0.0);
  vec4 s = textureLod(map, base + vec2(0, 1) / size, 0.0), t = textureLod(map, base + vec2(1, 1) / size, 0.0);
  return clamp(sum / total, min(min(q, r), min(s, t)), max(max(q, r), max(s, t)));
}

void main() {
  vec2 v = textureLod(flow, at, 0.0).xy;
  vec2 half_ = at - 0.5 * stepS * v / extent;
  v = smoothly(flow, half_, 0.0).xy;
  vec2 from = at - stepS * v / extent;
  vec4 carried = sharply(dyeBefore, from);
  vec4 told = smoothly(splat, at, 0.0);
  float amount = 1.0 - exp(-1.3 * told.a);
  vec4 wanted = vec4(told.rgb / max(told.a, 1e-4) * amount, amount);
  float rate = mix(clears, pulls, smoothstep(0.02, 0.3, amount));
  dye = mix(carried, wanted, max(fresh, 1.0 - exp(-pullS * rate)));

  vec4 was = (1.0 - fresh) * textureLod(matterBefore, from, 0.0);
  float speed = max(length(v), textureLod(flow, at, 0.0).z);
  matter.xy = (was.xy + (at - from) * extent) * exp(-stepS * settles);
  matter.z = min(1.5, was.z * exp(-stepS * cools) + stepS * heats * max(0.0, speed - 0.03));
  matter.w = mix(was.w, speed, 1.0 - exp(-stepS * 6.0));
}
`;

export const waveFragment = /* glsl */ `
precision highp float;
precision highp sampler2D;
uniform sampler2D before;  // height, its speed
uniform sampler2D flow;
uniform vec2 extent;
uniform float stepS;
uniform float pace;        // (speed of waves times stepS / a texel) squared
uniform float hollow;      // how deep what turns and flows lies
uniform float bow;         // how high the flow piles up
uniform float told;        // 1: frames say how fast clear fluid is; else 0
in vec2 at;
out vec4 wave;
${smoothly}

/** Heights, so that no drag makes a cliff. */
const float HIGH = 0.028;
const float DAMPING = 1.1;
/** How much more clear fluid does, of which nothing else is seen. */
const float STIRS = 2.0;
const float SPRING = 22.0;

void main() {
  ivec2 p = ivec2(gl_FragCoord.xy);
  ivec2 end = textureSize(before, 0) - 1;
  vec2 own = texelFetch(before, p, 0).xy;
  vec2 around = texelFetch(before, ivec2(max(p.x - 1, 0), p.y), 0).xy + texelFetch(before, ivec2(min(p.x + 1, end.x), p.y), 0).xy +
                texelFetch(before, ivec2(p.x, max(p.y - 1, 0)), 0).xy + texelFetch(before, ivec2(p.x, min(p.y + 1, end.y)), 0).xy;
  vec2 bend = around - 4.0 * own;
  // Coarsely: single particles make no waves.
  const float LEVEL = 2.0;
  vec2 e = 1.0 / vec2(textureSize(flow, int(LEVEL)));
  vec2 v = smoothly(flow, at, LEVEL).xy;
  float spreads = (smoothly(flow, at + vec2(e.x, 0.0), LEVEL).x - smoothly(flow, at - vec2(e.x, 0.0), LEVEL).x) / (2.0 * e.x * extent.x) +
                  (smoothly(flow, at + vec2(0.0, e.y), LEVEL).y - smoothly(flow, at - vec2(0.0, e.y), LEVEL).y) / (2.0 * e.y * extent.y);
  // Cells' speeds are even as they are. Where fluid becomes faster it is pushed, as before an arm, and where slower, let go.
  vec2 clear = smoothly(flow, at, 1.0).zw;
  float beyond = told * max(0.0, clear.x * clear.x - dot(v, v));
  float pushed = clear.y / (clear.x + 0.06) * smoothstep(0.0, 0.02, beyond);
  float wanted = HIGH * tanh((-hollow * (dot(v, v) + STIRS * beyond) - bow * (spreads - 2.0 * STIRS * pushed)) / HIGH);
  float fast = own.y + 0.06 * bend.y + pace / stepS * bend.x + stepS * (SPRING * (wanted - own.x) - DAMPING * own.y);
  wave = vec4(clamp(own.x + stepS * fast, -3.0 * HIGH, 3.0 * HIGH), fast, 0.0, 0.0);
}
`;

export const surfaceFragment = /* glsl */ `
precision highp float;
precision highp sampler2D;
uniform sampler2D waves;
uniform sampler2D matter;
uniform sampler2D noise;
uniform vec2 extent;
uniform float momentS;
uniform float swell;       // height of the small waves
uniform float veils;       // of an aurora's curtains
uniform sampler2D flow;
uniform float told;        // 1: frames say how fast clear fluid is; else 0
in vec2 at;
out vec4 surface;          // slope along x and y, height; curtains

${smoothly}
vec4 noiseIn(vec2 q) { return textureLod(noise, q, 0.0); }

/** Who is there now is seen before waves have risen. */
const float DENT = 0.4;
float dentAt(vec2 place) {
  float speed = smoothly(flow, place, 1.0).z;
  return -DENT * speed * speed / (1.0 + 20.0 * speed * speed);
}

/** How bright the curtains that are always there are at a place of matter. */
float curtains(vec2 m) {
  float t = momentS * 0.012;
  float sum = 0.0;
  for (int i = 0; i < 3; i++) {
    float k = float(i);
    float line = (0.22 + 0.22 * k) * extent.y + 0.11 * noiseIn(vec2(m.x * (0.42 + 0.1 * k) + 0.31 * k + t, 0.2 * k + 0.3 * t)).r +
                 0.03 * noiseIn(vec2(m.x * 1.3 - t, 0.7 + 0.1 * k)).r;
    float d = (m.y - line) / (0.020 + 0.008 * k);
    sum += exp(-d * d) * (0.85 - 0.2 * k) * smoothstep(-0.5, 0.6, noiseIn(vec2(m.x * 0.37 + 0.5 * k - t, 0.11 + 0.3 * k + t)).r);
  }
  return sum;
}

void main() {
  vec2 e = 1.0 / vec2(textureSize(waves, 0));
  float l = textureLod(waves, at - vec2(e.x, 0.0), 0.0).x, r = textureLod(waves, at + vec2(e.x, 0.0), 0.0).x;
  float d = textureLod(waves, at - vec2(0.0, e.y), 0.0).x, u = textureLod(waves, at + vec2(0.0, e.y), 0.0).x;
  vec2 slope = vec2(r - l, u - d) / (2.0 * e * extent);
  if (told > 0.0) {
    vec2 f = 1.0 / vec2(textureSize(flow, 1));
    slope += vec2(dentAt(at + vec2(f.x, 0.0)) - dentAt(at - vec2(f.x, 0.0)), dentAt(at + vec2(0.0, f.y)) - dentAt(at - vec2(0.0, f.y))) /
             (2.0 * f * extent);
  }
  // No wave is as steep as a wall: light would fall anywhere.
  slope /= sqrt(1.0 + dot(slope, slope) / 0.16);
  vec2 q = at * extent - 0.6 * textureLod(matter, at, 0.0).xy;
  // Three layers that go their own ways, each with its own scale.
  vec4 a = textureLod(noise, q * 0.71 + momentS * vec2(0.021, 0.013), 0.0);
  vec4 b = textureLod(noise, q.yx * 1.03 + momentS * vec2(-0.017, 0.027), 0.0);
  vec4 c = textureLod(noise, q * 1.9 + momentS * vec2(0.031, -0.033), 0.0);
  slope += swell * (0.71 * a.yz + 1.03 * 0.8 * b.zy + 1.9 * 0.22 * c.yz);
  surface = vec4(slope, 0.25 * (l + r + d + u) + swell * (a.x + 0.8 * b.x + 0.22 * c.x), 0.0);
  if (veils > 0.0) surface.w = veils * curtains(at * extent - textureLod(matter, at, 0.0).xy);
}
`;

/** Sunlight that the surface bends onto the ground: a net of the surface's places, each moved to where its light falls. */
export const causticVertex = /* glsl */ `
uniform sampler2D surface;
uniform vec2 extent;
uniform float depth;       // times what light is bent by
out vec2 from;

void main() {
  // The net reaches beyond the wall, from where light comes in, too.
  vec2 place = mix(vec2(-0.06), vec2(1.06), uv);
  from = place * extent;
  vec2 slope = textureLod(surface, clamp(place, 0.0, 1.0), 0.0).xy;
  gl_Position = vec4(2.0 * (from + depth * slope) / extent - 1.0, 0.0, 1.0);
}
`;

export const causticFragment = /* glsl */ `
precision highp float;
uniform float pixelArea;
in vec2 from;
out vec4 light;

void main() {
  // As much light as fell on the surface where it comes from: by how much it was pressed together.
  vec2 a = dFdx(from), b = dFdy(from);
  light = vec4(min(7.0, abs(a.x * b.y - a.y * b.x) / pixelArea));
}
`;
