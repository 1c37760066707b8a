// The sound of bubbles, of which that of water is made: each that is trapped rings once, a sine that fades.
//
// K. van den Doel, Physically based models for liquid sounds (ACM Transactions on Applied Perception 2(4), 2005), on
// M. Minnaert, On musical air-bubbles and the sounds of running water (Philosophical Magazine 16, 1933).

/** Radii that are heard: smaller ones ring beyond most ears, larger ones hardly keep together. */
export const RADIUS_MIN_M = 0.0006;
export const RADIUS_MAX_M = 0.012;

/** Of air in water below the atmosphere: 1/(2 pi r) * sqrt(3 gamma p / rho). */
const MINNAERT_HZ_M = Math.sqrt((3 * 1.4 * 101_325) / 998) / (2 * Math.PI);

/** A bubble is heard until it is a thousandth of what it was. */
const FADED = Math.log(1000);

export interface Bubble {
  radiusM: number;
  /** Of the pressure at the start, 1: full scale. */
  amplitude: number;
  /** From the start of what it is added to. */
  atS: number;
  /** How fast its pitch rises in units of its damping: 0 deep below the surface, 0.1 where it opens into the air. */
  rise: number;
}

export function frequencyHz(radiusM: number): number {
  return MINNAERT_HZ_M / radiusM;
}

/** By radiation and heat, 1/s: the amplitude is e^(-damping t). */
export function dampingPerS(radiusM: number): number {
  return 0.13 / radiusM + 0.0072 * radiusM ** -1.5;
}

/** How long a bubble is heard. */
export function durationS(radiusM: number): number {
  return FADED / dampingPerS(radiusM);
}

/** Adds a bubble to samples; what lies beyond their end is left out. */
export function addBubble(into: Float32Array, sampleRate: number, bubble: Bubble): void {
  const damping = dampingPerS(bubble.radiusM);
  const turn = 2 * Math.PI * frequencyHz(bubble.radiusM);
  const first = Math.max(0, Math.ceil(bubble.atS * sampleRate));
  const end = Math.min(into.length, Math.ceil((bubble.atS + durationS(bubble.radiusM)) * sampleRate));
  const fade = Math.exp(-damping / sampleRate);
  let level = bubble.amplitude * Math.exp(-damping * (first / sampleRate - bubble.atS));
  for (let i = first; i < end; i++, level *= fade) {
    const t = i / sampleRate - bubble.atS;
    // The phase of a frequency f (1 + rise * damping * t).
    into[i] = (into[i] as number) + level * Math.sin(turn * t * (1 + 0.5 * bubble.rise * damping * t));
  }
}
