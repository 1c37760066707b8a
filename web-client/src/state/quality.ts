// How particles are drawn, from cheapest to finest, and how finely in pixels (detail.ts). A short measurement at the
// start chooses; afterwards the rate of pictures is watched: water that is late is measured again and left where its cost
// is to blame, not where the display or the browser is slow. A finer tier is tried after a while of being quick, and each
// time that this turned out too much the while gets longer.
import { SECONDARY_MAX } from "../codec/frame-info.js";
import { Detail } from "./detail.js";

export const TIERS = ["points", "spheres", "water-low", "water"] as const;
export type Tier = (typeof TIERS)[number];

/** Particles of spray, foam and bubbles that each shows at most. */
export const SECONDARY_ROOM: Readonly<Record<Tier, number>> = {
  points: 0,
  spheres: SECONDARY_MAX / 4,
  "water-low": SECONDARY_MAX / 2,
  water: SECONDARY_MAX,
};

/** What people may ask for, and the tier that it is. */
export const QUALITIES: Readonly<Record<string, Tier>> = {
  points: "points",
  spheres: "spheres",
  low: "water-low",
  high: "water",
};

/** A picture of the measurement may take so long, milliseconds: there is more to do between two pictures. */
const MEASURED_MS = 9;
/** No graphics card needs so long for water of the cheaper kind: the processor does its work, whatever the browser calls it. */
const BY_PROCESSOR_MS = 120;
/** Below this it gets cheaper, above that it may get finer, pictures per second. */
const SLOW = 38;
const QUICK = 55;
const WINDOW_MS = 1000;
/** Slow windows in a row before a tier is doubted: one alone is a hiccup. */
const SLOW_WINDOWS = 2;
const PATIENCE = 6;
const PATIENCE_MAX = 384;
const SPHERES = TIERS.indexOf("spheres");

/** Whether a tier shows the particles as water. */
export function isWater(tier: Tier): tier is "water" | "water-low" {
  return tier === "water" || tier === "water-low";
}

export interface QualityOptions {
  /** Stays at this tier. */
  pinned?: Tier | null;
  /** The cheapest and the finest tier that are chosen by itself. */
  cheapest?: Tier;
  finest?: Tier;
  /** Draws every pixel of the screen, however slow. */
  fullDetail?: boolean;
}

export class Quality {
  tier: Tier = "spheres";
  private detail = new Detail();
  private cheapest: number;
  private finest: number;
  private readonly fullDetail: boolean;
  private pinned: Tier | null;
  private isMeasured = false;
  /** The measurement that is wanted is of the tier that there is, which is late. */
  private isDoubted = false;
  /** Slow windows in a row before it is: more each time that its cost wasn't to blame. */
  private doubt = SLOW_WINDOWS;
  private began = Number.NaN;
  private pictures = 0;
  private slow = 0;
  private quick = 0;
  private patience = PATIENCE;
  /** A finer tier is on trial. */
  private isTrial = false;

  constructor(options: QualityOptions = {}) {
    const { pinned = null, cheapest = "points", finest = "water", fullDetail = false } = options;
    this.cheapest = TIERS.indexOf(cheapest);
    this.finest = TIERS.indexOf(finest);
    this.fullDetail = fullDetail;
    this.pinned = pinned;
    if (pinned !== null) this.tier = pinned;
  }

  /** Share of the screen's own pixels. */
  get scale(): number {
    return this.fullDetail ? 1 : this.detail.scale;
  }

  /** Whether `measure` is to be called, once there is something to draw: at the start, and when water is late. */
  get wantsMeasure(): boolean {
    return this.pinned === null && !this.isMeasured && this.finest > SPHERES;
  }

  /** Whether somebody asked for the tier. */
  get isPinned(): boolean {
    return this.pinned !== null;
  }

  /** Stays at a tier from now on; null: measures and chooses again. */
  pin(tier: Tier | null): void {
    this.pinned = tier;
    this.detail = new Detail();
    this.isMeasured = false;
    this.restart();
    this.patience = PATIENCE;
    this.isTrial = false;
    this.isDoubted = false;
    this.doubt = SLOW_WINDOWS;
    if (tier !== null) this.tier = tier;
    else this.tier = TIERS[clamp(TIERS.indexOf(this.tier), this.cheapest, this.finest)] as Tier;
  }

  /**
   * Chooses the finest tier that is quick enough, and none finer than one that is late.
   * @param costMs  draws a tier's picture, tells how long that took
   */
  measure(costMs: (tier: Tier) => number): void {
    const from = this.isDoubted ? TIERS.indexOf(this.tier) : this.finest;
    let chosen = from;
    let cost = 0;
    while (chosen > SPHERES) {
      cost = costMs(TIERS[chosen] as Tier);
      if (cost <= MEASURED_MS) break;
      chosen--;
    }
    // Points aren't cheaper there, and water is out of reach.
    if (chosen === SPHERES && cost > BY_PROCESSOR_MS)
      this.finest = this.cheapest = Math.max(SPHERES, this.cheapest);
    if (this.isDoubted) this.doubt = chosen === from ? Math.min(PATIENCE_MAX, 2 * this.doubt) : SLOW_WINDOWS;
    if (chosen < from) this.regret();
    this.isMeasured = true;
    this.isDoubted = false;
    this.change(chosen);
  }

  /** Once per picture. @return whether the tier or the scale changed */
  tick(nowMs: number): boolean {
    const before = this.tier;
    const isScaled =
      !(isWater(before) && this.pinned === null) && !this.fullDetail && this.detail.tick(nowMs);
    if (Number.isNaN(this.began)) this.began = nowMs;
    this.pictures++;
    const elapsed = nowMs - this.began;
    if (elapsed >= WINDOW_MS) {
      const rate = (1000 * (this.pictures - 1)) / elapsed;
      this.began = nowMs;
      this.pictures = 1;
      // A page that was hidden or a machine that slept measured nothing.
      if (elapsed <= 3 * WINDOW_MS && this.pinned === null) this.judge(rate);
    }
    return isScaled || this.tier !== before;
  }

  private judge(rate: number): void {
    const at = TIERS.indexOf(this.tier);
    this.slow = rate < this.slowest(at) ? this.slow + 1 : 0;
    this.quick = rate > QUICK ? this.quick + 1 : 0;
    if (at > SPHERES && this.slow >= this.doubt) {
      this.isDoubted = true;
      this.isMeasured = false;
    } else if (at <= SPHERES && this.slow >= SLOW_WINDOWS && at > this.cheapest) {
      this.regret();
      this.change(at - 1);
    } else if (this.quick >= this.patience && at < this.finest && this.scale === 1) {
      this.isTrial = true;
      this.change(at + 1);
    }
  }

  /** Spheres get coarser (detail.ts) before they become points. */
  private slowest(at: number): number {
    if (TIERS[at] !== "spheres") return SLOW;
    return this.fullDetail || this.detail.isCoarsest ? 12 : 0;
  }

  /** A tier turns out too much. */
  private regret(): void {
    if (this.isTrial) this.patience = Math.min(PATIENCE_MAX, 2 * this.patience);
    this.isTrial = false;
  }

  private change(to: number): void {
    this.tier = TIERS[to] as Tier;
    this.restart();
  }

  private restart(): void {
    this.began = Number.NaN;
    this.pictures = 0;
    this.slow = 0;
    this.quick = 0;
  }
}

function clamp(x: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, x));
}
