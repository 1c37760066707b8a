// What is different from look to look: a ground and what lies before it. wall-shade-shader.ts says what each is given.
import type { WallLook } from "../../state/wall-look.js";

interface Paint {
  /** How far off one sees the ground, in the wall's edge for a slope of 1. */
  bends: number;
  /** Has `vec3 paint(Place p)`: linear light. */
  text: string;
}

/** A pool of mosaic below clear water, a net of sunlight on it; dye takes its colour's complement from the light. */
const water = /* glsl */ `
vec3 mosaic(vec2 q) {
  const float TILE = 0.062;
  vec2 cell = floor(q / TILE);
  vec2 in_ = abs(fract(q / TILE) - 0.5);
  float blur = max(fwidth(q.x), fwidth(q.y)) / TILE;
  float grout = smoothstep(0.455 - blur, 0.475 + blur, max(in_.x, in_.y));
  float tone = random(cell);
  vec3 tile = mix(vec3(0.20, 0.52, 0.58), vec3(0.42, 0.74, 0.75), tone);
  tile = mix(tile, vec3(0.15, 0.43, 0.55), step(0.88, random(cell + 17.0)));
  tile *= 0.93 + 0.10 * noiseAt(q * 3.1).r;
  return mix(tile, vec3(0.58, 0.74, 0.73), 0.6 * grout);
}

vec3 paint(Place p) {
  vec2 low = p.bent * extent;
  // Sunlight is parted a little into its colours.
  vec2 part = 0.0035 * p.s.xy / extent;
  vec3 net = vec3(textureLod(caustics, p.bent - part, 0.4).r, textureLod(caustics, p.bent, 0.4).r,
                  textureLod(caustics, p.bent + part, 0.4).r);
  vec2 sunward = 0.03 * SUN.xy / extent;
  vec4 shade = textureLod(dyes, p.bent + sunward, 2.0);
  vec3 shadeHue = hueOf(shade, vec3(1.0));
  vec3 sun = vec3(1.06, 1.0, 0.88) * (0.10 + 0.90 * net) * exp(-shade.a * 1.1 * (1.1 - shadeHue));
  vec3 light = vec3(0.26, 0.36, 0.42) + 0.78 * sun;
  vec3 ground = mosaic(low) * light;
  ground *= exp(-vec3(0.85, 0.20, 0.11) * max(0.2, 0.9 + 9.0 * p.s.z));

  // Fast water carries air: a silver mist over the ground, in streaks.
  float airy = smoothstep(0.02, 0.20, p.speed) * (0.55 + 0.45 * noiseAt(p.m * 4.3).r + 0.35 * noiseAt(p.m * 11.0).r);
  ground = mix(ground, vec3(0.62, 0.80, 0.84) * light, clamp(0.30 * airy, 0.0, 0.4));

  vec4 dye = mix(p.dye, textureLod(dyes, mix(at, p.bent, 0.5), 0.0), 0.5);
  vec3 hue = hueOf(dye, vec3(1.0));
  float thick = 2.7 * dye.a * (1.0 + 0.25 * noiseAt(p.m * 2.3).r);
  vec3 through = exp(-thick * (1.08 - 0.92 * hue));
  vec3 inside = hue * (1.0 - exp(-0.85 * thick)) * (0.20 + 0.34 * light);
  vec3 c = ground * through + inside;

  vec3 mirrored = reflect(-p.eye, p.n);
  float fresnel = 0.02 + 0.98 * pow(1.0 - max(dot(p.eye, p.n), 0.0), 5.0);
  c = mix(c, roomAt(mirrored), min(1.0, 1.6 * fresnel));
  vec3 halfway = normalize(normalize(SUN) + p.eye);
  vec3 tilted = normalize(vec3(2.3 * p.n.xy, p.n.z));
  c += vec3(1.0, 0.97, 0.9) * (1.2 * pow(max(dot(tilted, halfway), 0.0), 320.0) + 0.06 * pow(max(dot(tilted, halfway), 0.0), 18.0));
  vec2 side = p.q / extent - 0.5;
  return c * (1.0 - 0.35 * dot(side, side));
}
`;

