// The camera's motion around the tank: angles, distance and a little inertia. Pure state; the stage reads it.
import { HOME, type Home } from "./framing.js";

export const ORBIT_PITCH_MIN = -0.15;
export const ORBIT_PITCH_MAX = 1.45;
export const ORBIT_DISTANCE_MIN = 0.6;
export const ORBIT_DISTANCE_MAX = 6;

export class Orbit {
  yaw: number;
  pitch: number;
  /** In multiples of the distance that shows the whole tank. */
  distance = 1;

  private yawGoal: number;
  private pitchGoal: number;
  private distanceGoal = 1;
  private home: Home;

  constructor(yaw = HOME[0], pitch = HOME[1]) {
    this.home = [yaw, pitch];
    this.yaw = this.yawGoal = yaw;
    this.pitch = this.pitchGoal = pitch;
  }

  /** Makes its home elsewhere; who looks from home moves there at once. */
  settle(home: Home): void {
    if (home === this.home) return;
    const wasThere = this.yawGoal === this.home[0] && this.pitchGoal === this.home[1];
    this.home = home;
    if (wasThere) this.look(...home, this.distanceGoal);
  }

  /** Turns by shares of the canvas's height. */
  turn(dx: number, dy: number): void {
    this.yawGoal -= dx * 3.4;
    this.pitchGoal = clamp(this.pitchGoal + dy * 2.4, ORBIT_PITCH_MIN, ORBIT_PITCH_MAX);
  }

  zoom(factor: number): void {
    this.distanceGoal = clamp(this.distanceGoal * factor, ORBIT_DISTANCE_MIN, ORBIT_DISTANCE_MAX);
  }

  /** Looks from there at once. @param yaw, pitch  radians; @param distance  as `distance` */
  look(yaw: number, pitch: number, distance: number): void {
    this.yaw = this.yawGoal = yaw;
    this.pitch = this.pitchGoal = clamp(pitch, ORBIT_PITCH_MIN, ORBIT_PITCH_MAX);
    this.distance = this.distanceGoal = clamp(distance, ORBIT_DISTANCE_MIN, ORBIT_DISTANCE_MAX);
  }

  /** Where the motion leads: yaw and pitch, radians, and distance. */
  get goal(): readonly [number, number, number] {
    return [this.yawGoal, this.pitchGoal, this.distanceGoal];
  }

  get isHome(): boolean {
    return this.yawGoal === this.home[0] && this.pitchGoal === this.home[1] && this.distanceGoal === 1;
  }

  goHome(): void {
    this.yawGoal = this.home[0];
    this.pitchGoal = this.home[1];
    this.distanceGoal = 1;
  }

  /** Moves towards the goal; at once where people asked for less motion. */
  tick(elapsedS: number, atOnce: boolean): void {
    if (atOnce) {
      this.yaw = this.yawGoal;
      this.pitch = this.pitchGoal;
      this.distance = this.distanceGoal;
      return;
    }
    const share = 1 - Math.exp(-elapsedS / 0.07);
    this.yaw += (this.yawGoal - this.yaw) * share;
    this.pitch += (this.pitchGoal - this.pitch) * share;
    this.distance += (this.distanceGoal - this.distance) * share;
  }
}

function clamp(x: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, x));
}
