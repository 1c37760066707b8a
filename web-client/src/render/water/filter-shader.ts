// Smooths the map of distances along one axis: Truong and Yuksel's narrow-range filter, made separable. A tap that is
// nearer than the range, or where there is no water, lets go of its mirror image, too, so that surfaces don't lean and
// drops stay round; one that is farther is pulled close. The range widens from tap to tap as far as the surface goes.
// What lies against a pane (a distance below 0) is flat as it is, and nothing is smoothed across its border.

export const filterFragment = /* glsl */ `
precision highp float;
precision highp sampler2D;

uniform sampler2D distances; // metres from the eye's plane; 0: no water; surface-shader.ts
uniform ivec2 axis;
uniform float reachPx;
uniform float strideMax;
uniform float range;
uniform float pull;
out vec4 smoothed;

void main() {
  ivec2 here = ivec2(gl_FragCoord.xy);
  float d = texelFetch(distances, here, 0).r;
  smoothed = vec4(d);
  if (d <= 0.0) return;
  ivec2 last = textureSize(distances, 0) - 1;
  float reach = reachPx / d;
  float count = clamp(ceil(reach), 1.0, float(TAPS_MAX));
  float stride = clamp(reach / count, 1.0, strideMax);

  float nearest = d - range;
  float farthest = d + range;
  float sum = d;
  float weights = 1.0;
  for (int i = 1; i <= TAPS_MAX; i++) {
    if (float(i) > count) break;
    ivec2 off = axis * int(float(i) * stride + 0.5);
    float a = texelFetch(distances, clamp(here - off, ivec2(0), last), 0).r;
    float b = texelFetch(distances, clamp(here + off, ivec2(0), last), 0).r;
    float t = 2.0 * float(i) / (count + 0.5);
    float weight = exp(-0.5 * t * t);
    weights += 2.0 * weight;
    if (a < nearest || b < nearest) {
      // Nearer, or no water at all.
      sum += 2.0 * weight * d;
      continue;
    }
    bool isBehindA = a > farthest;
    bool isBehindB = b > farthest;
    if (!isBehindA) {
      nearest = min(nearest, a - range);
      farthest = max(farthest, a + range);
    }
    if (!isBehindB) {
      nearest = min(nearest, b - range);
      farthest = max(farthest, b + range);
    }
    sum += weight * ((isBehindA ? d + pull : a) + (isBehindB ? d + pull : b));
  }
  smoothed = vec4(sum / weights);
}
`;
