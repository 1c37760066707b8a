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

export class Obstacles {
  private still: Obstacle[] = [];
  private moving: Obstacle[] = [];
  private stillFree: Float32Array | null = null;
  /** Voxels that `stillFree` is of. */
  private dims: Vec = [0, 0, 0];
  private voxelM = 0;

  /** These are in the tank, in place of those before. */
  show(all: readonly Obstacle[]): void {
    this.still = all.filter(({ body }) => body < 0);
    this.moving = all.filter(({ body }) => body >= 0);
    this.voxelM = 0;
  }

  get isEmpty(): boolean {
    return this.still.length + this.moving.length === 0;
  }

  /** Says of each voxel, x fastest, which share of it is free: into `free`. */
  mark(free: Float32Array, dims: Vec, voxelM: number, info: FrameInfo, views: SlotViews): void {
    const count = dims[0] * dims[1] * dims[2];
    const isSame = voxelM === this.voxelM && dims.every((n, axis) => n === this.dims[axis]);
    this.stillFree ??= new Float32Array(free.length);
    if (!isSame) {
      this.voxelM = voxelM;
      this.dims = [...dims];
      this.stillFree.fill(1, 0, count);
      for (const one of this.still)
        fill(this.stillFree, dims, voxelM, one, one.position, one.rotation, PLACES);
    }
    free.set(this.stillFree.subarray(0, count));
    for (let i = 0; i < info.bodyCount; i++) {
      const [index, x, y, z, ...rotation] = views.bodies.subarray(i * BODY_VALUES, (i + 1) * BODY_VALUES);
      const one = this.moving.find(({ body }) => body === index);
      if (one !== undefined) fill(free, dims, voxelM, one, [x, y, z] as unknown as Vec, rotation, 1);
    }
  }
}

/** Takes a solid's share from the voxels that it is in. @param places  that each is asked at along an axis */
function fill(
  free: Float32Array,
  dims: Vec,
  voxelM: number,
  one: Obstacle,
  position: Vec,
  rotation: readonly number[],
  places: number,
): void {
  const turn = rows(rotation);
  const low = [0, 0, 0];
  const high = dims.map((n) => n - 1);
  if (!one.inverted)
    for (let axis = 0; axis < 3; axis++) {
      const along = [turn[axis] as number, turn[3 + axis] as number, turn[6 + axis] as number];
      const middle = along.reduce(
        (sum, part, i) => sum + part * (one.middle[i] as number),
        position[axis] as number,
      );
      const reach = along.reduce((sum, part, i) => sum + Math.abs(part) * (one.half[i] as number), 0);
      low[axis] = Math.max(0, Math.floor((middle - reach) / voxelM));
      high[axis] = Math.min((dims[axis] as number) - 1, Math.floor((middle + reach) / voxelM));
    }
  const share = 1 / places ** 3;
  for (let z = low[2] as number; z <= (high[2] as number); z++)
    for (let y = low[1] as number; y <= (high[1] as number); y++)
      for (let x = low[0] as number; x <= (high[0] as number); x++) {
        let taken = 0;
        for (let i = 0; i < places ** 3; i++) {
          const px = (x + ((i % places) + 0.5) / places) * voxelM - position[0];
          const py = (y + ((Math.floor(i / places) % places) + 0.5) / places) * voxelM - position[1];
          const pz = (z + (Math.floor(i / places ** 2) + 0.5) / places) * voxelM - position[2];
          taken += isIn(one, turn, px, py, pz) !== one.inverted ? share : 0;
        }
        const at = x + dims[0] * (y + dims[1] * z);
        if (taken > 0) free[at] = Math.max(0, (free[at] as number) - taken);
      }
}

/** A rotation's columns as rows: they take a tank's direction to the solid's own. */
function rows([x = 0, y = 0, z = 0, w = 1]: readonly number[]): number[] {
  return [
    1 - 2 * (y * y + z * z),
    2 * (x * y + w * z),
    2 * (x * z - w * y),
    2 * (x * y - w * z),
    1 - 2 * (x * x + z * z),
    2 * (y * z + w * x),
    2 * (x * z + w * y),
    2 * (y * z - w * x),
    1 - 2 * (x * x + y * y),
  ];
}

/** Whether a place, seen from the solid's position, is in it. */
function isIn(one: Obstacle, turn: readonly number[], x: number, y: number, z: number): boolean {
  const { middle, half } = one;
  const own = (axis: number): number =>
    ((turn[3 * axis] as number) * x +
      (turn[3 * axis + 1] as number) * y +
      (turn[3 * axis + 2] as number) * z -
      (middle[axis] as number)) /
    (half[axis] as number);
  const [a, b, c] = [own(0), own(1), own(2)];
  if (one.kind === "ellipsoid") return a * a + b * b + c * c < 1;
  if (Math.abs(b) >= 1) return false;
  if (one.kind === "cylinder") return a * a + c * c < 1;
  if (Math.abs(a) >= 1 || Math.abs(c) >= 1) return false;
  return one.kind === "box" || middle[1] + b * half[1] < heightAt(one.rows, a, c);
}

/** Of the nearest of the heights. @param a @param c  -1..1 over the rows */
function heightAt(heights: Obstacle["rows"], a: number, c: number): number {
  const row = heights[Math.round((0.5 + 0.5 * c) * (heights.length - 1))] as readonly number[];
  return row[Math.round((0.5 + 0.5 * a) * (row.length - 1))] as number;
}
