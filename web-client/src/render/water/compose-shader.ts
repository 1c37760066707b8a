// The picture: what is behind the water, bent and coloured by it, what it mirrors, the sun's glint, and what is white in it, on it and above it. Pixels
// without water get the scene as it is. The depth is the nearest of both, for what is drawn over it.
import { ABSORBED, SCATTERED } from "../../shader/absorption.js";
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
uniform sampler2D white;      // white-shader.ts
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
uniform float pigment;        // 1: the liquid is coloured by what is in it, which scatters light, too
uniform float radius;         // of a drawn particle, in the view
in vec2 at;
out vec4 colour;
${room}
${tone}
${tankRay}

const float MIRROR = 0.02;     // of light that falls straight onto water
const float PANE_MIRROR = 0.3; // of what water against a pane mirrors: the pane itself does it
const float INDEX = 1.33;      // of refraction
const float BACK_MIN = 0.2;    // a bent ray goes at least so steeply away from the eye
const float AROUND = 0.75;     // light that comes to a place in the water from everywhere, for that onto its surface
const float ABSORBED = ${ABSORBED.toFixed(3)};
const float SCATTERED = ${SCATTERED.toFixed(3)};

/** The inverse of what the scene's programs did; the dark room's don't bound bright light. */
vec3 lightOf(vec2 uv) {
  vec3 c = textureLod(scene, uv, 0.0).rgb;
  return roomOpen > 0.0 ? lightShown(c) : pow(c, vec3(2.2));
}

