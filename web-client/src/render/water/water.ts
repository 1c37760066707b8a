// The water as water: the passes of one picture, for one view.
//
//     distances ─▶ smoothed along x, y, y, x ─┬─▶ surface ──────────────────────────┐
//                                             ├─▶ scene, what is behind the water ──┼─▶ picture ─▶ what is before the
//                                             └─▶ volume: thickness, colour, foam ──┘              water, panes, cursor
//
// The scene's depth bounds the volume. All of them take the smoothed distances: what is parted at the water's surface
// is parted at the one that is seen.
//
// A view is a camera and a part of a target: the canvas, or an eye of a headset. Maps are made for a view's size and
// kept; nothing is allocated for a picture. Lengths are the view's: the tank may be drawn at any scale.
import * as THREE from "three";
import { FullScreenQuad } from "three/examples/jsm/postprocessing/Pass.js";
import { LAYER } from "../layers.js";
import type { Particles } from "../particles.js";
import { PART, waterBeside } from "./beside-water.js";
import { composeFragment, composeVertex } from "./compose-shader.js";
import { filterFragment } from "./filter-shader.js";
import { type Kernel, ROUNDS, setKernel } from "./kernel.js";
import { normalFragment } from "./normal-shader.js";
import { distanceFragment, distanceVertex, thicknessFragment, thicknessVertex } from "./surface-shader.js";
import { Targets, type WaterTier } from "./targets.js";

/** Of a colourless liquid, linear. */
const WATER_COLOUR = [0.06, 0.5, 0.72] as const;
/** Taps to either side when the surface is smoothed along an axis. */
const TAPS: Readonly<Record<WaterTier, number>> = { "water-low": 6, water: 9 };
/** Light comes through so many edges of a cube as large as the tank, coloured once. */
const CLEAR = 0.5;
/** The same where colours say something: what is behind the water mixes in less. */
const CLEAR_SCALED = 0.08;
const SMOOTH_EDGES_SAMPLES = 4;
/** Maps for a headset are kept for so many sizes: its eyes may differ. */
const SIZES_MAX = 2;

/** Where a picture goes. */
export interface View {
  camera: THREE.PerspectiveCamera;
  /** null: the canvas. */
  target: THREE.WebGLRenderTarget | null;
  /** Left, bottom, width and height in the target, pixels. */
  viewport: THREE.Vector4;
}

export class Water {
  /** The one used last first. */
  private readonly targets: Targets[] = [];
  private readonly kernel: Kernel = { tapsMax: 1, reachPx: 1, range: 1, pull: 1 };
  private readonly lens = new THREE.Vector4();
  private readonly focal = new THREE.Vector2();
  private readonly mapSize = new THREE.Vector2();
  private readonly depthToDistance = new THREE.Vector2();
  private readonly rotation = new THREE.Matrix3();
  private readonly viewToTank = new THREE.Matrix4();
  private readonly pixels = new THREE.Vector4();
  private readonly distance: THREE.ShaderMaterial;
  private readonly thickness: THREE.ShaderMaterial;
  private readonly filter: THREE.ShaderMaterial;
  private readonly normal: THREE.ShaderMaterial;
  private readonly compose: THREE.ShaderMaterial;
  private readonly quad = new FullScreenQuad();
  private readonly axisX = new THREE.Vector2(1, 0);
  private readonly axisY = new THREE.Vector2(0, 1);