/** Ink on wet paper: it takes light, gathers at its borders and in the paper's grain. */
const ink = /* glsl */ `
float grain(vec2 q) {
  float fibres = noiseAt(q * vec2(9.0, 2.2) + 0.3 * noiseAt(q * 1.7).xx).r + noiseAt(q.yx * vec2(8.0, 2.6) + 0.41).r;
  return 0.5 * fibres + 0.7 * noiseAt(q * 7.3).r;
}

vec3 paint(Place p) {
  float rough = grain(p.q);
  vec3 paper = vec3(0.87, 0.83, 0.75) * (1.0 + 0.045 * rough);
  paper *= 0.97 + 0.05 * noiseAt(p.q * 0.6).r;
  // Where water goes the paper is damp.
  float damp = smoothstep(0.015, 0.18, p.speed) * max(0.3, 1.0 + 0.8 * noiseAt(p.m * 2.9).r + 0.3 * rough);
  paper *= 1.0 - vec3(0.15, 0.125, 0.09) * damp;
  // Ink creeps along the grain.
  vec2 creep = 0.0035 * vec2(noiseAt(p.m * 5.1).r, noiseAt(p.m.yx * 4.7 + 0.2).r);
  vec2 place = at + creep / extent;
  vec4 fine = textureLod(dyes, place, 0.0);
  vec4 wide = textureLod(dyes, place, 2.5);
  vec3 hue = hueOf(fine, hueOf(wide, vec3(0.5)));
  // What lies on a border has dried there.
  float edge = max(0.0, fine.a - wide.a) + 0.6 * abs(fine.a - textureLod(dyes, place, 1.0).a);
  float strands = 1.0 + 0.65 * noiseAt(p.m * vec2(2.6, 2.6)).r + 0.35 * noiseAt(p.m * 6.3).r;
  float thick = (1.7 * pow(fine.a, 1.25) * max(0.25, strands) + 2.6 * edge + 0.5 * wide.a * wide.a) * (1.0 + 0.16 * rough);
  vec3 takes = 0.35 - 0.92 * log(0.015 + 0.9 * hue);
  vec3 c = paper * exp(-thick * takes);

  vec2 tooth = 0.012 * noiseAt(p.q * 7.3).yz * 7.3 * (1.0 - 0.7 * fine.a) * 0.25;
  vec3 n = normalize(vec3(-(1.4 * p.s.xy + tooth), 1.0));
  vec3 light = normalize(SUN);
  c *= 0.62 + 0.57 * max(dot(n, light), 0.0);
  float wet = 0.12 + 0.88 * smoothstep(0.05, 0.6, wide.a + 3.0 * p.speed);
  vec3 halfway = normalize(light + p.eye);
  vec3 sheen = normalize(vec3(-(3.2 * p.s.xy + 0.4 * tooth), 1.0));
  c += wet * vec3(0.85, 0.9, 1.0) * 0.30 * pow(max(dot(sheen, halfway), 0.0), 60.0);
  vec2 side = p.q / extent - 0.5;
  return c * (1.0 - 0.30 * dot(side, side));
}
`;

