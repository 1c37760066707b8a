// What thumbsticks mean: the left one moves, the right one turns in steps and sizes the tool. Pure state.

const DEAD = 0.18;
const SPEED_M_S = 1.4;
const SNAP_RAD = Math.PI / 6;
/** A stick turns when pushed beyond the first, and may turn again once back within the second. */
const SNAP_AT = 0.7;
const SNAP_READY = 0.4;
/** Of the tool's radius, e-fold per second at full tilt. */
const SIZE_RATE = 1.3;

export class Locomotion {
  /** Of this picture, metres in the room and rad about the vertical; positive turns to the left. */
  dx = 0;
  dz = 0;
  turn = 0;
  /** To multiply the tool's radius with. */
  sizeFactor = 1;

  private ready = true;

  /**
   * Once per picture.
   * @param yaw  where the person looks, about the vertical; 0: along -z
   */
  tick(left: readonly number[], right: readonly number[], yaw: number, elapsedS: number): void {
    const [lx, ly] = [shape(left[0] ?? 0), shape(left[1] ?? 0)];
    const way = SPEED_M_S * Math.min(0.1, elapsedS);
    this.dx = way * (lx * Math.cos(yaw) + ly * Math.sin(yaw));
    this.dz = way * (ly * Math.cos(yaw) - lx * Math.sin(yaw));

    const [rx, ry] = [right[0] ?? 0, right[1] ?? 0];
    this.turn = 0;
    if (Math.abs(rx) < SNAP_READY) this.ready = true;
    if (this.ready && Math.abs(rx) > SNAP_AT) {
      this.ready = false;
      this.turn = -Math.sign(rx) * SNAP_RAD;
    }
    const sizes = Math.abs(ry) > Math.abs(rx) ? shape(ry) : 0;
    this.sizeFactor = Math.exp(-sizes * SIZE_RATE * Math.min(0.1, elapsedS));
  }
}

/** Nothing near the middle, fine beside it, full at the end. */
function shape(x: number): number {
  const beyond = Math.min(1, Math.max(0, (Math.abs(x) - DEAD) / (1 - DEAD)));
  return Math.sign(x) * beyond * beyond;
}
