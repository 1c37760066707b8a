// The vorticity of what flows, as vectors: one for each voxel of a coarse grid, from the particles' own velocities.
import type { FrameInfo, SlotViews } from "../codec/frame-info.js";

/** Of a grid, at most: more would hide each other. */
const VOXELS_MAX = 4096;
/** Values of an arrow: place, m, and vorticity, 1/s. */
export const ARROW_VALUES = 6;
/** Sums of a voxel: place, velocity, number of particles. */
const SUMS = 7;
const COUNT = 6;

export class CurlField {
  /** ARROW_VALUES for each voxel that holds particles. */
  arrows = new Float32Array(0);
  /** Voxels that hold particles. */
  count = 0;
  /** Cells along a voxel's edge. */
  edge = 1;
  private sums = new Float32Array(0);
  private readonly dims: [number, number, number] = [1, 1, 1];

  compute(info: FrameInfo, views: Pick<SlotViews, "positions" | "velocities">): void {
    this.divide(info.cells);
    this.add(info, views);
    const [nx, ny, nz] = this.dims;
    this.count = 0;
    for (let z = 0; z < nz; z++)
      for (let y = 0; y < ny; y++) for (let x = 0; x < nx; x++) this.write(x, y, z, info.cellM);
  }

  private divide(cells: readonly [number, number, number]): void {
    this.edge = 0;
    let voxels = Number.POSITIVE_INFINITY;
    while (voxels > VOXELS_MAX) {
      this.edge++;
      for (let axis = 0; axis < 3; axis++) this.dims[axis] = Math.ceil((cells[axis] as number) / this.edge);
      voxels = this.dims[0] * this.dims[1] * this.dims[2];
    }
    if (this.sums.length !== voxels * SUMS) {
      this.sums = new Float32Array(voxels * SUMS);
      this.arrows = new Float32Array(voxels * ARROW_VALUES);
    } else this.sums.fill(0);
  }

  private add(info: FrameInfo, { positions, velocities }: Pick<SlotViews, "positions" | "velocities">): void {
    const { sums } = this;
    const [nx, ny, nz] = this.dims;
    const perVoxel = 1 / (this.edge * 2 ** info.unitBits);
    const quantumM = info.cellM / 2 ** info.unitBits;
    for (let i = 0; i < info.particleCount; i++) {
      const [px, py, pz] = [at(positions, 4 * i), at(positions, 4 * i + 1), at(positions, 4 * i + 2)];
      const x = Math.min(nx - 1, Math.floor(px * perVoxel));
      const y = Math.min(ny - 1, Math.floor(py * perVoxel));
      const z = Math.min(nz - 1, Math.floor(pz * perVoxel));
      const to = SUMS * ((z * ny + y) * nx + x);
      sums[to] = at(sums, to) + (px + 0.5) * quantumM;
      sums[to + 1] = at(sums, to + 1) + (py + 0.5) * quantumM;
      sums[to + 2] = at(sums, to + 2) + (pz + 0.5) * quantumM;
      for (let c = 0; c < 3; c++)
        sums[to + 3 + c] = at(sums, to + 3 + c) + at(velocities, 4 * i + c) * info.velocityScale;
      sums[to + COUNT] = at(sums, to + COUNT) + 1;
    }
  }

  private write(x: number, y: number, z: number, cellM: number): void {
    const { sums, arrows, dims } = this;
    const from = SUMS * ((z * dims[1] + y) * dims[0] + x);
    const particles = at(sums, from + COUNT);
    if (particles === 0) return;
    const to = ARROW_VALUES * this.count++;
    for (let c = 0; c < 3; c++) {
      const [b, d] = [(c + 1) % 3, (c + 2) % 3];
      arrows[to + c] = at(sums, from + c) / particles;
      arrows[to + 3 + c] = this.slope(x, y, z, b, d, cellM) - this.slope(x, y, z, d, b, cellM);
    }
  }

  /** Change of velocity `c` per metre along an axis: between both neighbours, or to the one that holds particles. */
  private slope(x: number, y: number, z: number, axis: number, c: number, cellM: number): number {
    const { sums, dims } = this;
    const strides = [1, dims[0], dims[0] * dims[1]];
    const place = [x, y, z][axis] as number;
    const here = (z * dims[1] + y) * dims[0] + x;
    const stride = strides[axis] as number;
    let gap = 0;
    const speed = (other: number, isInside: boolean): number => {
      const counts = isInside && at(sums, SUMS * other + COUNT) > 0;
      if (counts) gap++;
      const voxel = SUMS * (counts ? other : here);
      return at(sums, voxel + 3 + c) / at(sums, voxel + COUNT);
    };
    const before = speed(here - stride, place > 0);
    const after = speed(here + stride, place + 1 < (dims[axis] as number));
    return gap === 0 ? 0 : (after - before) / (gap * this.edge * cellM);
  }
}

function at(values: ArrayLike<number>, index: number): number {
  return values[index] as number;
}
