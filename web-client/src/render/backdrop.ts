// What stands behind the tank: a calm gradient and the table that the tank rests on.
import * as THREE from "three";
import { dither } from "../shader/dither.js";
import { gridLine, groundVertex } from "../shader/ground.js";

/** Fills the screen behind everything else. */
export function createBackdrop(): THREE.Mesh {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute(
    "position",
    new THREE.BufferAttribute(new Float32Array([-1, -1, 0, 3, -1, 0, -1, 3, 0]), 3),
  );
  const material = new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    depthTest: false,
    depthWrite: false,
    vertexShader: /* glsl */ `
      out vec2 at;
      void main() { at = position.xy; gl_Position = vec4(position.xy, 0.0, 1.0); }`,
    fragmentShader: /* glsl */ `
      in vec2 at;
      out vec4 colour;
      ${dither}
      void main() {
        float h = 0.5 + 0.5 * at.y;
        vec3 c = mix(vec3(0.016, 0.035, 0.055), vec3(0.045, 0.095, 0.140), smoothstep(0.0, 0.75, h));
        c = mix(c, vec3(0.025, 0.055, 0.090), smoothstep(0.7, 1.0, h));
        c += vec3(0.055, 0.120, 0.160) * exp(-2.2 * dot(at - vec2(0.0, 0.15), at - vec2(0.0, 0.15)));
        c *= 1.0 - 0.22 * dot(at, at) * 0.5;
        colour = vec4(c + dither(), 1.0);
      }`,
  });
  const mesh = new THREE.Mesh(geometry, material);
  mesh.frustumCulled = false;
  mesh.renderOrder = -10;
  return mesh;
}

/** A table top with a faint grid, a contact shadow and the light that falls through the water. */
export class Table {
  readonly mesh: THREE.Mesh;
  private readonly material: THREE.ShaderMaterial;

  constructor() {
    this.material = new THREE.ShaderMaterial({
      glslVersion: THREE.GLSL3,
      transparent: true,
      depthWrite: false,
      uniforms: { half_: { value: new THREE.Vector2(1, 1) }, pitch: { value: 0.1 } },
      vertexShader: groundVertex,
      fragmentShader: /* glsl */ `
        uniform vec2 half_;
        uniform float pitch;
        in vec2 at;
        out vec4 colour;
        ${gridLine}
        void main() {
          vec2 outside = max(abs(at) - half_, 0.0);
          float reach = length(half_);
          float away = length(outside) / reach;
          float fade = exp(-2.0 * away * away);
          float grid = 0.55 * gridLine(at / pitch, 0.0) + 0.45 * gridLine(at / (pitch * 4.0), 0.3);
          float glow = exp(-5.0 * away) * 0.30;
          float shadow = 0.55 * exp(-14.0 * away);
          vec3 c = vec3(0.30, 0.62, 0.78) * (grid * 0.34 + glow);
          float a = clamp(max(grid * 0.30, shadow * 0.6) + glow * 0.5, 0.0, 1.0) * fade;
          colour = vec4(c, a);
        }`,
    });
    const geometry = new THREE.PlaneGeometry(1, 1);
    geometry.rotateX(-Math.PI / 2);
    this.mesh = new THREE.Mesh(geometry, this.material);
    this.mesh.renderOrder = -5;
  }

  fit(size: THREE.Vector3): void {
    const reach = 3.2 * Math.max(size.x, size.z);
    this.mesh.geometry.dispose();
    this.mesh.geometry = new THREE.PlaneGeometry(2 * reach, 2 * reach).rotateX(-Math.PI / 2);
    this.mesh.position.y = -0.5 * size.y - 0.012 * size.y;
    (this.uniform("half_").value as THREE.Vector2).set(0.5 * size.x, 0.5 * size.z);
    this.uniform("pitch").value = Math.max(size.x, size.z) / 16;
  }

  private uniform(name: string): THREE.IUniform {
    return this.material.uniforms[name] as THREE.IUniform;
  }
}
