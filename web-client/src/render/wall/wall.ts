// A flat tank that is full of fluid, drawn as a surface of it: the passes of one picture, for one view.
//
//     particles ─▶ splat ─▶ flow ─┬─▶ dye, matter ──────────────┬─▶ wall, in the scene
//         hands, cells' speeds ──┘  └▶ waves ─▶ surface ─▶ caustics ┘
//
// The particles are what the flow is found from, not the grid of the flow that frames carry: that grid is fitted to the
// particles (protocol/STREAM.md), has no tiles where none are either, and holds one frame's way, while particles are moved
// on to the time that the display shows. So a cell's mean of them is smooth in time, costs no copy out of the decoder, and
// what lies between them is filled in from coarser means, ever slower (wall-steps-shader.ts). Of clear fluid frames say how
// fast it is, where a page asks for that (state/wall-field.ts): it raises waves and heats, but has no direction and carries
// nothing. Pointers that are pressed move it, too, before a frame says so (state/wall-hands.ts).
//
// The dye is carried along that flow at the picture's own resolution, and drawn towards the particles' colours, so that it
// neither drifts nor fades otherwise than theirs. All looks share the passes; they differ in numbers (wall-looks.ts) and in
// the middle of the last program (wall-paint-shader.ts).
import * as THREE from "three";
import { FullScreenQuad } from "three/examples/jsm/postprocessing/Pass.js";
import type { Tier } from "../../state/quality.js";
import { HAND_VALUES, HANDS, KIND_VALUES, WallHands } from "../../state/wall-hands.js";
import type { WallLook } from "../../state/wall-look.js";
import { WALL_AT } from "../../state/wall-part.js";
import { LAYER } from "../layers.js";
import type { Particles } from "../particles.js";
import { ADDED, aim, type Fluid, pass, passProgram, program, set, type View } from "../passes.js";
import { WALL_STYLES } from "./wall-looks.js";
import { dyeSize, type Fineness, Pair, sized, WALL_FINENESS, wallMap } from "./wall-maps.js";
import { makeNoise } from "./wall-noise.js";
import { shadeFragment, shadeVertex } from "./wall-shade-shader.js";
import type { WallSpeeds } from "./wall-speeds.js";
import {
  causticFragment,
  causticVertex,
  dyeFragment,
  flowFragment,
  splatFragment,
  splatVertex,
  surfaceFragment,
  waveFragment,
} from "./wall-steps-shader.js";

/** After a longer time between two pictures fluid goes on as after this one, seconds. */
const STEP_MAX_S = 0.25;
/** In which the flow follows the particles' mean, seconds. */
const FOLLOW_S = 0.07;
/** Of waves, edges per second; and in one step they come no farther than this share of a texel. */
const WAVE_SPEED = 0.12;
const REACH = 0.6;
const WAVE_STEPS_MAX = 6;
/** Cells on the wall's longer side, at most, that particles are added up in. */
const SPLAT_MAX = 512;
/** Radius of a particle there, in cells; particles in a cell where dye is thick. */
const SPREAD_CELLS = 1.9;
const NOMINAL = 4;
const NOISE_TEXELS = 256;
/** Quads of the net of sunlight on the longer side, for texels of what it lands on. */
const NET_SHARE = 0.4;
/** What changes by itself starts again after so long: a float has few digits. */
const MOMENTS_S = 4096;

export class Wall implements Fluid {
  /** Now, ms, as pictures are timed: the fluid goes on by what passed since the one before. */
  nowMs = 0;
  /** Of a recording: how much faster than it was it plays; 0: it stands still. */
  speed = 1;

  private readonly extent = new THREE.Vector2(1, 1);
  private readonly programs: Record<
    "splat" | "flow" | "dye" | "wave" | "surface" | "caustic",
    THREE.ShaderMaterial
  >;
  private readonly shade: THREE.ShaderMaterial;
  private readonly moment = { value: 0 };
  private readonly quad = new FullScreenQuad();
  private readonly wall: THREE.Mesh;
  private readonly net = new THREE.Scene();
  private readonly flat = new THREE.Camera();
  private readonly noise: THREE.DataTexture;
  private readonly moves: THREE.Vector4[] = [];
  private readonly kinds: THREE.Vector2[] = [];
  private readonly waveType: THREE.TextureDataType;

