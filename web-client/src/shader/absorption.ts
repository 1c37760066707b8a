// What water takes of the light that goes through it (Beer and Lambert): the page's water and its floor, and the path
// tracer's that they are compared with (tests/browser/references), all take the same.

/** Of a colourless liquid, linear. */
export const WATER_COLOUR = [0.06, 0.5, 0.72] as const;
/** Light is coloured once on its way down and up through so many edges of a cube as large as the tank. */
export const CLEAR = 0.5;
/** Optical depth of that length: of absorption, for -log of a part of the colour; of what is scattered, for all parts. */
export const ABSORBED = 0.55;
export const SCATTERED = 0.175;

/** In GLSL: optical depth of absorption by a colourless liquid, of an edge of a cube as large as the tank. */
export function absorbedPerEdge(): string {
  return `vec3(${WATER_COLOUR.map((part) => ((-Math.log(part) * ABSORBED) / CLEAR).toFixed(4)).join(", ")})`;
}
