// The motion that attracts people to a wall that nobody touches: two slow strokes, drawn by each page for itself, since
// several displays of one tank would fight if they sent it. They follow the time of day, in which displays agree even while
// a tank rests and sends nothing.

/** Nobody does anything for so long before it begins, ms. */
export const IDLE_MS = 30_000;
/** In which it sets in, and in which it is gone, seconds. */
const RISE_S = 5;
const FALL_S = 0.8;
/** Of the second stroke's way, so that both don't meet. */
const APART_S = 11;

export interface Stroke {
  /** Shares of the wall's width and height. */
  x: number;
  y: number;
  /** The same, per second. */
  vx: number;
  vy: number;
}

export class IdleStir {
  /** 0..1: how much there is of it. */
  strength = 0;

  /** Once per picture. @param idleMs  since somebody did something */
  tick(elapsedS: number, idleMs: number): number {
    const step = idleMs > IDLE_MS ? elapsedS / RISE_S : -elapsedS / FALL_S;
    this.strength = Math.min(1, Math.max(0, this.strength + step));
    return this.strength;
  }
}

/** Where a stroke is at a time, and how fast it goes: a slow loop that comes everywhere. */
export function strokeAt(which: number, timeS: number, into: Stroke): void {
  const t = timeS + which * APART_S;
  const [a, b] = which === 0 ? [0.31, 0.47] : [0.41, 0.29];
  into.x = 0.5 + 0.4 * Math.sin(a * t);
  into.y = 0.5 + 0.36 * Math.sin(b * t + 1);
  into.vx = 0.4 * a * Math.cos(a * t);
  into.vy = 0.36 * b * Math.cos(b * t + 1);
}
