// What probes had measured up to a moment of a recording. Moments mostly follow each other, so that messages do, too; before
// an earlier moment all of it is told once more from the start.
import type { Measured } from "../protocol/recorded-messages.js";
import type { Recording } from "./recording.js";

export interface MeasuredSink {
  /** Nothing has been measured yet. */
  restart(): void;
  /** @return false where it can't be taken yet: it comes again */
  take(message: Measured): boolean;
}

export class MeasuredTrack {
  private index = 0;
  private ms = Number.POSITIVE_INFINITY;

  /** @param measured  in the order of their times */
  constructor(
    private readonly measured: Recording["measured"],
    private readonly sink: MeasuredSink,
  ) {}

  /** A moment is shown. */
  show(ms: number): void {
    if (ms < this.ms) {
      this.index = 0;
      this.sink.restart();
    }
    this.ms = ms;
    for (let next = this.measured[this.index]; next !== undefined && next.atMs <= ms; ) {
      if (!this.sink.take(next.message)) return;
      next = this.measured[++this.index];
    }
  }
}
