// A phone that is tilted tilts the tank. How it is held when this begins counts as upright; from there the water goes
// where it would in a tank on the screen.
//
// Angles are those of the Device Orientation specification: the device is turned by beta about its x axis (to the
// right), then by gamma about its y axis (to the top). The screen's own x and y are turned against the device's when
// the picture is.
import type { Vec3 } from "../state/ray.js";

export type Quaternion = [number, number, number, number];

const DEGREES = Math.PI / 180;
/** A smaller change of the tank's up isn't worth a message. */
const CHANGE_MIN = 0.004;
const SEND_MS = 33;

/** Up, in axes of the screen: right, top, towards whoever looks at it. */
export function upOnScreen(
  betaDegrees: number,
  gammaDegrees: number,
  screenDegrees: number,
  out: Vec3,
): Vec3 {
  const [beta, gamma, turn] = [betaDegrees * DEGREES, gammaDegrees * DEGREES, screenDegrees * DEGREES];
  const x = -Math.cos(beta) * Math.sin(gamma);
  const y = Math.sin(beta);
  out[0] = Math.cos(turn) * x - Math.sin(turn) * y;
  out[1] = Math.sin(turn) * x + Math.cos(turn) * y;
  out[2] = Math.cos(beta) * Math.cos(gamma);
  return out;
}

/** The shortest turn that takes one direction to another; both of length 1. */
export function turnBetween(from: Vec3, to: Vec3): Quaternion {
  const along = from[0] * to[0] + from[1] * to[1] + from[2] * to[2];
  let [x, y, z, w] = [
    from[1] * to[2] - from[2] * to[1],
    from[2] * to[0] - from[0] * to[2],
    from[0] * to[1] - from[1] * to[0],
    1 + along,
  ];
  // Opposite: any half turn across will do.
  if (w < 1e-6) {
    if (Math.abs(from[0]) > Math.abs(from[2])) [x, y, z, w] = [-from[1], from[0], 0, 0];
    else [x, y, z, w] = [0, -from[2], from[1], 0];
  }
  const length = Math.hypot(x, y, z, w);
  return [x / length, y / length, z / length, w / length];
}

export function turned(by: Quaternion, v: Vec3): Vec3 {
  const [x, y, z, w] = by;
  const [a, b, c] = [2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])];
  return [v[0] + w * a + y * c - z * b, v[1] + w * b + z * a - x * c, v[2] + w * c + x * b - y * a];
}

const UP: Vec3 = [0, 1, 0];

export interface TiltEnvironment {
  /** Direction from which the tank is looked at, radians: 0 is along its z axis. */
  yaw(): number;
  screenDegrees(): number;
  nowMs(): number;
  /** How the tank stands in the room. */
  send(orientation: Quaternion): void;
}

export class Tilt {
  on = false;
  private neutral: Quaternion | null = null;
  private neutralScreen = 0;
  private sentMs = Number.NEGATIVE_INFINITY;
  private readonly sentUp: Vec3 = [0, 1, 0];
  private readonly up: Vec3 = [0, 1, 0];

  constructor(private readonly environment: TiltEnvironment) {}

  start(): void {
    this.on = true;
    this.neutral = null;
    this.sentUp[1] = 2; // unlike any
  }

  /** Puts the tank upright again. */
  stop(): void {
    if (!this.on) return;
    this.on = false;
    this.environment.send([0, 0, 0, 1]);
  }

  /** Until the next reading, which counts as upright: as after the page was hidden. */
  rest(): void {
    this.neutral = null;
  }

  onReading(beta: number | null, gamma: number | null): void {
    if (!this.on || beta === null || gamma === null || !Number.isFinite(beta + gamma)) return;
    const screen = this.environment.screenDegrees();
    const up = upOnScreen(beta, gamma, screen, this.up);
    if (this.neutral === null || screen !== this.neutralScreen) {
      this.neutral = turnBetween(up, UP);
      this.neutralScreen = screen;
    }
    const now = this.environment.nowMs();
    if (now - this.sentMs < SEND_MS) return;
    const tankUp = this.toTank(turned(this.neutral, up));
    if (Math.hypot(...tankUp.map((x, i) => x - (this.sentUp[i] as number))) < CHANGE_MIN) return;
    this.sentMs = now;
    [this.sentUp[0], this.sentUp[1], this.sentUp[2]] = tankUp;
    this.environment.send(turnBetween(tankUp, UP));
  }

  /** From the screen's axes to the tank's, by where it is looked at from. */
  private toTank(v: Vec3): Vec3 {
    const [sin, cos] = [Math.sin(this.environment.yaw()), Math.cos(this.environment.yaw())];
    return [v[0] * cos + v[2] * sin, v[1], v[2] * cos - v[0] * sin];
  }
}
