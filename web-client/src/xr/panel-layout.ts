// The wrist panel's buttons: where they are and which one is meant. Shares of the panel's width and height, from the top
// left. Pure.
import { Quaternion, Vector3 } from "three";
import type { Role } from "../protocol/messages.js";

export type PanelButton =
  | "scene-back"
  | "scene-next"
  | "tool"
  | "colour"
  | "pause"
  | "speed"
  | "reset"
  | "placement"
  | "level"
  | "leave";

/** What whoever wears the panel may do. */
export interface PanelRights {
  /** Use tools. */
  act: boolean;
  /** Turn the tank. */
  turn: boolean;
  pause: boolean;
  /** Load scenes, reset, set the clock's speed. */
  control: boolean;
}

/** @param plays  a recording is shown: there is nothing to change in it, and everybody may pause it */
export function panelRights(role: Role, plays: boolean): PanelRights {
  const [act, control] = [!plays && role !== "watch", !plays && role === "own"];
  return { act, turn: act, pause: plays || control, control };
}

/** Whether pressing a button does something. */
export function isOffered(button: PanelButton, may: PanelRights): boolean {
  switch (button) {
    case "scene-back":
    case "scene-next":
    case "speed":
    case "reset":
      return may.control;
    case "tool":
    case "colour":
      return may.act;
    case "pause":
      return may.pause;
    case "level":
      return may.turn;
    case "placement":
    case "leave":
      return true;
  }
}

export interface PanelArea {
  button: PanelButton;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Metres. */
export const PANEL_WIDTH_M = 0.17;
export const PANEL_HEIGHT_M = 0.19;

const ROWS: readonly (readonly PanelButton[])[] = [
  ["scene-back", "scene-next"],
  ["tool", "colour"],
  ["pause", "speed", "reset"],
  ["level", "placement"],
  ["leave"],
];
/** Above the buttons stands what runs, below them what is measured. */
const HEAD = 0.125;
export const PANEL_FOOT = 0.175;
/** Lines of that. */
export const PANEL_LINES = 3;
const GAP = 0.02;

export const PANEL_AREAS: readonly PanelArea[] = ROWS.flatMap((row, line) =>
  row.map((button, column) => {
    const height = (1 - HEAD - PANEL_FOOT) / ROWS.length;
    const width = 1 / row.length;
    return {
      button,
      x: column * width + GAP,
      y: HEAD + line * height + GAP,
      width: width - 2 * GAP,
      height: height - 2 * GAP,
    };
  }),
);

/** The button at a place of the panel; null between them and beside it. */
export function buttonAt(x: number, y: number): PanelButton | null {
  for (const area of PANEL_AREAS)
    if (x >= area.x && x <= area.x + area.width && y >= area.y && y <= area.y + area.height)
      return area.button;
  return null;
}

/** A place in the panel's own space (metres, the middle is the origin, it faces +z) for a place of it. */
export function placeOf(button: PanelButton, out: Vector3): Vector3 {
  const area = PANEL_AREAS.find((one) => one.button === button) as PanelArea;
  return out.set(
    (area.x + 0.5 * area.width - 0.5) * PANEL_WIDTH_M,
    (0.5 - area.y - 0.5 * area.height) * PANEL_HEIGHT_M,
    0,
  );
}

/** Where a panel hangs at the left wrist, in the wrist's space, and how it is turned. */
export function wear(
  kind: "controller" | "hand",
  wrist: Vector3,
  orientation: Quaternion,
  position: Vector3,
  turn: Quaternion,
): void {
  // Above a controller or the back of a hand, towards the forearm, and leaning back to the eyes.
  position.set(0, kind === "hand" ? 0.06 : 0.07, kind === "hand" ? 0.05 : 0.09);
  position.applyQuaternion(orientation).add(wrist);
  turn.copy(orientation).multiply(LEAN);
}

const LEAN = new Quaternion().setFromAxisAngle(new Vector3(1, 0, 0), -0.9);

export interface PanelHit {
  x: number;
  y: number;
  /** Along the ray; of a finger: in front of the panel, metres. */
  distance: number;
}

const local = new Vector3();
const along = new Vector3();
const back = new Quaternion();

/** Where a ray meets the panel's front. @return whether it does */
export function rayHit(
  position: Vector3,
  turn: Quaternion,
  origin: Vector3,
  direction: Quaternion,
  hit: PanelHit,
): boolean {
  back.copy(turn).invert();
  local.copy(origin).sub(position).applyQuaternion(back);
  along.set(0, 0, -1).applyQuaternion(direction).applyQuaternion(back);
  if (along.z > -1e-3 || local.z <= 0) return false;
  hit.distance = -local.z / along.z;
  local.addScaledVector(along, hit.distance);
  return onPanel(hit);
}

/** Where a finger tip is before the panel, or in it. @return whether it is over the panel */
export function touchHit(position: Vector3, turn: Quaternion, tip: Vector3, hit: PanelHit): boolean {
  local.copy(tip).sub(position).applyQuaternion(back.copy(turn).invert());
  hit.distance = local.z;
  return onPanel(hit);
}

function onPanel(hit: PanelHit): boolean {
  hit.x = local.x / PANEL_WIDTH_M + 0.5;
  hit.y = 0.5 - local.y / PANEL_HEIGHT_M;
  return hit.x >= 0 && hit.x <= 1 && hit.y >= 0 && hit.y <= 1;
}

/** A finger that presses: it has to come from the front, and to go back before it presses again. */
export class Touch {
  private ready = false;

  /** @param distance  before the panel, metres; null: elsewhere @return whether it has just pressed */
  tick(distance: number | null): boolean {
    if (distance === null || distance > TOUCH_READY_M) {
      this.ready = distance !== null && distance < TOUCH_FROM_M;
      return false;
    }
    const presses = this.ready && distance < TOUCH_M;
    if (presses) this.ready = false;
    return presses;
  }
}

/** Whether a finger so far before the panel, metres, is there for the panel's sake; it may have gone through. */
export function isAtPanel(distance: number): boolean {
  return distance <= TOUCH_READY_M && distance >= -TOUCH_FROM_M;
}

const TOUCH_M = 0.008;
const TOUCH_READY_M = 0.02;
const TOUCH_FROM_M = 0.12;
