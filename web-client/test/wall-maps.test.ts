import { expect, test } from "vitest";
import { dyeSize, sized, WALL_FINENESS } from "../src/render/wall/wall-maps.js";
import { hash, makeNoise, NOISE_VALUES } from "../src/render/wall/wall-noise.js";

test("the dye is as fine as the picture until its tier's limit, and small where the processor draws", () => {
  expect(dyeSize(WALL_FINENESS.water, 1280)).toBe(1280);
  expect(dyeSize(WALL_FINENESS.water, 4000)).toBe(WALL_FINENESS.water.dyeMax);
  expect(dyeSize(WALL_FINENESS.spheres, 1920)).toBe(320);
  expect(dyeSize(WALL_FINENESS.spheres, 3)).toBe(64);
  // A window that gets a little larger keeps its maps.
  expect(dyeSize(WALL_FINENESS.water, 1273)).toBe(dyeSize(WALL_FINENESS.water, 1280));
});

test("maps have the wall's shape", () => {
  expect(sized(640, 256, 192)).toEqual([640, 480]);
  expect(sized(640, 100, 400)).toEqual([160, 640]);
});

const SIZE = 64;
const noise = makeNoise(SIZE);
const at = (x: number, y: number, k: number): number =>
  noise[NOISE_VALUES * (((y + SIZE) % SIZE) * SIZE + ((x + SIZE) % SIZE)) + k] as number;

test("noise is the same each time, keeps within its range and repeats without a seam", () => {
  expect(makeNoise(SIZE)).toEqual(noise);
  let [low, high, inner, seam] = [0, 0, 0, 0];
  for (let y = 0; y < SIZE; y++) {
    for (let x = 0; x < SIZE; x++) {
      low = Math.min(low, at(x, y, 0));
      high = Math.max(high, at(x, y, 0));
      expect(at(x, y, 3)).toBeGreaterThanOrEqual(0);
      if (x < SIZE - 1) inner = Math.max(inner, Math.abs(at(x + 1, y, 0) - at(x, y, 0)));
    }
    seam = Math.max(seam, Math.abs(at(0, y, 0) - at(SIZE - 1, y, 0)));
  }
  expect(low).toBeLessThan(-0.4);
  expect(high).toBeGreaterThan(0.4);
  expect(Math.max(-low, high)).toBeLessThan(2);
  expect(seam).toBeLessThanOrEqual(inner);
});

test("its slope is that of its height", () => {
  for (const [x, y] of [
    [3, 5],
    [0, 20],
    [40, 63],
  ] as const) {
    expect(at(x, y, 1)).toBeCloseTo((at(x + 1, y, 0) - at(x - 1, y, 0)) * 0.5 * SIZE, 3);
    expect(at(x, y, 2)).toBeCloseTo((at(x, y + 1, 0) - at(x, y - 1, 0)) * 0.5 * SIZE, 3);
  }
});

test("a hash differs from place to place", () => {
  const values = new Set(Array.from({ length: 256 }, (_, i) => hash(i % 16, i >> 4, 1)));
  expect(values.size).toBe(256);
});
