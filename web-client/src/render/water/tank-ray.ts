// Where a line of sight is inside the tank: the water ends at the glass exactly, whatever its particles are drawn like.
export const tankRay = /* glsl */ `
uniform mat4 viewToTank;
uniform vec3 tankSize;

/**
 * @param ray  of the line of sight, view space, z is -1
 * @return where it comes into the tank and where it leaves, distances from the eye's plane; the first is larger where it
 *         passes by
 */
vec2 tankAlong(vec3 ray) {
  vec3 eye = viewToTank[3].xyz;
  vec3 along = mat3(viewToTank) * ray;
  along = mix(along, vec3(1e-6), lessThan(abs(along), vec3(1e-6)));
  vec3 low = -eye / along;
  vec3 high = (tankSize - eye) / along;
  vec3 enters = min(low, high);
  vec3 leaves = max(low, high);
  return vec2(max(max(enters.x, enters.y), max(enters.z, 0.0)), min(leaves.x, min(leaves.y, leaves.z)));
}

/** How far it is from a place to where the tank ends in a direction of length 1, both in view space. */
float tankExit(vec3 place, vec3 direction) {
  vec3 from = clamp((viewToTank * vec4(place, 1.0)).xyz, vec3(0.0), tankSize);
  vec3 along = mat3(viewToTank) * direction;
  along = mix(along, vec3(1e-6), lessThan(abs(along), vec3(1e-6)));
  vec3 exits = (step(0.0, along) * tankSize - from) / along;
  return min(exits.x, min(exits.y, exits.z));
}
`;
