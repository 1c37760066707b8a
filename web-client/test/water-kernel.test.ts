import { expect, test } from "vitest";
import { type Kernel, ROUNDS, setKernel, tapsAt } from "../src/render/water/kernel.js";
import { planMaps } from "../src/render/water/targets.js";

function kernel(radiusM: number, pixelsPerUnit: number, tapsMax = 9): Kernel {
  const made = { tapsMax, reachPx: 0, range: 0, pull: 0 };
  setKernel(made, radiusM, pixelsPerUnit);
  return made;
}

const [FIRST, SECOND] = ROUNDS;

test("the kernel reaches equally far over the water at any distance, until it is too wide", () => {
  const one = kernel(0.01, 400);
  const [near, far] = [tapsAt(one, 3, FIRST), tapsAt(one, 6, FIRST)];
  expect(near.count).toBe(9);
  expect(far.count).toBe(5);
  expect(near.stride).toBe(1);
  const close = tapsAt(one, 0.1, FIRST);
  expect(close.count).toBe(9);
  expect(close.stride).toBe(FIRST.strideMax);
});

test("a kernel has a tap to either side, however far the water is", () => {
  expect(tapsAt(kernel(0.01, 400), 1000, FIRST)).toEqual({ count: 1, stride: 1 });
});

test("taps that are too few stand farther apart, and reach as far", () => {
  const taps = tapsAt(kernel(0.01, 400, 6), 1.5, FIRST);
  expect(taps.count).toBe(6);
  expect(taps.count * taps.stride).toBeCloseTo((1.1 * 5.5 * 0.01 * 400) / 1.5);
});

test("however near the water is, the second time's taps fill the gaps of the first time's", () => {
  for (const tapsMax of [6, 9])
    for (const distance of [0.01, 0.1, 0.5, 1, 3]) {
      const one = kernel(0.01, 1600, tapsMax);
      const second = tapsAt(one, distance, SECOND);
      expect(second.stride).toBe(1);
      expect(second.count).toBeGreaterThanOrEqual(tapsAt(one, distance, FIRST).stride - 1);
    }
});

test("a tank of twice the size is smoothed alike from twice as far", () => {
  const [small, large] = [kernel(0.01, 400), kernel(0.02, 400)];
  expect(tapsAt(large, 6, FIRST)).toEqual(tapsAt(small, 3, FIRST));
  expect(large.range).toBeCloseTo(2 * small.range);
  expect(large.pull).toBeCloseTo(2 * small.pull);
});

test("the low tier's maps take much less than the high one's, and none is empty", () => {
  const bytes = (tier: "water" | "water-low"): number =>
    planMaps(tier, 1280, 720).reduce((sum, map) => sum + map.bytes, 0);
  expect(bytes("water-low")).toBeLessThan(0.6 * bytes("water"));
  for (const map of planMaps("water-low", 1, 1)) expect(map.bytes).toBeGreaterThan(0);
});
