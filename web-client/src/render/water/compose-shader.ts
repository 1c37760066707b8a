// The picture: what is behind the water, bent and coloured by it, what it mirrors, the sun's glint and foam. Pixels
// without water get the scene as it is. The depth is the nearest of both, for what is drawn over it.
import { room } from "../../shader/room.js";
import { tone } from "../../shader/tone.js";
import { tankRay } from "./tank-ray.js";

export const composeFragment = /* glsl */ `
precision highp float;
precision highp sampler2D;

uniform sampler2D scene;
uniform sampler2D sceneDepth;
uniform sampler2D surface;    // normal-shader.ts
uniform sampler2D colours;    // surface-shader.ts
uniform sampler2D amounts;
uniform vec4 lens;
uniform vec2 focal;           // places of the picture per unit of slope
uniform vec2 depthToDistance;
uniform mat3 viewToRoom;
uniform vec3 sunDirection;    // view space
uniform vec3 upDirection;
uniform vec3 skyFill;
uniform vec3 sunFill;
uniform float roomOpen;
uniform float clearM;         // metres through which water is clear
uniform float radius;         // of a drawn particle, in the view
in vec2 at;
out vec4 colour;
${room}
${tone}
${tankRay}

const float MIRROR = 0.025;    // of light that falls straight onto water
const float INDEX = 1.33;      // of refraction
const float BACK_MIN = 0.2;    // a bent ray goes at least so steeply away from the eye

/** The inverse of what the scene's programs did; the dark room's don't bound bright light. */
vec3 lightOf(vec2 uv) {
  vec3 c = textureLod(scene, uv, 0.0).rgb;
  return roomOpen > 0.0 ? lightShown(c) : pow(c, vec3(2.2));
}

float hash(vec3 p) {
  p = fract(p * vec3(0.1031, 0.1030, 0.0973));
  p += dot(p, p.yzx + 33.33);
  return fract((p.x + p.y) * p.z);
}
/** 0..1, smooth over a unit. */
float noise(vec3 p) {
  vec3 i = floor(p);
  vec3 f = p - i;
  f *= f * (3.0 - 2.0 * f);
  vec4 a = vec4(hash(i), hash(i + vec3(1, 0, 0)), hash(i + vec3(0, 1, 0)), hash(i + vec3(1, 1, 0)));
  vec4 b = vec4(hash(i + vec3(0, 0, 1)), hash(i + vec3(1, 0, 1)), hash(i + vec3(0, 1, 1)), hash(i + vec3(1)));
  vec4 z = mix(a, b, f.z);
  return mix(mix(z.x, z.y, f.x), mix(z.z, z.w, f.x), f.y);
}
/** Bubbles: how much of a place foam covers, and how bright they are. */
vec2 bubbles(float foam, vec3 place, float d) {
  // No finer than the picture's pixels.
  float size = max(0.55 * radius, 2.0 * d * dFdx(at.x) / focal.x);
  vec3 p = (viewToTank * vec4(place, 1.0)).xyz / (size * length(viewToTank[0].xyz));
  float fine = noise(p);
  float grain = 0.62 * fine + 0.38 * noise(0.37 * p + 7.0);
  float amount = smoothstep(0.10, 0.85, foam);
  return vec2(smoothstep(0.80 - 0.75 * amount, 1.20 - 0.75 * amount, grain), 0.72 + 0.5 * fine);
}

float distanceOf(float depth) { return depthToDistance.y / (depthToDistance.x - depth); }

void main() {
  float depth = textureLod(sceneDepth, at, 0.0).r;
  vec4 plain = textureLod(scene, at, 0.0);
  // Half a pixel around: the silhouette gets as soft as one of a solid.
  vec2 halfPixel = 0.5 * vec2(dFdx(at.x), dFdy(at.y));
  vec4 s = 0.25 * (textureLod(surface, at + halfPixel, 0.0) + textureLod(surface, at - halfPixel, 0.0) +
                   textureLod(surface, at + halfPixel * vec2(1, -1), 0.0) +
                   textureLod(surface, at + halfPixel * vec2(-1, 1), 0.0));
  float cover = smoothstep(0.25, 0.75, s.a);
  float d = s.z / max(s.a, 1e-3);
  float solid = distanceOf(depth);
  colour = plain;
  gl_FragDepth = depth;
  if (cover == 0.0 || d > solid) return;

  vec2 n = s.xy / s.a;
  vec3 normal = normalize(vec3(n, sqrt(max(0.02, 1.0 - dot(n, n)))));
  vec3 ray = vec3(lens.xy + lens.zw * at, -1.0);
  float ends = tankAlong(ray).y;
  vec3 place = ray * d;
  vec3 toEye = normalize(-place);

  vec4 amount = textureLod(amounts, at, 0.0);
  vec4 tinted = textureLod(colours, at, 0.0);
  float weight = max(tinted.a, 1e-5);
  vec3 tint = clamp(tinted.rgb / weight, 0.012, 0.985);
  float foam = amount.g / weight;
  float daylight = amount.b / weight;
  float thick = min(amount.r, min(solid, ends) - d + radius);

  // What is behind, seen along the bent ray; where that ray would end before the water it isn't bent.
  vec3 inside = refract(-toEye, normal, 1.0 / INDEX);
  vec2 turn = inside.xy / max(-inside.z, BACK_MIN) - place.xy / d;
  vec2 bent = at + focal * turn * clamp(thick, 0.0, 0.6 * clearM) / (d + thick);
  bent = clamp(bent, 0.0, 1.0);
  if (distanceOf(textureLod(sceneDepth, bent, 0.0).r) < d) bent = at;
  vec3 behind = lightOf(bent);

  float depths = thick / clearM;
  vec3 through = exp(log(tint) * depths * 1.1) * exp(-0.35 * depths);
  float sun = 0.5 + 0.5 * dot(normal, sunDirection);
  float sky = 0.5 + 0.5 * dot(normal, upDirection);
  vec3 lamp = skyFill * vec3(0.22, 0.30, 0.38) * (0.4 + 0.6 * sky) +
              sunFill * vec3(1.15, 1.10, 1.00) * sun * sun * (0.3 + 0.7 * daylight);
  float turbid = 1.0 - exp(-1.1 * depths);
  vec3 body = tint * mix(vec3(0.10, 0.28, 0.50), vec3(0.90, 1.0, 1.0), daylight) * lamp * 0.40;
  // Before what is bright water shows at its edges: light from there is bent away.
  float cosine = clamp(dot(normal, toEye), 0.16, 1.0);
  behind *= 1.0 - 0.5 * roomOpen * pow(1.0 - cosine, 2.0);
  vec3 water = behind * through + body * turbid;

  // Never quite from its edge: at a silhouette the normal is a guess.
  float mirror = (MIRROR + (1.0 - MIRROR) * pow(1.0 - cosine, 4.2)) * (1.0 + 0.4 * roomOpen);
  vec3 to = viewToRoom * reflect(-toEye, normal);
  water = mix(water, roomLight(to), mirror * smoothstep(0.0, 0.3 * radius, thick));
  float toSun = max(dot(normal, normalize(sunDirection + toEye)), 0.0);
  water += skyColour * (1.4 * pow(toSun, 420.0) + 0.16 * pow(toSun, 48.0)) * (0.35 + 0.65 * daylight);

  // Bright light is scattered in foam until it comes from everywhere.
  vec3 white = vec3(0.84, 0.93, 0.97) * mix(lamp, skyFill * vec3(0.2, 0.26, 0.31) + sunFill * 0.62, 0.8 * roomOpen) * 0.78;
  float foamy = 0.0;
  if (foam > 0.02) {
    vec2 froth = bubbles(foam, place, d);
    foamy = 0.88 * froth.x;
    water = mix(water, white * froth.y, foamy);
  }

  // Where nothing is drawn behind the water a page or a real room is seen through it.
  float nothing = 1.0 - textureLod(scene, bent, 0.0).a;
  float clear = nothing * seeThrough(water, through * (1.0 - mirror) * (1.0 - foamy), behind);
  colour = mix(plain, vec4(shown(water), 1.0 - clear), cover);
  if (cover > 0.5) gl_FragDepth = clamp(depthToDistance.x - depthToDistance.y / d, 0.0, depth);
}
`;
