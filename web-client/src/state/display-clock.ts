// Which simulated time the display shows. Frames come unevenly; the display must not. The clock runs at the pace of
// the simulation and leans gently towards where the newest frames say it should be.
//
//     target = newest frame's simulated time + time since it arrived * pace
//     shown  = shown + elapsed * pace * (1 + lean)      never backwards within an epoch
//
// What is drawn is the newest frame moved on by (shown - frame's time), within LEAD_MAX_S either way.

/** Farthest that particles are moved from where their frame has them, seconds. */
export const LEAD_MAX_S = 0.05;
/** A clock that is farther off than this jumps. */
const JUMP_S = 0.25;
/** Time in which the clock makes up for most of a difference, seconds. */
const SETTLE_S = 0.2;
const LEAN_MAX = 0.5;

export interface ClockFrame {
  epoch: number;
  simTimeS: number;
  realtimeFactor: number;
  paused: boolean;
}

export class DisplayClock {
  /** Simulated time that the display shows. */
  shownS = 0;
  /** Of a recording; 0: it stands still. */
  speed = 1;

  private epoch = -1;
  private frameS = 0;
  private arrivedMs = 0;
  private pace = 1;
  private paused = false;
  private tickedMs = 0;

  /** A frame was decoded; `arrivedMs` is when its bytes arrived. */
  onFrame(frame: ClockFrame, arrivedMs: number): void {
    const fresh = frame.epoch !== this.epoch;
    const pace = Math.min(
      1.05,
      Math.max(0, Number.isFinite(frame.realtimeFactor) ? frame.realtimeFactor : 1),
    );
    this.pace = fresh ? pace : this.pace + 0.1 * (pace - this.pace);
    this.paused = frame.paused;
    this.frameS = frame.simTimeS;
    this.arrivedMs = arrivedMs;
    if (fresh) {
      this.epoch = frame.epoch;
      this.shownS = frame.simTimeS;
      this.tickedMs = arrivedMs;
    }
  }

  /** Advances to the local time and returns the seconds by which the newest frame is to be moved on. */
  tick(nowMs: number): number {
    if (this.epoch < 0) return 0;
    const elapsedS = Math.max(0, (nowMs - this.tickedMs) / 1000);
    this.tickedMs = Math.max(this.tickedMs, nowMs);
    if (this.paused) {
      this.shownS = Math.max(this.shownS, this.frameS);
      // A step back to the frame's own time is no motion: a paused picture is exactly its frame.
      return 0;
    }
    // Without news the water stands still soon, instead of running away along its last velocity.
    const sinceS = Math.min(Math.max(0, (nowMs - this.arrivedMs) / 1000), LEAD_MAX_S);
    const pace = this.pace * this.speed;
    const target = this.frameS + sinceS * pace;
    const behind = target - this.shownS;
    if (behind > JUMP_S) {
      this.shownS = target;
    } else {
      const lean = Math.min(LEAN_MAX, Math.max(-1, behind / SETTLE_S));
      const next = this.shownS + elapsedS * pace * (1 + lean);
      this.shownS = Math.max(this.shownS, Math.min(next, this.frameS + LEAD_MAX_S));
    }
    const lead = this.shownS - this.frameS;
    return Math.min(LEAD_MAX_S, Math.max(-LEAD_MAX_S, lead));
  }

  /** Forgets everything, as after a lost connection. */
  reset(): void {
    this.epoch = -1;
    this.shownS = 0;
  }
}
