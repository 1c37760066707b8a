// The vorticity of a tank as arrows, for learning: one for each voxel of a coarse grid that holds particles, along the
// axis that what is there turns about, as long and as yellow as it turns fast.
import * as THREE from "three";
import { topVorticity } from "../../codec/frame-info.js";
import { ARROW_VALUES, CurlField } from "../../state/curl-field.js";
import type { DecodedFrame } from "../../state/frame-stream.js";
import { LAYER } from "../layers.js";
import type { Particles } from "../particles.js";
import { aim, type Fluid, program, set, type View } from "../passes.js";
import { arrowFragment, arrowVertex } from "./arrow-shader.js";

/** Half of the longest arrow, in edges of a voxel. */
const LONGEST = 1.3;

export class Arrows implements Fluid {
  private readonly field = new CurlField();
  private readonly geometry = new THREE.BufferGeometry();
  private readonly material: THREE.ShaderMaterial;
  private buffer = new THREE.InterleavedBuffer(new Float32Array(0), ARROW_VALUES);

  constructor(
    private readonly renderer: THREE.WebGLRenderer,
    private readonly scene: THREE.Scene,
    private readonly particles: Particles,
  ) {
    this.material = program(arrowVertex, arrowFragment, {
      longest: { value: 1 },
      topVorticity: { value: 1 },
      pixelsPerUnit: particles.uniforms.pixelsPerUnit as THREE.IUniform,
    });
    this.material.transparent = true;
    const points = new THREE.Points(this.geometry, this.material);
    points.frustumCulled = false;
    points.layers.set(LAYER.depth);
    this.geometry.setDrawRange(0, 0);
    particles.group.add(points);
    particles.watch = (frame) => this.show(frame);
  }

  draw(view: View): void {
    const { camera } = view;
    const { renderer, scene } = this;
    const { mask } = camera.layers;
    camera.layers.disableAll();
    for (const layer of [LAYER.scene, LAYER.depth, LAYER.glass, LAYER.front]) camera.layers.enable(layer);
    aim(renderer, view);
    renderer.render(scene, camera);
    camera.layers.mask = mask;
  }

  dispose(): void {
    const { particles } = this;
    particles.watch = null;
    for (const child of [...particles.group.children])
      if ((child as THREE.Points).material === this.material) particles.group.remove(child);
    this.geometry.dispose();
    this.material.dispose();
  }

  private show({ info, views }: DecodedFrame): void {
    const { field } = this;
    field.compute(info, views);
    if (this.buffer.array !== field.arrows) {
      this.buffer = new THREE.InterleavedBuffer(field.arrows, ARROW_VALUES);
      this.buffer.setUsage(THREE.DynamicDrawUsage);
      this.geometry.setAttribute("position", new THREE.InterleavedBufferAttribute(this.buffer, 3, 0));
      this.geometry.setAttribute("vorticity", new THREE.InterleavedBufferAttribute(this.buffer, 3, 3));
    }
    this.buffer.needsUpdate = true;
    this.geometry.setDrawRange(0, field.count);
    set(this.material, "longest", LONGEST * field.edge * info.cellM);
    set(this.material, "topVorticity", topVorticity(info));
  }
}
