// What the top of a scale stands for, where the tank doesn't say: the least of 1, 1.5, 2, 3, 4, 5, 6, 8, 10, ... that nothing shown is above.
// It grows at once and shrinks after a while, so that colours don't flicker.

/** Where so much of it would do for so long it shrinks. */
const SHARE = 0.5;
const CALM_S = 2;

export class AutoRange {
  top = 0;
  /** It stays as it is. */
  held = false;
  private calmS = 0;

  /** @param most  of what is shown now @param passedS  of people's time since the last one */
  see(most: number, passedS: number): number {
    if (!(most >= 0) || (this.held && this.top > 0)) return this.top;
    if (most > this.top || this.top === 0) {
      this.top = niceAbove(most);
      this.calmS = 0;
    } else {
      this.calmS = niceAbove(most) <= SHARE * this.top ? this.calmS + passedS : 0;
      if (this.calmS > CALM_S) this.top = niceAbove(most);
    }
    return this.top;
  }
}

const DIGITS = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];

/** The least of these digits times a power of ten that isn't below; of what is hardly anything 0.01. */
export function niceAbove(value: number): number {
  if (value <= 0.01) return 0.01;
  const power = 10 ** Math.floor(Math.log10(value));
  const digits = DIGITS.find((one) => value <= one * power * (1 + 1e-9)) ?? 10;
  return Number((digits * power).toPrecision(3));
}
