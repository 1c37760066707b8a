// Sends what one side's controller or hand does, at a bounded rate, and once that it is gone.
import { type Matrix4, Quaternion, Vector3 } from "three";
import type { Side } from "../protocol/headset-inputs.js";
import { HAND_JOINTS, SPEED_MAX } from "../tables/protocol-tables.js";
import { Beat } from "./beat.js";
import type { Device } from "./devices.js";
import type { Grasping } from "./grasp.js";
import type { XrHost } from "./host.js";
import {
  acts,
  controllerInput,
  handInput,
  isSayable,
  lostController,
  lostHand,
  type TankPose,
} from "./inputs.js";
import { Motion } from "./motion.js";

type Sender = Pick<XrHost, "controller" | "hand" | "tool">;

export class TrackedInput {
  readonly pose: TankPose = { position: new Vector3(), orientation: new Quaternion(), motion: new Motion() };

  private readonly beat = new Beat();
  private readonly joints = new Float32Array(3 * HAND_JOINTS);
  private readonly joint = new Vector3();
  /** What the server believes to be there. */
  private told: Device["kind"] | null = null;
  private acted = false;

  constructor(
    private readonly side: Side,
    private readonly host: Sender,
  ) {}

  /**
   * Once per picture.
   * @param toTank  from the room to the tank
   * @param turn    the rotation in it
   */
  tick(device: Device, grasping: Grasping, toTank: Matrix4, turn: Quaternion, nowMs: number): void {
    const { pose, host } = this;
    if (device.tracked) {
      pose.position.copy(device.point).applyMatrix4(toTank);
      pose.orientation.copy(device.orientation).premultiply(turn).normalize();
      pose.motion.add(nowMs, pose.position, pose.orientation, SPEED_MAX);
    } else pose.motion.reset();

    // An open hand pushes wherever it is: at the panel it is nowhere in the tank. A controller's open trigger does nothing.
    const isElsewhere = grasping.now === "tank" || (device.kind === "hand" && grasping.onPanel);
    const isThere = device.tracked && !isElsewhere && isSayable(pose.position);
    if (this.told !== null && (!isThere || this.told !== device.kind)) this.lose();
    if (!isThere) return;
    const active = acts(device, grasping, host.tool.tool);
    const changed = this.told === null || active !== this.acted;
    if (!this.beat.due(nowMs, active, changed)) return;
    this.told = device.kind;
    this.acted = active;
    if (device.kind === "controller") {
      host.controller(controllerInput(device, grasping, pose, host.tool));
      return;
    }
    for (let i = 0; i < HAND_JOINTS; i++)
      this.joint
        .fromArray(device.joints, 3 * i)
        .applyMatrix4(toTank)
        .toArray(this.joints, 3 * i);
    host.hand(handInput(device, grasping, pose, this.joints, host.tool));
  }

  /** Says that nothing is there any more, if something was. */
  lose(): void {
    if (this.told === "controller") this.host.controller(lostController(this.side, this.host.tool));
    if (this.told === "hand") this.host.hand(lostHand(this.side, this.host.tool));
    this.told = null;
    this.acted = false;
  }
}
