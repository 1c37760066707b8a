// The picture: what is behind smoke or dye, what they leave of its light (Beer and Lambert), and what they scatter.
import { dither } from "../../shader/dither.js";
import { smoothly } from "../../shader/smoothly.js";
import { tone } from "../../shader/tone.js";
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

${tone}
${smoothly}
/** A map that may be coarser than the picture. */
vec4 mapAt(sampler2D map) {
#ifdef COARSE
  return smoothly(map, at, 0.0);
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
  vec4 gone = mapAt(taken);
  vec3 takes = gone.rgb + clearPerUnit * wet;
  if (takes.g + takes.r <= 0.0) return;
  vec4 light = mapAt(lit);
  vec3 through = exp(-takes);
  vec3 behind = lightShown(colour.rgb);
  vec3 seen = behind * through + light.rgb / max(light.a, 1e-6) * (1.0 - exp(-gone.a));
  // Where nothing is drawn behind it a page or a real room is seen through it.
  colour = vec4(shown(seen) + dither(), 1.0 - (1.0 - colour.a) * seeThrough(seen, through, behind));
}
`;
