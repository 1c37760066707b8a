// What stands behind the tank: a calm gradient and the table that the tank rests on.
import * as THREE from "three";

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
      void main() {
        float h = 0.5 + 0.5 * at.y;
        vec3 c = mix(vec3(0.016, 0.035, 0.055), vec3(0.045, 0.095, 0.140), smoothstep(0.0, 0.75, h));
        c = mix(c, vec3(0.025, 0.055, 0.090), smoothstep(0.7, 1.0, h));
        c += vec3(0.055, 0.120, 0.160) * exp(-2.2 * dot(at - vec2(0.0, 0.15), at - vec2(0.0, 0.15)));
        c *= 1.0 - 0.22 * dot(at, at) * 0.5;
        // Noise of less than a shade keeps the gradient from showing bands.
        float noise = fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715))));
        colour = vec4(c + (noise - 0.5) / 255.0, 1.0);
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
      vertexShader: /* glsl */ `
        out vec2 at;
        void main() {
          at = position.xz;
          gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
        }`,
      fragmentShader: /* glsl */ `
        uniform vec2 half_;
        uniform float pitch;
        in vec2 at;
        out vec4 colour;
        float line(vec2 p, float width) {
          vec2 d = abs(fract(p - 0.5) - 0.5) / max(fwidth(p), vec2(1e-5));
          return 1.0 - smoothstep(width, width + 1.0, min(d.x, d.y));
        }
        void main() {
          vec2 outside = max(abs(at) - half_, 0.0);
          float reach = length(half_);
          float away = length(outside) / reach;
          float fade = exp(-2.0 * away * away);
          float grid = 0.55 * line(at / pitch, 0.0) + 0.45 * line(at / (pitch * 4.0), 0.3);
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