  private look: WallLook = "water";
  private tier: Exclude<Tier, "points"> = "spheres";
  private splat: THREE.WebGLRenderTarget | null = null;
  /** What moves on it by itself. */
  readonly hands = new WallHands();
  private flow: Pair | null = null;
  private dye: Pair | null = null;
  private waves: Pair | null = null;
  private surface: THREE.WebGLRenderTarget | null = null;
  private caustics: THREE.WebGLRenderTarget | null = null;
  private drawnMs = Number.NaN;
  private epoch = -1;
  private edgeM = 1;
  /** What the maps were made for. */
  private pixels = 0;
  private cellsX = 0;
  private cellsY = 0;
  private sizedTier: Tier = "points";

  constructor(
    private readonly renderer: THREE.WebGLRenderer,
    private readonly scene: THREE.Scene,
    private readonly particles: Particles,
    private readonly speeds: WallSpeeds,
  ) {
    for (let i = 0; i < HANDS; i++) {
      this.moves.push(new THREE.Vector4());
      this.kinds.push(new THREE.Vector2(1, 0));
    }
    const hasFloats = renderer.getContext().getExtension("OES_texture_float_linear") !== null;
    this.waveType = hasFloats ? THREE.FloatType : THREE.HalfFloatType;
    this.noise = noiseTexture();
    this.programs = this.createPrograms();
    this.shade = program(shadeVertex, "", {
      ...this.shared(),
      surface: { value: null },
      dyes: { value: null },
      matter: { value: null },
      caustics: { value: null },
    });
    this.shade.side = THREE.DoubleSide;
    this.wall = new THREE.Mesh(new THREE.PlaneGeometry(1, 1).translate(0.5, 0.5, 0), this.shade);
    this.wall.layers.set(LAYER.wall);
    this.wall.frustumCulled = false;
    particles.group.add(this.wall);
    particles.add(this.programs.splat, LAYER.splat);
    this.show("water", "spheres");
  }

  /** Looks otherwise from now on, or as finely as another tier; what is under way goes on. */
  show(look: WallLook, tier: Exclude<Tier, "points">): void {
    const isOther = look !== this.look || tier !== this.tier || this.shade.fragmentShader === "";
    if (!isOther) return;
    this.look = look;
    this.tier = tier;
    const style = WALL_STYLES[look];
    const { splat, dye, wave, surface, caustic } = this.programs;
    (splat.uniforms.plain as THREE.IUniform<THREE.Vector3>).value.set(...style.plain);
    for (const name of ["pulls", "clears", "settles", "heats", "cools"] as const) set(dye, name, style[name]);
    for (const name of ["hollow", "bow"] as const) set(wave, name, style[name]);
    set(surface, "swell", style.swell);
    set(surface, "veils", style.veils);
    set(caustic, "depth", style.depth);
    this.shade.fragmentShader = shadeFragment(look, this.fineness.steps);
    this.shade.needsUpdate = true;
  }

  draw(view: View): void {
    const { camera } = view;
    const { renderer, scene, particles } = this;
    const { info } = particles;
    const { mask } = camera.layers;
    const { autoClear } = renderer;
    renderer.autoClear = false;
    if (info !== null) {
      this.prepare(view);
      this.step(view, info.paused);
    }
    // Beside an eye's picture there is the other one's.
    renderer.autoClear = autoClear && view.target === null;
    this.wall.visible = info !== null;
    camera.layers.disableAll();
    for (const layer of [LAYER.scene, LAYER.wall, LAYER.glass, LAYER.front]) camera.layers.enable(layer);
    aim(renderer, view);
    renderer.render(scene, camera);
    renderer.autoClear = autoClear;
    camera.layers.mask = mask;
  }

