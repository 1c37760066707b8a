// Points whose bytes come from the decoding worker as the GPU takes them: a place and a motion each.
import * as THREE from "three";
import { POSITION_BYTES, VELOCITY_BYTES } from "../codec/frame-info.js";

export class PointBuffers {
  private readonly geometry = new THREE.BufferGeometry();
  private readonly places: THREE.GLBufferAttribute;
  private readonly motions: THREE.GLBufferAttribute;
  /** Points that there is room for. */
  capacity = 0;

  /** @param place @param motion  what programs call them: 4 x uint16 and 4 x int8 */
  constructor(
    private readonly gl: WebGL2RenderingContext,
    place: string,
    motion: string,
  ) {
    this.places = new THREE.GLBufferAttribute(gl.createBuffer(), gl.UNSIGNED_SHORT, 4, 2, 0);
    this.motions = new THREE.GLBufferAttribute(gl.createBuffer(), gl.BYTE, 4, 1, 0);
    // three's types leave GLBufferAttribute out of what a geometry may hold; its renderer takes them.
    this.geometry.setAttribute(place, this.places as unknown as THREE.BufferAttribute);
    this.geometry.setAttribute(motion, this.motions as unknown as THREE.BufferAttribute);
    this.geometry.setDrawRange(0, 0);
  }

  /** Draws them with a program, on a layer. */
  points(material: THREE.ShaderMaterial, layer: number): THREE.Points {
    const points = new THREE.Points(this.geometry, material);
    points.frustumCulled = false;
    points.layers.set(layer);
    return points;
  }

  /** Makes room for so many points; what was in the buffers goes where there was less. */
  reserve(capacity: number): void {
    if (capacity <= this.capacity) return;
    this.capacity = capacity;
    allocate(this.gl, this.places.buffer, capacity * POSITION_BYTES);
    allocate(this.gl, this.motions.buffer, capacity * VELOCITY_BYTES);
  }

  /** Uploads the first so many, for which there is room. */
  fill(places: Uint16Array, motions: Int8Array, count: number): void {
    if (count === 0) return;
    fill(this.gl, this.places.buffer, places, 4 * count);
    fill(this.gl, this.motions.buffer, motions, 4 * count);
  }

  /** So many are drawn. */
  draw(count: number): void {
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
  values: number,
): void {
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  gl.bufferSubData(gl.ARRAY_BUFFER, 0, data, 0, values);
  gl.bindBuffer(gl.ARRAY_BUFFER, null);
}