/** A crust that has cracks, wider where it is hot, and melts where it is stirred or where dye is. */
const lava = /* glsl */ `
vec3 glow(float t) {
  t = clamp(t, 0.0, 1.35);
  return vec3(2.1, 0.0, 0.0) * smoothstep(0.02, 0.70, t) + vec3(0.0, 1.05, 0.0) * pow(smoothstep(0.15, 1.25, t), 1.9) +
         vec3(0.0, 0.2, 0.38) * pow(smoothstep(0.8, 1.35, t), 2.0);
}

/** x: how near a crack is; y, z: the crust's slope; w: its height. */
vec4 crust(vec2 m) {
  vec4 bend = noiseAt(m * 0.9);
  vec2 w = m + 0.045 * vec2(bend.r, noiseAt(m * 1.1 + 0.37).r);
  float plates = noiseAt(w * 0.82).a;
  float chips = noiseAt(w * 2.1 + 0.5).a;
  vec4 rough = noiseAt(w * 2.7);
  vec4 fine = noiseAt(w * 6.1);
  float height = smoothstep(0.0, 0.22, plates) * (0.7 + 0.3 * smoothstep(0.0, 0.3, chips)) + 0.16 * rough.r + 0.07 * fine.r;
  float crack = min(plates, 0.30 + 0.8 * chips);
  return vec4(crack, 0.16 * 2.7 * rough.yz + 0.07 * 6.1 * fine.yz, height);
}

vec3 paint(Place p) {
  vec4 near = crust(p.m);
  const float E = 0.004;
  vec2 slope = vec2(crust(p.m + vec2(E, 0.0)).w - crust(p.m - vec2(E, 0.0)).w,
                    crust(p.m + vec2(0.0, E)).w - crust(p.m - vec2(0.0, E)).w) / (2.0 * E);
  float breath = 0.5 + 0.5 * sin(momentS * 0.7 + 6.0 * noiseAt(p.m * 0.4).r);
  float around = textureLod(dyes, at, 4.0).a;
  float hot = 0.10 + 0.06 * breath + 0.60 * p.heat + 0.50 * p.dye.a + 0.18 * around + 0.9 * p.speed;
  float width = 0.035 + 0.30 * hot * hot;
  float open = 1.0 - smoothstep(0.25 * width, width, near.x);
  float melt = smoothstep(0.62, 1.20, hot + 0.30 * noiseAt(p.m * 1.6).r - 0.22 * near.w);
  float t = max(open * (0.42 + 0.75 * hot), melt * (0.34 + 0.40 * min(hot, 1.2) + 0.20 * noiseAt(p.m * 3.1).r));
  // The skin of what is molten wrinkles across the flow.
  t *= 1.0 - 0.42 * melt * smoothstep(0.1, 0.8, noiseAt(p.m * vec2(4.0, 4.0)).r + 0.35 * near.w);

  vec3 n = normalize(vec3(-(0.030 * slope + 1.2 * p.s.xy), 1.0));
  vec3 light = normalize(SUN);
  float shut = 1.0 - max(open, melt);
  vec3 rock = vec3(0.034, 0.029, 0.030) * (0.55 + 0.55 * near.w);
  float halo = exp(-near.x / (0.10 + 0.5 * hot)) * (0.25 + hot);
  vec3 lit = rock * (0.35 + 1.5 * max(dot(n, light), 0.0));
  lit += vec3(0.30, 0.07, 0.012) * halo * halo * (0.5 + 0.5 * near.w);
  vec3 halfway = normalize(light + p.eye);
  lit += vec3(0.10, 0.10, 0.11) * pow(max(dot(n, halfway), 0.0), 26.0);
  vec3 c = lit * shut + glow(t);
  c += vec3(0.40, 0.085, 0.012) * (0.55 * around + 0.25 * textureLod(matter, at, 3.0).z);
  return c;
}
`;

/** Soft, lit from above and from the left, and shadowing itself, before the dark. */
const smoke = /* glsl */ `
float amountAt(vec2 place, float level) { return textureLod(dyes, place, level).a; }

vec3 paint(Place p) {
  vec2 side = p.q / extent - vec2(0.32, 0.78);
  vec3 ground = mix(vec3(0.055, 0.070, 0.105), vec3(0.006, 0.008, 0.014), smoothstep(0.0, 1.05, length(side)));
  // Wisps: the pattern is carried along, and bends what is seen.
  vec4 a = noiseAt(p.m * 1.3 + momentS * vec2(0.004, 0.007));
  vec4 b = noiseAt(p.m * 3.1 - momentS * vec2(0.006, 0.003));
  vec2 place = at + (0.010 * vec2(a.r, b.r) + 0.004 * vec2(b.r, a.r)) / extent;
  float body = 0.45 * amountAt(place, 0.0) + 0.35 * amountAt(place, 1.6) + 0.20 * amountAt(place, 3.0);
  float wisps = clamp(1.0 + 0.55 * a.r + 0.40 * b.r, 0.15, 2.0);
  float thick = 2.4 * pow(body, 1.15) * mix(wisps, 1.0, smoothstep(0.3, 0.95, body));

  vec2 along = normalize(SUN.xy) / extent;
  float shade = 0.0;
  for (int i = 1; i <= STEPS; i++) {
    float t = float(i) / float(STEPS);
    shade += amountAt(place + 0.22 * t * t * along, 1.0 + 2.0 * t) * t;
  }
  shade *= 2.6 / float(STEPS);
  float e = 0.010;
  vec2 rise = vec2(amountAt(place + vec2(e / extent.x, 0.0), 1.5) - amountAt(place - vec2(e / extent.x, 0.0), 1.5),
                   amountAt(place + vec2(0.0, e / extent.y), 1.5) - amountAt(place - vec2(0.0, e / extent.y), 1.5)) / (2.0 * e);
  vec3 n = normalize(vec3(-0.055 * rise, 1.0));
  float facing = 0.55 + 0.75 * max(dot(n, normalize(SUN)), 0.0);
  vec4 soft = textureLod(dyes, place, 1.5);
  vec3 hue = hueOf(soft, vec3(0.8));
  hue = mix(vec3(dot(hue, vec3(0.3, 0.5, 0.2))), hue, 0.92);
  hue = 0.16 + 0.95 * hue / max(0.35, max(hue.r, max(hue.g, hue.b)));
  vec3 light = vec3(1.25, 1.12, 0.95) * exp(-1.6 * shade) * facing + vec3(0.16, 0.22, 0.33);
  // Thin smoke before the light shines.
  // Clear air that is stirred carries a haze.
  ground += vec3(0.10, 0.125, 0.16) * smoothstep(0.01, 0.22, p.speed) * max(0.2, 1.0 + 0.9 * a.r + 0.7 * b.r) *
            clamp(1.0 + dot(p.s.xy, 2.5 * SUN.xy), 0.3, 1.8);
  float rim = exp(-shade * 3.0) * thick * exp(-1.6 * thick);
  float cover = 1.0 - exp(-thick);
  return ground * (1.0 - cover) + hue * cover * light * 0.82 + vec3(1.0, 0.93, 0.8) * rim * 0.22;
}
`;

