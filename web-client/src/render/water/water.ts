// The water as water: the passes of one picture, for one view.
//
//     distances ─▶ smoothed along x, y, y, x ─┬─▶ surface ──────────────────────────┐
//                                             ├─▶ scene, what is behind the water ──┼─▶ picture ─▶ what is before the
//                                             ├─▶ volume: thickness, colour ────────┤              water, panes, cursor
//                                             └─▶ white: foam, bubbles, spray ──────┘
//
// The scene's depth bounds the volume and what is white. All of them take the smoothed distances: what is parted at the water's surface
// is parted at the one that is seen.
//
// A view is a camera and a part of a target: the canvas, or an eye of a headset. Maps are made for a view's size and
// kept; nothing is allocated for a picture. Lengths are the view's: the tank may be drawn at any scale.
import * as THREE from "three";
import { FullScreenQuad } from "three/examples/jsm/postprocessing/Pass.js";
import { CLEAR, WATER_COLOUR } from "../../shader/absorption.js";
import type { RoomUniforms } from "../../shader/room.js";
import { LAYER } from "../layers.js";
import type { Particles } from "../particles.js";
import {
  ADDED,
  aim,
  COVERING,
  clear,
  type Fluid,
  Maps,
  pass,
  passProgram,
  program,
  Sight,
  SMOOTH_EDGES_SAMPLES,
  set,
  type View,
} from "../passes.js";
import type { Secondary } from "../secondary.js";
import { PART, waterBeside } from "./beside-water.js";
import { composeFragment } from "./compose-shader.js";
import { filterFragment } from "./filter-shader.js";
import { type Kernel, ROUNDS, type Round, setKernel } from "./kernel.js";
import { normalFragment } from "./normal-shader.js";
import { distanceFragment, distanceVertex, thicknessFragment, thicknessVertex } from "./surface-shader.js";
import { Targets, type WaterTier } from "./targets.js";
import { whiteFragment, whiteVertex } from "./white-shader.js";

/** Taps to either side when the surface is smoothed along an axis. */
const TAPS: Readonly<Record<WaterTier, number>> = { "water-low": 6, water: 9 };
/** CLEAR where colours say something: what is behind the water mixes in less. */
const CLEAR_SCALED = 0.08;

export class Water implements Fluid {
  private readonly targets: Maps<Targets>;
  private readonly sight = new Sight();
  private readonly kernel: Kernel = { tapsMax: 1, reachPx: 1, range: 1, pull: 1 };
  private readonly focal = new THREE.Vector2();
  private readonly mapSize = new THREE.Vector2();
  private readonly whiteSize = new THREE.Vector2();
  private readonly rotation = new THREE.Matrix3();
  private readonly distance: THREE.ShaderMaterial;
  private readonly thickness: THREE.ShaderMaterial;
  private readonly white: THREE.ShaderMaterial;
  private readonly filter: THREE.ShaderMaterial;
  private readonly normal: THREE.ShaderMaterial;
  private readonly compose: THREE.ShaderMaterial;
  private readonly clear: { value: number };
  private readonly quad = new FullScreenQuad();
  private readonly axisX = new THREE.Vector2(1, 0);
  private readonly axisY = new THREE.Vector2(0, 1);

  /**
   * @param smoothEdges  of solids
   * @param light        the room that it mirrors
   */
  constructor(
    private readonly renderer: THREE.WebGLRenderer,
    private readonly scene: THREE.Scene,
    private readonly particles: Particles,
    private readonly secondary: Secondary,
    tier: WaterTier,
    smoothEdges: boolean,
    light: RoomUniforms,
  ) {
    const samples = smoothEdges ? SMOOTH_EDGES_SAMPLES : 0;
    this.targets = new Maps(renderer, (width, height) => new Targets(tier, width, height, samples));
    const own = particles.uniforms;
    const { lens, depthToDistance, viewToTank } = this.sight.uniforms;
    const tank = { viewToTank, tankSize: own.tankSize as THREE.IUniform };
    const shared = { lens, depthToDistance };
    this.distance = program(distanceVertex, distanceFragment, { ...own, ...tank });
    this.thickness = program(thicknessVertex, thicknessFragment, {
      ...own,
      waterColour: { value: new THREE.Vector3(...WATER_COLOUR) },
      surface: { value: null },
      sceneDepth: { value: null },
      mapSize: { value: this.mapSize },
      depthToDistance,
    });
    Object.assign(this.thickness, ADDED);
    this.clear = { value: 1 };
    this.white = program(whiteVertex, whiteFragment, {
      ...secondary.uniforms,
      surface: { value: null },
      sceneDepth: { value: null },
      mapSize: { value: this.whiteSize },
      depthToDistance,
      clearM: this.clear,
    });
    Object.assign(this.white, COVERING);
    this.filter = passProgram(filterFragment, {
      distances: { value: null },
      axis: { value: this.axisX },
      reachPx: { value: 1 },
      strideMax: { value: 1 },
      range: { value: 1 },
      pull: { value: 1 },
    });
    this.kernel.tapsMax = TAPS[tier];
    this.filter.defines.TAPS_MAX = this.kernel.tapsMax;
    this.normal = passProgram(normalFragment, {
      distances: { value: null },
      lens: shared.lens,
      range: { value: 1 },
      upDirection: own.upDirection as THREE.IUniform,
    });
    this.compose = passProgram(composeFragment, {
      ...shared,
      ...tank,
      scene: { value: null },
      sceneDepth: { value: null },
      surface: { value: null },
      colours: { value: null },
      amounts: { value: null },
      white: { value: null },
      focal: { value: this.focal },
      viewToRoom: { value: this.rotation },
      sunDirection: own.sunDirection as THREE.IUniform,
      upDirection: own.upDirection as THREE.IUniform,
      ...light,
      clearM: this.clear,
      pigment: own.pigment as THREE.IUniform,
      radius: { value: 1 },
    });
    Object.assign(this.compose, { depthTest: true, depthFunc: THREE.AlwaysDepth, depthWrite: true });
    particles.add(this.distance, LAYER.depth);
    particles.add(this.thickness, LAYER.thickness);
    secondary.add(this.white, LAYER.secondary);
  }

