// How finely a headset draws. When pictures are late, water that nobody asked for becomes spheres; then the edges of the
// view get coarser (foveation). When that isn't enough, or was never needed, the next session gets another resolution.
import { isWater, type Tier } from "../state/quality.js";

export const LEVELS: readonly number[] = [0, 0.35, 0.7, 1];
export const SCALE_MIN = 0.5;
const SCALE_STEP = 0.85;
const WINDOW_MS = 1000;
/** A picture is late beyond so many intervals of the display. */
const LATE = 1.4;
/** Shares of late pictures above which it gets coarser, and below which it may get finer. */
const SLOW_SHARE = 0.12;
const CALM_SHARE = 0.02;
/** Calm windows in a row before it gets finer: twice as many each time that it had to be taken back. */
const PATIENCE = 5;
const PATIENCE_MAX = 60;
/** Slow windows in a row before water becomes spheres: one alone is a hiccup. */
const SLOW_WATER = 2;
/** Calm windows at the finest level before it becomes water again: twice as many each time that it was too much. */
const WATER_PATIENCE = 10;
const WATER_PATIENCE_MAX = 320;
/** Slow windows at the coarsest level, or calm ones at the finest, that change the next session's resolution. */
const VERDICT = 5;
const CALM_VERDICT = 30;

export class Pacing {
  /** Of XRWebGLLayer and projection layers, 0..1. */
  foveation = LEVELS[0] as number;
  /** How the water is drawn. */
  tier: Tier = "spheres";
  /** Share of the headset's own resolution that the next session begins with. */
  scale = 1;

  private level = 0;
  private beganMs = Number.NaN;
  private lastMs = Number.NaN;
  private pictures = 0;
  private late = 0;
  private calm = 0;
  private patience = PATIENCE;
  private slowWindows = 0;
  private calmWindows = 0;
  private finest: Tier = "spheres";
  private pinned = false;
  private slowWater = 0;
  private waterPatience = WATER_PATIENCE;

  /**
   * A session begins.
   * @param finest  as which the water may be drawn
   * @param pinned  it stays that
   */
  begin(finest: Tier = "spheres", pinned = false): void {
    this.tier = this.finest = finest;
    this.pinned = pinned;
    this.slowWater = 0;
    this.waterPatience = WATER_PATIENCE;
    this.level = 0;
    this.foveation = LEVELS[0] as number;
    this.beganMs = this.lastMs = Number.NaN;
    this.pictures = this.late = this.calm = 0;
    this.patience = PATIENCE;
    this.slowWindows = this.calmWindows = 0;
  }

  /** Once per picture. @param intervalMs  of the display @return whether the foveation or the tier changed */
  tick(nowMs: number, intervalMs: number): boolean {
    if (Number.isNaN(this.beganMs)) {
      this.beganMs = this.lastMs = nowMs;
      return false;
    }
    const took = nowMs - this.lastMs;
    this.lastMs = nowMs;
    this.pictures++;
    if (took > LATE * intervalMs) this.late++;
    const elapsed = nowMs - this.beganMs;
    if (elapsed < WINDOW_MS) return false;
    const share = this.late / this.pictures;
    this.beganMs = nowMs;
    this.pictures = this.late = 0;
    // The headset was off the head, or the session hidden.
    if (elapsed > 3 * WINDOW_MS) return false;
    return this.judge(share);
  }

  private judge(share: number): boolean {
    const before = this.level;
    this.calm = share < CALM_SHARE ? this.calm + 1 : 0;
    if (!this.pinned && isWater(this.finest) && this.judgeWater(share)) return true;
    if (share > SLOW_SHARE) {
      this.patience = Math.min(PATIENCE_MAX, this.patience * 2);
      if (this.level === LEVELS.length - 1) this.tooSlow();
      this.level = Math.min(LEVELS.length - 1, this.level + 1);
    } else if (this.calm >= this.patience && this.level > 0) {
      this.level--;
      this.calm = 0;
    } else if (this.level === 0 && share < CALM_SHARE && ++this.calmWindows === CALM_VERDICT) {
      this.scale = Math.min(1, this.scale / SCALE_STEP);
    }
    this.foveation = LEVELS[this.level] as number;
    return this.level !== before;
  }

  /** @return whether the tier changed */
  private judgeWater(share: number): boolean {
    if (isWater(this.tier)) {
      this.slowWater = share > SLOW_SHARE ? this.slowWater + 1 : 0;
      if (this.slowWater < SLOW_WATER) return false;
      this.tier = "spheres";
      this.waterPatience = Math.min(WATER_PATIENCE_MAX, 2 * this.waterPatience);
    } else {
      if (this.level > 0 || this.calm < this.waterPatience) return false;
      this.tier = this.finest;
      this.slowWater = 0;
    }
    this.calm = 0;
    return true;
  }

  private tooSlow(): void {
    this.calmWindows = 0;
    if (++this.slowWindows === VERDICT) this.scale = Math.max(SCALE_MIN, this.scale * SCALE_STEP);
  }
}
