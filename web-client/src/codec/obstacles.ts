// Where solids leave no room for water, voxel by voxel: what they fill is no air (air-traps.ts). A mesh counts as the
// ellipsoid that its box holds; where there is water all the same it is right (flow-grid.ts).
import { BODY_VALUES, type FrameInfo, type SlotViews } from "./frame-info.js";

type Vec = readonly [x: number, y: number, z: number];

export interface Obstacle {
  /** Which body of the frames it is; below 0: it stands still. */
  body: number;
  /** The axis of what is round is y; `ground` rises from its lowest height to those of `rows`. */
  kind: "box" | "ellipsoid" | "cylinder" | "ground";
  /** Half of its edges, metres, and where their middle is in its own coordinates. */
  half: Vec;
  middle: Vec;
  /** Solid is what is outside. */
  inverted: boolean;
  position: Vec;
  /** x y z w */
  rotation: readonly number[];
  /** Along z, of heights along x, metres. */
  rows: readonly (readonly number[])[];
}

/** Places that a voxel is asked at along each axis, of what stands still; what moves is asked in the middle. */
const PLACES = 2;
/** Of a half edge: nothing is flatter, metres. */
const FLAT_M = 1e-9;

export class Obstacles {
  private still: Obstacle[] = [];
  private readonly moving = new Map<number, Obstacle>();
  private stillFree: Float32Array | null = null;
  /** Voxels that `stillFree` is of. */
  private readonly dims: [number, number, number] = [0, 0, 0];
  private voxelM = 0;
  private readonly filler = new Filler();

  /** These are in the tank, in place of those before. */
  show(all: readonly Obstacle[]): void {
    this.still = all.filter(({ body }) => body < 0);
    this.moving.clear();
    for (const one of all) if (one.body >= 0) this.moving.set(one.body, one);
    this.voxelM = 0;
  }

  get isEmpty(): boolean {
    return this.still.length + this.moving.size === 0;
  }

  /** Says of each voxel, x fastest, which share of it is free: into `free`. */
  mark(free: Float32Array, dims: Vec, voxelM: number, info: FrameInfo, views: SlotViews): void {
    const { filler } = this;
    const [nx, ny, nz] = dims;
    const count = nx * ny * nz;
    this.stillFree ??= new Float32Array(free.length);
    if (voxelM !== this.voxelM || nx !== this.dims[0] || ny !== this.dims[1] || nz !== this.dims[2]) {
      this.voxelM = voxelM;
      this.dims[0] = nx;
      this.dims[1] = ny;
      this.dims[2] = nz;
      this.stillFree.fill(1, 0, count);
      for (const one of this.still) {
        filler.place(one, one.position, 0, one.rotation, 0);
        filler.fill(this.stillFree, dims, voxelM, one, PLACES);
      }
    }
    free.set(this.stillFree.subarray(0, count));
    for (let i = 0; i < info.bodyCount; i++) {
      const at = i * BODY_VALUES;
      const one = this.moving.get(views.bodies[at] as number);
      if (one === undefined) continue;
      filler.place(one, views.bodies, at + 1, views.bodies, at + 4);
      filler.fill(free, dims, voxelM, one, 1);
    }
  }
}

/** Takes a solid's share from the voxels that it is in. */
class Filler {
  /** A tank's direction to the solid's own, row by row, in the halves of its edges; and what is to be added. */
  private readonly turn = new Float64Array(9);
  private readonly add = new Float64Array(3);
  /** Of the box around it, metres. */
  private readonly low = new Float64Array(3);
  private readonly high = new Float64Array(3);
  private readonly first = new Int32Array(3);
  private readonly last = new Int32Array(3);

