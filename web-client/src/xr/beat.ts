// When the pose of a controller or hand is sent: at once when something changes, else at a bounded rate. What isn't sent
// is replaced by what comes next. Of pictures that are a little less apart than the rate allows not every second one goes
// out, but as many as it allows.

/** Apart, ms: of what acts on the tank, and of what is only there. */
export const ACTIVE_MS = 15;
export const IDLE_MS = 100;

/**
 * When something that goes out now is taken to be sent: when it was due, so that being late doesn't add up. What wasn't
 * due yet, or was for a whole turn, counts from now.
 */
export function sentAt(beforeMs: number, nowMs: number, everyMs: number): number {
  const lateMs = nowMs - beforeMs - everyMs;
  return lateMs >= 0 && lateMs < everyMs ? nowMs - lateMs : nowMs;
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
