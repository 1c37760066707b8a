// Where the camera has to be for the tank to be seen in what the page leaves free of the canvas. A flat tank, one cell
// deep, is seen from the front and fills it; any other one is seen whole from all sides.

/**
 * What of a page covers the canvas, CSS pixels: at its right in a wide window, at its top and its bottom in a high one,
 * and at its left where that leaves room.
 */
export interface Covers {
  leftPx?: number;
  topPx?: number;
  rightPx: number;
  bottomPx: number;
  /** What is written at the top, and over what covers the bottom: a tank that would reach so far leaves room for it. */
  headPx?: number;
  hintPx?: number;
  /** Where a lesson ends that stands beside the pane in which one measures; 0: none does. */
  lessonPx?: number;
}

/** A window of a phone, however it is held: its panel is folded until somebody opens it. */
export const PHONE = "(width <= 640px), (height <= 480px) and (pointer: coarse)";

const WIDE_PX = 640;
const HIGH_PX = 480;
/** Of the pane in which one measures, with what is beside it (side-pane.css): at the left, in a low window beside the bar of tools. */
const PANE_PX = 346;
const LOW_PANE_PX = 300;
const LOW_PANE_SHARE = 0.45;
const RAIL_PX = 64;
/** In a narrow window it is a sheet over the bar of tools, which has two rows in one that is narrower still. */
const SHEET_SHARE = 0.4;
const HEADER_PX = 112;
const BAR_PX = 84;
const TWO_ROWS_PX = 134;
const TWO_ROWS_WIDTH_PX = 500;
/** What covers the left leaves so much free, or counts for nothing. */
const FREE_PX = 240;
/** By so much the tank moves to the left of what covers the right, at least. */
const SHIFT_PX = 96;
/** Half the width of a long tank in the home view, in heights of the window. */
const TANK_HALF_WIDTH = 0.57;
/** Around a flat tank, as a share of it. */
export const MARGIN = 0.05;

/** Of a view: yaw and pitch, radians. */
export type Home = readonly [yaw: number, pitch: number];
export const HOME: Home = [-0.52, 0.38];
const FRONT: Home = [0, 0];

/** From where a tank is seen first. */
export function homeOf(flat: boolean): Home {
  return flat ? FRONT : HOME;
}

/** Beyond this, in widths of its wider side, a tank is so high that it reaches from the top to the bottom. */
const TALL = 1.2;

/** Whether a tank comes near to the top of what is free. */
export function isHigh([x, y, z]: readonly number[], flat: boolean): boolean {
  return flat || (y as number) > TALL * Math.max(x as number, z as number);
}

export interface Framing {
  /** Of the canvas without what is covered, in heights of the canvas. */
  freeWidth: number;
  freeHeight: number;
  /** By so much the tank's middle is to the left of the canvas's, or to the right, and above it, CSS pixels. */
  leftPx: number;
  upPx: number;
}

/** @param width, height  of the canvas, CSS pixels @param high  isHigh, of the tank */
export function framingOf(
  width: number,
  height: number,
  covers: Covers,
  flat: boolean,
  high: boolean,
): Framing {
  const right = width > WIDE_PX ? covers.rightPx : 0;
  const isRoomy = height > HIGH_PX;
  const { topPx = 0, headPx = 0, hintPx = 0 } = covers;
  const bottom = isRoomy ? covers.bottomPx + (high ? hintPx : 0) : 0;
  const top = isRoomy ? Math.max(topPx, high ? headPx : 0) : 0;
  const covered = covers.leftPx ?? 0;
  const left = width - right - covered >= FREE_PX ? covered : 0;
  // The tank moves out of the way of what covers it, and farther off where that isn't enough.
  const overlap = TANK_HALF_WIDTH * height + right - 0.5 * width;
  return {
    freeWidth: (width - right - left) / height,
    freeHeight: (height - bottom - top) / height,
    leftPx: flat || left > 0 ? 0.5 * (right - left) : Math.min(0.5 * right, Math.max(overlap, SHIFT_PX)),
    upPx: 0.5 * (bottom - top),
  };
}

/** What covers the canvas while the pane in which one measures does so, too. */
export function withPane(width: number, height: number, covers: Covers): Covers {
  if (height <= HIGH_PX)
    return { ...covers, leftPx: RAIL_PX + Math.min(LOW_PANE_PX, LOW_PANE_SHARE * width) };
  if (width > WIDE_PX) return { ...covers, leftPx: PANE_PX, topPx: covers.lessonPx ?? 0 };
  const bar = width > TWO_ROWS_WIDTH_PX ? BAR_PX : TWO_ROWS_PX;
  return { ...covers, topPx: HEADER_PX, bottomPx: bar + SHEET_SHARE * height };
}

/**
 * Of the camera from the tank's middle, metres, for all of the tank to be seen.
 * @param size     of the tank, metres
 * @param tangent  of half the camera's vertical angle
 * @param margin   around a flat tank, as a share of it
 */
export function distanceOf(
  size: readonly number[],
  { freeWidth, freeHeight }: Framing,
  tangent: number,
  flat: boolean,
  margin = MARGIN,
): number {
  const [x, y, z] = size as [number, number, number];
  if (flat) return (0.5 * (1 + margin) * Math.max(y / freeHeight, x / freeWidth)) / tangent + 0.5 * z;
  const narrow = Math.max(1 / freeHeight, 1.25 / freeWidth);
  const round = (0.5 * Math.hypot(x, y, z) * narrow) / tangent / 1.08;
  return Math.max(round, cornersAway(0.5 * Math.hypot(x, z), 0.5 * y, tangent * freeHeight));
}

/** From where both ends of a tank's nearest bar are seen, as one looks down on it at home, whatever the side. */
function cornersAway(radius: number, half: number, tangent: number): number {
  const [sin, cos] = [Math.sin(HOME[1]), Math.cos(HOME[1])];
  const away = (up: number): number => radius * cos + up * sin + Math.abs(up * cos - radius * sin) / tangent;
  return Math.max(away(half), away(-half));
}
