// What a controller or hand is doing: nothing, using the tool, or holding something. Closing decides it and opening ends
// it; what was taken hold of in between stays it.
//
//     closes (grip, or pinch) ─▶ beside a floating body: holds the body · a hand that is in the tank, with a tool other
//                                than push: uses it · else: holds the tank
//     opens ─▶ free
import type { Device } from "./devices.js";

export type Grasp = "free" | "tank" | "body" | "tool";

/** What a grip or pinch may be meant for. Only asked when it closes. */
export interface Around {
  /** A body is within reach. */
  bodyNear(): boolean;
  /** A hand that pinches here uses its tool. */
  toolHere(): boolean;
}

/** A grip closes above the first and opens below the second; of pinches the same. */
const GRIP_CLOSES = 0.6;
const GRIP_OPENS = 0.35;
const PINCH_CLOSES = 0.85;
const PINCH_OPENS = 0.6;
/** A trigger or pinch that presses a button of the panel. */
const PRESS_CLOSES = 0.6;
const PRESS_OPENS = 0.3;

export class Grasping {
  now: Grasp = "free";
  /** The trigger or pinch belongs to the panel until it is released, and so does a hand whose finger touches it. */
  onPanel = false;

  private pressed = false;
  private wasKind: Device["kind"] = "controller";

  /**
   * Once per picture.
   * @param overPanel  it points at the panel
   * @return whether it has just pressed the panel
   */
  tick(device: Device, overPanel: boolean, around: Around): boolean {
    if (!device.tracked || device.kind !== this.wasKind) this.letGo();
    this.wasKind = device.kind;
    if (!device.tracked) return false;
    const isHand = device.kind === "hand";

    const press = isHand ? device.pose.pinch : device.trigger;
    const presses = press > (this.pressed ? PRESS_OPENS : isHand ? PINCH_CLOSES : PRESS_CLOSES);
    const clicks = presses && !this.pressed && overPanel && this.now === "free";
    this.pressed = presses;
    if (clicks) this.onPanel = true;
    if (!presses) this.onPanel = false;

    const closing = isHand ? device.pose.pinch : device.squeeze;
    if (this.now === "free") {
      const closes = closing > (isHand ? PINCH_CLOSES : GRIP_CLOSES);
      if (closes && !this.onPanel)
        this.now = around.bodyNear() ? "body" : isHand && around.toolHere() ? "tool" : "tank";
    } else if (closing < (isHand ? PINCH_OPENS : GRIP_OPENS)) this.now = "free";
    return clicks;
  }

  /** A finger is at the panel, after this picture's tick. What holds something goes on holding it. */
  touchPanel(): void {
    if (this.now === "free") this.onPanel = true;
  }

  letGo(): void {
    this.now = "free";
    this.pressed = false;
    this.onPanel = false;
  }
}
