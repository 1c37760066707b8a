// The session's state at a moment of a recording. Moments mostly follow each other, so the search goes on from the last.
import type { SessionState } from "../protocol/messages.js";
import type { Recording } from "./recording.js";

export class StateTrack {
  private index = 0;

  /** @param states  in the order of their times */
  constructor(private readonly states: Recording["states"]) {}

  /** @return the newest at that moment, or the first where it is earlier; null where there is none */
  at(ms: number): SessionState | null {
    if (this.startOf(this.index) > ms) this.index = 0;
    while (this.startOf(this.index + 1) <= ms) this.index++;
    return this.states[this.index]?.state ?? null;
  }

  private startOf(index: number): number {
    return this.states[index]?.atMs ?? Number.POSITIVE_INFINITY;
  }
}
