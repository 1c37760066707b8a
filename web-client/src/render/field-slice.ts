// A field of cells as colours in a plane of the tank: its middle, or all of a tank that is one cell deep. Kinds have
// colours of their own, one for each cell, with lines between the cells.
import * as THREE from "three";
import type { FieldPlane, FrameInfo } from "../codec/frame-info.js";
import { KINDS, STOPS } from "../shader/stops.js";
import { LAYER } from "./layers.js";

const vertex = /* glsl */ `
out vec2 at;
void main() {
  at = uv;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;

const fragment = /* glsl */ `
uniform mediump sampler2D levels;
uniform vec3 stops[${STOPS.length}];
uniform vec3 kinds[${KINDS.length}];
uniform bool isKinds;
in vec2 at;
out vec4 colour;
void main() {
  vec2 cell = at * vec2(textureSize(levels, 0));
  if (isKinds) {
    int kind = int(255.0 * texelFetch(levels, ivec2(cell), 0).r + 0.5);
    vec2 edge = min(fract(cell), 1.0 - fract(cell)) / fwidth(cell);
    float line = clamp(1.0 - min(edge.x, edge.y), 0.0, 1.0) * step(max(fwidth(cell).x, fwidth(cell).y), 0.3);
    colour = vec4(mix(kinds[min(kind, ${KINDS.length - 1})], vec3(0.05, 0.08, 0.1), 0.6 * line), 0.88);
    return;
  }
  float place = ${(STOPS.length - 1).toFixed(1)} * texture(levels, at).r;
  int below = min(int(place), ${STOPS.length - 2});
  colour = vec4(mix(stops[below], stops[below + 1], place - float(below)), 0.92);
}`;

const colours = (list: readonly number[]): THREE.Vector3[] =>
  list.map((c) => new THREE.Vector3((c >> 16) & 255, (c >> 8) & 255, c & 255).divideScalar(255));

export class FieldSlice {
  readonly mesh: THREE.Mesh<THREE.PlaneGeometry, THREE.ShaderMaterial>;
  private texture: THREE.DataTexture | null = null;
  /** What the texture is filled from: a plane of a frame travels on. */
  private copy = new Uint8Array(0);

  constructor() {
    const uniforms = {
      levels: { value: null as THREE.Texture | null },
      stops: { value: colours(STOPS) },
      kinds: { value: colours(KINDS) },
      isKinds: { value: false },
    };
    const material = new THREE.ShaderMaterial({
      glslVersion: THREE.GLSL3,
      vertexShader: vertex,
      fragmentShader: fragment,
      uniforms,
      transparent: true,
      depthTest: false,
      depthWrite: false,
      side: THREE.DoubleSide,
    });
    this.mesh = new THREE.Mesh(new THREE.PlaneGeometry(1, 1).translate(0.5, 0.5, 0), material);
    this.mesh.layers.set(LAYER.front);
    this.mesh.renderOrder = 10;
    this.mesh.frustumCulled = false;
    this.mesh.visible = false;
  }

  /** @param levels  are copied; null: nothing is shown @param share  of the tank's depth */
  show(levels: FieldPlane | null, { cells, cellM }: FrameInfo, isKinds: boolean, share: number): void {
    this.mesh.visible = levels !== null;
    if (levels === null) return;
    const [x, y, z] = cells;
    const { uniforms } = this.mesh.material;
    let { texture } = this;
    if (texture === null || texture.image.width !== x || texture.image.height !== y) {
      texture?.dispose();
      this.copy = new Uint8Array(x * y);
      this.texture = texture = new THREE.DataTexture(this.copy, x, y, THREE.RedFormat);
      texture.unpackAlignment = 1;
      texture.magFilter = texture.minFilter = THREE.LinearFilter;
    }
    this.copy.set(levels);
    texture.needsUpdate = true;
    (uniforms.levels as THREE.IUniform).value = texture;
    (uniforms.isKinds as THREE.IUniform).value = isKinds;
    const layer = Math.min(z - 1, Math.max(0, Math.floor(share * z)));
    this.mesh.scale.set(x * cellM, y * cellM, 1);
    this.mesh.position.z = (layer + 0.5) * cellM;
  }
}
