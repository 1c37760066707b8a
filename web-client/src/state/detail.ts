// How finely to draw, in pixels per CSS pixel: as fine as the screen, less where the machine doesn't keep up.

export const DETAIL_MIN = 0.4;
/** Below this the picture gets coarser, pictures per second. */
const SLOW = 22;
/** Above this it may get finer again. */
const QUICK = 50;
const WINDOW_MS = 1000;
/** Quick windows in a row before a finer picture is tried: longer each time that it had to be taken back. */
const PATIENCE = 4;

export class Detail {
  /** Share of the screen's own pixels, DETAIL_MIN..1. */
  scale = 1;

  private began = Number.NaN;
  private pictures = 0;
  private quick = 0;
  private patience = PATIENCE;

  get isCoarsest(): boolean {
    return this.scale <= DETAIL_MIN;
  }

  /** Once per picture. @return whether the scale changed */
  tick(nowMs: number): boolean {
    if (Number.isNaN(this.began)) this.began = nowMs;
    this.pictures++;
    const elapsed = nowMs - this.began;
    if (elapsed < WINDOW_MS) return false;
    const rate = (1000 * this.pictures) / elapsed;
    this.began = nowMs;
    this.pictures = 0;
    // A page that was hidden or a machine that slept measured nothing.
    if (elapsed > 3 * WINDOW_MS) return false;
    return this.judge(rate);
  }

  private judge(rate: number): boolean {
    const before = this.scale;
    this.quick = rate > QUICK ? this.quick + 1 : 0;
    if (rate < SLOW) {
      this.scale = Math.max(DETAIL_MIN, this.scale * 0.8);
      this.patience = Math.min(64, this.patience * 2);
    } else if (this.quick >= this.patience) {
      this.scale = Math.min(1, this.scale * 1.25);
      this.quick = 0;
    }
    return this.scale !== before;
  }
}