  /**
   * @param smoothEdges  of solids
   * @param sky          colour of the room's light, linear
   */
  constructor(
    private readonly renderer: THREE.WebGLRenderer,
    private readonly scene: THREE.Scene,
    private readonly particles: Particles,
    private readonly tier: WaterTier,
    private readonly smoothEdges: boolean,
    sky: THREE.Color,
  ) {
    const own = particles.uniforms;
    const tank = { viewToTank: { value: this.viewToTank }, tankSize: own.tankSize as THREE.IUniform };
    const shared = { lens: { value: this.lens }, depthToDistance: { value: this.depthToDistance } };
    this.distance = program(distanceVertex, distanceFragment, { ...own, ...tank });
    this.thickness = program(thicknessVertex, thicknessFragment, {
      ...own,
      waterColour: { value: new THREE.Vector3(...WATER_COLOUR) },
      surface: { value: null },
      sceneDepth: { value: null },
      mapSize: { value: this.mapSize },
      depthToDistance: shared.depthToDistance,
    });
    Object.assign(this.thickness, {
      depthTest: false,
      depthWrite: false,
      transparent: true,
      blending: THREE.CustomBlending,
      blendSrc: THREE.OneFactor,
      blendDst: THREE.OneFactor,
      blendEquation: THREE.AddEquation,
    });
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
      focal: { value: this.focal },
      viewToRoom: { value: this.rotation },
      sunDirection: own.sunDirection as THREE.IUniform,
      upDirection: own.upDirection as THREE.IUniform,
      skyColour: { value: sky },
      clearM: { value: 1 },
      radius: { value: 1 },
    });
    Object.assign(this.compose, { depthTest: true, depthFunc: THREE.AlwaysDepth, depthWrite: true });
    particles.add(this.distance, LAYER.depth);
    particles.add(this.thickness, LAYER.thickness);
  }

  /**
   * Draws one view, every pixel of it. The particles are prepared for its camera.
   * @param tankM  edge of a cube as large as the tank, in its own metres
   */
  draw(view: View, tankM: number): void {
    const { camera, viewport } = view;
    const targets = this.sized(viewport.z, viewport.w);
    this.prepare(camera, targets, tankM);
    const { renderer } = this;
    const autoClear = renderer.autoClear;
    const mask = camera.layers.mask;
    renderer.autoClear = false;

    this.pass(targets.distances, camera, LAYER.depth);
    this.smooth(targets);
    waterBeside.waterDistances.value = targets.distances.texture;
    waterBeside.waterPart.value = PART.behind;
    waterBeside.waterView.value.set(0, 0, viewport.z, viewport.w);
    camera.layers.set(LAYER.scene);
    camera.layers.enable(LAYER.glass);
    this.clear(targets.scene);
    renderer.render(this.scene, camera);
    this.pass(targets.volume, camera, LAYER.thickness);

    this.full(this.normal, targets.surface);

    this.aim(view);
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
    for (const material of [this.distance, this.thickness, this.filter, this.normal, this.compose])
      material.dispose();
    this.quad.dispose();
    for (const targets of this.targets) targets.dispose();
    this.targets.length = 0;
    waterBeside.waterDistances.value = null;
  }

  private sized(width: number, height: number): Targets {
    const at = this.targets.findIndex((one) => one.width === width && one.height === height);
    const known = at < 0 ? undefined : this.targets[at];
    if (at === 0) return known as Targets;
    if (known !== undefined) this.targets.splice(at, 1);
    const kept = this.renderer.xr.isPresenting ? SIZES_MAX : 1;
    while (this.targets.length >= kept) this.targets.pop()?.dispose();
    const samples = this.smoothEdges ? SMOOTH_EDGES_SAMPLES : 0;
    const targets = known ?? new Targets(this.tier, width, height, samples);
    this.targets.unshift(targets);
    set(this.thickness, "surface", targets.distances.texture);
    set(this.thickness, "sceneDepth", targets.scene.depthTexture);
    this.mapSize.set(targets.volume.width, targets.volume.height);
    set(this.normal, "distances", targets.distances.texture);
    set(this.compose, "scene", targets.scene.texture);
    set(this.compose, "sceneDepth", targets.scene.depthTexture);
    set(this.compose, "surface", targets.surface.texture);
    set(this.compose, "colours", targets.volume.textures[0]);
    set(this.compose, "amounts", targets.volume.textures[1]);
    return targets;
  }

  /** Sets what follows from the camera and the tank. */
  private prepare(camera: THREE.PerspectiveCamera, targets: Targets, tankM: number): void {
    const p = camera.projectionMatrix.elements as number[];
    const [fx, fy] = [p[0] as number, p[5] as number];
    const [cx, cy] = [p[8] as number, p[9] as number];
    this.lens.set((cx - 1) / fx, (cy - 1) / fy, 2 / fx, 2 / fy);
    this.depthToDistance.set(0.5 - 0.5 * (p[10] as number), -0.5 * (p[14] as number));
    this.rotation.setFromMatrix4(camera.matrixWorld);
    const { group, scale } = this.particles;
    group.updateWorldMatrix(true, false);
    this.viewToTank.copy(group.matrixWorld).invert().multiply(camera.matrixWorld);
    const radius = scale * ((this.particles.uniforms.radius as THREE.IUniform).value as number);
    setKernel(this.kernel, radius, 0.5 * fy * targets.distances.height);
    set(this.filter, "range", this.kernel.range);
    set(this.filter, "pull", this.kernel.pull);
    set(this.normal, "range", this.kernel.range);
    set(this.compose, "clearM", (this.particles.isScaled ? CLEAR_SCALED : CLEAR) * tankM * scale);
    set(this.compose, "radius", radius);
    this.focal.set(0.5 * fx, 0.5 * fy);
  }

  /** The particles with one of their programs, into a map of their own. */
  private pass(target: THREE.WebGLRenderTarget, camera: THREE.PerspectiveCamera, layer: number): void {
    const pixelsPerUnit = this.particles.uniforms.pixelsPerUnit as THREE.IUniform;
    pixelsPerUnit.value = 0.5 * (camera.projectionMatrix.elements[5] as number) * target.height;
    camera.layers.set(layer);
    this.clear(target);
    this.renderer.render(this.scene, camera);
  }

  private clear(target: THREE.WebGLRenderTarget): void {
    this.renderer.setRenderTarget(target);
    this.renderer.clear(true, target.depthBuffer, false);
  }

  /** Along x and y, then along y and x: what one axis can't smooth beside a silhouette, the other one does. */
  private smooth(targets: Targets): void {
    for (const [round, { share, strideMax }] of ROUNDS.entries()) {
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

  /** Directs what follows to the view's part of its target. */
  private aim({ target, viewport }: View): void {
    if (target !== null) target.viewport.copy(viewport);
    this.renderer.setRenderTarget(target);
    if (target !== null) return;
    this.pixels.copy(viewport).divideScalar(this.renderer.getPixelRatio());
    this.renderer.setViewport(this.pixels);
  }
}

function program(
  vertexShader: string,
  fragmentShader: string,
  uniforms: Record<string, THREE.IUniform>,
): THREE.ShaderMaterial {
  return new THREE.ShaderMaterial({ glslVersion: THREE.GLSL3, vertexShader, fragmentShader, uniforms });
}

function passProgram(fragmentShader: string, uniforms: Record<string, THREE.IUniform>): THREE.ShaderMaterial {
  const material = program(composeVertex, fragmentShader, uniforms);
  material.depthTest = false;
  material.depthWrite = false;
  return material;
}

function set(material: THREE.ShaderMaterial, name: string, value: unknown): void {
  (material.uniforms[name] as THREE.IUniform).value = value;
}
