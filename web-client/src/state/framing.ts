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
  /** Where a lesson ends at its bottom, and at its right if it is open; 0: there is none. */
  lessonBottomPx?: number;
  lessonRightPx?: number;
  /** Of the bottom, up to where the time line reaches; 0: it isn't there. */
  timePx?: number;
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
const SHEET_UP_TO_PX = 900;
const SHEET_SHARE = 0.4;
const SHEET_LEAST_PX = 110;
/** The tank keeps so much of the height there, and of the rest an open lesson leaves the sheet so much. */
const TANK_SHARE = 0.34;
const BESIDE_LESSON_SHARE = 0.6;
const FOLDED_LESSON_PX = 50;
const HEADER_PX = 112;
const BAR_PX = 84;
const TWO_ROWS_PX = 134;
const TWO_ROWS_WIDTH_PX = 500;
/** What covers the left leaves so much free, and a lesson at the top so much of the height, or it counts for nothing. */
const FREE_PX = 240;
const FREE_HEIGHT_PX = 160;
const GAP_PX = 10;
/** Of the folded panel of a phone, below the header. */
const FOLDED_PX = 44;
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
  const right = rightOf(width, covers);
  const isRoomy = height > HIGH_PX;
  const { leftPx: covered = 0, topPx = 0, headPx = 0, hintPx = 0, timePx = 0 } = covers;
  const bottom = Math.max(isRoomy ? covers.bottomPx + (high ? hintPx : 0) : 0, timePx);
  const top = isRoomy ? Math.max(topPx, high ? headPx : 0) : 0;
  const left = isFreeBeside(width, covers, covered) ? covered : 0;
  // The tank moves out of the way of what covers it, and farther off where that isn't enough.
  const overlap = TANK_HALF_WIDTH * height + right - 0.5 * width;
  return {
    freeWidth: (width - right - left) / height,
    freeHeight: (height - bottom - top) / height,
    leftPx: flat || left > 0 ? 0.5 * (right - left) : Math.min(0.5 * right, Math.max(overlap, SHIFT_PX)),
    upPx: 0.5 * (bottom - top),
  };
}

function rightOf(width: number, { rightPx }: Covers): number {
  return width > WIDE_PX ? rightPx : 0;
}

function isFreeBeside(width: number, covers: Covers, leftPx: number): boolean {
  return width - rightOf(width, covers) - leftPx >= FREE_PX;
}

/** What covers the canvas with a lesson: the tank is beside it, or where there is no room below it. */
export function withLesson(width: number, height: number, covers: Covers): Covers {
  const leftPx = (covers.lessonRightPx ?? 0) + GAP_PX;
  if (leftPx === GAP_PX && width > WIDE_PX) return covers;
  return leftPx > GAP_PX && isFreeBeside(width, covers, leftPx)
    ? { ...covers, leftPx }
    : belowLesson(height, covers);
}

/** What covers the canvas while the pane in which one measures does so, too. */
export function withPane(width: number, height: number, covers: Covers): Covers {
  if (height <= HIGH_PX)
    return { ...covers, leftPx: RAIL_PX + Math.min(LOW_PANE_PX, LOW_PANE_SHARE * width) };
  if (width >= SHEET_UP_TO_PX) {
    const beside = { ...covers, leftPx: PANE_PX };
    return (covers.lessonRightPx ?? 0) > PANE_PX ? belowLesson(height, beside) : beside;
  }
  const { headPx = 0, timePx = 0 } = covers;
  const isPhone = width <= WIDE_PX;
  const bar = width > TWO_ROWS_WIDTH_PX ? BAR_PX : TWO_ROWS_PX;
  const topPx = isPhone ? Math.max(HEADER_PX, headPx + FOLDED_PX) : headPx;
  const below = Math.max(bar, timePx + GAP_PX);
  const rest = (1 - TANK_SHARE) * height - headPx - below - (isPhone ? FOLDED_PX : GAP_PX);
  return belowLesson(height, { ...covers, topPx, bottomPx: below + sheetOf(height, rest, isPhone, covers) });
}

/** How high the sheet becomes at most, of what the tank leaves it and a lesson. */
function sheetOf(height: number, rest: number, isPhone: boolean, covers: Covers): number {
  const { lessonRightPx = 0, lessonBottomPx = 0 } = covers;
  const folded = lessonBottomPx > 0 && !isPhone ? FOLDED_LESSON_PX : 0;
  const most = lessonRightPx > 0 ? BESIDE_LESSON_SHARE * rest : Math.min(SHEET_SHARE * height, rest - folded);
  return Math.max(SHEET_LEAST_PX, most);
}

function belowLesson(height: number, covers: Covers): Covers {
  const { topPx = 0, lessonBottomPx = 0, bottomPx, timePx = 0 } = covers;
  const isFree = height - Math.max(bottomPx, timePx) - lessonBottomPx >= FREE_HEIGHT_PX;
  return isFree ? { ...covers, topPx: Math.max(topPx, lessonBottomPx) } : covers;
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
