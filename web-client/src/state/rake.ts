// A rake: a line in the tank, from which streamlines and rows of dots begin.
import type { Vec3 } from "./ray.js";

export type RakeEnd = "from" | "to" | "middle";

/** How it lies across the tank, through its middle. */
export type RakeWay = "x" | "y" | "z";

const WAYS: readonly RakeWay[] = ["x", "y", "z"];
/** Of the tank, left out at either end: seeds at a wall stand. */
const MARGIN = 0.06;
/** Along it and up that are looked at to find fluid. */
const PLACES = 16;

export class Rake {
  from: Vec3 = [0, 0, 0];
  to: Vec3 = [0, 0, 0];
  private sizeM: Vec3 = [0, 0, 0];

  /** The tank is so large: the rake is where it was in proportion, at first upright in a quarter of its length. */
  fit(sizeM: readonly number[]): void {
    if (sizeM.every((metres, axis) => metres === this.sizeM[axis])) return;
    const before = this.sizeM;
    const size = [...sizeM] as Vec3;
    this.sizeM = size;
    if (before[0] === 0) {
      this.lie("y");
      return;
    }
    for (const end of [this.from, this.to])
      for (let axis = 0; axis < 3; axis++)
        end[axis] = ((end[axis] as number) / (before[axis] as number)) * (size[axis] as number);
  }

  /** Lies along an axis, through where it is, or at first through a quarter of the tank's length. */
  lie(way: RakeWay): void {
    const axis = WAYS.indexOf(way);
    const middle = this.middle();
    const isNew = this.from.every((metres, i) => metres === this.to[i]);
    if (isNew) for (let i = 0; i < 3; i++) middle[i] = (this.sizeM[i] as number) * (i === 0 ? 0.25 : 0.5);
    this.from = [...middle] as Vec3;
    this.to = [...middle] as Vec3;
    this.from[axis] = MARGIN * (this.sizeM[axis] as number);
    this.to[axis] = (1 - MARGIN) * (this.sizeM[axis] as number);
  }

  /**
   * Lowers or lifts it to where most of it is in fluid, where hardly any of it is.
   * @param isFluid  whether there is fluid at a place
   */
  settle(isFluid: (x: number, y: number, z: number) => boolean): void {
    const seeds = this.seeds(PLACES);
    const wet = (by: number): number => seeds.filter(([x, y, z]) => isFluid(x, y + by, z)).length;
    if (wet(0) > PLACES / 4) return;
    const low = Math.min(this.from[1], this.to[1]);
    const room = this.sizeM[1] - Math.abs(this.to[1] - this.from[1]);
    const counts = Array.from({ length: PLACES }, (_, i) => wet(((i + 0.5) / PLACES) * room - low));
    const most = Math.max(...counts);
    if (most === 0) return;
    // In the middle of where it is so, so that it isn't at the surface.
    const best = counts.flatMap((count, i) => (count === most ? [i] : []));
    const by = (((best[best.length >> 1] as number) + 0.5) / PLACES) * room - low;
    this.from[1] += by;
    this.to[1] += by;
  }

  middle(): Vec3 {
    return this.from.map((metres, axis) => 0.5 * (metres + (this.to[axis] as number))) as Vec3;
  }

  placeOf(end: RakeEnd): Vec3 {
    return end === "middle" ? this.middle() : this[end];
  }

  /** Moves an end, or all of it by its middle, as far as it stays in the tank. */
  move(end: RakeEnd, place: readonly number[]): void {
    if (end !== "middle") {
      this[end] = this.sizeM.map((size, axis) => clamp(place[axis] as number, 0, size)) as Vec3;
      return;
    }
    const middle = this.middle();
    for (let axis = 0; axis < 3; axis++) {
      const [a, b] = [this.from[axis] as number, this.to[axis] as number];
      const by = clamp(
        (place[axis] as number) - (middle[axis] as number),
        -Math.min(a, b),
        (this.sizeM[axis] as number) - Math.max(a, b),
      );
      this.from[axis] = a + by;
      this.to[axis] = b + by;
    }
  }

  /** Evenly along it, the ends included. @param count  at least 1 */
  seeds(count: number): Vec3[] {
    return Array.from({ length: count }, (_, i) => {
      const share = count === 1 ? 0.5 : i / (count - 1);
      return this.from.map((metres, axis) => metres + share * ((this.to[axis] as number) - metres)) as Vec3;
    });
  }
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(low, high), Math.max(low, value));
}
