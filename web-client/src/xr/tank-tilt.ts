// Which tilt of the tank is shown. While hands hold the tank it is theirs, at once; the frames have it later, by the time
// that the way to the server and back takes. After the hands have let go it stays until the frames have arrived at it.
import { Quaternion } from "three";

/** The frames are there when they differ by less, rad. */
const ARRIVED_RAD = 0.01;
/** Frames that haven't arrived by then are right: somebody else turned the tank, or the server didn't take it. */
const WAIT_MS = 1000;

export class Tilt {
  private readonly own = new Quaternion();
  private releasedMs = Number.NaN;
  private state: "frames" | "held" | "released" = "frames";

  /** The hands turned it so. */
  hold(tilt: Quaternion): void {
    this.own.copy(tilt);
    this.state = "held";
  }

  release(nowMs: number): void {
    if (this.state !== "held") return;
    this.state = "released";
    this.releasedMs = nowMs;
  }

  forget(): void {
    this.state = "frames";
  }

  /** Turns what the newest frame says into what is to be shown. */
  show(tilt: Quaternion, nowMs: number): void {
    if (this.state === "released") {
      const late = nowMs - this.releasedMs > WAIT_MS;
      if (late || tilt.angleTo(this.own) < ARRIVED_RAD) this.state = "frames";
    }
    if (this.state !== "frames") tilt.copy(this.own);
  }
}
