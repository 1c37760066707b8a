// The tank in somebody's hands. One hand carries it and turns it about the vertical; two hands turn, carry and scale it,
// and may tilt it.
//
//     orientation in the room = yaw (of the stand, only here) · tilt (of the tank, told to the server)
//
// A turn about the vertical changes nothing for the water, and so nobody else's picture; the rest is the tank's own
// orientation, from which the server knows where gravity points in it. A turn D that begins at yaw Y and tilt T is split
// into a turn about the vertical and what remains of Y⁻¹ D Y = V S, so that Y V is the new yaw and S T the new tilt: both
// go on from where they were, whoever has turned the tank before.
import { Quaternion, Vector3 } from "three";

/** Where the tank stands in the room. */
export interface Stand {
  /** Of the tank's middle, metres. */
  position: Vector3;
  /** About the vertical, rad. */
  yaw: number;
  /** Metres of the room for one of the tank. */
  scale: number;
  tilt: Quaternion;
}

/** A hand that holds the tank, in the room. */
export interface Hold {
  point: Vector3;
  orientation: Quaternion;
}

/** Hands that turn the tank tilt it a little without meaning to: so much is taken off, rad. */
export const TILT_SLACK_RAD = 0.06;
/** Hands nearer to each other than this say no direction, metres. */
const SPAN_M_MIN = 0.02;
const UP = new Vector3(0, 1, 0);

export function newStand(): Stand {
  return { position: new Vector3(), yaw: 0, scale: 1, tilt: new Quaternion() };
}

export function copyStand(from: Stand, to: Stand): void {
  to.position.copy(from.position);
  to.yaw = from.yaw;
  to.scale = from.scale;
  to.tilt.copy(from.tilt);
}

/** Angle of a rotation's part about an axis of unit length, -π..π. */
export function twistAbout(rotation: Quaternion, axis: Vector3): number {
  const along = rotation.x * axis.x + rotation.y * axis.y + rotation.z * axis.z;
  const angle = 2 * Math.atan2(along, rotation.w);
  return angle > Math.PI ? angle - 2 * Math.PI : angle < -Math.PI ? angle + 2 * Math.PI : angle;
}

export class TankHold {
  private readonly start = newStand();
  private readonly from: Hold[] = [newHold(), newHold()];
  private count = 0;
  private readonly middle = new Vector3();
  private readonly middle0 = new Vector3();
  private readonly span = new Vector3();
  private readonly span0 = new Vector3();
  private readonly arm = new Vector3();
  private readonly turn = new Quaternion();
  private readonly part = new Quaternion();
  private readonly yaw = new Quaternion();

  /** @param scaleMin, scaleMax  of a stand */
  constructor(
    public scaleMin = 0.01,
    public scaleMax = 100,
  ) {}

  get hands(): number {
    return this.count;
  }

  /** From now on these hands hold the tank where it stands; more than two are not heeded. */
  take(holds: readonly Hold[], stand: Stand): void {
    this.count = Math.min(2, holds.length);
    copyStand(stand, this.start);
    for (let i = 0; i < this.count; i++) {
      const [from, hold] = [this.from[i] as Hold, holds[i] as Hold];
      from.point.copy(hold.point);
      from.orientation.copy(hold.orientation);
    }
  }

  /** Moves the stand to where the hands have carried it. @param holds  those that took it, in the same order */
  move(holds: readonly Hold[], stand: Stand): void {
    if (this.count === 1) this.carry(holds[0] as Hold, stand);
    if (this.count === 2) this.turnAndScale(holds[0] as Hold, holds[1] as Hold, stand);
  }

  private carry(hold: Hold, stand: Stand): void {
    const from = this.from[0] as Hold;
    this.turn.copy(from.orientation).invert().premultiply(hold.orientation);
    const yaw = twistAbout(this.turn, UP);
    this.yaw.setFromAxisAngle(UP, yaw);
    this.arm.copy(this.start.position).sub(from.point).applyQuaternion(this.yaw);
    stand.position.copy(hold.point).add(this.arm);
    stand.yaw = this.start.yaw + yaw;
  }

  private turnAndScale(a: Hold, b: Hold, stand: Stand): void {
    const [a0, b0] = this.from as [Hold, Hold];
    const { start, span, span0, turn } = this;
    span0.copy(b0.point).sub(a0.point);
    span.copy(b.point).sub(a.point);
    const [length0, length] = [span0.length(), span.length()];
    if (length0 < SPAN_M_MIN || length < SPAN_M_MIN) return;
    span0.divideScalar(length0);
    span.divideScalar(length);
    // Two points leave the turn about the line through them open: that is how the hands roll, on average.
    turn.setFromUnitVectors(span0, span);
    const roll = 0.5 * (this.rollOf(a, a0, turn) + this.rollOf(b, b0, turn));
    turn.premultiply(this.part.setFromAxisAngle(span, roll));

    // turn = yaw · swing in the stand's own frame
    this.yaw.setFromAxisAngle(UP, start.yaw);
    this.part.copy(this.yaw).invert().multiply(turn).multiply(this.yaw);
    const about = twistAbout(this.part, UP);
    this.part.premultiply(this.yaw.setFromAxisAngle(UP, -about));
    lessBy(this.part, TILT_SLACK_RAD);
    stand.yaw = start.yaw + about;
    stand.tilt.copy(this.part).multiply(start.tilt).normalize();
    stand.scale = Math.min(this.scaleMax, Math.max(this.scaleMin, (start.scale * length) / length0));

    // What lay between the hands stays there, after as much of the turn as was taken.
    this.turn.setFromAxisAngle(UP, stand.yaw).multiply(this.part);
    this.turn.multiply(this.part.setFromAxisAngle(UP, -start.yaw));
    this.middle0.copy(a0.point).add(b0.point).multiplyScalar(0.5);
    this.middle.copy(a.point).add(b.point).multiplyScalar(0.5);
    this.arm.copy(start.position).sub(this.middle0).applyQuaternion(this.turn);
    stand.position.copy(this.middle).addScaledVector(this.arm, stand.scale / start.scale);
  }

  /** Of a hand about the line between both, beyond what the line's own turn explains. */
  private rollOf(hold: Hold, from: Hold, lineTurn: Quaternion): number {
    this.part.copy(lineTurn).multiply(from.orientation).invert().premultiply(hold.orientation);
    return twistAbout(this.part, this.span);
  }
}

/** Takes an angle off a rotation, at most all of it. */
function lessBy(rotation: Quaternion, angle: number): void {
  if (rotation.w < 0) rotation.set(-rotation.x, -rotation.y, -rotation.z, -rotation.w);
  const sine = Math.hypot(rotation.x, rotation.y, rotation.z);
  const full = 2 * Math.atan2(sine, rotation.w);
  const left = Math.max(0, full - angle);
  const scale = sine > 1e-9 ? Math.sin(0.5 * left) / sine : 0;
  rotation.set(rotation.x * scale, rotation.y * scale, rotation.z * scale, Math.cos(0.5 * left));
}

function newHold(): Hold {
  return { point: new Vector3(), orientation: new Quaternion() };
}
