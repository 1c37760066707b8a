// Dots that are put into the flow in rows and drift with it, as hydrogen bubbles off a wire do: their rows are the lines
// of what was in one row at one time.
import { Drift } from "./drift.js";
import type { Flow } from "./flow-lines.js";
import type { Vec3 } from "./ray.js";

/** Values of a dot: x, y, z, m; velocity, m/s; number of its row. */
export const DOT_VALUES = 7;
/** Of all tiers. */
export const DOTS_MAX = 4096;

export class MarkerDots {
  readonly dots = new Float32Array(DOTS_MAX * DOT_VALUES);
  count = 0;
  /** Rows that were put in. */
  rows = 0;
  private readonly drift = new Drift();
  private readonly at: Vec3 = [0, 0, 0];

  /**
   * Puts a row in, or a grid as one; the oldest dots make room.
   * @param places  x, y, z each
   * @param most    dots in all, up to DOTS_MAX
   */
  add(flow: Flow, places: readonly (readonly number[])[], most: number): void {
    const { dots } = this;
    const room = Math.min(most, DOTS_MAX);
    const over = Math.min(this.count, Math.max(0, this.count + places.length - room));
    if (over > 0) {
      dots.copyWithin(0, over * DOT_VALUES, this.count * DOT_VALUES);
      this.count -= over;
    }
    for (const [x, y, z] of places.slice(0, room) as Vec3[]) {
      if (flow.sample(x, y, z) <= 0) continue;
      const at = DOT_VALUES * this.count++;
      dots[at] = x;
      dots[at + 1] = y;
      dots[at + 2] = z;
      dots[at + 3] = flow.vx;
      dots[at + 4] = flow.vy;
      dots[at + 5] = flow.vz;
      dots[at + 6] = this.rows;
    }
    this.rows++;
  }

  /** Lets them drift from a frame to the next; those that have left the fluid go. */
  move(before: Flow, after: Flow, dtS: number, voxelM: number, sizeM: readonly number[]): void {
    const { dots, at } = this;
    let kept = 0;
    for (let i = 0; i < this.count; i++) {
      const from = DOT_VALUES * i;
      for (let axis = 0; axis < 3; axis++) at[axis] = dots[from + axis] as number;
      if (!this.drift.move(before, after, at, dtS, voxelM, sizeM)) continue;
      if (after.sample(at[0], at[1], at[2]) <= 0) continue;
      const to = DOT_VALUES * kept++;
      dots[to] = at[0];
      dots[to + 1] = at[1];
      dots[to + 2] = at[2];
      dots[to + 3] = after.vx;
      dots[to + 4] = after.vy;
      dots[to + 5] = after.vz;
      dots[to + 6] = dots[from + 6] as number;
    }
    this.count = kept;
  }

  clear(): void {
    this.count = 0;
  }
}
