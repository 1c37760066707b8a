// When to try again: 0.5 s, doubling to 10 s, with full jitter so that a thousand viewers don't return at once.

export const BACKOFF_FIRST_MS = 500;
export const BACKOFF_MAX_MS = 10_000;

export class Backoff {
  private failures = 0;

  /** @param random  uniform in [0, 1) */
  constructor(private readonly random: () => number = Math.random) {}

  /** Milliseconds to wait before the next try. */
  next(): number {
    const ceiling = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** Math.min(this.failures, 16));
    this.failures++;
    return this.random() * ceiling;
  }

  /** A connection worked. */
  reset(): void {
    this.failures = 0;
  }
}
