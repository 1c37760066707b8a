/** A map without its grid: cubic, by four lookups (Sigg and Hadwiger 2005). */
export const smoothly = /* glsl */ `
vec4 smoothly(sampler2D map, vec2 at, float level) {
  vec2 size = vec2(textureSize(map, int(level)));
  vec2 p = at * size - 0.5;
  vec2 f = fract(p);
  vec2 last = f * f * f / 6.0;
  vec2 second = (4.0 - 6.0 * f * f + 3.0 * f * f * f) / 6.0;
  vec2 first = (1.0 - f) * (1.0 - f) * (1.0 - f) / 6.0;
  vec2 low = first + second;
  vec2 from = (floor(p) - 0.5 + second / low) / size;
  vec2 to = (floor(p) + 1.5 + last / (1.0 - low)) / size;
  return mix(mix(textureLod(map, to, level), textureLod(map, vec2(from.x, to.y), level), low.x),
             mix(textureLod(map, vec2(to.x, from.y), level), textureLod(map, from, level), low.x), low.y);
}
`;
