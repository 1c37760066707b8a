// The picture: what is behind smoke or dye, what they leave of its light (Beer and Lambert), and what they scatter.
import { dither } from "../../shader/dither.js";
import { tankRay } from "../water/tank-ray.js";

export const gasComposeFragment = /* glsl */ `
precision highp float;
precision highp sampler2D;

uniform sampler2D scene;
uniform sampler2D sceneDepth;
uniform sampler2D lit;   // puff-shader.ts
uniform sampler2D taken;
uniform vec4 lens;
uniform vec2 depthToDistance;
uniform vec3 clearPerUnit; // optical depth of the liquid around it
in vec2 at;
out vec4 colour;
${dither}
${tankRay}

/** The inverse of what the scene's programs did, and the same. */
vec3 linear(vec3 c) {
  vec3 x = pow(c, vec3(2.2));
  return x / (1.0 - 0.22 * x);
}
vec3 shown(vec3 c) { return pow(c / (1.0 + 0.22 * c), vec3(1.0 / 2.2)); }

/** A map that is coarser than the picture, without its grid: cubic, by four lookups (Sigg and Hadwiger 2005). */
vec4 smoothly(sampler2D map, vec2 at) {
#ifdef COARSE
  vec2 size = vec2(textureSize(map, 0));
  vec2 p = at * size - 0.5;
  vec2 f = fract(p);
  vec2 last = f * f * f / 6.0;
  vec2 second = (4.0 - 6.0 * f * f + 3.0 * f * f * f) / 6.0;
  vec2 first = (1.0 - f) * (1.0 - f) * (1.0 - f) / 6.0;
  vec2 low = first + second;
  vec2 from = (floor(p) - 0.5 + second / low) / size;
  vec2 to = (floor(p) + 1.5 + last / (1.0 - low)) / size;
  return mix(mix(textureLod(map, to, 0.0), textureLod(map, vec2(from.x, to.y), 0.0), low.x),
             mix(textureLod(map, vec2(to.x, from.y), 0.0), textureLod(map, from, 0.0), low.x), low.y);
#else
  return textureLod(map, at, 0.0);
#endif
}

void main() {
  float depth = textureLod(sceneDepth, at, 0.0).r;
  vec3 ray = vec3(lens.xy + lens.zw * at, -1.0);
  vec2 tank = tankAlong(ray);
  float solid = depthToDistance.y / (depthToDistance.x - depth);
  float wet = max(0.0, min(tank.y, solid) - tank.x) * length(ray);
  colour = textureLod(scene, at, 0.0);
  gl_FragDepth = depth;
  vec4 gone = smoothly(taken, at);
  vec3 takes = gone.rgb + clearPerUnit * wet;
  if (takes.g + takes.r <= 0.0) return;
  vec4 light = smoothly(lit, at);
  vec3 through = exp(-takes);
  vec3 seen = linear(colour.rgb) * through + light.rgb / max(light.a, 1e-6) * (1.0 - exp(-gone.a));
  // Where nothing is drawn behind it a real room may be seen through it.
  colour = vec4(shown(seen) + dither(), 1.0 - (1.0 - colour.a) * dot(through, vec3(1.0 / 3.0)));
}
`;
