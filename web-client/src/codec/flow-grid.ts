// How fast the water is in each part of the tank, and how dense: the particles' momentum and number, added up voxel by
// voxel. What moves with the water without being of it reads it (secondary-particles.ts). Sums are whole numbers.
import type { FrameInfo, SlotViews } from "./frame-info.js";
import type { Obstacles } from "./obstacles.js";

/** Of the grid, at most. */
export const FLOW_VOXELS_MAX = 1 << 17;
/** Particles that came for each one of a voxel, at least on average: fewer say nothing of the flow. */
const CROWD_MIN = 3;
/** What is water's full density is forgotten so slowly, seconds: while all of it flies nothing says it. */
const FULL_S = 4;

/** Of a voxel: what is left of it beside a solid is too little to say how dense the water is. */
export const FREE_MIN = 0.3;

export class FlowGrid {
  readonly dims: [number, number, number] = [1, 1, 1];
  /** Edge of a voxel, metres. */
  voxelM = 1;
  /** Momentum x, y, z, in velocity units of one particle, and the number of particles of each voxel; x fastest. */
  readonly sums = new Int32Array(FLOW_VOXELS_MAX * 4);
  /** Share of each voxel that no solid fills; null: there are no solids. */
  free: Float32Array | null = null;
  /** Particles at hand in a voxel of calm water; and with those that weren't sent. */
  full = 1;
  fullWithUnsent = 1;
  /** Of the last place that `sample` looked at, m/s. */
  vx = 0;
  vy = 0;
  vz = 0;
  /** m/s of a velocity unit. */
  scale = 1;

  private freeVoxels: Float32Array | null = null;

  /** What is known of calm water is what another grid knows, which was computed before this one will be. */
  remember({ full, voxelM }: FlowGrid): void {
    this.full = full;
    this.voxelM = voxelM;
  }

  /**
   * Adds a frame's particles up.
   * @param passedS    since the frame before; Infinity: that says nothing of this one
   * @param obstacles  the solids in the tank; null: what fills the room of the missing doesn't matter
   */
  compute(water: FrameInfo, views: SlotViews, passedS: number, obstacles: Obstacles | null = null): void {
    const { dims, sums } = this;
    const share = water.particleCount / Math.max(1, water.particlesTotal);
    const [cx, cy, cz] = water.cells;
    let log2 = 0;
    while (
      voxels(cx, log2) * voxels(cy, log2) * voxels(cz, log2) > FLOW_VOXELS_MAX ||
      (log2 < 2 && crowd(water, log2) * share < CROWD_MIN && water.particleCount > 0)
    )
      log2++;
    dims[0] = voxels(cx, log2);
    dims[1] = voxels(cy, log2);
    dims[2] = voxels(cz, log2);
    const voxelM = water.cellM * 2 ** log2;
    const kept = voxelM === this.voxelM ? this.full * Math.exp(-passedS / FULL_S) : 0;
    this.voxelM = voxelM;
    this.full = Math.max(1, crowd(water, log2) * share, kept);
    this.fullWithUnsent = Math.max(this.full, crowd(water, log2));
    this.scale = water.velocityScale;

    const [nx, ny, nz] = dims;
    const { positions, velocities } = views;
    const shift = water.unitBits + log2;
    sums.fill(0, 0, nx * ny * nz * 4);
    for (let at = 0; at < 4 * water.particleCount; at += 4) {
      // The last tile may reach beyond the tank.
      const x = Math.min(nx - 1, (positions[at] as number) >> shift);
      const y = Math.min(ny - 1, (positions[at + 1] as number) >> shift);
      const z = Math.min(nz - 1, (positions[at + 2] as number) >> shift);
      const to = 4 * (x + nx * (y + ny * z));
      sums[to] = (sums[to] as number) + (velocities[at] as number);
      sums[to + 1] = (sums[to + 1] as number) + (velocities[at + 1] as number);
      sums[to + 2] = (sums[to + 2] as number) + (velocities[at + 2] as number);
      sums[to + 3] = (sums[to + 3] as number) + 1;
    }
    this.leaveRoom(water, views, obstacles);
  }

