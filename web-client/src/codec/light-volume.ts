// A coarse volume of the water: how much daylight reaches each part of it, how dense it is there, and how far apart
// the particles at hand are. The particles' shader reads it: deep water gets darker and bluer, thin fast water turns to
// foam, and particles grow where others weren't sent, so that the water stays closed.
//
// Where layers were cut off, the first one is a fair sample of all the water (protocol/STREAM.md): how much there is of
// it tells how much water is where, also of the water that nobody has sent.
import {
  type FrameInfo,
  LIGHT_PRESENCE,
  LIGHT_VALUES,
  LIGHT_VOXELS_MAX,
  type SlotViews,
} from "./frame-info.js";

/** Optical depth of a column of water as high as the tank. */
export const EXTINCTION = 2.6;
/** Where fewer of the particles are at hand they aren't drawn any larger. */
const SHARE_MIN = 1 / 27;

type Water = Pick<FrameInfo, "particleCount" | "particlesTotal" | "unitBits" | "cells">;

export class LightVolume {
  readonly dims: [number, number, number] = [1, 1, 1];
  /** Cells of the tank along a voxel's edge: a power of two. */
  voxelCells = 2;
  /** Particles in a cell around the average particle, with those that weren't sent. */
  crowding = 0;
  private readonly counts = new Float32Array(LIGHT_VOXELS_MAX);
  private readonly samples = new Float32Array(LIGHT_VOXELS_MAX);
  private readonly scratch = new Float32Array(LIGHT_VOXELS_MAX);
  private readonly nearness = new Uint8Array(LIGHT_VOXELS_MAX);

  /**
   * Fills the slot's light with LIGHT_VALUES bytes a voxel: the share of daylight that arrives from above; the local
   * density, where 255 is twice that of calm water; how near to each other the particles at hand are, 255 where all are
   * at hand; 255 where there are any. x runs fastest, then y, then z.
   */
  compute(water: Water, views: SlotViews): void {
    const voxelCount = this.divide(water.cells);
    this.count(water, views, this.counts, 127);
    for (let i = 0; i < voxelCount; i++) {
      views.light[i * LIGHT_VALUES + LIGHT_PRESENCE] = (this.counts[i] as number) > 0 ? 255 : 0;
    }
    if (water.particleCount < water.particlesTotal) this.complete(water, views, voxelCount);
    else this.nearness.fill(255, 0, voxelCount);
    const full = this.bulk(voxelCount);
    this.crowding = full / water.cells.reduce((all, n) => all * Math.min(n, this.voxelCells), 1);
    this.shade(views.light, full);
  }

  /** Chooses the voxels. @return how many */
  private divide(cells: readonly number[]): number {
    const [cx = 1, cy = 1, cz = 1] = cells;
    let log2 = 1;
    while (voxels(cx, log2) * voxels(cy, log2) * voxels(cz, log2) > LIGHT_VOXELS_MAX) log2++;
    this.voxelCells = 1 << log2;
    const { dims } = this;
    dims[0] = voxels(cx, log2);
    dims[1] = voxels(cy, log2);
    dims[2] = voxels(cz, log2);
    return dims[0] * dims[1] * dims[2];
  }

  /** Counts the particles of the layers up to a last one. @return how many */
  private count(water: Water, views: SlotViews, counts: Float32Array, layerMax: number): number {
    const [nx, ny, nz] = this.dims;
    const { positions, velocities } = views;
    const shift = water.unitBits + 31 - Math.clz32(this.voxelCells);
    let counted = 0;
    counts.fill(0, 0, nx * ny * nz);
    for (let i = 0, at = 0; i < water.particleCount; i++, at += 4) {
      if ((velocities[at + 3] as number) > layerMax) continue;
      // The last tile may reach beyond the tank, and nothing in a frame says that no particle is there.
      const x = Math.min(nx - 1, (positions[at] as number) >> shift);
      const y = Math.min(ny - 1, (positions[at + 1] as number) >> shift);
      const z = Math.min(nz - 1, (positions[at + 2] as number) >> shift);
      const voxel = x + nx * (y + ny * z);
      counts[voxel] = (counts[voxel] as number) + 1;
      counted++;
    }
    return counted;
  }

  /** Puts the particles that there are in the place of those at hand. */
  private complete(water: Water, views: SlotViews, voxelCount: number): void {
    const { counts, samples, nearness } = this;
    const sampled = this.count(water, views, samples, 0);
    const scale = sampled > 0 ? water.particlesTotal / sampled : 1;
    this.smooth(counts);
    this.smooth(samples);
    for (let i = 0; i < voxelCount; i++) {
      const have = counts[i] as number;
      const all = Math.max(have, (samples[i] as number) * scale);
      nearness[i] = all > 0 ? 255 * Math.cbrt(Math.max(SHARE_MIN, have / all)) : 255;
      counts[i] = all;
    }
  }

  /** Weighs each voxel with its neighbours, as 1 : 2 : 1 along each axis: a sample is uneven. */
  private smooth(values: Float32Array): void {
    const { dims, scratch } = this;
    const total = dims[0] * dims[1] * dims[2];
    for (let axis = 0, stride = 1; axis < 3; axis++) {
      const n = dims[axis] as number;
      scratch.set(values.subarray(0, total));
      for (let from = 0, at = 0; from < total; from += stride, at = (at + 1) % n) {
        const low = at > 0 ? -stride : 0;
        const high = at < n - 1 ? stride : 0;
        for (let i = from; i < from + stride; i++) {
          const beside = (scratch[i + low] as number) + (scratch[i + high] as number);
          values[i] = 0.5 * (scratch[i] as number) + 0.25 * beside;
        }
      }
      stride *= n;
    }
  }

  /** Particles in the voxel that the average particle is in: the density of the bulk, whatever the scene's seeding. */
  private bulk(voxelCount: number): number {
    let squares = 0;
    let sum = 0;
    for (let i = 0; i < voxelCount; i++) {
      const c = this.counts[i] as number;
      squares += c * c;
      sum += c;
    }
    return sum > 0 ? Math.max(1, squares / sum) : 1;
  }

  private shade(light: Uint8Array, full: number): void {
    const { counts, nearness } = this;
    const [nx, ny, nz] = this.dims;
    const halfVoxel = (-0.5 * EXTINCTION) / (full * ny);
    const densityPerCount = 127 / full;

    for (let z = 0; z < nz; z++) {
      for (let x = 0; x < nx; x++) {
        let daylight = 255;
        for (let y = ny - 1; y >= 0; y--) {
          const voxel = x + nx * (y + ny * z);
          const at = voxel * LIGHT_VALUES;
          const c = counts[voxel] as number;
          // Most voxels have no water, and take nothing.
          const through = c > 0 ? Math.exp(c * halfVoxel) : 1;
          daylight *= through;
          light[at] = daylight;
          daylight *= through;
          // Rounded up: a voxel with anything in it never looks empty.
          light[at + 1] = Math.min(255, Math.ceil(c * densityPerCount));
          light[at + 2] = nearness[voxel] as number;
        }
      }
    }
  }
}

function voxels(cells: number, log2: number): number {
  return (cells + (1 << log2) - 1) >> log2;
}
