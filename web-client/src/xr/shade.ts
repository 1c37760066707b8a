// One plain look for everything that a headset adds to the picture: a colour under a light from above.
import * as THREE from "three";

export function shaded(colour: number, side: THREE.Side = THREE.FrontSide): THREE.ShaderMaterial {
  return new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    side,
    uniforms: { tint: { value: new THREE.Color().setHex(colour, THREE.LinearSRGBColorSpace) } },
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
      in vec3 facing;
      out vec4 colour;
      void main() {
        float above = 0.5 + 0.5 * normalize(facing).y;
        colour = vec4(tint * (0.45 + 0.55 * above), 1.0);
      }`,
  });
}