/** Curtains of light before the stars: each place shines upwards in rays, green below and violet above. */
const aurora = /* glsl */ `
vec3 stars(vec2 q) {
  vec3 sum = vec3(0.0);
  for (int layer = 0; layer < 2; layer++) {
    float n = layer == 0 ? 46.0 : 95.0;
    vec2 cell = floor(q * n);
    vec2 off = fract(q * n) - 0.5 - 0.7 * (vec2(random(cell), random(cell + 31.0)) - 0.5);
    float bright = pow(random(cell + 7.0), layer == 0 ? 20.0 : 14.0);
    float twinkle = 0.75 + 0.25 * sin(momentS * (1.0 + 3.0 * random(cell + 3.0)) + 40.0 * random(cell + 5.0));
    float size = 0.05 + 0.06 * bright;
    sum += bright * twinkle * exp(-dot(off, off) / (size * size)) *
           mix(vec3(0.75, 0.85, 1.0), vec3(1.0, 0.9, 0.75), random(cell + 11.0));
  }
  return sum;
}

vec3 paint(Place p) {
  float high = p.q.y / extent.y;
  vec3 c = mix(vec3(0.004, 0.014, 0.024), vec3(0.001, 0.002, 0.008), smoothstep(0.0, 0.9, high));
  c += stars(p.q);
  vec3 glow = vec3(0.0);
  const float HIGH = 0.30;
  // Neighbours look at other places: few steps show no bands.
  float jitter = 0.5 + 255.0 * dither();
  for (int i = 0; i < STEPS; i++) {
    float t = (float(i) + jitter) / float(STEPS);
    float up = HIGH * t * t;
    vec2 foot = at - vec2(0.004 * sin(8.0 * p.q.x + momentS * 0.2), up) / extent;
    if (foot.y < 0.0) break;
    vec4 gone = textureLod(matter, foot, 0.0);
    vec2 m = foot * extent - gone.xy;
    vec4 dye = textureLod(dyes, foot, 1.0 + 1.5 * t);
    float rays = 0.62 + 0.55 * noiseIn(vec2(m.x * 2.6, 0.13 + momentS * 0.011 + 0.05 * m.y)).r +
                 0.40 * noiseIn(vec2(m.x * 7.0 - momentS * 0.012, 0.47)).r;
    float base = textureLod(surface, foot, 0.0).w * (0.55 + 1.6 * gone.z) + 0.18 * gone.z;
    float fades = exp(-3.2 * t) * 2.0 * t;
    vec3 low = vec3(0.10, 0.95, 0.42);
    vec3 far = vec3(0.42, 0.10, 0.85);
    vec3 tint = mix(low, far, smoothstep(0.15, 0.85, t));
    vec3 hue = hueOf(dye, low);
    hue = hue / max(0.3, max(hue.r, max(hue.g, hue.b)));
    vec3 lit = base * tint + 1.5 * dye.a * (0.6 + gone.z) * mix(hue, tint, 0.45);
    glow += lit * max(0.03, rays * abs(rays)) * fades;
  }
  c += glow * (13.0 / float(STEPS));
  vec4 veil = textureLod(dyes, at, 4.0);
  c += 0.05 * veil.rgb + vec3(0.004, 0.03, 0.02) * textureLod(surface, at, 0.0).w * 1.5;
  return c;
}
`;

export const PAINTS: Readonly<Record<WallLook, Paint>> = {
  water: { bends: 0.07, text: water },
  ink: { bends: 0, text: ink },
  lava: { bends: 0, text: lava },
  smoke: { bends: 0, text: smoke },
  aurora: { bends: 0, text: aurora },
};
