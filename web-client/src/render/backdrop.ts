// What stands behind the tank: a calm gradient and the table that the tank rests on.
import * as THREE from "three";
import { dither } from "../shader/dither.js";
import { gridLine } from "../shader/ground.js";
import { type RoomUniforms, room } from "../shader/room.js";
import { tone } from "../shader/tone.js";
import { type SolidShadows, solidShadows } from "./solid-shadows.js";
import { sunlight, type TankShared, web } from "./tank-light.js";

/** Fills the screen behind everything else. */
export function createBackdrop(light: RoomUniforms): THREE.Mesh {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute(
    "position",
    new THREE.BufferAttribute(new Float32Array([-1, -1, 0, 3, -1, 0, -1, 3, 0]), 3),
  );
  const material = new THREE.ShaderMaterial({
    glslVersion: THREE.GLSL3,
    depthTest: false,
    depthWrite: false,
    uniforms: { ...light },
    vertexShader: /* glsl */ `
      out vec2 at;
      out vec3 sight;
      void main() {
        at = position.xy;
        vec2 lens = (at + vec2(projectionMatrix[2][0], projectionMatrix[2][1])) /
                    vec2(projectionMatrix[0][0], projectionMatrix[1][1]);
        sight = vec3(lens, -1.0) * mat3(viewMatrix);
        gl_Position = vec4(at, 0.0, 1.0);
      }`,
    fragmentShader: /* glsl */ `
      uniform float roomOpen;
      in vec2 at;
      in vec3 sight;
      out vec4 colour;
      ${dither}
      ${room}
      ${tone}
      void main() {
        if (roomOpen > 0.0) {
          colour = vec4(shown(roomLight(normalize(sight))) + dither(), 1.0);
          return;
        }
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

/**
 * What the tank stands on. In the dark: a faint grid, a contact shadow and the light that falls through the water. In
 * bright light: a table top with the shadow of the tank, in which the water's colour and its net of light are.
 */
export class Table {
  readonly mesh: THREE.Mesh;
  private readonly material: THREE.ShaderMaterial;

  constructor(light: RoomUniforms, tank: TankShared, shadows: SolidShadows["uniforms"]) {
    this.material = new THREE.ShaderMaterial({
      glslVersion: THREE.GLSL3,
      transparent: true,
      depthWrite: false,
      defines: { MARCH_STEPS: 6 },
      uniforms: {
        half_: { value: new THREE.Vector2(1, 1) },
        pitch: { value: 0.1 },
        roomToTank: { value: new THREE.Matrix4() },
        ...light,
        ...tank,
        ...shadows,
      },
      vertexShader: /* glsl */ `
        out vec2 at;
        out vec3 inTank;
        uniform mat4 roomToTank;
        void main() {
          at = position.xz;
          vec4 place = modelMatrix * vec4(position, 1.0);
          inTank = (roomToTank * place).xyz;
          gl_Position = projectionMatrix * viewMatrix * place;
        }`,
      fragmentShader: /* glsl */ `
        uniform vec2 half_;
        uniform float pitch;
        uniform float roomOpen;
        uniform vec3 tableColour;
        uniform float momentS;
        in vec2 at;
        in vec3 inTank;
        out vec4 colour;
        ${dither}
        ${gridLine}
        ${sunlight}
        ${solidShadows}
        ${web}
        /** Of the sun, what gets through the tank to a place beside it. */
        vec3 throughTank(vec3 place) {
          vec3 a = mix(sunTank, vec3(1e-5), lessThan(abs(sunTank), vec3(1e-5)));
          vec3 one = -place / a;
          vec3 other = (tankSize - place) / a;
          vec3 near = min(one, other);
          vec3 far = max(one, other);
          float enters = max(max(near.x, near.y), max(near.z, 0.0));
          float way = min(far.x, min(far.y, far.z)) - enters;
          if (way <= 0.0) return vec3(1.0);
          float edge = pow(tankSize.x * tankSize.y * tankSize.z, 0.333);
          float soft = smoothstep(0.0, 0.06 * edge, way);
          vec3 from = place + enters * sunTank;
          if (shadowing > 0.0) return vec3(mix(1.0, 0.9 * sunlight(from), soft));
          float water = depthAlong(from, sunTank, 1e6, 2.4 / edge);
          float net = smoothstep(0.05, 0.5, water) * exp(-0.5 * water);
          vec3 light = exp(-water * vec3(0.85, 0.30, 0.22)) * (1.0 + net * (0.75 * web(0.7 * at / pitch) - 0.1));
          return mix(vec3(1.0), 0.88 * light, soft);
        }
        void main() {
          vec2 outside = max(abs(at) - half_, 0.0);
          float reach = length(half_);
          float away = length(outside) / reach;
          float fade = exp(-2.0 * away * away);
          float grid = 0.55 * gridLine(at / pitch, 0.0) + 0.45 * gridLine(at / (pitch * 4.0), 0.3);
          float shadow = 0.55 * exp(-14.0 * away);
          if (roomOpen > 0.0) {
            float joint = 0.10 * gridLine(at / (pitch * 4.0), 0.2) * exp(-1.5 * away);
            vec3 sun = mix(SHADE, vec3(1.0), throughTank(inTank) * (1.0 - inShadow(inTank)));
            colour = vec4(tableColour * sun * (1.0 - 0.6 * shadow - joint) + dither(), 1.0 - smoothstep(1.7, 2.1, away));
            return;
          }
          float glow = exp(-5.0 * away) * 0.30;
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

  /** Before each picture. @param tank  what is in tank coordinates */
  prepare(tank: THREE.Object3D): void {
    (this.uniform("roomToTank").value as THREE.Matrix4).copy(tank.matrixWorld).invert();
  }

  private uniform(name: string): THREE.IUniform {
    return this.material.uniforms[name] as THREE.IUniform;
  }
}
