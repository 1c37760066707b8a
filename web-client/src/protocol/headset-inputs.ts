// The inputs of tracked controllers and hands (protocol/SPEC.md, "input controller" and "input hand").

import type { SIDES } from "../tables/protocol-tables.js";
import type { Tool } from "./messages.js";

export type Side = (typeof SIDES)[number];

interface TrackedInput {
  side: Side;
  /** false: the pose means nothing */
  tracked: boolean;
  tool: Tool;
  /** In tank coordinates, as everything here. */
  position_m: readonly number[];
  /** x y z w */
  orientation: readonly number[];
  velocity_m_s: readonly number[];
  radius_m: number;
  strength: number;
  /** sRGB, 0..0xffffff, of dye and of what is poured; absent: the server chooses. */
  colour?: number;
}

export interface ControllerInput extends TrackedInput {
  angular_velocity_rad_s: readonly number[];
  grip: number;
  trigger: number;
  thumbstick: readonly number[];
  /** Bit i: button i of the Gamepad object is pressed. */
  buttons: number;
}

export interface HandInput extends TrackedInput {
  /** 1: thumb and index finger touch */
  pinch: number;
  /** 1: a fist */
  grip: number;
  /** x y z of the 25 joints in WebXR's order, or empty */
  joints_m: readonly number[];
}
