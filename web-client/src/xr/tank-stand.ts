// The tank in the room: where it stands, in whose hands it is, and its tilt on the way to the server. The room's picture
// takes yaw, place and scale from here alone; the tilt comes with the frames, and ahead of them from the hands that hold
// the tank, so that nothing is turned twice.
import { Matrix4, Quaternion, Vector3 } from "three";
import { sentAt } from "./beat.js";
import type { Device } from "./devices.js";
import type { XrHost } from "./host.js";
import { type Placement, place, scaleBounds } from "./placement.js";
import { Tilt } from "./tank-tilt.js";
import { copyStand, type Hold, newStand, type Stand, TankHold } from "./two-handed.js";

/** Between two orientations that are sent, ms. */
const TURN_MS = 33;
/** Turns smaller than this aren't worth sending, rad. */
const TURN_RAD = 0.003;
const UP = new Vector3(0, 1, 0);

export class TankStand {
  readonly stand: Stand = newStand();
  placement: Placement = "table";
  /** From the room to the tank, and the rotation in it. */
  readonly toTank = new Matrix4();
  readonly turnToTank = new Quaternion();

  private readonly hold = new TankHold();
  private readonly tilt = new Tilt();
  private readonly holds: Hold[] = [];
  private holders = 0;
  private tilting = false;
  private readonly told = new Quaternion();
  private toldMs = Number.NEGATIVE_INFINITY;
  private readonly before = newStand();
  private size: readonly number[] = [];
  private readonly frames = new Quaternion();

  constructor(private readonly host: Pick<XrHost, "stage" | "orientation" | "turn">) {}

  /** Puts the tank before somebody, see placement.ts. */
  put(eyes: Vector3, yaw: number, floorY: number): void {
    place(this.placement, this.host.stage.sizeM, eyes, yaw, floorY, this.stand);
    this.size = [...this.host.stage.sizeM];
    this.letGo();
  }

  /** Upright again; the water flows back. */
  level(nowMs: number): void {
    this.letGo();
    this.tilt.hold(new Quaternion());
    this.tilt.release(nowMs);
    this.say(new Quaternion(), nowMs);
  }

  /** Nobody holds it any more. */
  letGo(): void {
    this.holders = 0;
    this.tilting = false;
    this.tilt.forget();
  }

  /**
   * Once per picture.
   * @param holding  the devices that hold the tank
   */
  tick(holding: readonly Device[], nowMs: number): void {
    this.fitSize();
    this.showTilt(nowMs);
    this.carry(holding, nowMs);
    this.apply();
  }

  /** A tank of another size stands where the one before stood. */
  private fitSize(): void {
    const size = this.host.stage.sizeM;
    if (this.size.length === 0 || size.every((m, axis) => m === this.size[axis])) return;
    const { stand, before } = this;
    copyStand(stand, before);
    place(this.placement, size, stand.position, stand.yaw, 0, stand);
    const bottom = before.position.y - 0.5 * (this.size[1] as number) * before.scale;
    stand.position.copy(before.position).setY(bottom + 0.5 * (size[1] as number) * stand.scale);
    this.size = [...size];
    this.letGo();
  }

  private showTilt(nowMs: number): void {
    const orientation = this.host.orientation();
    if (orientation !== null) this.frames.fromArray(orientation as number[]);
    if (this.tilting) return;
    this.stand.tilt.copy(this.frames);
    this.tilt.show(this.stand.tilt, nowMs);
  }

  private carry(holding: readonly Device[], nowMs: number): void {
    let holders = 0;
    this.holds.length = 0;
    for (const device of holding) {
      holders |= device.side === "left" ? 1 : 2;
      this.holds.push(device);
    }
    if (holders !== this.holders) {
      this.holders = holders;
      if (this.tilting) this.endTilt(nowMs);
      [this.hold.scaleMin, this.hold.scaleMax] = scaleBounds(this.host.stage.sizeM);
      this.hold.take(this.holds, this.stand);
      this.tilting = this.holds.length === 2;
      if (this.tilting) this.told.copy(this.stand.tilt);
      return;
    }
    if (this.holds.length === 0) return;
    this.hold.move(this.holds, this.stand);
    if (!this.tilting) return;
    this.tilt.hold(this.stand.tilt);
    const isNews = this.told.angleTo(this.stand.tilt) > TURN_RAD;
    if (isNews && nowMs - this.toldMs >= TURN_MS) this.say(this.stand.tilt, nowMs);
  }

  private endTilt(nowMs: number): void {
    if (this.told.angleTo(this.stand.tilt) > 0) this.say(this.stand.tilt, nowMs);
    this.tilting = false;
    this.tilt.release(nowMs);
  }

  private say(tilt: Quaternion, nowMs: number): void {
    this.told.copy(tilt);
    this.toldMs = sentAt(this.toldMs, nowMs, TURN_MS);
    this.host.turn(tilt.toArray());
  }

  /** A place in the room of a point of the tank, metres. */
  toRoom(point: readonly number[]): number[] {
    return new Vector3()
      .fromArray(point as number[])
      .applyMatrix4(this.host.stage.tank.matrixWorld)
      .toArray();
  }

  private apply(): void {
    const { place: placed, room, tank } = this.host.stage;
    placed.position.copy(this.stand.position);
    placed.quaternion.setFromAxisAngle(UP, this.stand.yaw);
    placed.scale.setScalar(this.stand.scale);
    room.quaternion.copy(this.stand.tilt);
    placed.updateMatrixWorld(true);
    this.toTank.copy(tank.matrixWorld).invert();
    this.turnToTank.copy(placed.quaternion).multiply(room.quaternion).invert();
  }
}
