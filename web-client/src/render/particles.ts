// The particles on the GPU. The bytes of a decoded frame go straight into two vertex buffers; nothing is converted or
// allocated here as long as the number of particles stays within the buffers.
import * as THREE from "three";
import {
  type FrameInfo,
  LIGHT_VALUES,
  LIGHT_VOXELS_MAX,
  slotCapacity,
  topSpeed,
} from "../codec/frame-info.js";
import type { Room } from "../shader/room.js";
import type { Scale } from "../state/colour-by.js";
import type { DecodedFrame } from "../state/frame-stream.js";
import { LAYER } from "./layers.js";
import { particleFragment, particleVertex } from "./particle-shader.js";
import { PointBuffers } from "./point-buffers.js";

/** Radius of a drawn particle in cells: neighbours overlap, so that calm water closes into a surface. */
const RADIUS_CELLS = 0.42;
/** What changes by itself starts again after so long, seconds: a float has few digits. */
const MOMENTS_S = 4096;
/** Out of every view's sight. */
const FAR_M = 1e6;

export class Particles {
  /** In tank coordinates: the spheres, and whatever else is drawn of the same buffers. */
  readonly group = new THREE.Group();
  /** Of every program that draws particles. */
  readonly uniforms: Record<string, THREE.IUniform>;
  private readonly material: THREE.ShaderMaterial;
  private readonly materials: THREE.ShaderMaterial[] = [];
  private readonly buffers: PointBuffers;
  /** Of the frame that is shown; null before the first. */
  info: FrameInfo | null = null;
  /** Is told of each frame while its bytes are at hand. */
  watch: ((frame: DecodedFrame) => void) | null = null;
  private frameS = 0;
  private light: THREE.Data3DTexture;
  private readonly turn = new THREE.Matrix4();
  private readonly sun = new THREE.Vector3();
  private readonly up = new THREE.Vector3();

  constructor(
    gl: WebGL2RenderingContext,
    private readonly room: Room,
  ) {
    this.buffers = new PointBuffers(gl, "quantized", "motion");
    this.light = lightTexture(1, 1, 1);
    this.uniforms = {
      quantum: { value: 1 },
      velocityScale: { value: 1 },
      lead: { value: 0 },
      tankSize: { value: new THREE.Vector3(1, 1, 1) },
      radius: { value: 0.01 },
      pixelsPerUnit: { value: 1000 },
      speedRange: { value: 1 },
      channel: { value: 0 },
      voxelsPerMetre: { value: new THREE.Vector3(1, 1, 1) },
      voxel: { value: new THREE.Vector3(1, 1, 1) },
      lightVolume: { value: this.light },
      viewHeight: { value: 1000 },
      level: { value: new THREE.Vector3(0, 1, 0) },
      momentS: { value: 0 },
      shadowing: { value: 0 },
      pigment: { value: 0 },
      sunTank: { value: new THREE.Vector3(0, 1, 0) },
      sunDirection: { value: this.sun },
      upDirection: { value: this.up },
      ...room.uniforms,
    };
    this.material = new THREE.ShaderMaterial({
      glslVersion: THREE.GLSL3,
      vertexShader: particleVertex,
      fragmentShader: particleFragment,
      alphaToCoverage: true,
      defines: {},
      uniforms: this.uniforms,
    });
    this.add(this.material, LAYER.spheres);
    this.group.visible = false;
  }

  /** Draws the particles with one more program, on a layer; its uniforms are to include the particles' own. */
  add(material: THREE.ShaderMaterial, layer: number): void {
    const points = this.buffers.points(material, layer);
    for (const name of ["COLOURED", "CHANNEL"]) if (name in this.material.defines) material.defines[name] = 1;
    this.materials.push(material);
    this.group.add(points);
  }

  /** Takes back what `add` did; the program stays its maker's. */
  remove(material: THREE.ShaderMaterial): void {
    this.materials.splice(this.materials.indexOf(material), 1);
    for (const child of [...this.group.children])
      if ((child as THREE.Points).material === material) this.group.remove(child);
  }

