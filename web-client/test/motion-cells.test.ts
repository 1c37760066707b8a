import { expect, test } from "vitest";
import { CODE_BYTES_MAX, packMotion } from "../src/camera/motion-cells.js";
import { createRandom } from "./made-pictures.js";
import { decodeMotion } from "./read-motion.js";

interface Found {
  columns: number;
  rows: number;
  presence: Float32Array;
  along: Float32Array;
  up: Float32Array;
}

function found(columns: number, rows: number): Found {
  const plane = (): Float32Array => new Float32Array(columns * rows);
  return { columns, rows, presence: plane(), along: plane(), up: plane() };
}

/** Of a cell, counted from the lower left: presence 0..1, velocity along and up, m/s. */
function cell(motion: ReturnType<typeof packMotion>, column: number, row: number): number[] {
  const { columns, rows, speed_m_s, cells } = motion;
  const planes = decodeMotion(cells, 4 * columns * rows);
  const at = row * columns + column;
  const speed = (plane: number): number =>
    ((((planes[plane * columns * rows + at] as number) << 24) >> 24) * speed_m_s) / 127;
  return [(planes[at] as number) / 255, speed(1), speed(2), speed(3)];
}

test("the lowest row comes first, and speeds are in metres", () => {
  const grid = found(4, 3);
  // The top right cell, by one tank width per second to the right and half a height down.
  grid.presence[3] = 1;
  grid.along[3] = 1;
  grid.up[3] = -0.5;
  const motion = packMotion(grid, 2, 1);
  expect([motion.columns, motion.rows, motion.speed_m_s]).toEqual([4, 3, 4]);
  const [presence, along, up, towards] = cell(motion, 3, 2);
  expect(presence).toBe(1);
  expect(along).toBeCloseTo(2, 1);
  expect(up).toBeCloseTo(-0.5, 1);
  expect(towards).toBe(0);
  expect(cell(motion, 3, 0)).toEqual([0, 0, 0, 0]);
});

test("what is too fast for a byte keeps its direction", () => {
  const grid = found(1, 1);
  [grid.presence[0], grid.along[0], grid.up[0]] = [1, 8, -4];
  const [, along = 0, up = 0] = cell(packMotion(grid, 1, 1), 0, 0);
  expect(along).toBeCloseTo(2, 5);
  expect(up / along).toBeCloseTo(-0.5, 1);
});

test("nobody's velocity isn't sent", () => {
  const grid = found(2, 1);
  grid.along.fill(1);
  grid.presence[1] = 1;
  expect(cell(packMotion(grid, 1, 1), 0, 0)).toEqual([0, 0, 0, 0]);
});

test("a grid that doesn't fit is sent with half the columns and rows, as often as it takes", () => {
  const random = createRandom(3);
  const grid = found(160, 120);
  for (let i = 0; i < grid.presence.length; i++) {
    grid.presence[i] = random();
    grid.along[i] = 1 + random() / 4;
    grid.up[i] = random() - 0.5;
  }
  const whole = packMotion(grid, 2, 1, 1 << 17);
  expect([whole.columns, whole.rows]).toEqual([160, 120]);
  for (const [bytesMax, columns, rows] of [
    [16000, 80, 60],
    [CODE_BYTES_MAX, 40, 30],
    [100, 5, 4],
  ] as const) {
    const motion = packMotion(grid, 2, 1, bytesMax);
    expect([motion.columns, motion.rows]).toEqual([columns, rows]);
    expect(motion.cells.length).toBeLessThanOrEqual(bytesMax);
    const [presence = 0, along = 0] = cell(motion, 2, 1);
    expect(Math.abs(presence - 0.5)).toBeLessThan(0.25);
    expect(Math.abs(along - 2.25)).toBeLessThan(0.25);
  }
});

test("velocities of a coarser cell count by presence", () => {
  const grid = found(2, 2);
  grid.presence.set([1, 0, 0, 0]);
  grid.along.set([1, -9, -9, -9]);
  const motion = packMotion(grid, 1, 1, 8);
  expect([motion.columns, motion.rows]).toEqual([1, 1]);
  const [presence, along] = cell(motion, 0, 0);
  expect(presence).toBeCloseTo(0.25, 1);
  expect(along).toBeCloseTo(1, 1);
});