  dispose(): void {
    const { particles } = this;
    particles.remove(this.programs.splat);
    particles.group.remove(this.wall);
    this.wall.geometry.dispose();
    for (const mesh of this.net.children) (mesh as THREE.Mesh).geometry.dispose();
    for (const one of Object.values(this.programs)) one.dispose();
    for (const map of [this.splat, this.flow, this.dye, this.waves, this.surface, this.caustics])
      map?.dispose();
    this.shade.dispose();
    this.noise.dispose();
    this.quad.dispose();
  }

  private get fineness(): Fineness {
    return WALL_FINENESS[this.tier];
  }

  private shared(): Record<string, THREE.IUniform> {
    return { extent: { value: this.extent }, noise: { value: this.noise }, momentS: this.moment };
  }

  private createPrograms(): Wall["programs"] {
    const shared = this.shared();
    const none = (...names: string[]): Record<string, THREE.IUniform> =>
      Object.fromEntries(names.map((name) => [name, { value: null }]));
    const numbers = (...names: string[]): Record<string, THREE.IUniform> =>
      Object.fromEntries(names.map((name) => [name, { value: 0 }]));
    const splat = program(splatVertex, splatFragment, {
      ...this.particles.uniforms,
      ...numbers("splatPixels", "splatAmount"),
      edgeM: { value: 1 },
      plain: { value: new THREE.Vector3() },
    });
    // Where a particle is, is all that is wanted of it: nothing of the light around it.
    splat.defines.FLAT = 1;
    Object.assign(splat, ADDED);
    const caustic = program(causticVertex, causticFragment, {
      ...shared,
      ...none("surface"),
      ...numbers("depth", "pixelArea"),
    });
    Object.assign(caustic, ADDED, { side: THREE.DoubleSide });
    return {
      splat,
      flow: passProgram(flowFragment, {
        ...shared,
        ...none("splat", "before", "speeds"),
        ...numbers("kept", "stepS", "low", "range"),
        hands: { value: this.moves },
        kinds: { value: this.kinds },
      }),
      dye: passProgram(dyeFragment, {
        ...shared,
        ...none("flow", "splat", "dyeBefore", "matterBefore"),
        ...numbers("stepS", "pullS", "pulls", "clears", "settles", "heats", "cools", "fresh"),
      }),
      wave: passProgram(waveFragment, {
        ...shared,
        ...none("before", "flow"),
        ...numbers("stepS", "pace", "hollow", "bow", "told"),
      }),
      surface: passProgram(surfaceFragment, {
        ...shared,
        ...none("waves", "matter", "flow"),
        ...numbers("swell", "veils", "told"),
      }),
      caustic,
    };
  }

  /** Sizes and places that follow from the tank and the view. */
  private prepare({ camera, viewport }: View): void {
    const { info, uniforms } = this.particles;
    if (info === null) return;
    const size = (uniforms.tankSize as THREE.IUniform<THREE.Vector3>).value;
    this.edgeM = Math.sqrt(size.x * size.y);
    this.extent.set(size.x / this.edgeM, size.y / this.edgeM);
    this.wall.scale.set(size.x, size.y, 1);
    this.wall.position.z = WALL_AT * size.z;

    // The lens says how much of the wall's height the view shows: of a part of it there are more pixels.
    const { view } = camera;
    const tall = view?.enabled ? view.fullHeight / view.height : 1;
    const pixels = Math.round(viewport.w * tall * Math.max(1, size.x / size.y));
    const [cx, cy] = info.cells;
    if (pixels !== this.pixels || cx !== this.cellsX || cy !== this.cellsY || this.sizedTier !== this.tier) {
      [this.pixels, this.cellsX, this.cellsY, this.sizedTier] = [pixels, cx, cy, this.tier];
      this.makeMaps(cx, cy, pixels);
    }
    this.weigh((this.splat?.width ?? cx) / cx);
    this.takeHands();
  }