  /** Whether the spheres are dots without a depth of their own. */
  flatten(flat: boolean): void {
    define(this.material, "FLAT", flat);
  }

  /** Colours the particles by a channel's values; null: as they are. */
  colour(scale: Scale | null): void {
    this.uniform("channel").value = scale?.source ?? 0;
    for (const material of this.materials) define(material, "CHANNEL", scale !== null);
    this.tellPigment();
  }

  /** Whether they are coloured so. */
  get isScaled(): boolean {
    return "CHANNEL" in this.material.defines;
  }

  /** Uploads a frame. */
  show(frame: DecodedFrame): void {
    const { info, views } = frame;
    const count = info.particleCount;
    this.info = info;
    this.watch?.(frame);
    if (count > this.buffers.capacity) this.buffers.reserve(slotCapacity(count));
    this.buffers.fill(views.positions, views.velocities, count);
    this.buffers.draw(count);
    this.group.visible = count > 0;
    // Another program where the frames have colours: without them there is nothing to pay.
    for (const material of this.materials) define(material, "COLOURED", info.coloured);
    this.tellPigment();

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
    (this.uniform("level").value as THREE.Vector3)
      .set(info.gravity[0] as number, info.gravity[1] as number, info.gravity[2] as number)
      .divideScalar(-Math.max(gravity, 1e-6));
    this.frameS = info.simTimeS;
    this.uniform("speedRange").value = topSpeed(info);
    (this.uniform("voxel").value as THREE.Vector3).set(0.58 / nx, 0.58 / ny, 0.58 / nz);
    (this.uniform("voxelsPerMetre").value as THREE.Vector3).set(
      1 / (nx * voxelM),
      1 / (ny * voxelM),
      1 / (nz * voxelM),
    );
  }

  /**
   * Sets what changes with every picture.
   * @param camera    of those programs that draw one view only
   * @param heightPx  of the view, or of each eye's
   */
  prepare(leadS: number, camera: THREE.PerspectiveCamera, heightPx: number): void {
    this.uniform("lead").value = leadS;
    this.uniform("momentS").value = (this.frameS + leadS) % MOMENTS_S;
    this.uniform("pixelsPerUnit").value = 0.5 * heightPx * (camera.projectionMatrix.elements[5] as number);
    this.uniform("viewHeight").value = heightPx;
    this.sun.fromArray(this.room.sun).transformDirection(camera.matrixWorldInverse);
    this.group.updateWorldMatrix(true, false);
    (this.uniform("sunTank").value as THREE.Vector3)
      .fromArray(this.room.sun)
      .transformDirection(this.turn.copy(this.group.matrixWorld).invert());
    this.up.set(0, 1, 0).transformDirection(camera.matrixWorldInverse);
  }

  /** Seconds by which the last picture moved the particles on. */
  get leadS(): number {
    return this.uniform("lead").value as number;
  }

  /** Lets a particle be drawn that is out of sight, so that drawing makes the programs; or none again. */
  warmUp(on: boolean): void {
    this.buffers.reserve(slotCapacity(0));
    this.uniform("quantum").value = FAR_M;
    (this.uniform("tankSize").value as THREE.Vector3).setScalar(FAR_M);
    this.buffers.draw(on ? 1 : 0);
    this.group.visible = on;
  }

  hide(): void {
    this.group.visible = false;
  }

  /** Metres of the view for one of the tank. */
  get scale(): number {
    this.group.updateWorldMatrix(true, false);
    const m = this.group.matrixWorld.elements;
    return Math.hypot(m[0] as number, m[1] as number, m[2] as number);
  }

  private tellPigment(): void {
    this.uniform("pigment").value = this.isScaled || this.info?.coloured ? 1 : 0;
  }

  private uniform(name: string): THREE.IUniform {
    return this.uniforms[name] as THREE.IUniform;
  }
}

function define(material: THREE.ShaderMaterial, name: string, wanted: boolean): void {
  if (wanted === name in material.defines) return;
  if (wanted) material.defines[name] = 1;
  else delete material.defines[name];
  material.needsUpdate = true;
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
