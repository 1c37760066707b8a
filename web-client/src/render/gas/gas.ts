// Smoke or dye: the passes of one picture, for one view.
//
//     scene ─▶ puffs: what they take of light, what they scatter ─▶ picture ─▶ panes, cursor
//
// Both sums of the puffs are additions: nothing is sorted. How much of a puff is seen and lit comes from the light volume
// (puff-shader.ts). A particle stands for a fixed amount, so that smoke gets thinner as it spreads, but not as much as
// it would: what is drawn keeps within what a screen can show.
import * as THREE from "three";
import { FullScreenQuad } from "three/examples/jsm/postprocessing/Pass.js";
import type { Tier } from "../../state/quality.js";
import { LAYER } from "../layers.js";
import type { Particles } from "../particles.js";
import {
  ADDED,
  aim,
  clear,
  type Fluid,
  Maps,
  pass,
  passProgram,
  program,
  Sight,
  SMOOTH_EDGES_SAMPLES,
  sceneMap,
  set,
  type View,
} from "../passes.js";
import { gasComposeFragment } from "./gas-compose-shader.js";
import { type GasDrawing, LOOKS, type Look } from "./looks.js";
import { puffFragment, puffVertex } from "./puff-shader.js";

/** Of the view's size, and of a way of light how many places are looked up, by tier. */
const FINENESS: Readonly<Record<Exclude<Tier, "points">, { share: number; steps: number }>> = {
  spheres: { share: 0.25, steps: 3 },
  "water-low": { share: 0.5, steps: 5 },
  water: { share: 1, steps: 8 },
};
/** Particles in a cell where smoke is as thick as its look says: as tanks are seeded, deep or flat. */
const NOMINAL = 8;
const NOMINAL_FLAT = 4;
/** Radius of a puff, in distances of neighbours, deep or flat: many must overlap for smoke to be smooth. */
const SPREAD = 1.9;
const SPREAD_FLAT = 4;

class GasMaps {
  readonly scene: THREE.WebGLRenderTarget;
  readonly puffs: THREE.WebGLRenderTarget;

  constructor(
    readonly width: number,
    readonly height: number,
    share: number,
    samples: number,
  ) {
    this.scene = sceneMap(width, height, samples);
    this.puffs = new THREE.WebGLRenderTarget(Math.ceil(width * share), Math.ceil(height * share), {
      minFilter: THREE.LinearFilter,
      magFilter: THREE.LinearFilter,
      type: THREE.HalfFloatType,
      depthBuffer: false,
      count: 2,
    });
  }

  dispose(): void {
    this.scene.depthTexture?.dispose();
    this.scene.dispose();
    this.puffs.dispose();
  }
}

export class Gas implements Fluid {
  private readonly maps: Maps<GasMaps>;
  private readonly sight = new Sight();
  private readonly look: Look;
  private readonly puff: THREE.ShaderMaterial;
  private readonly compose: THREE.ShaderMaterial;
  private readonly quad = new FullScreenQuad();
  private readonly mapSize = new THREE.Vector2();
  private readonly eye = new THREE.Vector3();
  private readonly clearPerUnit = new THREE.Vector3();

  /** @param smoothEdges  of solids */
  constructor(
    private readonly renderer: THREE.WebGLRenderer,
    private readonly scene: THREE.Scene,
    private readonly particles: Particles,
    drawing: GasDrawing,
    tier: Exclude<Tier, "points">,
    smoothEdges: boolean,
  ) {
    const { share, steps } = FINENESS[tier];
    const samples = smoothEdges ? SMOOTH_EDGES_SAMPLES : 0;
    this.maps = new Maps(renderer, (width, height) => new GasMaps(width, height, share, samples));
    this.look = LOOKS[drawing];
    const own = particles.uniforms;
    const sight = { ...this.sight.uniforms, sceneDepth: { value: null } };
    this.puff = program(puffVertex, puffFragment, {
      ...own,
      ...sight,
      slowColour: { value: new THREE.Vector3(...this.look.colour) },
      fastColour: { value: new THREE.Vector3(...this.look.fast) },
      inky: { value: this.look.inky },
      scatter: { value: this.look.scatter },
      section: { value: 0 },
      spread: { value: 1 },
      flatTank: { value: 0 },
      covering: { value: 0 },
      eyeTank: { value: this.eye },
      mapSize: { value: this.mapSize },
    });
    this.puff.defines.MARCH_STEPS = steps;
    Object.assign(this.puff, ADDED);
    this.compose = passProgram(gasComposeFragment, {
      ...sight,
      tankSize: own.tankSize as THREE.IUniform,
      scene: { value: null },
      lit: { value: null },
      taken: { value: null },
      clearPerUnit: { value: this.clearPerUnit },
    });
    if (share < 1) this.compose.defines.COARSE = 1;
    Object.assign(this.compose, { depthTest: true, depthFunc: THREE.AlwaysDepth, depthWrite: true });
    particles.add(this.puff, LAYER.thickness);
  }

