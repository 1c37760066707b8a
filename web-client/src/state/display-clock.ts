// Which simulated time the display shows. Frames come unevenly; the display must not. The clock runs at the pace of
// the simulation and leans gently towards where the newest frames say it should be.
//
//     target = newest frame's simulated time + time since it arrived * pace - lag
//     shown  = shown + elapsed * pace * (1 + lean)      never backwards within an epoch
//
// What is drawn is the newest frame moved on by (shown - frame's time), within the reach either way. Frames that come
// often are shown at once. Where they come seldom the display lags by half of the time between two of them: it changes
// from one to the next in the middle, where both, moved by their velocities, agree to the second order. A particle
// that is accelerated evenly makes no step there. Often and seldom are said of people's time: in slow motion, in which
// each step is shown for many pictures, all that is simulated time here is as much shorter.

/** Farthest that particles are moved from where their frame has them, seconds, where frames come often. */
export const LEAD_MAX_S = 0.05;
/** For so long a frame that is late is waited for in slow motion before what is shown stands, seconds that pass. */
const LATE_MAX_S = 0.1;
/** Frames farther apart than this are no stream to be shown evenly, simulated seconds. */
const GAP_MAX_S = 0.25;
/** Of the time between two frames: how far beyond the newest one the display may go. More than half: some are late. */
const REACH_GAPS = 0.75;
/** Weight of a longer time between two frames in their usual one. */
const LONGER = 0.5;
/** In which most of a shorter one, and of another pace, is taken over, seconds. */
const FOLLOW_S = 0.32;
/** Of the pace that a tank is to have: what makes up for a late step goes no faster. */
const PACE_MOST = 1.05;
/** A clock that is farther off than this jumps: seconds that pass, or times between two frames where they are more. */
const JUMP_S = 0.25;
const JUMP_GAPS = 2;
/** Time in which the clock makes up for most of a difference, seconds. */
const SETTLE_S = 0.2;
const LEAN_MAX = 0.5;
/** Slower than this no clock goes that runs. */
const SLOWEST = 0.01;

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
  /** That the tank is to have. */
  private asked = 1;
  private paused = false;
  private tickedMs = 0;
  /** Usual simulated time between two frames, seconds. */
  private gapS = 0;

  /** Simulated seconds in one that passes, where they are fewer. */
  private get slowness(): number {
    return Math.max(SLOWEST, Math.min(1, this.pace * (this.speed > 0 ? this.speed : 1)));
  }

  /** Simulated time by which the display is behind the newest that it could show, seconds. */
  private get lagS(): number {
    return Math.max(0, Math.min(this.gapS - LEAD_MAX_S * this.slowness, 0.5 * this.gapS));
  }

  private get reachS(): number {
    return Math.max(Math.min(LEAD_MAX_S, LATE_MAX_S * this.slowness), REACH_GAPS * this.gapS);
  }

  /** The tank's clock goes so fast from the next frame on, as its owners want. */
  ask(pace: number): void {
    if (pace === this.asked) return;
    this.asked = pace;
    this.pace = pace;
  }

  /** A frame was decoded; `arrivedMs` is when its bytes arrived. */
  onFrame(frame: ClockFrame, arrivedMs: number): void {
    const fresh = frame.epoch !== this.epoch;
    const factor = Number.isFinite(frame.realtimeFactor) ? frame.realtimeFactor : 1;
    // A paused tank's says nothing of how it goes on.
    const pace = frame.paused ? this.asked : Math.min(PACE_MOST * this.asked, Math.max(0, factor));
    const weight = 1 - Math.exp(-Math.max(0, arrivedMs - this.arrivedMs) / 1000 / FOLLOW_S);
    this.pace = fresh ? pace : this.pace + weight * (pace - this.pace);
    this.takeGap(fresh ? 0 : frame.simTimeS - this.frameS, weight);
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
    const { lagS, reachS, slowness } = this;
    const pace = this.pace * this.speed;
    const sinceS = Math.max(0, (nowMs - this.arrivedMs) / 1000);
    const target = this.frameS + Math.min(sinceS * pace, lagS + reachS) - lagS;
    const behind = target - this.shownS;
    if (behind > Math.max(JUMP_S * slowness, Math.min(JUMP_S, JUMP_GAPS * this.gapS))) {
      this.shownS = target;
    } else {
      const lean = Math.min(LEAN_MAX, Math.max(-1, behind / (SETTLE_S * slowness)));
      const next = this.shownS + elapsedS * pace * (1 + lean);
      this.shownS = Math.max(this.shownS, Math.min(next, this.frameS + reachS));
    }
    // What was shown before the reach became smaller stays.
    const [lead, most] = [this.shownS - this.frameS, Math.max(LEAD_MAX_S, reachS)];
    return Math.min(most, Math.max(-most, lead));
  }

  private takeGap(gapS: number, weight: number): void {
    if (gapS <= 0 || gapS > GAP_MAX_S) return;
    this.gapS += (gapS > this.gapS ? LONGER : weight) * (gapS - this.gapS);
  }

  /** Forgets everything, as after a lost connection. */
  reset(): void {
    this.gapS = 0;
    this.epoch = -1;
    this.shownS = 0;
  }
}
