// What was found, as an `input motion` carries it: on the tank's front, in metres, as bytes, coded, and no more of them
// than a link bears. A grid whose code is longer is sent with half the columns and rows.
import { encodeMotion } from "../protocol/motion-code.js";
import { SPEED_MAX } from "../tables/protocol-tables.js";
import type { MotionFinder } from "./motion-finder.js";

/** The planes of a motion's cells: presence, then velocity along, up and towards whoever looks. */
const PLANES = 4;
/** 30 times a second it is a megabit. */
export const CODE_BYTES_MAX = 4096;
/** Tank widths, or heights, per second that a byte reaches to: faster motion keeps its direction. */
const REACH = 2;
/** Presence goes in such steps: what fades makes longer runs so. */
const PRESENCE_STEP = 17;

export interface MotionCells {
  columns: number;
  rows: number;
  speed_m_s: number;
  /** Coded; empty: nothing moves. */
  cells: Uint8Array;
}

interface Found {
  columns: number;
  rows: number;
  presence: Float32Array;
  along: Float32Array;
  up: Float32Array;
}

/** @param widthM  of the tank's front, and its height */
export function packMotion(
  found: Pick<MotionFinder, keyof Found>,
  widthM: number,
  heightM: number,
  bytesMax = CODE_BYTES_MAX,
): MotionCells {
  const speed_m_s = Math.min(SPEED_MAX, REACH * Math.max(widthM, heightM));
  const code = new Uint8Array(bytesMax);
  for (let grid: Found = found; ; grid = coarser(grid)) {
    const planes = new Uint8Array(PLANES * grid.columns * grid.rows);
    write(grid, (127 * widthM) / speed_m_s, (127 * heightM) / speed_m_s, planes);
    const used = encodeMotion(planes, code);
    if (used > 0) return { columns: grid.columns, rows: grid.rows, speed_m_s, cells: code.subarray(0, used) };
    if (grid.columns === 1 && grid.rows === 1)
      throw new Error(`the code of a single cell is longer than ${bytesMax} bytes`);
  }
}

/** Fills planes from the lowest row up; what is found begins with the highest. */
function write(grid: Found, alongUnit: number, upUnit: number, planes: Uint8Array): void {
  const { columns, rows } = grid;
  const count = columns * rows;
  for (let y = 0, i = 0; y < rows; y++)
    for (let x = 0; x < columns; x++, i++) {
      const presence = PRESENCE_STEP * Math.round(((grid.presence[i] as number) * 255) / PRESENCE_STEP);
      if (presence === 0) continue;
      const along = (grid.along[i] as number) * alongUnit;
      const up = (grid.up[i] as number) * upUnit;
      const bound = Math.min(1, 127 / Math.max(1, Math.abs(along), Math.abs(up)));
      const at = (rows - 1 - y) * columns + x;
      planes[at] = presence;
      planes[count + at] = Math.round(along * bound);
      planes[2 * count + at] = Math.round(up * bound);
    }
}

/** Half as many columns and rows; velocities count by presence. */
function coarser(grid: Found): Found {
  const [columns, rows] = [Math.ceil(grid.columns / 2), Math.ceil(grid.rows / 2)];
  const make = (): Float32Array => new Float32Array(columns * rows);
  const half = { columns, rows, presence: make(), along: make(), up: make() };
  for (let y = 0, i = 0; y < grid.rows; y++)
    for (let x = 0; x < grid.columns; x++, i++) {
      const at = (y >> 1) * columns + (x >> 1);
      const share = (grid.presence[i] as number) / 4;
      half.presence[at] = (half.presence[at] as number) + share;
      half.along[at] = (half.along[at] as number) + share * (grid.along[i] as number);
      half.up[at] = (half.up[at] as number) + share * (grid.up[i] as number);
    }
  for (let at = 0; at < half.presence.length; at++) {
    const all = half.presence[at] as number;
    if (all === 0) continue;
    half.along[at] = (half.along[at] as number) / all;
    half.up[at] = (half.up[at] as number) / all;
  }
  return half;
}
