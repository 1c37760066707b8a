// From a controller or hand in the tank to the protocol's inputs. A hand or controller that holds the tank, or presses the
// panel, doesn't act on the water.
import type { Quaternion, Vector3 } from "three";
import type { ControllerInput, HandInput, Side } from "../protocol/headset-inputs.js";
import { COLOURED, type Tool } from "../protocol/messages.js";
import { COORDINATE_M_MAX, HAND_JOINTS, RANGE } from "../tables/protocol-tables.js";
import type { Device } from "./devices.js";
import type { Grasping } from "./grasp.js";
import type { XrTool } from "./host.js";
import type { Motion } from "./motion.js";

/** A pose in tank coordinates, with how it moves there. */
export interface TankPose {
  position: Vector3;
  orientation: Quaternion;
  motion: Motion;
}

/** Below this a trigger or grip isn't pressed. */
const PRESSED = 0.05;

/** From here on the server takes a hand for a fist, which holds a body. */
const FIST = 0.5;

/** Whether a device does something to the tank, or may: an open hand pushes, and a fist may hold something. */
export function acts(device: Device, grasping: Grasping, tool: Tool): boolean {
  if (!device.tracked || grasping.now === "tank") return false;
  if (device.kind === "hand")
    return !grasping.onPanel && (tool === "push" || grasping.now !== "free" || device.pose.fist >= FIST);
  return grasping.now === "body" || (device.trigger > PRESSED && !grasping.onPanel);
}

/** Whether a place can be said at all. */
export function isSayable(position: Vector3): boolean {
  return position.toArray().every((x) => Math.abs(x) <= COORDINATE_M_MAX);
}

export function controllerInput(
  device: Device,
  grasping: Grasping,
  pose: TankPose,
  tool: XrTool,
): ControllerInput {
  return {
    ...common(device.side, tool),
    tracked: true,
    position_m: pose.position.toArray(),
    orientation: pose.orientation.toArray(),
    velocity_m_s: pose.motion.velocity.toArray(),
    angular_velocity_rad_s: pose.motion.spin.toArray(),
    grip: grasping.now === "body" ? device.squeeze : 0,
    trigger: grasping.now === "tank" || grasping.onPanel ? 0 : device.trigger,
    thumbstick: [...device.stick],
    buttons: device.buttons,
  };
}

/** @param joints  in tank coordinates */
export function handInput(
  device: Device,
  grasping: Grasping,
  pose: TankPose,
  joints: ArrayLike<number>,
  tool: XrTool,
): HandInput {
  const said = Array.from(joints);
  const sayable = said.length === 3 * HAND_JOINTS && said.every((x) => Math.abs(x) <= COORDINATE_M_MAX);
  return {
    ...common(device.side, tool),
    tracked: true,
    position_m: pose.position.toArray(),
    orientation: pose.orientation.toArray(),
    velocity_m_s: pose.motion.velocity.toArray(),
    ...closing(device, grasping),
    joints_m: sayable ? said : [],
  };
}

/** What a pinch means was decided when it closed: a body is held as a fist holds it, and a tool is used by a pinch alone. */
function closing({ pose }: Device, { now }: Grasping): Pick<HandInput, "pinch" | "grip"> {
  if (now === "body") return { pinch: 1, grip: 1 };
  if (now === "tool") return { pinch: 1, grip: 0 };
  return { pinch: Math.min(PINCH_UNHELD_MAX, pose.pinch), grip: pose.fist };
}

/** The server uses tools and takes hold of bodies for a pinch from 0.7 on: it shall not where nothing was found here. */
const PINCH_UNHELD_MAX = 0.6;

/** Tracking is lost, or what is tracked does something else. */
export function lostController(side: Side, tool: XrTool): ControllerInput {
  return {
    ...common(side, tool),
    ...NOWHERE,
    angular_velocity_rad_s: [0, 0, 0],
    grip: 0,
    trigger: 0,
    thumbstick: [0, 0],
    buttons: 0,
  };
}

export function lostHand(side: Side, tool: XrTool): HandInput {
  return { ...common(side, tool), ...NOWHERE, pinch: 0, grip: 0, joints_m: [] };
}

const NOWHERE = {
  tracked: false,
  position_m: [0, 0, 0],
  orientation: [0, 0, 0, 1],
  velocity_m_s: [0, 0, 0],
};

type Common = Pick<HandInput, "side" | "tool" | "radius_m" | "strength" | "colour">;

function common(side: Side, tool: XrTool): Common {
  return {
    side,
    tool: tool.tool,
    radius_m: Math.min(RANGE.radius_m.max, Math.max(RANGE.radius_m.min, tool.radiusM)),
    strength: Math.min(1, Math.max(0, tool.strength)),
    ...(COLOURED.has(tool.tool) && { colour: tool.colour }),
  };
}
