// Thin shells - glass, the sphere of a tool - are seen at their rims: what a program has to know of the angle of sight.

/** Hands `toEye` and `facing`, both in view space, to the fragments. */
export const grazingVertex = /* glsl */ `
out vec3 toEye;
out vec3 facing;
void main() {
  vec4 view = modelViewMatrix * vec4(position, 1.0);
  toEye = -view.xyz;
  facing = normalMatrix * normal;
  gl_Position = projectionMatrix * view;
}`;

/** `grazing()` is 0 where the surface faces the eye, 1 where it is seen from its edge. */
export const grazing = /* glsl */ `
in vec3 toEye;
in vec3 facing;
float grazing() { return 1.0 - abs(dot(normalize(facing), normalize(toEye))); }
`;
