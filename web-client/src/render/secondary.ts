// Spray, foam and bubbles on the GPU, as they came from the decoding worker: beside spheres they are drawn here, beside
// water by its own passes (water/water.ts).
import * as THREE from "three";
import { SECONDARY_MAX } from "../codec/frame-info.js";
import { foamM } from "../codec/secondary-particles.js";
import type { DecodedFrame } from "../state/frame-stream.js";
import { LAYER } from "./layers.js";
import { PointBuffers } from "./point-buffers.js";
import { besideSpheresFragment, besideSpheresVertex } from "./secondary-shader.js";

const STEPS = 65535;
/** Out of every view's sight. */
const FAR_M = 1e6;

export class Secondary {
  /** In tank coordinates. */
  readonly group = new THREE.Group();
  /** Of every program that draws them; the particles' own among them. */
  readonly uniforms: Record<string, THREE.IUniform>;
  private readonly buffers: PointBuffers;
  private readonly points: THREE.Points[] = [];
  private readonly besideSpheres: THREE.Points;

  /** @param particles  uniforms of the programs that draw the particles */
  constructor(gl: WebGL2RenderingContext, particles: Record<string, THREE.IUniform>) {
    this.uniforms = { ...particles, placeScale: { value: 1 }, foamM: { value: 1 } };
    this.buffers = new PointBuffers(gl, "place", "motion");
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
    const points = this.buffers.points(material, layer);
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
    this.buffers.fill(views.secondaryPlaces, views.secondaryMotions, count);
    (this.uniforms.placeScale as THREE.IUniform).value = (Math.max(...info.cells) * info.cellM) / STEPS;
    (this.uniforms.foamM as THREE.IUniform).value = foamM(info);
  }

  /** Lets one be drawn that is out of sight, so that drawing makes the programs; or none again. */
  warmUp(on: boolean): void {
    (this.uniforms.placeScale as THREE.IUniform).value = FAR_M;
    this.draw(on ? 1 : 0);
  }

  private draw(count: number): void {
    if (count > 0) this.buffers.reserve(SECONDARY_MAX);
    this.group.visible = count > 0;
    this.buffers.draw(count);
  }
}