  draw(view: View): void {
    const { camera, viewport } = view;
    const { renderer, scene } = this;
    const maps = this.maps.of(viewport.z, viewport.w);
    this.use(maps);
    this.prepare(camera);
    const { autoClear } = renderer;
    const { mask } = camera.layers;
    renderer.autoClear = false;

    camera.layers.set(LAYER.scene);
    camera.layers.enable(LAYER.glass);
    clear(renderer, maps.scene);
    renderer.render(scene, camera);
    pass(renderer, scene, this.particles, maps.puffs, camera, LAYER.thickness);

    aim(renderer, view);
    this.quad.material = this.compose;
    this.quad.render(renderer);
    camera.layers.set(LAYER.front);
    renderer.render(scene, camera);

    camera.layers.mask = mask;
    renderer.autoClear = autoClear;
  }

  dispose(): void {
    this.particles.remove(this.puff);
    (this.particles.uniforms.shadowing as THREE.IUniform).value = 0;
    this.puff.dispose();
    this.compose.dispose();
    this.quad.dispose();
    this.maps.dispose();
  }

  private use({ scene, puffs }: GasMaps): void {
    this.mapSize.set(puffs.width, puffs.height);
    set(this.puff, "sceneDepth", scene.depthTexture);
    set(this.compose, "scene", scene.texture);
    set(this.compose, "lit", puffs.textures[0]);
    set(this.compose, "taken", puffs.textures[1]);
  }

  private prepare(camera: THREE.PerspectiveCamera): void {
    const { group, uniforms, scale } = this.particles;
    this.sight.see(camera, group);
    this.eye.setFromMatrixPosition(this.sight.uniforms.viewToTank.value);
    const size = (uniforms.tankSize as THREE.IUniform<THREE.Vector3>).value;
    const flat = this.measure(size);
    // In a flat tank light comes from above and from the side only.
    if (flat) (uniforms.sunTank as THREE.IUniform<THREE.Vector3>).value.setZ(0).normalize();
    this.clearPerUnit.set(...this.look.clear).divideScalar(edgeOf(size, flat) * scale);
  }

  /** How large the particles are and how much each one stands for. @return whether the tank is flat */
  private measure(size: THREE.Vector3): boolean {
    const { info, uniforms } = this.particles;
    if (info === null || info.particleCount === 0) return false;
    const { look } = this;
    const { cellM, crowding } = info;
    const flat = info.cells[2] === 1;
    const edge = edgeOf(size, flat);
    const nominal = Math.sqrt((flat ? NOMINAL_FLAT : NOMINAL) * crowding);
    const perMetre = flat ? look.flatDepth / cellM : look.depth / edge;
    const section = (perMetre * cellM ** 3) / nominal;
    set(this.puff, "section", (section * info.particlesTotal) / info.particleCount);
    set(
      this.puff,
      "spread",
      cellM * (flat ? SPREAD_FLAT * crowding ** -0.5 : SPREAD * Math.cbrt(1 / crowding)),
    );
    set(this.puff, "flatTank", flat ? 1 : 0);
    const thickness = crowding / nominal;
    set(this.puff, "covering", flat ? 0 : perMetre * thickness);
    (uniforms.shadowing as THREE.IUniform).value =
      ((flat ? look.flatShadow : look.shadow) * thickness) / edge;
    return flat;
  }
}

/** Of a cube, or of a square, as large as the tank, metres. */
function edgeOf({ x, y, z }: THREE.Vector3, flat: boolean): number {
  return flat ? Math.sqrt(x * y) : Math.cbrt(x * y * z);
}
