// A coarse volume that says how much daylight reaches each part of the water and how dense the water is there. The
// particles' shader reads it: deep water gets darker and bluer, thin fast water turns to foam.
import { LIGHT_VOXELS_MAX } from "./frame-info.js";

/** Optical depth of a column of water as high as the tank. */
const EXTINCTION = 2.6;

export class LightVolume {
  readonly dims: [number, number, number] = [1, 1, 1];
  /** Cells of the tank along a voxel's edge: a power of two. */
  voxelCells = 2;
  private readonly counts = new Uint16Array(LIGHT_VOXELS_MAX);

  /**
   * Fills `light` with two bytes a voxel: the share of daylight that arrives from above, and the local density where
   * 255 is twice that of calm water. x runs fastest, then y, then z. Positions are in 1/2^unitBits cell.
   */
  compute(
    positions: Uint16Array,
    particleCount: number,
    unitBits: number,
    cells: readonly number[],
    light: Uint8Array,
  ): void {
    const cx = cells[0] ?? 1;
    const cy = cells[1] ?? 1;
    const cz = cells[2] ?? 1;
    let log2 = 1;
    while (voxels(cx, log2) * voxels(cy, log2) * voxels(cz, log2) > LIGHT_VOXELS_MAX) log2++;
    this.voxelCells = 1 << log2;
    const nx = voxels(cx, log2);
    const ny = voxels(cy, log2);
    const nz = voxels(cz, log2);
    this.dims[0] = nx;
    this.dims[1] = ny;
    this.dims[2] = nz;
    const total = nx * ny * nz;
    const counts = this.counts;
    counts.fill(0, 0, total);

    const shift = unitBits + log2;
    for (let i = 0, at = 0; i < particleCount; i++, at += 4) {
      // The last tile may reach beyond the tank, and nothing in a frame says that no particle is there.
      const x = Math.min(nx - 1, (positions[at] as number) >> shift);
      const y = Math.min(ny - 1, (positions[at + 1] as number) >> shift);
      const z = Math.min(nz - 1, (positions[at + 2] as number) >> shift);
      const voxel = x + nx * (y + ny * z);
      counts[voxel] = (counts[voxel] as number) + 1;
    }

    // The density that the average particle finds itself in: that of the bulk, whatever the scene's seeding.
    let squares = 0;
    let sum = 0;
    for (let i = 0; i < total; i++) {
      const c = counts[i] as number;
      squares += c * c;
      sum += c;
    }
    const full = sum > 0 ? Math.max(1, squares / sum) : 1;
    const perCount = EXTINCTION / (full * ny);
    const densityPerCount = 127 / full;

    for (let z = 0; z < nz; z++) {
      for (let x = 0; x < nx; x++) {
        let depth = 0;
        for (let y = ny - 1; y >= 0; y--) {
          const voxel = x + nx * (y + ny * z);
          const c = counts[voxel] as number;
          depth += 0.5 * c * perCount;
          light[voxel * 2] = 255 * Math.exp(-depth);
          depth += 0.5 * c * perCount;
          // Rounded up: a voxel with anything in it never looks empty.
          light[voxel * 2 + 1] = Math.min(255, Math.ceil(c * densityPerCount));
        }
      }
    }
  }
}

function voxels(cells: number, log2: number): number {
  return (cells + (1 << log2) - 1) >> log2;
}
