// The maps between the passes, for one view: made once for its size. Which there are, and what they take, is a table;
// the README's is printed from it.
import * as THREE from "three";
import { sceneMap } from "../passes.js";

export type WaterTier = "water-low" | "water";
export type MapName = "scene" | "distances" | "smoothed" | "surface" | "volume" | "white";

export interface MapPlan {
  name: MapName;
  /** Pixels. */
  width: number;
  height: number;
  /** Of its colours, one a texture, and of its depth. */
  formats: readonly string[];
  bytesPerPixel: number;
  bytes: number;
}

interface MapKind {
  name: MapName;
  /** Of the view's size, by tier. */
  share: Readonly<Record<WaterTier, number>>;
  formats: readonly string[];
  bytesPerPixel: number;
}

const KINDS: readonly MapKind[] = [
  { name: "scene", share: { "water-low": 1, water: 1 }, formats: ["RGBA8", "depth 32F"], bytesPerPixel: 8 },
  {
    name: "distances",
    share: { "water-low": 0.5, water: 1 },
    formats: ["R32F", "depth 24"],
    bytesPerPixel: 8,
  },
  { name: "smoothed", share: { "water-low": 0.5, water: 1 }, formats: ["R32F"], bytesPerPixel: 4 },
  { name: "surface", share: { "water-low": 0.5, water: 1 }, formats: ["RGBA16F"], bytesPerPixel: 8 },
  {
    name: "volume",
    share: { "water-low": 0.5, water: 0.5 },
    formats: ["RGBA16F", "RGBA16F"],
    bytesPerPixel: 16,
  },
  { name: "white", share: { "water-low": 0.5, water: 1 }, formats: ["RGBA8"], bytesPerPixel: 4 },
];

/** The maps of a tier for a view of so many pixels. */
export function planMaps(tier: WaterTier, width: number, height: number): MapPlan[] {
  return KINDS.map(({ name, share, formats, bytesPerPixel }) => {
    const w = Math.max(1, Math.ceil(width * share[tier]));
    const h = Math.max(1, Math.ceil(height * share[tier]));
    return { name, width: w, height: h, formats, bytesPerPixel, bytes: w * h * bytesPerPixel };
  });
}

export class Targets {
  readonly scene: THREE.WebGLRenderTarget;
  readonly distances: THREE.WebGLRenderTarget;
  readonly smoothed: THREE.WebGLRenderTarget;
  readonly surface: THREE.WebGLRenderTarget;
  readonly volume: THREE.WebGLRenderTarget;
  readonly white: THREE.WebGLRenderTarget;

  /** @param samples  of the scene, for smooth edges */
  constructor(
    readonly tier: WaterTier,
    readonly width: number,
    readonly height: number,
    samples: number,
  ) {
    const plan = new Map(planMaps(tier, width, height).map((map) => [map.name, map]));
    const make = (name: MapName, options: THREE.RenderTargetOptions): THREE.WebGLRenderTarget => {
      const map = plan.get(name) as MapPlan;
      return new THREE.WebGLRenderTarget(map.width, map.height, {
        minFilter: THREE.NearestFilter,
        magFilter: THREE.NearestFilter,
        depthBuffer: false,
        ...options,
      });
    };
    const distances = { format: THREE.RedFormat, type: THREE.FloatType } as const;
    const smooth = { minFilter: THREE.LinearFilter, magFilter: THREE.LinearFilter } as const;
    this.scene = sceneMap(width, height, samples);
    this.distances = make("distances", { ...distances, depthBuffer: true });
    this.smoothed = make("smoothed", distances);
    this.surface = make("surface", { ...smooth, type: THREE.HalfFloatType });
    this.volume = make("volume", { ...smooth, type: THREE.HalfFloatType, count: 2 });
    this.white = make("white", smooth);
  }

  dispose(): void {
    this.scene.depthTexture?.dispose();
    for (const target of [this.scene, this.distances, this.smoothed, this.surface, this.volume, this.white])
      target.dispose();
  }
}

/** Whether this machine can draw into such maps and blend them. */
export function canDrawWater(gl: WebGL2RenderingContext): boolean {
  return gl.getExtension("EXT_color_buffer_float") !== null;
}
