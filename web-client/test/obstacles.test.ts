import { expect, test } from "vitest";
import type { FrameInfo, SlotViews } from "../src/codec/frame-info.js";
import { type Obstacle, Obstacles } from "../src/codec/obstacles.js";

const DIMS = [20, 20, 20] as const;
const VOXEL_M = 0.05;
const MIDDLE = [0.5, 0.5, 0.5] as const;
const none = { bodyCount: 0 } as FrameInfo;
const views = { bodies: new Float32Array(0) } as unknown as SlotViews;
const still: Obstacle = {
  body: -1,
  kind: "box",
  half: [0.2, 0.1, 0.3],
  middle: [0, 0, 0],
  inverted: false,
  position: MIDDLE,
  rotation: [0, 0, 0, 1],
  rows: [],
};

/** Cubic metres that solids fill. */
function filled(...all: Obstacle[]): number {
  const obstacles = new Obstacles();
  obstacles.show(all);
  const free = new Float32Array(DIMS[0] * DIMS[1] * DIMS[2]);
  obstacles.mark(free, DIMS, VOXEL_M, none, views);
  return free.reduce((sum, share) => sum + (1 - share), 0) * VOXEL_M ** 3;
}

test("solids fill what their shapes do", () => {
  expect(filled(still)).toBeCloseTo(0.4 * 0.2 * 0.6, 3);
  const half = [0.3, 0.3, 0.3] as const;
  expect(
    Math.abs(filled({ ...still, half, kind: "ellipsoid" }) / ((4 / 3) * Math.PI * 0.027) - 1),
  ).toBeLessThan(0.03);
  expect(Math.abs(filled({ ...still, half, kind: "cylinder" }) / (Math.PI * 0.09 * 0.6) - 1)).toBeLessThan(
    0.03,
  );
  // Half of it is 0.2 m high, half 0.4 m, as rows along z of heights along x.
  const ground = { half: [0.5, 0.2, 0.5], middle: [0, 0.2, 0], position: [0.5, 0, 0.5] } as const;
  const rows = [
    [0.2, 0.4],
    [0.2, 0.4],
  ];
  expect(filled({ ...still, ...ground, kind: "ground", rows })).toBeCloseTo(0.3, 2);
  expect(filled({ ...still, inverted: true })).toBeCloseTo(1 - 0.4 * 0.2 * 0.6, 3);
});

test("a turned solid fills as much, and elsewhere", () => {
  const s = Math.SQRT1_2;
  const upright: Obstacle = { ...still, rotation: [0, 0, s, s], half: [0.4, 0.1, 0.1] };
  expect(filled(upright)).toBeCloseTo(0.8 * 0.2 * 0.2, 3);
  // Upright it crosses a plate above the middle, lying it doesn't.
  const plate: Obstacle = { ...still, half: [0.5, 0.05, 0.5], position: [0.5, 0.8, 0.5] };
  const both = filled(plate) + filled(upright);
  expect(both - filled(plate, upright)).toBeCloseTo(0.1 * 0.2 * 0.2, 3);
  expect(both - filled(plate, { ...upright, rotation: [0, 0, 0, 1] })).toBeCloseTo(0, 3);
});

test("a body is where the frame has it, and others' numbers are none of its", () => {
  const obstacles = new Obstacles();
  obstacles.show([
    { ...still, body: 7 },
    { ...still, body: 2, kind: "ellipsoid" },
  ]);
  const free = new Float32Array(DIMS[0] * DIMS[1] * DIMS[2]);
  const s = Math.SQRT1_2;
  const bodies = new Float32Array([9, 0.5, 0.5, 0.5, 0, 0, 0, 1, 7, 0.3, 0.6, 0.5, 0, 0, s, s]);
  const at = (x: number, y: number, z: number): number =>
    free[
      Math.floor(x / VOXEL_M) + DIMS[0] * (Math.floor(y / VOXEL_M) + DIMS[1] * Math.floor(z / VOXEL_M))
    ] as number;
  obstacles.mark(free, DIMS, VOXEL_M, { bodyCount: 2 } as FrameInfo, { bodies } as unknown as SlotViews);
  expect(free.reduce((sum, share) => sum + (1 - share), 0) * VOXEL_M ** 3).toBeCloseTo(0.4 * 0.2 * 0.6, 3);
  expect([at(0.31, 0.76, 0.31), at(0.31, 0.82, 0.31), at(0.43, 0.61, 0.5), at(0.31, 0.61, 0.82)]).toEqual([
    0, 1, 1, 1,
  ]);
});
