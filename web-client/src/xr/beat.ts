// When the pose of a controller or hand is sent: at once when something changes, else at a bounded rate. What isn't sent
// is replaced by what comes next. What is late is made up for by the next: pictures that are a little less apart than the
// rate would otherwise be sent by halves.

/** Apart, ms: of what acts on the tank, and of what is only there. */
export const ACTIVE_MS = 15;
export const IDLE_MS = 100;

/**
 * When something is taken to be sent that goes out now: as late as it should have been, and by less than one time too
 * early.
 */
export function sentAt(beforeMs: number, nowMs: number, everyMs: number): number {
  return Math.min(nowMs, Math.max(beforeMs + everyMs, nowMs - everyMs));
}

export class Beat {
  private sentMs = Number.NEGATIVE_INFINITY;

  /** @return whether to send now */
  due(nowMs: number, acts: boolean, changed: boolean): boolean {
    const every = acts ? ACTIVE_MS : IDLE_MS;
    if (!changed && nowMs - this.sentMs < every) return false;
    this.sentMs = sentAt(this.sentMs, nowMs, every);
    return true;
  }
}
