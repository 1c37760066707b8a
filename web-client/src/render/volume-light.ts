// How far light gets through what the light volume says is in the tank. The programs that include this have MARCH_STEPS,
// `lightVolume`, `voxelsPerMetre` and `tankSize` (particle-shader.ts).
export const volumeLight = /* glsl */ `
/**
 * Optical depth of what is between a place of the tank and its walls.
 * @param along     one metre
 * @param most      metres that count
 * @param perMetre  where the volume's density is that around the average particle
 */
float depthAlong(vec3 from, vec3 along, float most, float perMetre) {
  vec3 a = mix(along, vec3(1e-6), lessThan(abs(along), vec3(1e-6)));
  vec3 exits = (step(0.0, a) * tankSize - from) / a;
  float reach = clamp(min(exits.x, min(exits.y, exits.z)), 0.0, most);
  float sum = 0.0;
  // Near places count most: steps grow with the way.
  for (int i = 0; i < MARCH_STEPS; i++) {
    float t = (float(i) + 0.5) / float(MARCH_STEPS);
    sum += t * textureLod(lightVolume, (from + t * t * reach * along) * voxelsPerMetre, 0.0).g;
  }
  return 4.0 * sum / float(MARCH_STEPS) * reach * perMetre;
}
`;