  /** @param pixels  of the wall's longer side in the picture */
  private makeMaps(cx: number, cy: number, pixels: number): void {
    const { fineness } = this;
    const of = (longer: number): [number, number] => sized(longer, cx, cy);
    const splatCells = Math.min(this.tier === "spheres" ? SPLAT_MAX / 2 : SPLAT_MAX, Math.max(cx, cy));
    const splatSize = of(splatCells);
    if (!fits(this.splat, splatSize)) {
      this.splat?.dispose();
      this.splat = wallMap(splatSize, { count: 2, mipmaps: true });
    }
    this.flow = resized(this.flow, of(Math.ceil(splatCells / 2)), { mipmaps: true });
    this.dye = resized(this.dye, of(dyeSize(fineness, pixels)), { count: 2, mipmaps: true });
    this.waves = resized(this.waves, of(fineness.waves), { type: this.waveType });
    if (!fits(this.surface, this.waves.size)) {
      this.surface?.dispose();
      this.surface = wallMap(this.waves.size);
    }
    const causticSize = of(fineness.caustics);
    if (!fits(this.caustics, causticSize)) {
      this.caustics?.dispose();
      this.caustics = wallMap(causticSize, { mipmaps: true });
      this.knit(causticSize);
    }
  }

  /** Makes the net whose knots are moved to where their light falls. */
  private knit([width, height]: readonly [number, number]): void {
    for (const old of [...this.net.children]) {
      (old as THREE.Mesh).geometry.dispose();
      this.net.remove(old);
    }
    const [columns, rows] = [Math.ceil(width * NET_SHARE), Math.ceil(height * NET_SHARE)];
    const mesh = new THREE.Mesh(new THREE.PlaneGeometry(1, 1, columns, rows), this.programs.caustic);
    mesh.frustumCulled = false;
    this.net.add(mesh);
    set(this.programs.caustic, "pixelArea", (this.extent.x * this.extent.y) / (width * height));
  }

  /** How large a particle is where they are added up, and how much each one stands for. @param scale  texels of a cell */
  private weigh(scale: number): void {
    const { info } = this.particles;
    if (info === null) return;
    const { splat } = this.programs;
    const { crowding, particleCount, particlesTotal } = info;
    const radius = Math.max(1.5, SPREAD_CELLS * scale);
    // What its weights add up to, where so many are in a cell.
    const nominal = Math.sqrt(NOMINAL * Math.max(0.25, crowding)) / (scale * scale);
    const sum = (Math.PI * radius * radius) / 3;
    set(splat, "splatPixels", 2 * radius);
    set(splat, "splatAmount", particlesTotal / Math.max(1, particleCount) / (sum * nominal));
    set(splat, "edgeM", this.edgeM);
  }

  private takeSpeeds(): void {
    const { speeds, edgeM } = this;
    const { flow, wave, surface } = this.programs;
    set(flow, "speeds", speeds.texture);
    set(flow, "low", speeds.low / edgeM);
    set(wave, "told", speeds.known ? 1 : 0);
    set(surface, "told", speeds.known ? 1 : 0);
    set(flow, "range", speeds.known ? (speeds.high - speeds.low) / edgeM : -1);
  }

  private takeHands(): void {
    const { moves, kinds } = this.hands;
    for (let i = 0; i < HANDS; i++) {
      this.moves[i]?.fromArray(moves, HAND_VALUES * i);
      this.kinds[i]?.fromArray(kinds, KIND_VALUES * i);
    }
  }

