// The particles on the GPU. The bytes of a decoded frame go straight into two vertex buffers; nothing is converted or
// allocated here as long as the number of particles stays within the buffers.
import * as THREE from "three";
import {
  LIGHT_VALUES,
  LIGHT_VOXELS_MAX,
  POSITION_BYTES,
  slotCapacity,
  VELOCITY_BYTES,
} from "../codec/frame-info.js";
import type { DecodedFrame } from "../state/frame-stream.js";
import { particleFragment, particleVertex } from "./particle-shader.js";

/** Radius of a drawn particle in cells: neighbours overlap, so that calm water closes into a surface. */
const RADIUS_CELLS = 0.42;
/** The fastest colour stands for the speed of a fall from this share of the tank's height. */
const FALL_SHARE = 0.85;

export class Particles {
  readonly points: THREE.Points;
  private readonly material: THREE.ShaderMaterial;
  private readonly geometry = new THREE.BufferGeometry();
  private readonly positionBuffer: WebGLBuffer;
  private readonly velocityBuffer: WebGLBuffer;
  private readonly positions: THREE.GLBufferAttribute;
  private readonly velocities: THREE.GLBufferAttribute;
  private capacity = 0;
  private light: THREE.Data3DTexture;
  private readonly sun = new THREE.Vector3();

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.positionBuffer = gl.createBuffer();
    this.velocityBuffer = gl.createBuffer();
    this.positions = new THREE.GLBufferAttribute(this.positionBuffer, gl.UNSIGNED_SHORT, 4, 2, 0);
    this.velocities = new THREE.GLBufferAttribute(this.velocityBuffer, gl.BYTE, 4, 1, 0);
    // three's types leave GLBufferAttribute out of what a geometry may hold; its renderer takes them.
    this.geometry.setAttribute("quantized", this.positions as unknown as THREE.BufferAttribute);
    this.geometry.setAttribute("motion", this.velocities as unknown as THREE.BufferAttribute);
    this.geometry.setDrawRange(0, 0);
    this.light = lightTexture(1, 1, 1);
    this.material = new THREE.ShaderMaterial({
      glslVersion: THREE.GLSL3,
      vertexShader: particleVertex,
      fragmentShader: particleFragment,
      alphaToCoverage: true,
      defines: {},
      uniforms: {
        quantum: { value: 1 },
        velocityScale: { value: 1 },
        lead: { value: 0 },
        tankSize: { value: new THREE.Vector3(1, 1, 1) },
        radius: { value: 0.01 },
        viewHeight: { value: 1000 },
        speedRange: { value: 1 },
        voxelsPerMetre: { value: new THREE.Vector3(1, 1, 1) },
        voxel: { value: new THREE.Vector3(1, 1, 1) },
        lightVolume: { value: this.light },
        sunWorld: { value: this.sun },
      },
    });
    this.points = new THREE.Points(this.geometry, this.material);
    this.points.frustumCulled = false;
    this.points.visible = false;
  }

  /** Uploads a frame. */
  show(frame: DecodedFrame): void {
    const { info, views } = frame;
    const { gl } = this;
    const count = info.particleCount;
    const grown = count > this.capacity;
    if (grown) this.capacity = slotCapacity(count);
    upload(gl, this.positionBuffer, views.positions, count * 4, grown ? this.capacity * POSITION_BYTES : 0);
    upload(gl, this.velocityBuffer, views.velocities, count * 4, grown ? this.capacity * VELOCITY_BYTES : 0);
    this.positions.count = count;
    this.velocities.count = count;
    this.geometry.setDrawRange(0, count);
    this.points.visible = count > 0;
    this.colour(info.coloured);

    const [nx, ny, nz] = info.lightDims;
    const image = this.light.image;
    if (image.width !== nx || image.height !== ny || image.depth !== nz) {
      this.light.dispose();
      this.light = lightTexture(nx, ny, nz);
      this.uniform("lightVolume").value = this.light;
    }
    const bytes = nx * ny * nz * LIGHT_VALUES;
    (this.light.image.data as Uint8Array).set(views.light.subarray(0, bytes));
    this.light.needsUpdate = true;

    const [cx, cy, cz] = info.cells;
    const voxelM = info.lightCells * info.cellM;
    this.uniform("quantum").value = info.cellM / 2 ** info.unitBits;
    this.uniform("velocityScale").value = info.velocityScale;
    (this.uniform("tankSize").value as THREE.Vector3).set(cx, cy, cz).multiplyScalar(info.cellM);
    this.uniform("radius").value = RADIUS_CELLS * info.cellM;
    const gravity = Math.hypot(...info.gravity);
    this.uniform("speedRange").value = Math.sqrt(2 * Math.max(1, gravity) * cy * info.cellM * FALL_SHARE);
    (this.uniform("voxel").value as THREE.Vector3).set(0.58 / nx, 0.58 / ny, 0.58 / nz);
    (this.uniform("voxelsPerMetre").value as THREE.Vector3).set(
      1 / (nx * voxelM),
      1 / (ny * voxelM),
      1 / (nz * voxelM),
    );
  }

  /** Sets what changes with every picture. @param heightPx  of the view, or of each eye's */
  prepare(leadS: number, heightPx: number, sunWorld: THREE.Vector3): void {
    this.uniform("lead").value = leadS;
    this.uniform("viewHeight").value = heightPx;
    this.sun.copy(sunWorld);
  }

  hide(): void {
    this.points.visible = false;
  }

  /** Another program where the frames have colours: without them there is nothing to pay. */
  private colour(coloured: boolean): void {
    if (coloured === "COLOURED" in this.material.defines) return;
    if (coloured) this.material.defines.COLOURED = 1;
    else delete this.material.defines.COLOURED;
    this.material.needsUpdate = true;
  }

  private uniform(name: string): THREE.IUniform {
    return this.material.uniforms[name] as THREE.IUniform;
  }
}

function upload(
  gl: WebGL2RenderingContext,
  buffer: WebGLBuffer,
  data: Uint16Array | Int8Array,
  length: number,
  allocateBytes: number,
): void {
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  if (allocateBytes > 0) gl.bufferData(gl.ARRAY_BUFFER, allocateBytes, gl.STREAM_DRAW);
  if (length > 0) gl.bufferSubData(gl.ARRAY_BUFFER, 0, data, 0, length);
  gl.bindBuffer(gl.ARRAY_BUFFER, null);
}

function lightTexture(nx: number, ny: number, nz: number): THREE.Data3DTexture {
  if (nx * ny * nz > LIGHT_VOXELS_MAX) throw new RangeError("the light volume is too large");
  const texture = new THREE.Data3DTexture(new Uint8Array(nx * ny * nz * LIGHT_VALUES), nx, ny, nz);
  texture.format = THREE.RGBAFormat;
  texture.type = THREE.UnsignedByteType;
  texture.minFilter = THREE.LinearFilter;
  texture.magFilter = THREE.LinearFilter;
  texture.unpackAlignment = 1;
  texture.needsUpdate = true;
  return texture;
}
