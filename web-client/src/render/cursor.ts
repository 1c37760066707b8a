// The sphere with which the pointer pushes: a thin bright rim, brighter while it is pressed, fainter in the water.
import * as THREE from "three";
import { LAYER } from "./layers.js";
import { besideWater, waterBeside } from "./water/beside-water.js";

export class Cursor {
  readonly mesh: THREE.Mesh;
  private readonly material: THREE.ShaderMaterial;

  constructor() {
    this.material = new THREE.ShaderMaterial({
      glslVersion: THREE.GLSL3,
      transparent: true,
      depthTest: false,
      depthWrite: false,
      blending: THREE.AdditiveBlending,
      uniforms: { strength: { value: 0.5 }, ...waterBeside },
      vertexShader: /* glsl */ `
        out vec3 toEye;
        out vec3 facing;
        void main() {
          vec4 view = modelViewMatrix * vec4(position, 1.0);
          toEye = -view.xyz;
          facing = normalMatrix * normal;
          gl_Position = projectionMatrix * view;
        }`,
      fragmentShader: /* glsl */ `
        uniform float strength;
        in vec3 toEye;
        in vec3 facing;
        out vec4 colour;
        ${besideWater}
        void main() {
          float grazing = 1.0 - abs(dot(normalize(facing), normalize(toEye)));
          float a = strength * (0.08 + 0.30 * pow(grazing, 2.0) + 0.9 * smoothstep(0.80, 0.92, grazing));
          // In the water it is seen through it.
          if (waterPart != 0 && waterBefore(toEye.z)) a *= 0.45;
          colour = vec4(vec3(0.75, 0.95, 1.0) * a, a);
        }`,
    });
    this.mesh = new THREE.Mesh(new THREE.SphereGeometry(1, 40, 24), this.material);
    this.mesh.renderOrder = 30;
    this.mesh.layers.set(LAYER.front);
    this.mesh.visible = false;
  }

  /** Shows the sphere at a place in tank coordinates, or hides it where there is none. */
  place(at: readonly number[] | null, radiusM: number, pressed: boolean): void {
    this.mesh.visible = at !== null;
    if (at === null) return;
    this.mesh.position.set(at[0] as number, at[1] as number, at[2] as number);
    this.mesh.scale.setScalar(radiusM);
    (this.material.uniforms.strength as THREE.IUniform).value = pressed ? 0.85 : 0.38;
  }
}
