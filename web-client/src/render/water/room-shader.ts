// The room as the water mirrors it, by direction: the backdrop's dark blue, a soft ceiling, tall windows all around
// and the sun. Light is linear, 1 is white.
export const roomLight = /* glsl */ `
uniform vec3 skyColour; // of the light from above and through the windows

vec3 roomLight(vec3 d) {
  vec3 light = mix(vec3(0.004, 0.010, 0.017), vec3(0.016, 0.040, 0.064), smoothstep(-0.6, 0.2, d.y));
  light += 0.20 * skyColour * smoothstep(0.15, 1.0, d.y);
  float around = atan(d.x, d.z);
  float pane = abs(fract(around * 1.2732395 + 0.15) - 0.5);  // eight windows
  float window = (1.0 - smoothstep(0.17, 0.24, pane)) * smoothstep(0.08, 0.15, d.y);
  window *= 1.0 - smoothstep(0.60, 0.70, d.y);
  window *= 1.0 - 0.75 * (1.0 - smoothstep(0.008, 0.030, min(pane, 0.4 * abs(d.y - 0.38))));
  light += 0.95 * skyColour * window;
  float lamp = smoothstep(0.86, 0.97, d.y);
  return light + 1.6 * skyColour * lamp;
}
`;
