// How fast something tracked moves in the tank, from its last few poses there: headsets that tell velocities tell them in
// the room, and the tank moves in it, too.
import { Quaternion, Vector3 } from "three";

const SAMPLES = 4;
/** Older poses than this don't count, as long as there is another, ms. */
const WINDOW_MS = 60;
/** After such a pause it begins afresh, ms. */
const GAP_MS = 500;

interface Sample {
  ms: number;
  position: Vector3;
  orientation: Quaternion;
}

export class Motion {
  /** m/s */
  readonly velocity = new Vector3();
  /** rad/s */
  readonly spin = new Vector3();

  private readonly samples: Sample[] = Array.from({ length: SAMPLES }, () => ({
    ms: 0,
    position: new Vector3(),
    orientation: new Quaternion(),
  }));
  private count = 0;
  private newest = 0;
  private readonly turn = new Quaternion();

  /** After a jump: what comes next has no past. */
  reset(): void {
    this.count = 0;
    this.velocity.set(0, 0, 0);
    this.spin.set(0, 0, 0);
  }

  /** @param speedMax  bound of each component, m/s and rad/s */
  add(nowMs: number, position: Vector3, orientation: Quaternion, speedMax: number): void {
    const last = this.samples[this.newest] as Sample;
    if (this.count > 0 && nowMs - last.ms > GAP_MS) this.reset();
    if (this.count > 0 && nowMs <= last.ms) return;
    this.newest = (this.newest + 1) % SAMPLES;
    this.count = Math.min(SAMPLES, this.count + 1);
    const now = this.samples[this.newest] as Sample;
    now.ms = nowMs;
    now.position.copy(position);
    now.orientation.copy(orientation);
    if (this.count < 2) return;

    const then = this.oldest(nowMs);
    const seconds = (nowMs - then.ms) / 1000;
    this.velocity.copy(position).sub(then.position).divideScalar(seconds).clampScalar(-speedMax, speedMax);
    this.turn.copy(then.orientation).invert().premultiply(orientation);
    const sign = this.turn.w < 0 ? -1 : 1;
    const sine = Math.hypot(this.turn.x, this.turn.y, this.turn.z);
    const angle = 2 * Math.atan2(sine, Math.abs(this.turn.w));
    const scale = sine > 1e-9 ? (sign * angle) / sine / seconds : 0;
    this.spin.set(this.turn.x, this.turn.y, this.turn.z).multiplyScalar(scale);
    this.spin.clampScalar(-speedMax, speedMax);
  }

  private oldest(nowMs: number): Sample {
    let back = 1;
    while (back + 1 < this.count && nowMs - this.sample(back + 1).ms <= WINDOW_MS) back++;
    return this.sample(back);
  }

  private sample(back: number): Sample {
    return this.samples[(this.newest - back + SAMPLES) % SAMPLES] as Sample;
  }
}