/** Share of a ring of places around that shows water. */
float coverAround(vec2 reach) {
  vec2 across = 0.707 * reach;
  return 0.125 * (textureLod(surface, at + vec2(reach.x, 0.0), 0.0).a + textureLod(surface, at - vec2(reach.x, 0.0), 0.0).a +
                  textureLod(surface, at + vec2(0.0, reach.y), 0.0).a + textureLod(surface, at - vec2(0.0, reach.y), 0.0).a +
                  textureLod(surface, at + across, 0.0).a + textureLod(surface, at - across, 0.0).a +
                  textureLod(surface, at + across * vec2(1, -1), 0.0).a + textureLod(surface, at + across * vec2(-1, 1), 0.0).a);
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
  vec4 whites = textureLod(white, at, 0.0);
  // A bubble by itself is clear: only many together are white.
  whites.r = smoothstep(0.14, 0.85, whites.r);
  vec3 bright = vec3(0.84, 0.93, 0.97) * (skyFill * vec3(0.2, 0.26, 0.31) + sunFill * 0.62);
  vec4 spray = vec4(shown(0.9 * bright), 1.0);
  colour = mix(plain, spray, whites.b);
  gl_FragDepth = depth;
  if (cover == 0.0 || d > solid) return;

  vec2 n = s.xy / s.a;
  vec3 normal = normalize(vec3(n, sqrt(max(0.02, 1.0 - dot(n, n)))));
  vec3 ray = vec3(lens.xy + lens.zw * at, -1.0);
  vec2 tank = tankAlong(ray);
  float ends = tank.y;
  // At the far walls the waterline is made of the tiles' edges: what sticks out of its mean is cut.
  if (ends - d < 3.0 * radius) cover = min(cover, smoothstep(0.2, 0.7, coverAround(1.3 * radius / d * focal)));
  if (cover == 0.0) return;
  vec3 place = ray * d;
  vec3 toEye = normalize(-place);

  vec4 amount = textureLod(amounts, at, 0.0);
  vec4 tinted = textureLod(colours, at, 0.0);
  float weight = max(tinted.a, 1e-5);
  vec3 tint = clamp(tinted.rgb / weight, 0.012, 0.985);
  float daylight = amount.g / weight;
  // Metres of water along the straight line of sight, then as many as there are along the bent one.
  float perDepth = length(ray);
  float straight = min(amount.r, (min(solid, ends) - d) * perDepth + radius);
  vec3 inside = refract(-toEye, normal, 1.0 / INDEX);
  float shorter = clamp(tankExit(place, inside) / max((ends - d) * perDepth, radius), 0.3, 1.4);
  float way = straight * mix(1.0, shorter, smoothstep(radius, 4.0 * radius, straight));
  float thick = way * max(-inside.z, BACK_MIN);

  // What is behind, seen along the bent ray; where that ray would end before the water it isn't bent.
  vec2 turn = inside.xy / max(-inside.z, BACK_MIN) - place.xy / d;
  vec2 bent = at + focal * turn * clamp(thick, 0.0, 0.6 * clearM) / (d + thick);
  bent = clamp(bent, 0.0, 1.0);
  if (distanceOf(textureLod(sceneDepth, bent, 0.0).r) < d) bent = at;
  vec3 behind = lightOf(bent);

  // In the dark, and where there is pigment, the liquid is seen by what it scatters itself.
  float murky = max(pigment, 1.0 - roomOpen);
  float depths = way / clearM;
  vec3 through = exp(log(tint) * depths * mix(ABSORBED, 1.1, murky) - depths * mix(SCATTERED, 0.35, murky));
  float sun = 0.5 + 0.5 * dot(normal, sunDirection);
  float sky = 0.5 + 0.5 * dot(normal, upDirection);
  vec3 lamp = skyFill * vec3(0.22, 0.30, 0.38) * (0.4 + 0.6 * sky) +
              sunFill * vec3(1.15, 1.10, 1.00) * sun * sun * (0.3 + 0.7 * daylight);
  vec3 pigments = tint * mix(vec3(0.10, 0.28, 0.50), vec3(0.90, 1.0, 1.0), daylight) * 0.40 * (1.0 - exp(-1.1 * depths));
  // Clear water scatters what comes from around, half of the way through it.
  vec3 scattered = AROUND * exp(log(tint) * depths * ABSORBED) * (1.0 - exp(-SCATTERED * depths));
  vec3 body = mix(scattered, pigments, murky) * lamp;
  // Before what is bright thin water shows at its edges: light from there is bent away.
  float cosine = clamp(dot(normal, toEye), 0.16, 1.0);
  float thin = 1.0 - smoothstep(2.0 * radius, 8.0 * radius, way);
  behind *= 1.0 - 0.5 * roomOpen * pow(1.0 - cosine, 2.0) * mix(thin, 1.0, murky);
  vec3 water = behind * through + body;
  // Bubbles below the surface: what they scatter has gone through water twice.
  water = mix(water, mix(bright, bright * pow(tint, vec3(0.4)), 0.75) * (0.35 + 0.65 * daylight), whites.g);

  // Never quite from its edge: at a silhouette the normal is a guess.
  float mirror = MIRROR + (1.0 - MIRROR) * pow(1.0 - cosine, 5.0);
  mirror *= mix(PANE_MIRROR, 1.0, tank.x > 0.0 ? smoothstep(0.1, 0.8, (d - tank.x) / radius) : 1.0);
  vec3 to = viewToRoom * reflect(-toEye, normal);
  water = mix(water, roomLight(to), mirror * smoothstep(0.0, 0.3 * radius, way));
  float toSun = max(dot(normal, normalize(sunDirection + toEye)), 0.0);
  water += skyColour * (1.4 * pow(toSun, 420.0) + 0.16 * pow(toSun, 48.0)) * (0.35 + 0.65 * daylight);

  // Bright light is scattered in foam until it comes from everywhere.
  vec3 foam = mix(vec3(0.84, 0.93, 0.97) * lamp, bright, 0.8 * roomOpen) * 0.86;
  water = mix(water, foam, whites.r);

  // Where nothing is drawn behind the water a page or a real room is seen through it.
  float nothing = 1.0 - textureLod(scene, bent, 0.0).a;
  float clear = nothing * seeThrough(water, through * (1.0 - mirror) * (1.0 - whites.r) * (1.0 - whites.g), behind);
  colour = mix(mix(plain, vec4(shown(water), 1.0 - clear), cover), spray, whites.b);
  if (cover > 0.5) gl_FragDepth = clamp(depthToDistance.x - depthToDistance.y / d, 0.0, depth);
}
`;
