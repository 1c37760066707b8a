// Lines along a flow that stands still: streamlines, and the buffer in which any lines travel to the picture.
import type { Vec3 } from "./ray.js";

/** A flow in tank coordinates, metres. */
export interface Flow {
  /** Velocity at the place that `sample` looked at last, m/s. */
  readonly vx: number;
  readonly vy: number;
  readonly vz: number;
  /** Looks at a place. @return how dense the fluid is there: 1 where it is calm, 0 in air */
  sample(x: number, y: number, z: number): number;
}

/** Where it is less dense counts as air. */
export const AIR = 0.25;

/** Values of a point: x, y, z, m; speed, m/s, or less than 0 where a line ends; seconds on the way since the line's seed. */
export const POINT_VALUES = 5;

/** Points of lines one after another, each line's end marked: a drawing program takes every two neighbours as a piece. */
export class LineBuffer {
  readonly points: Float32Array<ArrayBuffer>;
  count = 0;

  /** @param capacity  points, ends of lines included */
  constructor(readonly capacity: number) {
    this.points = new Float32Array(capacity * POINT_VALUES);
  }

  clear(): void {
    this.count = 0;
  }

  /** @return false where there is no room for it and an end */
  add(x: number, y: number, z: number, speed: number, timeS: number): boolean {
    if (this.count > this.capacity - 2) return false;
    const at = POINT_VALUES * this.count++;
    this.points[at] = x;
    this.points[at + 1] = y;
    this.points[at + 2] = z;
    this.points[at + 3] = speed;
    this.points[at + 4] = timeS;
    return true;
  }

  /** Ends the line. */
  cut(): void {
    if (this.count === 0 || this.count === this.capacity) return;
    const at = POINT_VALUES * this.count;
    this.points.copyWithin(at, at - POINT_VALUES, at);
    this.points[at + 3] = -1;
    this.count++;
  }

  /** Reverses the points from an index on. */
  reverse(from: number): void {
    const { points } = this;
    for (let low = from, high = this.count - 1; low < high; low++, high--)
      for (let c = 0; c < POINT_VALUES; c++) {
        const [a, b] = [POINT_VALUES * low + c, POINT_VALUES * high + c];
        const kept = points[a] as number;
        points[a] = points[b] as number;
        points[b] = kept;
      }
  }
}

export interface LineLimits {
  /** Of a step along the line, metres. */
  stepM: number;
  /** To either side of the seed. */
  stepsMax: number;
  /** Slower fluid stands, m/s. */
  speedMin: number;
  sizeM: readonly number[];
}

/**
 * Integrates streamlines: the classical fourth-order method of Runge and Kutta over the direction of the flow, with steps
 * of equal length (as, for vector fields, in Press et al., Numerical Recipes, section 17.1). A line ends where air, the
 * wall or standing fluid is, and where it comes back to its seed.
 */
export class Streamlines {
  /** Direction and speed at the place looked at last. */
  private readonly way: Vec3 = [0, 0, 0];
  private speed = 0;
  private readonly at: Vec3 = [0, 0, 0];
  private readonly sum: Vec3 = [0, 0, 0];

  /** Adds the line through a seed, both ways. @return whether there is one */
  trace(flow: Flow, seed: readonly number[], limits: LineLimits, lines: LineBuffer): boolean {
    const from = lines.count;
    if (!this.look(flow, seed[0] as number, seed[1] as number, seed[2] as number, limits)) return false;
    const closed = this.run(flow, seed, -1, limits, lines);
    lines.reverse(from);
    const speed = this.seedSpeed;
    lines.add(seed[0] as number, seed[1] as number, seed[2] as number, speed, 0);
    if (!closed) this.run(flow, seed, 1, limits, lines);
    if (lines.count - from < 2) lines.count = from;
    else lines.cut();
    return lines.count > from;
  }

  private seedSpeed = 0;

  /** @param way  1: downstream, -1: upstream. @return whether it came back to its seed */
  private run(
    flow: Flow,
    seed: readonly number[],
    way: 1 | -1,
    limits: LineLimits,
    lines: LineBuffer,
  ): boolean {
    const { at, sum } = this;
    const { stepM } = limits;
    let timeS = 0;
    for (let axis = 0; axis < 3; axis++) at[axis] = seed[axis] as number;
    if (!this.look(flow, at[0], at[1], at[2], limits)) return false;
    this.seedSpeed = this.speed;
    for (let step = 0; step < limits.stepsMax; step++) {
      const { way: along } = this;
      const speed = this.speed;
      sum[0] = along[0];
      sum[1] = along[1];
      sum[2] = along[2];
      for (let stage = 1; stage < 4; stage++) {
        const reach = way * stepM * (stage < 3 ? 0.5 : 1);
        if (
          !this.look(
            flow,
            at[0] + reach * along[0],
            at[1] + reach * along[1],
            at[2] + reach * along[2],
            limits,
          )
        )
          return false;
        const weight = stage < 3 ? 2 : 1;
        sum[0] += weight * along[0];
        sum[1] += weight * along[1];
        sum[2] += weight * along[2];
      }
      const share = (way * stepM) / 6;
      at[0] += share * sum[0];
      at[1] += share * sum[1];
      at[2] += share * sum[2];
      if (!this.look(flow, at[0], at[1], at[2], limits)) return false;
      timeS += (way * 2 * stepM) / (speed + this.speed);
      if (!lines.add(at[0], at[1], at[2], this.speed, timeS)) return false;
      if (step > 4 && distance(at, seed) < 0.6 * stepM) return true;
    }
    return false;
  }

  /** @return false where no line goes on */
  private look(flow: Flow, x: number, y: number, z: number, { sizeM, speedMin }: LineLimits): boolean {
    if (!isInside(x, y, z, sizeM) || flow.sample(x, y, z) < AIR) return false;
    const { vx, vy, vz } = flow;
    const speed = Math.sqrt(vx * vx + vy * vy + vz * vz);
    this.speed = speed;
    if (!(speed > speedMin)) return false;
    this.way[0] = vx / speed;
    this.way[1] = vy / speed;
    this.way[2] = vz / speed;
    return true;
  }
}

export function isInside(x: number, y: number, z: number, sizeM: readonly number[]): boolean {
  return (
    x >= 0 &&
    y >= 0 &&
    z >= 0 &&
    x <= (sizeM[0] as number) &&
    y <= (sizeM[1] as number) &&
    z <= (sizeM[2] as number)
  );
}

function distance(a: readonly number[], b: readonly number[]): number {
  return Math.hypot(
    (a[0] as number) - (b[0] as number),
    (a[1] as number) - (b[1] as number),
    (a[2] as number) - (b[2] as number),
  );
}