  draw(view: View, tankM: number): void {
    const { camera, viewport } = view;
    const targets = this.sized(viewport.z, viewport.w);
    this.prepare(camera, targets, tankM);
    const { renderer } = this;
    const autoClear = renderer.autoClear;
    const mask = camera.layers.mask;
    renderer.autoClear = false;

    pass(renderer, this.scene, this.particles, targets.distances, camera, LAYER.depth);
    this.smooth(targets);
    waterBeside.waterDistances.value = targets.distances.texture;
    waterBeside.waterPart.value = PART.behind;
    waterBeside.waterView.value.set(0, 0, viewport.z, viewport.w);
    camera.layers.set(LAYER.scene);
    camera.layers.enable(LAYER.glass);
    clear(renderer, targets.scene);
    renderer.render(this.scene, camera);
    pass(renderer, this.scene, this.particles, targets.volume, camera, LAYER.thickness);
    pass(renderer, this.scene, this.particles, targets.white, camera, LAYER.secondary);

    this.full(this.normal, targets.surface);

    aim(renderer, view);
    this.quad.material = this.compose;
    this.quad.render(renderer);
    waterBeside.waterPart.value = PART.before;
    waterBeside.waterView.value.copy(viewport);
    camera.layers.set(LAYER.glass);
    camera.layers.enable(LAYER.front);
    renderer.render(this.scene, camera);

    waterBeside.waterPart.value = PART.whole;
    camera.layers.mask = mask;
    renderer.autoClear = autoClear;
  }

  dispose(): void {
    this.particles.remove(this.distance);
    this.particles.remove(this.thickness);
    this.secondary.remove(this.white);
    for (const material of [
      this.distance,
      this.thickness,
      this.white,
      this.filter,
      this.normal,
      this.compose,
    ])
      material.dispose();
    this.quad.dispose();
    this.targets.dispose();
    waterBeside.waterDistances.value = null;
  }

  private sized(width: number, height: number): Targets {
    const targets = this.targets.of(width, height);
    set(this.thickness, "surface", targets.distances.texture);
    set(this.thickness, "sceneDepth", targets.scene.depthTexture);
    this.mapSize.set(targets.volume.width, targets.volume.height);
    set(this.white, "surface", targets.distances.texture);
    set(this.white, "sceneDepth", targets.scene.depthTexture);
    this.whiteSize.set(targets.white.width, targets.white.height);
    set(this.normal, "distances", targets.distances.texture);
    set(this.compose, "scene", targets.scene.texture);
    set(this.compose, "sceneDepth", targets.scene.depthTexture);
    set(this.compose, "surface", targets.surface.texture);
    set(this.compose, "colours", targets.volume.textures[0]);
    set(this.compose, "amounts", targets.volume.textures[1]);
    set(this.compose, "white", targets.white.texture);
    return targets;
  }

  /** Sets what follows from the camera and the tank. */
  private prepare(camera: THREE.PerspectiveCamera, targets: Targets, tankM: number): void {
    const p = camera.projectionMatrix.elements as number[];
    const [fx, fy] = [p[0] as number, p[5] as number];
    this.rotation.setFromMatrix4(camera.matrixWorld);
    const { group, scale } = this.particles;
    this.sight.see(camera, group);
    const radius = scale * ((this.particles.uniforms.radius as THREE.IUniform).value as number);
    setKernel(this.kernel, radius, 0.5 * fy * targets.distances.height);
    set(this.filter, "range", this.kernel.range);
    set(this.filter, "pull", this.kernel.pull);
    set(this.normal, "range", this.kernel.range);
    this.clear.value = (this.particles.isScaled ? CLEAR_SCALED : CLEAR) * tankM * scale;
    // They would hide the colours.
    this.white.visible = !this.particles.isScaled;
    set(this.compose, "radius", radius);
    this.focal.set(0.5 * fx, 0.5 * fy);
  }

  /** Along x and y, then along y and x: what one axis can't smooth beside a silhouette, the other one does. */
  private smooth(targets: Targets): void {
    for (let round = 0; round < ROUNDS.length; round++) {
      const { share, strideMax } = ROUNDS[round] as Round;
      set(this.filter, "reachPx", share * this.kernel.reachPx);
      set(this.filter, "strideMax", strideMax);
      this.smoothAlong(round % 2 === 0 ? this.axisX : this.axisY, targets.distances, targets.smoothed);
      this.smoothAlong(round % 2 === 0 ? this.axisY : this.axisX, targets.smoothed, targets.distances);
    }
  }

  private smoothAlong(axis: THREE.Vector2, from: THREE.WebGLRenderTarget, to: THREE.WebGLRenderTarget): void {
    set(this.filter, "axis", axis);
    set(this.filter, "distances", from.texture);
    this.full(this.filter, to);
  }

  private full(material: THREE.ShaderMaterial, target: THREE.WebGLRenderTarget): void {
    this.renderer.setRenderTarget(target);
    this.quad.material = material;
    this.quad.render(this.renderer);
  }
}
