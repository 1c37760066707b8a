// Which way the water faces, from the smoothed distances. Of the two differences along an axis the smaller one counts
// where they are far apart: the other one reaches over a silhouette. What is too narrow for one, a drop of a pixel or a
// rag of the waterline, faces upwards, as does what is beside a pane's water: a guessed direction would glitter.
export const normalFragment = /* glsl */ `
precision highp float;
precision highp sampler2D;

uniform sampler2D distances;
uniform vec4 lens;   // view-space place at distance 1 of a place of the map: offset, then scale
uniform float range; // metres
uniform vec3 upDirection;
out vec4 surface;    // normal x and y and distance, times the last: 1 where there is water

vec3 placeOf(ivec2 at, float d) {
  vec2 uv = (vec2(at) + 0.5) / vec2(textureSize(distances, 0));
  return vec3((lens.xy + lens.zw * uv) * d, -d);
}

/** Zero where nothing is beside the place along this axis. */
vec3 slope(ivec2 here, ivec2 step_, vec3 place, float d, float side, ivec2 last) {
  ivec2 to = min(here + step_, last);
  ivec2 from = max(here - step_, ivec2(0));
  float a = texelFetch(distances, from, 0).r;
  float b = texelFetch(distances, to, 0).r;
  bool isA = a * side > 0.0 && abs(abs(a) - d) < range && from != here;
  bool isB = b * side > 0.0 && abs(abs(b) - d) < range && to != here;
  vec3 left = place - placeOf(from, abs(a));
  vec3 right = placeOf(to, abs(b)) - place;
  if (isA && isB) {
    float jump = abs(left.z) - abs(right.z);
    return abs(jump) < 0.25 * range ? left + right : jump > 0.0 ? right : left;
  }
  if (isA) return left;
  return isB ? right : vec3(0.0);
}

/** Whether a place shows water that lies against a pane. */
bool isPane(ivec2 at, ivec2 last) { return texelFetch(distances, clamp(at, ivec2(0), last), 0).r < 0.0; }

void main() {
  ivec2 here = ivec2(gl_FragCoord.xy);
  ivec2 last = textureSize(distances, 0) - 1;
  float signed_ = texelFetch(distances, here, 0).r; // less than 0 against a pane
  float d = abs(signed_);
  surface = vec4(0.0);
  if (d == 0.0) return;
  vec3 place = placeOf(here, d);
  vec3 normal = cross(slope(here, ivec2(1, 0), place, d, signed_, last),
                      slope(here, ivec2(0, 1), place, d, signed_, last));
  float size = length(normal);
  bool isBesidePane = signed_ > 0.0 && (isPane(here + ivec2(2, 0), last) || isPane(here - ivec2(2, 0), last) ||
                                        isPane(here + ivec2(0, 2), last) || isPane(here - ivec2(0, 2), last));
  normal = size > 0.0 && !isBesidePane ? normal / size : upDirection;
  surface = vec4(normal.xy, d, 1.0);
}
`;
