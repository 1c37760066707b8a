// What every way to draw a fluid in several passes needs: views, maps of their size, and programs that fill those.
import * as THREE from "three";
import type { Particles } from "./particles.js";

export const SMOOTH_EDGES_SAMPLES = 4;
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

/** The particles as a whole. */
export interface Fluid {
  /**
   * Draws one view, every pixel of it. The particles are prepared for its camera.
   * @param tankM  edge of a cube as large as the tank, in its own metres
   */
  draw(view: View, tankM: number): void;
  dispose(): void;
}

/** Of a material: what is drawn is added to what is there. */
export const ADDED = {
  depthTest: false,
  depthWrite: false,
  transparent: true,
  blending: THREE.CustomBlending,
  blendSrc: THREE.OneFactor,
  blendDst: THREE.OneFactor,
  blendEquation: THREE.AddEquation,
} as const;

/** Of a material: what is drawn covers a share of what is not covered yet, in each channel. */
export const COVERING = {
  ...ADDED,
  blendDst: THREE.OneMinusSrcColorFactor,
} as const;

/** What programs know of a view's camera. */
export class Sight {
  readonly uniforms = {
    /** View-space place at distance 1 of a place of the map: offset, then scale. */
    lens: { value: new THREE.Vector4() },
    depthToDistance: { value: new THREE.Vector2() },
    viewToTank: { value: new THREE.Matrix4() },
  };

  /** @param tank  what is in tank coordinates */
  see(camera: THREE.PerspectiveCamera, tank: THREE.Object3D): void {
    const { lens, depthToDistance, viewToTank } = this.uniforms;
    const p = camera.projectionMatrix.elements as number[];
    const [fx, fy] = [p[0] as number, p[5] as number];
    lens.value.set(((p[8] as number) - 1) / fx, ((p[9] as number) - 1) / fy, 2 / fx, 2 / fy);
    depthToDistance.value.set(0.5 - 0.5 * (p[10] as number), -0.5 * (p[14] as number));
    tank.updateWorldMatrix(true, false);
    viewToTank.value.copy(tank.matrixWorld).invert().multiply(camera.matrixWorld);
  }
}

interface Sized {
  readonly width: number;
  readonly height: number;
  dispose(): void;
}

/** The maps of the views' sizes, as far as they are kept: made once. */
export class Maps<T extends Sized> {
  /** The one used last first. */
  private readonly known: T[] = [];

  constructor(
    private readonly renderer: THREE.WebGLRenderer,
    private readonly make: (width: number, height: number) => T,
  ) {}

  of(width: number, height: number): T {
    const { known } = this;
    const at = known.findIndex((one) => one.width === width && one.height === height);
    if (at === 0) return known[0] as T;
    const [found] = at > 0 ? known.splice(at, 1) : [];
    const kept = this.renderer.xr.isPresenting ? SIZES_MAX : 1;
    while (known.length >= kept) known.pop()?.dispose();
    const maps = found ?? this.make(width, height);
    known.unshift(maps);
    return maps;
  }

  dispose(): void {
    for (const maps of this.known) maps.dispose();
    this.known.length = 0;
  }
}

/** The scene without fluid. @param samples  for smooth edges */
export function sceneMap(width: number, height: number, samples: number): THREE.WebGLRenderTarget {
  return new THREE.WebGLRenderTarget(width, height, {
    minFilter: THREE.LinearFilter,
    magFilter: THREE.LinearFilter,
    samples,
    depthBuffer: true,
    depthTexture: new THREE.DepthTexture(width, height, THREE.FloatType),
  });
}

export function clear(renderer: THREE.WebGLRenderer, target: THREE.WebGLRenderTarget): void {
  renderer.setRenderTarget(target);
  renderer.clear(true, target.depthBuffer, false);
}

/** The particles with those of their programs that are on a layer, into a map. */
export function pass(
  renderer: THREE.WebGLRenderer,
  scene: THREE.Scene,
  particles: Particles,
  target: THREE.WebGLRenderTarget,
  camera: THREE.PerspectiveCamera,
  layer: number,
): void {
  const pixelsPerUnit = particles.uniforms.pixelsPerUnit as THREE.IUniform;
  pixelsPerUnit.value = 0.5 * (camera.projectionMatrix.elements[5] as number) * target.height;
  camera.layers.set(layer);
  clear(renderer, target);
  renderer.render(scene, camera);
}

const pixels = new THREE.Vector4();

/** Directs what follows to the view's part of its target. */
export function aim(renderer: THREE.WebGLRenderer, { target, viewport }: View): void {
  if (target !== null) target.viewport.copy(viewport);
  renderer.setRenderTarget(target);
  if (target !== null) return;
  pixels.copy(viewport).divideScalar(renderer.getPixelRatio());
  renderer.setViewport(pixels);
}

export function program(
  vertexShader: string,
  fragmentShader: string,
  uniforms: Record<string, THREE.IUniform>,
): THREE.ShaderMaterial {
  return new THREE.ShaderMaterial({ glslVersion: THREE.GLSL3, vertexShader, fragmentShader, uniforms });
}

const everywhere = /* glsl */ `
out vec2 at;
void main() {
  at = uv;
  gl_Position = vec4(position.xy, 0.0, 1.0);
}
`;

/** Fills a whole map; `at` is the place of a pixel, 0..1. */
export function passProgram(
  fragmentShader: string,
  uniforms: Record<string, THREE.IUniform>,
): THREE.ShaderMaterial {
  const material = program(everywhere, fragmentShader, uniforms);
  material.depthTest = false;
  material.depthWrite = false;
  return material;
}

export function set(material: THREE.ShaderMaterial, name: string, value: unknown): void {
  (material.uniforms[name] as THREE.IUniform).value = value;
}
