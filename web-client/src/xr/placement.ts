// Where the tank stands when somebody enters: on a table before them, or on the floor at its own size.
import type { Vector3 } from "three";
import type { Stand } from "./two-handed.js";

export type Placement = "table" | "floor";

const TABLE_HEIGHT_M = 0.72;
/** Someone who sits low gets a lower table: so far below the eyes at least, metres. */
const BELOW_EYES_M = 0.42;
const TABLE_WIDTH_M = 0.9;
const TABLE_TANK_HEIGHT_M = 0.55;
/** Free room between a person and the tank, metres. */
const TABLE_GAP_M = 0.35;
const FLOOR_GAP_M = 0.6;
/** On the floor a tank is as large as it is, within these bounds of its longest side, metres. */
const FLOOR_M_MIN = 0.8;
const FLOOR_M_MAX = 3;
/** And this is how large and small hands can make it. */
const SIDE_M_MIN = 0.15;
const SIDE_M_MAX = 8;

/**
 * Puts the tank before somebody.
 * @param size    of the tank, metres
 * @param eyes    where they are in the room, metres
 * @param yaw     where they look, about the vertical; 0: along -z
 * @param floorY  height of the floor
 */
export function place(
  placement: Placement,
  size: readonly number[],
  eyes: Vector3,
  yaw: number,
  floorY: number,
  stand: Stand,
): void {
  const [x, y, z] = size as [number, number, number];
  const longest = Math.max(x, y, z);
  const onTable = placement === "table";
  stand.scale = onTable
    ? Math.min(TABLE_WIDTH_M / Math.max(x, z), TABLE_TANK_HEIGHT_M / y)
    : Math.min(FLOOR_M_MAX, Math.max(FLOOR_M_MIN, longest)) / longest;
  const away = (onTable ? TABLE_GAP_M : FLOOR_GAP_M) + 0.5 * z * stand.scale;
  const bottom = onTable ? tableHeight(eyes.y, floorY) : floorY;
  stand.position.set(
    eyes.x - Math.sin(yaw) * away,
    bottom + 0.5 * y * stand.scale,
    eyes.z - Math.cos(yaw) * away,
  );
  stand.yaw = yaw;
}

export function tableHeight(eyesY: number, floorY: number): number {
  return Math.max(floorY + 0.2, Math.min(floorY + TABLE_HEIGHT_M, eyesY - BELOW_EYES_M));
}

/** Smallest and largest scale that hands may give a tank. */
export function scaleBounds(size: readonly number[]): [number, number] {
  const longest = Math.max(...size);
  return [SIDE_M_MIN / longest, SIDE_M_MAX / longest];
}
