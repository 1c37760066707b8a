/**
 * From light, linear, to the picture's own values and back. `seeThrough(light, share, behind)` is how much of what a page
 * shows through stays. A picture has one such share, not three: it is the one that fits white and black.
 * @param light  that comes to the eye, of which `share` would come from what is behind. @param behind  light that is drawn there
 */
export const tone = /* glsl */ `
vec3 shown(vec3 c) { return pow(c / (1.0 + 0.22 * c), vec3(1.0 / 2.2)); }
vec3 lightShown(vec3 c) {
  vec3 x = pow(c, vec3(2.2));
  return x / (1.0 - 0.22 * x);
}
float seeThrough(vec3 light, vec3 share, vec3 behind) {
  vec3 less = shown(light + share) - shown(light);
  vec3 all = shown(behind + 1.0) - shown(behind);
  return clamp((less.r + less.g + less.b) / (all.r + all.g + all.b), 0.0, 1.0);
}
`;
