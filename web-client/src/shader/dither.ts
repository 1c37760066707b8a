/** `dither()` is noise of less than a shade: it keeps a gradient from showing bands. */
export const dither = /* glsl */ `
float dither() {
  return (fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715)))) - 0.5) / 255.0;
}
`;
