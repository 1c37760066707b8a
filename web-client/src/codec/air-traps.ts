// Where water traps air, from the flow around a voxel: the potentials of Ihmsen, Akinci, Akinci and Teschner, Unified spray,
// foam and bubbles for particle-based fluids (2012), with sums over voxels in the place of those over neighbours.
import type { FlowGrid } from "./flow-grid.js";

/** How much the surface turns from a voxel to those beside it, and the least slope of the density that is a surface. */
const CREST_LOW = 0.35;
const CREST_HIGH = 1.4;
const SLOPE_MIN = 0.22;
/** The surface goes where the water does: cosine of the angle between. */
const CREST_COSINE = 0.6;
/** Share of what is around a particle that is air: where less is, none is trapped. */
const OPEN_LOW = 0.1;
const OPEN_HIGH = 0.3;

/** How far a value is between two others, 0..1: the paper's clamping function. */
export function potential(value: number, low: number, high: number): number {
  return Math.max(0, Math.min(1, (value - low) / (high - low)));
}

export class AirTraps {
  private readonly normal = new Float32Array(3);
  private readonly otherNormal = new Float32Array(3);

  constructor(private readonly grid: FlowGrid) {}

  /** How open it is around a voxel: 0 deep in the water, where there is no air. Solids are none. */
  openAt(ix: number, iy: number, iz: number): number {
    const { grid } = this;
    const { full, dims } = grid;
    const nx = dims[0];
    const ny = dims[1];
    const nz = dims[2];
    const here = ix + nx * (iy + ny * iz);
    let sum = 0;
    let places = 0;
    for (let side = -1; side < 6; side++) {
      const to = (side & 1) * 2 - 1;
      let at = here;
      if (side >= 0) {
        const i = (side < 2 ? ix : side < 4 ? iy : iz) + to;
        if (i < 0 || i >= (side < 2 ? nx : side < 4 ? ny : nz)) continue;
        at += to * (side < 2 ? 1 : side < 4 ? nx : nx * ny);
      }
      const count = grid.countAt(at);
      if (count < 0) continue;
      sum += Math.min(full, count);
      places++;
    }
    return places > 0 ? potential(1 - sum / (places * full), OPEN_LOW, OPEN_HIGH) : 0;
  }

  /** How fast what is around a voxel comes towards a particle in it, m/s: the faster, the more air is trapped between. */
  closingAt(ix: number, iy: number, iz: number, ux: number, uy: number, uz: number): number {
    const { sums, full, dims, scale } = this.grid;
    const nx = dims[0];
    const ny = dims[1];
    const nz = dims[2];
    const here = 4 * (ix + nx * (iy + ny * iz));
    let sum = 0;
    let weights = 0;
    for (let side = -1; side < 6; side++) {
      const to = (side & 1) * 2 - 1;
      let at = here;
      if (side >= 0) {
        const i = (side < 2 ? ix : side < 4 ? iy : iz) + to;
        if (i < 0 || i >= (side < 2 ? nx : side < 4 ? ny : nz)) continue;
        at += 4 * to * (side < 2 ? 1 : side < 4 ? nx : nx * ny);
      }
      const count = sums[at + 3] as number;
      if (count === 0) continue;
      const speed = scale / count;
      const dx = ux - (sums[at] as number) * speed;
      const dy = uy - (sums[at + 1] as number) * speed;
      const dz = uz - (sums[at + 2] as number) * speed;
      // The direction from the other voxel to this one is against the axis.
      const towards = side < 0 ? 0 : to * (side < 2 ? dx : side < 4 ? dy : dz);
      const weight = Math.min(1, count / full);
      sum += weight * (Math.sqrt(dx * dx + dy * dy + dz * dz) + towards);
      weights += weight;
    }
    // A drop by itself traps nothing.
    return weights > 0 ? (sum / weights) * Math.min(1, weights) : 0;
  }

  /** 0..1: whether the surface in a voxel is a crest that goes where it faces. */
  crestAt(ix: number, iy: number, iz: number, ux: number, uy: number, uz: number): number {
    const { normal, otherNormal } = this;
    if (this.outwardAt(ix, iy, iz, normal) < SLOPE_MIN) return 0;
    const nx = normal[0] as number;
    const ny = normal[1] as number;
    const nz = normal[2] as number;
    const speed = Math.sqrt(ux * ux + uy * uy + uz * uz);
    if (nx * ux + ny * uy + nz * uz < CREST_COSINE * speed) return 0;
    let turns = 0;
    for (let side = 0; side < 6; side++) {
      const to = (side & 1) * 2 - 1;
      // Only what lies below this place of the surface: it bulges then.
      if (to * (side < 2 ? nx : side < 4 ? ny : nz) > 0) continue;
      const dx = side < 2 ? to : 0;
      const dy = side >= 2 && side < 4 ? to : 0;
      const dz = side >= 4 ? to : 0;
      if (this.outwardAt(ix + dx, iy + dy, iz + dz, otherNormal) < SLOPE_MIN) continue;
      turns +=
        1 -
        (nx * (otherNormal[0] as number) + ny * (otherNormal[1] as number) + nz * (otherNormal[2] as number));
    }
    return potential(turns, CREST_LOW, CREST_HIGH);
  }

  /** The surface's direction in a voxel, of length 1, into `into`. @return how much the density falls across it */
  private outwardAt(ix: number, iy: number, iz: number, into: Float32Array): number {
    const { grid } = this;
    const { full, dims } = grid;
    const nx = dims[0];
    const ny = dims[1];
    const nz = dims[2];
    const cx = Math.max(0, Math.min(nx - 1, ix));
    const cy = Math.max(0, Math.min(ny - 1, iy));
    const cz = Math.max(0, Math.min(nz - 1, iz));
    const here = cx + nx * (cy + ny * cz);
    const own = grid.countAt(here);
    if (own < 0) return 0;
    const x = this.falls(own, cx > 0 ? here - 1 : here, cx < nx - 1 ? here + 1 : here);
    const y = this.falls(own, cy > 0 ? here - nx : here, cy < ny - 1 ? here + nx : here);
    const z = this.falls(own, cz > 0 ? here - nx * ny : here, cz < nz - 1 ? here + nx * ny : here);
    const length = Math.sqrt(x * x + y * y + z * z);
    const scale = length > 0 ? 1 / length : 0;
    into[0] = x * scale;
    into[1] = y * scale;
    into[2] = z * scale;
    return length / (2 * full);
  }

  /** How much less there is in one voxel than in another; beside a solid it goes on as it is. */
  private falls(own: number, from: number, to: number): number {
    const a = this.grid.countAt(from);
    const b = this.grid.countAt(to);
    return (a < 0 ? own : a) - (b < 0 ? own : b);
  }
}
