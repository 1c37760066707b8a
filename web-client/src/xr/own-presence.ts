// Where the person under the headset is, as the others in the tank are told: head and hands, in tank coordinates,
// rounded so that whoever holds still says nothing.
import { type Matrix4, Quaternion, Vector3 } from "three";
import type { PresencePoint } from "../protocol/messages.js";
import type { Device } from "./devices.js";
import type { Grasping } from "./grasp.js";
import type { XrTool } from "./host.js";
import { acts, isSayable } from "./inputs.js";

/** Steps per metre, and per unit of a quaternion. */
const PLACE_STEPS = 500;
const TURN_STEPS = 256;

export interface OwnSide {
  readonly device: Device;
  readonly grasping: Grasping;
}

export class OwnPresence {
  private readonly place = new Vector3();
  private readonly turn = new Quaternion();
  private points: PresencePoint[] = [];

  /**
   * @param eyes, head  in the room
   * @param toTank      from the room to the tank
   * @param turnToTank  the rotation in it
   */
  tell(
    eyes: Vector3,
    head: Quaternion,
    sides: readonly OwnSide[],
    toTank: Matrix4,
    turnToTank: Quaternion,
    tool: XrTool,
  ): readonly PresencePoint[] {
    this.points = [];
    this.add("head", eyes, head, toTank, turnToTank);
    for (const { device, grasping } of sides) {
      if (!device.tracked) continue;
      const part = device.side === "left" ? "hand_left" : "hand_right";
      const point = this.add(part, device.point, device.orientation, toTank, turnToTank);
      if (point === null) continue;
      point.pressed = acts(device, grasping, tool.tool);
      point.tool = tool.tool;
    }
    return this.points;
  }

  private add(
    part: PresencePoint["part"],
    at: Vector3,
    orientation: Quaternion,
    toTank: Matrix4,
    turnToTank: Quaternion,
  ): PresencePoint | null {
    this.place.copy(at).applyMatrix4(toTank);
    if (!isSayable(this.place)) return null;
    this.turn.copy(orientation).premultiply(turnToTank).normalize();
    // Of the two that mean the same turn.
    if (this.turn.w < 0) this.turn.set(-this.turn.x, -this.turn.y, -this.turn.z, -this.turn.w);
    const point: PresencePoint = {
      part,
      position_m: this.place.toArray().map((x) => Math.round(x * PLACE_STEPS) / PLACE_STEPS),
      orientation: this.turn.toArray().map((x) => Math.round(x * TURN_STEPS) / TURN_STEPS),
    };
    this.points.push(point);
    return point;
  }
}
