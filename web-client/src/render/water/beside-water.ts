// What a program has to know that draws something beside the water's surface: tinted solids, the cursor.
import * as THREE from "three";

/** Which part of a thing is drawn. */
export const PART = { whole: 0, behind: 1, before: 2 } as const;

/** Shared by all such programs. */
export const waterBeside = {
  waterDistances: { value: null as THREE.Texture | null },
  waterPart: { value: PART.whole as number },
  /** Of the picture: left, bottom, width, height, pixels. */
  waterView: { value: new THREE.Vector4(0, 0, 1, 1) },
};

/**
 * `besideWater(distance)` is true where this pass draws what is so far from the eye's plane, `waterBefore` where water
 * covers it.
 */
export const besideWater = /* glsl */ `
uniform highp sampler2D waterDistances;
uniform int waterPart;
uniform vec4 waterView;

/** 0: none. */
float waterDistance() {
  return abs(textureLod(waterDistances, (gl_FragCoord.xy - waterView.xy) / waterView.zw, 0.0).r);
}

bool waterBefore(float distance_) {
  float water = waterDistance();
  return water > 0.0 && water < distance_;
}

bool besideWater(float distance_) {
  if (waterPart == 0) return true;
  float water = waterDistance();
  bool isBefore = water > 0.0 && distance_ < water;
  return isBefore == (waterPart == 2);
}
`;
