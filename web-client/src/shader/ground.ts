// Level ground with lines on it: table, floor of the tank, floor of a room.

/** Hands the place on the ground, `at`, in the mesh's own metres to the fragments. */
export const groundVertex = /* glsl */ `
out vec2 at;
void main() {
  at = position.xz;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

/** `gridLine(p, width)` is 1 on the lines where a coordinate of p is whole; they are so many pixels wide, and one soft. */
export const gridLine = /* glsl */ `
float gridLine(vec2 p, float width) {
  vec2 d = abs(fract(p - 0.5) - 0.5) / max(fwidth(p), vec2(1e-5));
  return 1.0 - smoothstep(width, width + 1.2, min(d.x, d.y));
}
`;
