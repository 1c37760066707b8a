// Small running measurements for the readout. None of them allocates once made.

/** Events (or amounts) per second over the last `windowMs`, in buckets. */
export class Rate {
  private readonly sums: Float64Array;
  private bucket = 0;
  private startedMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly windowMs = 2000,
    private readonly buckets = 20,
  ) {
    this.sums = new Float64Array(buckets);
  }

  add(amount: number, nowMs: number): void {
    this.advance(nowMs);
    this.sums[this.bucket] = (this.sums[this.bucket] as number) + amount;
  }

  perSecond(nowMs: number): number {
    this.advance(nowMs);
    let sum = 0;
    for (let i = 0; i < this.buckets; i++) sum += this.sums[i] as number;
    // Measured over the time that has really passed, so that it's right from the first second on.
    const coveredMs = Math.min(this.windowMs, Math.max(nowMs - this.startedMs, this.windowMs / this.buckets));
    return (1000 * sum) / coveredMs;
  }

  private advance(nowMs: number): void {
    const lengthMs = this.windowMs / this.buckets;
    const now = Math.floor(nowMs / lengthMs);
    if (this.startedMs === Number.NEGATIVE_INFINITY) {
      this.startedMs = nowMs;
      this.last = now;
    }
    const steps = Math.min(this.buckets, now - this.last);
    for (let i = 0; i < steps; i++) {
      this.bucket = (this.bucket + 1) % this.buckets;
      this.sums[this.bucket] = 0;
    }
    if (now > this.last) this.last = now;
  }
  private last = 0;
}

/** An exponentially smoothed value. */
export class Smoothed {
  value = Number.NaN;

  constructor(private readonly weight = 0.15) {}

  add(sample: number): void {
    this.value = Number.isNaN(this.value) ? sample : this.value + this.weight * (sample - this.value);
  }

  reset(): void {
    this.value = Number.NaN;
  }
}

/** When each of the newest inputs was sent, so that the frame that contains one tells how long it took. */
export class InputTimes {
  private readonly sequences = new Float64Array(256);
  private readonly times = new Float64Array(256);
  private answered = 0;

  sent(sequence: number, nowMs: number): void {
    this.sequences[sequence & 255] = sequence;
    this.times[sequence & 255] = nowMs;
  }

  /** The age of the newest input that a frame contains, ms; null where it was known from an earlier frame. */
  contained(sequence: number, nowMs: number): number | null {
    if (sequence <= this.answered) return null;
    this.answered = sequence;
    if (this.sequences[sequence & 255] !== sequence) return null;
    return nowMs - (this.times[sequence & 255] as number);
  }

  reset(): void {
    this.sequences.fill(0);
    this.answered = 0;
  }
}

/**
 * Counts the frames that were made but never decoded here. A server makes them at an even rate, so the usual time
 * between two of them (on the server's clock) tells how many are missing in a longer gap.
 * A tank that is slower than that makes a frame of every step: successive steps have nothing missing between them.
 */
export class Drops {
  total = 0;
  private epoch = -1;
  private step = 0;
  private timeUs = 0;
  private usualUs = 0;
  private running = false;

  onFrame(epoch: number, step: number, serverTimeUs: number, paused: boolean): void {
    const steps = step - this.step;
    const gapUs = serverTimeUs - this.timeUs;
    const follows = epoch === this.epoch && steps > 0 && gapUs > 0 && !paused && this.running;
    this.epoch = epoch;
    this.step = step;
    this.timeUs = serverTimeUs;
    this.running = !paused;
    if (!follows) return;
    if (this.usualUs === 0) this.usualUs = gapUs;
    if (gapUs < 1.5 * this.usualUs) this.usualUs += 0.1 * (gapUs - this.usualUs);
    else this.total += Math.min(steps, Math.round(gapUs / this.usualUs)) - 1;
  }

  /** The next frame follows no other, as after a lost connection or a hidden page. */
  restart(): void {
    this.epoch = -1;
  }
}
