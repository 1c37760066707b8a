// Spray, foam and bubbles on the GPU, as they came from the decoding worker: beside spheres they are drawn here, beside
// water by its own passes (water/water.ts).
import * as THREE from "three";
import { POSITION_BYTES, SECONDARY_MAX, VELOCITY_BYTES } from "../codec/frame-info.js";
import type { DecodedFrame } from "../state/frame-stream.js";
import { LAYER } from "./layers.js";
import { besideSpheresFragment, besideSpheresVertex } from "./secondary-shader.js";

const STEPS = 65535;
/** Out of every view's sight. */
const FAR_M = 1e6;

export class Secondary {
  /** In tank coordinates. */
  readonly group = new THREE.Group();
  /** Of every program that draws them; the particles' own among them. */
  readonly uniforms: Record<string, THREE.IUniform>;
  private readonly places: THREE.GLBufferAttribute;
  private readonly motions: THREE.GLBufferAttribute;
  private readonly geometry = new THREE.BufferGeometry();
  private readonly points: THREE.Points[] = [];
  private readonly besideSpheres: THREE.Points;
  private isAllocated = false;

  /** @param particles  uniforms of the programs that draw the particles */
  constructor(
    private readonly gl: WebGL2RenderingContext,
    particles: Record<string, THREE.IUniform>,
  ) {
    this.uniforms = { ...particles, placeScale: { value: 1 } };
    this.places = new THREE.GLBufferAttribute(gl.createBuffer(), gl.UNSIGNED_SHORT, 4, 2, 0);
    this.motions = new THREE.GLBufferAttribute(gl.createBuffer(), gl.BYTE, 4, 1, 0);
    // three's types leave GLBufferAttribute out of what a geometry may hold; its renderer takes them.
    this.geometry.setAttribute("place", this.places as unknown as THREE.BufferAttribute);
    this.geometry.setAttribute("motion", this.motions as unknown as THREE.BufferAttribute);
    this.geometry.setDrawRange(0, 0);
    this.besideSpheres = this.add(
      new THREE.ShaderMaterial({
        glslVersion: THREE.GLSL3,
        vertexShader: besideSpheresVertex,
        fragmentShader: besideSpheresFragment,
        transparent: true,
        depthWrite: false,
        uniforms: this.uniforms,
      }),
      LAYER.spheres,
    );
    this.group.visible = false;
  }

  /** Draws them with one more program, on a layer; its uniforms are to include `uniforms`. */
  add(material: THREE.ShaderMaterial, layer: number): THREE.Points {
    const points = new THREE.Points(this.geometry, material);
    points.frustumCulled = false;
    points.layers.set(layer);
    this.points.push(points);
    this.group.add(points);
    return points;
  }

  /** Takes back what `add` did; the program stays its maker's. */
  remove(material: THREE.ShaderMaterial): void {
    const at = this.points.findIndex((points) => points.material === material);
    if (at >= 0) this.group.remove(...this.points.splice(at, 1));
  }

  /** Whether they are drawn where spheres are. */
  showBesideSpheres(on: boolean): void {
    this.besideSpheres.visible = on;
  }

  /** Uploads a frame's. */
  show({ info, views }: DecodedFrame): void {
    const count = info.secondaryCount;
    this.draw(count);
    if (count === 0) return;
    const { gl } = this;
    fill(gl, this.places.buffer, views.secondaryPlaces, 4 * count);
    fill(gl, this.motions.buffer, views.secondaryMotions, 4 * count);
    (this.uniforms.placeScale as THREE.IUniform).value = (Math.max(...info.cells) * info.cellM) / STEPS;
  }

  /** Lets one be drawn that is out of sight, so that drawing makes the programs; or none again. */
  warmUp(on: boolean): void {
    (this.uniforms.placeScale as THREE.IUniform).value = FAR_M;
    this.draw(on ? 1 : 0);
  }

  private draw(count: number): void {
    if (count > 0 && !this.isAllocated) {
      this.isAllocated = true;
      allocate(this.gl, this.places.buffer, SECONDARY_MAX * POSITION_BYTES);
      allocate(this.gl, this.motions.buffer, SECONDARY_MAX * VELOCITY_BYTES);
    }
    this.group.visible = count > 0;
    this.places.count = count;
    this.motions.count = count;
    this.geometry.setDrawRange(0, count);
  }
}

function allocate(gl: WebGL2RenderingContext, buffer: WebGLBuffer, bytes: number): void {
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.STREAM_DRAW);
  gl.bindBuffer(gl.ARRAY_BUFFER, null);
}

function fill(
  gl: WebGL2RenderingContext,
  buffer: WebGLBuffer,
  data: Uint16Array | Int8Array,
  n: number,
): void {
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferSubData(gl.ARRAY_BUFFER, 0, data, 0, n);
  gl.bindBuffer(gl.ARRAY_BUFFER, null);
}