  private leaveRoom(water: FrameInfo, views: SlotViews, obstacles: Obstacles | null): void {
    this.free = null;
    if (obstacles === null || obstacles.isEmpty) return;
    this.freeVoxels ??= new Float32Array(FLOW_VOXELS_MAX);
    const free = this.freeVoxels;
    obstacles.mark(free, this.dims, this.voxelM, water, views);
    const count = this.dims[0] * this.dims[1] * this.dims[2];
    // Where water is there is room for it, whatever the solid's shape is taken for.
    for (let i = 0; i < count; i++)
      if ((free[i] as number) < 1)
        free[i] = Math.max(free[i] as number, Math.min(1, (this.sums[4 * i + 3] as number) / this.full));
    this.free = free;
  }

  /** Particles that would be in a voxel without the solids in it; below 0: there is hardly any room in it. */
  countAt(voxel: number): number {
    const count = this.sums[4 * voxel + 3] as number;
    if (this.free === null) return count;
    const free = this.free[voxel] as number;
    return free < FREE_MIN ? -1 : count / free;
  }

  /**
   * Looks at a place, metres: where there is water its mean velocity is in vx, vy, vz then.
   * @return the density, 1 in calm water; beside a wall or a solid it goes on as it is
   */
  sample(x: number, y: number, z: number): number {
    const { sums, free } = this;
    const nx = this.dims[0];
    const ny = this.dims[1];
    const nz = this.dims[2];
    const perM = 1 / this.voxelM;
    const gx = Math.max(0, Math.min(nx - 1, x * perM - 0.5));
    const gy = Math.max(0, Math.min(ny - 1, y * perM - 0.5));
    const gz = Math.max(0, Math.min(nz - 1, z * perM - 0.5));
    const ix = gx | 0;
    const iy = gy | 0;
    const iz = gz | 0;
    const fx = gx - ix;
    const fy = gy - iy;
    const fz = gz - iz;
    const stepX = ix < nx - 1 ? 4 : 0;
    const stepY = iy < ny - 1 ? 4 * nx : 0;
    const stepZ = iz < nz - 1 ? 4 * nx * ny : 0;
    let mx = 0;
    let my = 0;
    let mz = 0;
    let count = 0;
    let room = free === null ? 1 : 0;
    let row = 4 * (ix + nx * (iy + ny * iz));
    for (let k = 0; k < 4; k++) {
      const weight = ((k & 1) === 0 ? 1 - fy : fy) * (k < 2 ? 1 - fz : fz);
      const near = weight * (1 - fx);
      const far = weight * fx;
      const other = row + stepX;
      const nearCount = sums[row + 3] as number;
      const farCount = sums[other + 3] as number;
      if (nearCount > 0) {
        mx += near * (sums[row] as number);
        my += near * (sums[row + 1] as number);
        mz += near * (sums[row + 2] as number);
        count += near * nearCount;
      }
      if (farCount > 0) {
        mx += far * (sums[other] as number);
        my += far * (sums[other + 1] as number);
        mz += far * (sums[other + 2] as number);
        count += far * farCount;
      }
      if (free !== null) room += near * (free[row >> 2] as number) + far * (free[other >> 2] as number);
      row += (k & 1) === 0 ? stepY : stepZ - stepY;
    }
    const toSpeed = count > 0 ? this.scale / count : 0;
    this.vx = mx * toSpeed;
    this.vy = my * toSpeed;
    this.vz = mz * toSpeed;
    return room > 0.02 ? count / (this.full * room) : 1;
  }
}

/** Particles in a voxel of the bulk, with those that weren't sent. */
function crowd({ crowding, cells }: FrameInfo, log2: number): number {
  return cells.reduce((all, n) => all * Math.min(n, 1 << log2), crowding);
}

function voxels(cells: number, log2: number): number {
  return (cells + (1 << log2) - 1) >> log2;
}