  /** The solid that `fill` is told of is here: position and rotation x y z w, from an index on. */
  place(
    { middle, half, inverted }: Obstacle,
    position: ArrayLike<number>,
    positionAt: number,
    rotation: ArrayLike<number>,
    rotationAt: number,
  ): void {
    const { turn, add, low, high } = this;
    const x = rotation[rotationAt] as number;
    const y = rotation[rotationAt + 1] as number;
    const z = rotation[rotationAt + 2] as number;
    const w = rotation[rotationAt + 3] as number;
    // The columns of the rotation as rows.
    turn[0] = 1 - 2 * (y * y + z * z);
    turn[1] = 2 * (x * y + w * z);
    turn[2] = 2 * (x * z - w * y);
    turn[3] = 2 * (x * y - w * z);
    turn[4] = 1 - 2 * (x * x + z * z);
    turn[5] = 2 * (y * z + w * x);
    turn[6] = 2 * (x * z + w * y);
    turn[7] = 2 * (y * z - w * x);
    turn[8] = 1 - 2 * (x * x + y * y);
    for (let axis = 0; axis < 3; axis++) {
      let at = position[positionAt + axis] as number;
      let reach = inverted ? Number.POSITIVE_INFINITY : 0;
      for (let own = 0; own < 3; own++) {
        const along = turn[3 * own + axis] as number;
        at += along * (middle[own] as number);
        reach += Math.abs(along) * (half[own] as number);
      }
      low[axis] = at - reach;
      high[axis] = at + reach;
    }
    for (let own = 0; own < 3; own++) {
      const perHalf = 1 / Math.max(FLAT_M, half[own] as number);
      add[own] = -(middle[own] as number) * perHalf;
      for (let axis = 0; axis < 3; axis++) {
        turn[3 * own + axis] = (turn[3 * own + axis] as number) * perHalf;
        add[own] =
          (add[own] as number) - (turn[3 * own + axis] as number) * (position[positionAt + axis] as number);
      }
    }
  }

  /** @param places  that each voxel is asked at along an axis */
  fill(free: Float32Array, dims: Vec, voxelM: number, one: Obstacle, places: number): void {
    const { low, high, first, last } = this;
    for (let axis = 0; axis < 3; axis++) {
      first[axis] = Math.max(0, Math.floor((low[axis] as number) / voxelM));
      last[axis] = Math.min((dims[axis] as number) - 1, Math.floor((high[axis] as number) / voxelM));
    }
    const share = 1 / places ** 3;
    const stepM = voxelM / places;
    for (let z = first[2] as number; z <= (last[2] as number); z++)
      for (let y = first[1] as number; y <= (last[1] as number); y++)
        for (
          let x = first[0] as number, at = x + dims[0] * (y + dims[1] * z);
          x <= (last[0] as number);
          x++, at++
        ) {
          let inside = 0;
          for (let k = 0; k < places; k++)
            for (let j = 0; j < places; j++)
              for (let i = 0; i < places; i++)
                if (
                  this.isIn(
                    one,
                    x * voxelM + (i + 0.5) * stepM,
                    y * voxelM + (j + 0.5) * stepM,
                    z * voxelM + (k + 0.5) * stepM,
                  ) !== one.inverted
                )
                  inside++;
          if (inside > 0) free[at] = Math.max(0, (free[at] as number) - inside * share);
        }
  }

  private isIn(one: Obstacle, x: number, y: number, z: number): boolean {
    const { turn, add } = this;
    const b =
      (turn[3] as number) * x + (turn[4] as number) * y + (turn[5] as number) * z + (add[1] as number);
    if (b >= 1 || b <= -1) return false;
    const a =
      (turn[0] as number) * x + (turn[1] as number) * y + (turn[2] as number) * z + (add[0] as number);
    if (a >= 1 || a <= -1) return false;
    const c =
      (turn[6] as number) * x + (turn[7] as number) * y + (turn[8] as number) * z + (add[2] as number);
    switch (one.kind) {
      case "ellipsoid":
        return a * a + b * b + c * c < 1;
      case "cylinder":
        return a * a + c * c < 1;
      case "box":
        return c < 1 && c > -1;
      case "ground":
        return c < 1 && c > -1 && one.middle[1] + b * one.half[1] < heightAt(one.rows, a, c);
    }
  }
}

/** Of the nearest of the heights. @param a @param c  -1..1 over the rows */
function heightAt(heights: Obstacle["rows"], a: number, c: number): number {
  const row = heights[Math.round((0.5 + 0.5 * c) * (heights.length - 1))] as readonly number[];
  return row[Math.round((0.5 + 0.5 * a) * (row.length - 1))] as number;
}
