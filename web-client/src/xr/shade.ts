// The plain looks of what a headset adds to the picture: a colour under a light from above, and a sphere of thin glass.
import * as THREE from "three";
import { grazing, grazingVertex } from "../shader/grazing.js";
import type { RoomUniforms } from "../shader/room.js";

/** @param light  in which, where it is bright, this has the table's colour; null: it keeps its own */
export function shaded(
  colour: number,
  side: THREE.Side = THREE.FrontSide,
  light: RoomUniforms | null = null,
): THREE.ShaderMaterial {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    side,
    uniforms: {
      tint: { value: new THREE.Color().setHex(colour, THREE.LinearSRGBColorSpace) },
      roomOpen: light?.roomOpen ?? { value: 0 },
      tableColour: light?.tableColour ?? { value: [0, 0, 0] },
    },
    vertexShader: /* glsl */ `
      out vec3 facing;
      void main() {
        vec4 at = vec4(position, 1.0);
        vec3 towards = normal;
      #ifdef USE_INSTANCING
        at = instanceMatrix * at;
        towards = mat3(instanceMatrix) * towards;
      #endif
        facing = mat3(modelMatrix) * towards;
        gl_Position = projectionMatrix * modelViewMatrix * at;
      }`,
    fragmentShader: /* glsl */ `
      uniform vec3 tint;
      uniform vec3 tableColour;
      uniform float roomOpen;
      in vec3 facing;
      out vec4 colour;
      void main() {
        float above = 0.5 + 0.5 * normalize(facing).y;
        colour = vec4(mix(tint, tableColour, roomOpen) * (0.45 + 0.55 * above), 1.0);
      }`,
  });
}

/** Seen at its rim; `strength` is a uniform, 0..1. */
export function rim(colour: number): THREE.ShaderMaterial {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    transparent: true,
    depthWrite: false,
    uniforms: {
      tint: { value: new THREE.Color().setHex(colour, THREE.LinearSRGBColorSpace) },
      strength: { value: 0 },
    },
    vertexShader: grazingVertex,
    fragmentShader: /* glsl */ `
      uniform vec3 tint;
      uniform float strength;
      out vec4 colour;
      ${grazing}
      void main() {
        float rim = grazing();
        colour = vec4(tint, strength * (0.04 + 0.9 * rim * rim * rim));
      }`,
  });
}
