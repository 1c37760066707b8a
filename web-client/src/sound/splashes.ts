// Where water moves so fast that it traps air, which rings: what a frame of the stream lets hear. How many bubbles there
// are follows from the energy of what is fast, where they are from where that is.
import { type FrameInfo, type SlotViews, topSpeed } from "../codec/frame-info.js";
import { type Bubble, RADIUS_MAX_M, RADIUS_MIN_M } from "./bubbles.js";

/** So many particles of a frame are asked. */
const ASKED = 4096;
/** Share of the tank's top speed from which on water is loud. */
const LOUD = 0.1;
/** Bubbles a second where all water has the top speed; they go with the square root of its energy. */
const PER_S = 900;
export const PER_S_MAX = 240;
/** Longer breaks between two frames are somebody's pause. */
const FRAME_S_MAX = 0.25;

export interface Splash {
  bubbles: Bubble[];
  /** Their middle, metres in the tank. */
  at: [number, number, number];
}

export type HeardInfo = Pick<
  FrameInfo,
  "particleCount" | "unitBits" | "cellM" | "velocityScale" | "cells" | "gravity" | "paused"
>;
export type HeardViews = Pick<SlotViews, "positions" | "velocities">;

export class Splashes {
  /** Bubbles that are due, of which one isn't whole yet. */
  private due = 0;
  private readonly fast = new Int32Array(ASKED);
  private readonly weights = new Float32Array(ASKED);

  constructor(private readonly random: () => number) {}

  /**
   * What is heard from this frame to the next.
   *
   * @param lastsS  until the next frame
   * @returns null: nothing
   */
  hear(info: HeardInfo, views: HeardViews, lastsS: number): Splash | null {
    if (info.paused || info.particleCount === 0) return null;
    const { count, sum, asked } = this.find(info, views);
    const perS = Math.min(PER_S_MAX, PER_S * Math.sqrt(sum / asked));
    this.due += perS * Math.min(FRAME_S_MAX, lastsS) * (0.5 + this.random());
    const bubbles = Math.floor(this.due);
    this.due -= bubbles;
    return count === 0 || bubbles === 0 ? null : this.make(info, views, bubbles, count, sum, lastsS);
  }

  /** The fast ones among those that are asked, and how much each counts. */
  private find(info: HeardInfo, views: HeardViews): { count: number; sum: number; asked: number } {
    const step = Math.max(1, Math.ceil(info.particleCount / ASKED));
    const scale = info.velocityScale / topSpeed(info);
    let [count, sum, asked] = [0, 0, 0];
    for (let i = 0; i < info.particleCount; i += step, asked++) {
      const x = views.velocities[4 * i] as number;
      const y = views.velocities[4 * i + 1] as number;
      const z = views.velocities[4 * i + 2] as number;
      const share = Math.sqrt(x * x + y * y + z * z) * scale;
      if (share < LOUD) continue;
      const weight = Math.min(1, share) ** 2;
      this.fast[count] = i;
      this.weights[count++] = weight;
      sum += weight;
    }
    return { count, sum, asked };
  }

  private make(
    info: HeardInfo,
    views: HeardViews,
    bubbles: number,
    count: number,
    sum: number,
    lastsS: number,
  ): Splash {
    const unit = info.cellM / 2 ** info.unitBits;
    const splash: Splash = { bubbles: [], at: [0, 0, 0] };
    for (let b = 0; b < bubbles; b++) {
      let left = this.random() * sum;
      let which = 0;
      while (which < count - 1 && left > (this.weights[which] as number))
        left -= this.weights[which++] as number;
      const share = Math.sqrt(this.weights[which] as number);
      const particle = this.fast[which] as number;
      for (let axis = 0; axis < 3; axis++)
        (splash.at[axis] as number) += ((views.positions[4 * particle + axis] as number) * unit) / bubbles;
      splash.bubbles.push(this.bubble(share, lastsS));
    }
    return splash;
  }

  /** Small ones are many; what is faster traps larger ones as well. */
  private bubble(share: number, lastsS: number): Bubble {
    const radiusM =
      RADIUS_MIN_M * (RADIUS_MAX_M / RADIUS_MIN_M) ** (this.random() ** 1.6 * (0.4 + 0.6 * share));
    return {
      radiusM,
      amplitude: 0.5 * (radiusM / RADIUS_MAX_M) ** 0.75 * (0.3 + 0.7 * share) * this.random(),
      atS: this.random() * Math.min(FRAME_S_MAX, lastsS),
      rise: this.random() < 0.4 ? 0.1 * this.random() : 0,
    };
  }
}
