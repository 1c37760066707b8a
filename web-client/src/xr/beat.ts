// When the pose of a controller or hand is sent: at once when something changes, else at a bounded rate. What isn't sent
// is replaced by what comes next.

/** Apart, ms: of what acts on the tank, and of what is only there. */
export const ACTIVE_MS = 15;
export const IDLE_MS = 100;

export class Beat {
  private sentMs = Number.NEGATIVE_INFINITY;

  /** @return whether to send now */
  due(nowMs: number, acts: boolean, changed: boolean): boolean {
    if (!changed && nowMs - this.sentMs < (acts ? ACTIVE_MS : IDLE_MS)) return false;
    this.sentMs = nowMs;
    return true;
  }
}
