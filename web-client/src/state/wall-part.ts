// A part of a flat tank that fills the window (?view=x0,y0,x1,y1), so that several projectors show one tank: fractions of
// its width and height from its lower left corner.

export type WallPart = readonly [x0: number, y0: number, x1: number, y1: number];

/** Where the wall stands, as a share of the tank's depth: what stands in the tank is before it. */
export const WALL_AT = 0.02;

/** A part is at least so wide and so high. */
export const PART_MIN = 0.01;

/** @returns undefined where the text is no part */
export function readPart(text: string): WallPart | undefined {
  const words = text.split(",");
  if (words.length !== 4 || words.some((word) => word.trim() === "")) return undefined;
  const [x0, y0, x1, y1] = words.map(Number) as [number, number, number, number];
  const within = [x0, y0, x1, y1].every((share) => share >= 0 && share <= 1);
  // A float's own rounding makes nothing of a part that is just wide enough.
  const wide = Math.min(x1 - x0, y1 - y0) > PART_MIN - 1e-9;
  return within && wide ? [x0, y0, x1, y1] : undefined;
}

/** Whether a part has the corner that a display's code to scan stands in: of several displays only one shows it. */
export function hasCorner([, y0, x1]: WallPart): boolean {
  return x1 === 1 && y0 === 0;
}

/** The window as a piece of a larger one that shows all of the tank, CSS pixels from its upper left corner. */
export interface PartWindow {
  fullWidth: number;
  fullHeight: number;
  left: number;
  top: number;
}

/** @param width, height  of the window, CSS pixels */
export function windowOf([x0, y0, x1, y1]: WallPart, width: number, height: number): PartWindow {
  const fullWidth = width / (x1 - x0);
  const fullHeight = height / (y1 - y0);
  return { fullWidth, fullHeight, left: x0 * fullWidth, top: (1 - y1) * fullHeight };
}
