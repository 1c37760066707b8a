// How far the surface is smoothed: parameters of the narrow-range filter (Truong and Yuksel, A narrow-range filter for
// screen-space fluid rendering, 2018). All lengths are shares of a drawn particle's radius, so that the water looks the
// same in any tank; on the screen they get smaller with distance, within what a pass can afford.

/** Radii of a particle that the kernel reaches to either side. */
const REACH = 5.5;
/** Depths within so many radii belong to the same surface. */
const RANGE = 7;
/** What lies behind is taken to be so many radii behind: the surface curves away at its silhouette. */
const PULL = 1;

/**
 * How the surface is smoothed, along both axes each time: share of the reach, and how many pixels neighbouring taps are
 * apart at most. Those of the first time leave a comb; the second time they lie side by side, and take it away.
 */
export const ROUNDS = [
  { share: 1.1, strideMax: 3 },
  { share: 0.5, strideMax: 1 },
] as const;

export type Round = (typeof ROUNDS)[number];

export interface Kernel {
  /** To either side of the middle, at most. */
  tapsMax: number;
  /** Of the kernel on the screen at distance 1, pixels. */
  reachPx: number;
  /** Metres. */
  range: number;
  pull: number;
}

/**
 * Fills in a kernel.
 * @param radiusM        of a drawn particle
 * @param pixelsPerUnit  of the map that is filtered, at distance 1
 */
export function setKernel(kernel: Kernel, radiusM: number, pixelsPerUnit: number): void {
  kernel.reachPx = REACH * radiusM * pixelsPerUnit;
  kernel.range = RANGE * radiusM;
  kernel.pull = PULL * radiusM;
}

export interface Taps {
  /** To either side. */
  count: number;
  /** Pixels between neighbours. */
  stride: number;
}

/** A round's taps at a distance from the eye, metres; the shader does the same (filter-shader.ts). */
export function tapsAt(kernel: Kernel, distance: number, { share, strideMax }: Round): Taps {
  const reach = (share * kernel.reachPx) / distance;
  const count = Math.min(kernel.tapsMax, Math.max(1, Math.ceil(reach)));
  return { count, stride: Math.min(strideMax, Math.max(1, reach / count)) };
}
