// Where the bodies are at the moment that the display shows. A frame has their poses at its own time; between the two
// newest frames they are interpolated, and beyond the newest they go on as they did between the two, for as long as the
// particles do. Nothing is allocated after the beginning.
import { BODY_VALUES } from "../codec/frame-info.js";
import { FRAME_BODIES_MAX } from "../tables/protocol-tables.js";

/** Frames farther apart than this say nothing of how fast a body moves, simulated seconds. */
const GAP_S_MAX = 0.25;

export interface BodyFrame {
  epoch: number;
  simTimeS: number;
  bodyCount: number;
}

export class BodyTrack {
  count = 0;

  private readonly newest = new Float64Array(FRAME_BODIES_MAX * BODY_VALUES);
  private readonly before = new Float64Array(FRAME_BODIES_MAX * BODY_VALUES);
  private epoch = -1;
  private newestS = 0;
  /** Simulated time between the two; 0: only the newest counts. */
  private gapS = 0;

  /** Takes a frame's bodies, which are copied. */
  onFrame(frame: BodyFrame, bodies: Float32Array): void {
    const gapS = frame.simTimeS - this.newestS;
    const follows = frame.epoch === this.epoch && frame.bodyCount === this.count && gapS >= 0;
    if (follows && gapS === 0) return; // the same moment once more
    this.before.set(this.newest);
    this.newest.set(bodies);
    this.gapS = follows && gapS <= GAP_S_MAX && this.sameSolids(frame.bodyCount) ? gapS : 0;
    this.epoch = frame.epoch;
    this.newestS = frame.simTimeS;
    this.count = frame.bodyCount;
  }

  /** Index of the solid that a body is. */
  solid(body: number): number {
    return this.newest[body * BODY_VALUES] as number;
  }

  /** A body's pose `leadS` seconds after the newest frame: x y z and the quaternion's x y z w into `pose`. */
  pose(body: number, leadS: number, pose: Float64Array): void {
    const at = body * BODY_VALUES + 1;
    const share = this.gapS > 0 ? Math.max(0, 1 + leadS / this.gapS) : 1;
    for (let i = 0; i < 3; i++) pose[i] = mix(this.before[at + i], this.newest[at + i], share);
    // q and -q are the same rotation: the nearer one of the two.
    let along = 0;
    for (let i = 3; i < 7; i++) along += (this.before[at + i] as number) * (this.newest[at + i] as number);
    const sign = along < 0 ? -1 : 1;
    let length = 0;
    for (let i = 3; i < 7; i++) {
      const part = mix(sign * (this.before[at + i] as number), this.newest[at + i], share);
      pose[i] = part;
      length += part * part;
    }
    const scale = 1 / Math.sqrt(length);
    for (let i = 3; i < 7; i++) pose[i] = (pose[i] as number) * scale;
  }

  private sameSolids(count: number): boolean {
    for (let body = 0; body < count; body++)
      if (this.newest[body * BODY_VALUES] !== this.before[body * BODY_VALUES]) return false;
    return true;
  }
}

function mix(a: number | undefined, b: number | undefined, share: number): number {
  return share === 1 ? (b as number) : (a as number) + share * ((b as number) - (a as number));
}
