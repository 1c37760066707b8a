// What drifts with the flow between two frames: the classical fourth-order method of Runge and Kutta, with the velocity
// between the frames in proportion to the time that has passed.
import { AIR, type Flow, isInside } from "./flow-lines.js";
import type { Vec3 } from "./ray.js";

/** A step crosses at most so much of a voxel. */
const REACH = 0.5;
const STEPS_MAX = 64;

export class Drift {
  /** Mean of the velocities at the last place, and of how dense it is there. */
  private readonly velocity: Vec3 = [0, 0, 0];
  private readonly sum: Vec3 = [0, 0, 0];

  /**
   * @param before  the flow when the time began
   * @param after   and when it has passed
   * @param at      the place; is moved
   * @param voxelM  of the flow's grid
   * @param dtS     seconds; below 0: back
   * @return false where it has left the fluid
   */
  move(before: Flow, after: Flow, at: Vec3, dtS: number, voxelM: number, sizeM: readonly number[]): boolean {
    if (!this.look(before, after, at[0], at[1], at[2], 0)) return false;
    const speed = Math.hypot(...this.velocity);
    const steps = Math.min(STEPS_MAX, Math.max(1, Math.ceil((speed * Math.abs(dtS)) / (REACH * voxelM))));
    const dt = dtS / steps;
    for (let step = 0; step < steps; step++)
      if (!this.step(before, after, at, dt, step / steps, 1 / steps)) return false;
    if (isInside(at[0], at[1], at[2], sizeM)) return true;
    for (let axis = 0; axis < 3; axis++)
      at[axis] = Math.min(sizeM[axis] as number, Math.max(0, at[axis] as number));
    return true;
  }

  private step(before: Flow, after: Flow, at: Vec3, dt: number, from: number, share: number): boolean {
    const { velocity, sum } = this;
    if (!this.look(before, after, at[0], at[1], at[2], from)) return false;
    sum[0] = velocity[0];
    sum[1] = velocity[1];
    sum[2] = velocity[2];
    for (let stage = 1; stage < 4; stage++) {
      const half = stage < 3 ? 0.5 : 1;
      const reach = half * dt;
      // Beyond the surface it goes on as it went.
      this.look(
        before,
        after,
        at[0] + reach * velocity[0],
        at[1] + reach * velocity[1],
        at[2] + reach * velocity[2],
        from + half * share,
      );
      const weight = stage < 3 ? 2 : 1;
      sum[0] += weight * velocity[0];
      sum[1] += weight * velocity[1];
      sum[2] += weight * velocity[2];
    }
    at[0] += (dt / 6) * sum[0];
    at[1] += (dt / 6) * sum[1];
    at[2] += (dt / 6) * sum[2];
    return true;
  }

  /** @param share  of the time that has passed. @return false in air, and the velocity stays as it was */
  private look(before: Flow, after: Flow, x: number, y: number, z: number, share: number): boolean {
    const { velocity } = this;
    const early = before.sample(x, y, z);
    const late = after.sample(x, y, z);
    // Where one of them has no fluid the other says how it goes.
    const weight = late < AIR ? 0 : early < AIR ? 1 : share;
    if (early < AIR && late < AIR) return false;
    velocity[0] = before.vx + weight * (after.vx - before.vx);
    velocity[1] = before.vy + weight * (after.vy - before.vy);
    velocity[2] = before.vz + weight * (after.vz - before.vz);
    return true;
  }
}
