// Which simulated time the display shows. Frames come unevenly; the display must not. The clock runs at the pace of
// the simulation and leans gently towards where the newest frames say it should be.
//
//     target = newest frame's simulated time + time since it arrived * pace - lag
//     shown  = shown + elapsed * pace * (1 + lean)      never backwards within an epoch
//
// What is drawn is the newest frame moved on by (shown - frame's time), within the reach either way. Frames that come
// often are shown at once. Where they come seldom the display lags by half of the time between two of them: it changes
// from one to the next in the middle, where both, moved by their velocities, agree to the second order. A particle
// that is accelerated evenly makes no step there.

/** Farthest that particles are moved from where their frame has them, seconds, where frames come often. */
export const LEAD_MAX_S = 0.05;
/** Frames farther apart than this are no stream to be shown evenly, simulated seconds. */
const GAP_MAX_S = 0.25;
/** Of the time between two frames: how far beyond the newest one the display may go. More than half: some are late. */
const REACH_GAPS = 0.75;
/** Weight of a longer and of a shorter time between two frames in their usual one. */
const LONGER = 0.5;
const SHORTER = 0.1;
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
  /** Usual simulated time between two frames, seconds. */
  private gapS = 0;

  /** Simulated time by which the display is behind the newest that it could show, seconds. */
  private get lagS(): number {
    return Math.max(0, Math.min(this.gapS - LEAD_MAX_S, 0.5 * this.gapS));
  }

  private get reachS(): number {
    return Math.max(LEAD_MAX_S, REACH_GAPS * this.gapS);
  }

  /** A frame was decoded; `arrivedMs` is when its bytes arrived. */
  onFrame(frame: ClockFrame, arrivedMs: number): void {
    const fresh = frame.epoch !== this.epoch;
    const pace = Math.min(
      1.05,
      Math.max(0, Number.isFinite(frame.realtimeFactor) ? frame.realtimeFactor : 1),
    );
    this.pace = fresh ? pace : this.pace + 0.1 * (pace - this.pace);
    this.takeGap(fresh ? 0 : frame.simTimeS - this.frameS);
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
    const { lagS, reachS } = this;
    const sinceS = Math.min(Math.max(0, (nowMs - this.arrivedMs) / 1000), lagS + reachS);
    const pace = this.pace * this.speed;
    const target = this.frameS + sinceS * pace - lagS;
    const behind = target - this.shownS;
    if (behind > JUMP_S) {
      this.shownS = target;
    } else {
      const lean = Math.min(LEAN_MAX, Math.max(-1, behind / SETTLE_S));
      const next = this.shownS + elapsedS * pace * (1 + lean);
      this.shownS = Math.max(this.shownS, Math.min(next, this.frameS + reachS));
    }
    const lead = this.shownS - this.frameS;
    return Math.min(reachS, Math.max(-reachS, lead));
  }

  private takeGap(gapS: number): void {
    if (gapS <= 0 || gapS > GAP_MAX_S) return;
    this.gapS += (gapS > this.gapS ? LONGER : SHORTER) * (gapS - this.gapS);
  }

  /** Forgets everything, as after a lost connection. */
  reset(): void {
    this.gapS = 0;
    this.epoch = -1;
    this.shownS = 0;
  }
}
