// The maps of a wall, all of them of the whole wall. How fine they are follows from how it is drawn (quality.ts): a
// processor that draws instead of a graphics card gets small ones.
import * as THREE from "three";
import type { Tier } from "../../state/quality.js";

export interface Fineness {
  /** Texels of the dye for a pixel of the picture, and at most so many on the wall's longer side. */
  share: number;
  dyeMax: number;
  /** Texels of the waves, and of the caustics, on the longer side. */
  waves: number;
  caustics: number;
  /** Of the ways that a look adds something up along. */
  steps: number;
}

export const WALL_FINENESS: Readonly<Record<Exclude<Tier, "points">, Fineness>> = {
  spheres: { share: 0.5, dyeMax: 320, waves: 144, caustics: 224, steps: 10 },
  "water-low": { share: 0.75, dyeMax: 1024, waves: 384, caustics: 512, steps: 14 },
  water: { share: 1, dyeMax: 2048, waves: 640, caustics: 1024, steps: 20 },
};

/** Sizes go by steps, so that a window that is drawn larger doesn't make new maps with every pixel. */
const SIZE_STEP = 16;

/** @param pixels  of the wall's longer side in the picture */
export function dyeSize({ share, dyeMax }: Fineness, pixels: number): number {
  const wanted = Math.ceil((share * pixels) / SIZE_STEP) * SIZE_STEP;
  return Math.max(64, Math.min(dyeMax, wanted));
}

/** @returns width and height, `longer` on the wall's longer side */
export function sized(longer: number, width: number, height: number): [number, number] {
  const share = longer / Math.max(width, height);
  return [Math.max(8, Math.round(width * share)), Math.max(8, Math.round(height * share))];
}

interface MapKind {
  count?: number;
  mipmaps?: boolean;
  type?: THREE.TextureDataType;
}

export function wallMap(size: readonly [number, number], kind: MapKind = {}): THREE.WebGLRenderTarget {
  const { count = 1, mipmaps = false, type = THREE.HalfFloatType } = kind;
  return new THREE.WebGLRenderTarget(size[0], size[1], {
    minFilter: mipmaps ? THREE.LinearMipmapLinearFilter : THREE.LinearFilter,
    magFilter: THREE.LinearFilter,
    generateMipmaps: mipmaps,
    type,
    depthBuffer: false,
    count,
  });
}

/** A map that is made out of itself: what is read and what is written change places. */
export class Pair {
  private now: THREE.WebGLRenderTarget;
  private next: THREE.WebGLRenderTarget;

  constructor(
    readonly size: readonly [number, number],
    private readonly kind: MapKind = {},
  ) {
    this.now = wallMap(size, kind);
    this.next = wallMap(size, kind);
  }

  get read(): THREE.WebGLRenderTarget {
    return this.now;
  }

  get written(): THREE.WebGLRenderTarget {
    return this.next;
  }

  turn(): void {
    [this.now, this.next] = [this.next, this.now];
  }

  /** Of another size from the next step on, which reads what there is and writes the new one. */
  resize(size: readonly [number, number]): Pair {
    if (size[0] === this.size[0] && size[1] === this.size[1]) return this;
    const other = new Pair(size, this.kind);
    other.now.dispose();
    other.now = this.now;
    this.next.dispose();
    return other;
  }

  /** What is written next has the size that is wanted, even where what is read doesn't yet. */
  settle(): void {
    if (this.next.width === this.size[0] && this.next.height === this.size[1]) return;
    this.next.dispose();
    this.next = wallMap(this.size, this.kind);
  }

  dispose(): void {
    this.now.dispose();
    this.next.dispose();
  }
}
