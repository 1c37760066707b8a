import { expect, test } from "vitest";
import { type FrameInfo, slotBytes, slotViews } from "../src/codec/frame-info.js";
import { LightVolume } from "../src/codec/light-volume.js";
import type { DecodedFrame } from "../src/state/frame-stream.js";
import { LiquidMap, meetPlane } from "../src/state/liquid-map.js";
import type { Ray, Vec3 } from "../src/state/ray.js";

const CELL_M = 0.1;
const SIZE = [3.2, 1.6, 1.6];

/** A tank of 32 x 16 x 16 cells with one particle in each of the given cells. */
function frame(cells: readonly (readonly [number, number, number])[]): DecodedFrame {
  const slot = new ArrayBuffer(slotBytes(4096));
  const views = slotViews(slot);
  cells.forEach((cell, i) => {
    views.positions.set([...cell.map((c) => c * 32 + 16), 0], i * 4);
  });
  const volume = new LightVolume();
  const count = cells.length;
  volume.compute({ particleCount: count, particlesTotal: count, unitBits: 5, cells: [32, 16, 16] }, views);
  const info = {
    cells: [32, 16, 16],
    cellM: CELL_M,
    lightDims: volume.dims,
    lightCells: volume.voxelCells,
  } as unknown as FrameInfo;
  return { info, slot, views, field: null, fieldAxis: 2, arrivedMs: 0, position: null };
}

const along: Ray = { origin: [-1, 0.1, 0.1], direction: [1, 0, 0] };

test("a press takes hold in the middle of the first tile with liquid", () => {
  const depth = new LiquidMap().depth(along, SIZE, frame([[18, 3, 3]]));
  expect(depth).toBeGreaterThan(1 + 1.6);
  expect(depth).toBeLessThan(1 + 2.4);
  expect(Math.abs((depth as number) - 3)).toBeLessThan(0.11);
});

test("a long stretch of liquid is held one tile deep at most", () => {
  const depth = new LiquidMap().depth(
    along,
    SIZE,
    frame([
      [0, 0, 0],
      [8, 0, 0],
      [16, 0, 0],
    ]),
  );
  expect(Math.abs((depth as number) - 1.45)).toBeLessThan(0.11);
});

test("without liquid on the ray it is the middle of the tank", () => {
  expect(new LiquidMap().depth(along, SIZE, frame([[18, 15, 15]]))).toBeCloseTo(2.6);
  expect(new LiquidMap().depth(along, SIZE, null)).toBeCloseTo(2.6);
});

test("a ray beside the tank holds nothing", () => {
  expect(new LiquidMap().depth({ origin: [-1, 5, 0.1], direction: [1, 0, 0] }, SIZE, null)).toBe(null);
});

test("planes are met in front of the ray's origin and not when grazed", () => {
  const out: Vec3 = [0, 0, 0];
  expect(meetPlane({ origin: [0.5, 0, 3], direction: [0, 0, -1] }, [0, 0, 1], [0, 0, 1], out)).toBe(true);
  expect(out).toEqual([0.5, 0, 1]);
  expect(meetPlane({ origin: [0, 0, 3], direction: [0, 0, 1] }, [0, 0, 1], [0, 0, 1], out)).toBe(false);
  expect(meetPlane({ origin: [0, 0, 3], direction: [1, 0, 0] }, [0, 0, 1], [0, 0, 1], out)).toBe(false);
});