  /** Moves all on by the time since the picture before. */
  private step(view: View, paused: boolean): void {
    const { splat, flow, dye, waves, surface, caustics, particles, renderer } = this;
    if (!splat || !flow || !dye || !waves || !surface || !caustics || particles.info === null) return;
    const isFirst = particles.info.epoch !== this.epoch;
    this.epoch = particles.info.epoch;
    const passedS = isFirst ? 0 : Math.max(0, (this.nowMs - this.drawnMs) / 1000);
    const pullS = Math.min(STEP_MAX_S, passedS);
    // Paused it stands still, and comes to be what the frame says; in slow motion all goes as the water does.
    const stepS = paused ? 0 : Math.min(STEP_MAX_S, passedS * particles.info.realtimeFactor * this.speed);
    this.drawnMs = this.nowMs;
    this.moment.value = (this.moment.value + stepS) % MOMENTS_S;
    pass(renderer, this.scene, particles, splat, view.camera, LAYER.splat);

    const { programs } = this;
    set(programs.flow, "splat", splat.textures[1]);
    set(programs.flow, "before", flow.read.texture);
    set(programs.flow, "kept", isFirst ? 0 : Math.exp(-stepS / FOLLOW_S));
    set(programs.flow, "stepS", isFirst ? 0 : stepS);
    this.takeSpeeds();
    this.fill(programs.flow, flow);

    const [colours, matter] = dye.read.textures;
    set(programs.dye, "flow", flow.read.texture);
    set(programs.dye, "splat", splat.textures[0]);
    set(programs.dye, "dyeBefore", colours);
    set(programs.dye, "matterBefore", matter);
    set(programs.dye, "stepS", stepS);
    set(programs.dye, "pullS", pullS);
    set(programs.dye, "fresh", isFirst ? 1 : 0);
    this.fill(programs.dye, dye);

    this.stepWaves(waves, flow, stepS, isFirst);
    set(programs.surface, "waves", waves.read.texture);
    set(programs.surface, "matter", dye.read.textures[1]);
    set(programs.surface, "flow", flow.read.texture);
    this.fillMap(programs.surface, surface);
    if (WALL_STYLES[this.look].depth > 0) {
      set(programs.caustic, "surface", surface.texture);
      renderer.setRenderTarget(caustics);
      renderer.clear(true, false, false);
      renderer.render(this.net, this.flat);
    }
    set(this.shade, "surface", surface.texture);
    set(this.shade, "dyes", dye.read.textures[0]);
    set(this.shade, "matter", dye.read.textures[1]);
    set(this.shade, "caustics", caustics.texture);
  }

  private stepWaves(waves: Pair, flow: Pair, stepS: number, isFirst: boolean): void {
    const { wave } = this.programs;
    const texel = this.extent.x / waves.size[0];
    const steps = Math.min(WAVE_STEPS_MAX, Math.ceil((stepS * WAVE_SPEED) / (REACH * texel)));
    if (isFirst) {
      this.renderer.setRenderTarget(waves.read);
      this.renderer.clear(true, false, false);
    }
    if (steps === 0) return;
    const each = Math.min(stepS / steps, (REACH * texel) / WAVE_SPEED);
    set(wave, "flow", flow.read.texture);
    set(wave, "stepS", each);
    set(wave, "pace", ((WAVE_SPEED * each) / texel) ** 2);
    for (let i = 0; i < steps; i++) {
      set(wave, "before", waves.read.texture);
      this.fill(wave, waves);
    }
  }

  private fill(material: THREE.ShaderMaterial, pair: Pair): void {
    this.fillMap(material, pair.written);
    pair.turn();
    pair.settle();
  }

  private fillMap(material: THREE.ShaderMaterial, map: THREE.WebGLRenderTarget): void {
    this.renderer.setRenderTarget(map);
    this.quad.material = material;
    this.quad.render(this.renderer);
  }
}

function fits(map: THREE.WebGLRenderTarget | null, [width, height]: readonly [number, number]): boolean {
  return map?.width === width && map.height === height;
}

function resized(
  pair: Pair | null,
  size: readonly [number, number],
  kind: ConstructorParameters<typeof Pair>[1],
): Pair {
  return pair === null ? new Pair(size, kind) : pair.resize(size);
}

function noiseTexture(): THREE.DataTexture {
  const values = Uint16Array.from(makeNoise(NOISE_TEXELS), THREE.DataUtils.toHalfFloat);
  const texture = new THREE.DataTexture(
    values,
    NOISE_TEXELS,
    NOISE_TEXELS,
    THREE.RGBAFormat,
    THREE.HalfFloatType,
  );
  texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
  texture.magFilter = THREE.LinearFilter;
  texture.minFilter = THREE.LinearMipmapLinearFilter;
  texture.generateMipmaps = true;
  texture.needsUpdate = true;
  return texture;
}
