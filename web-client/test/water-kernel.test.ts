import { expect, test } from "vitest";
import { type Kernel, STRIDE_MAX, setKernel, tapsAt } from "../src/render/water/kernel.js";
import { planMaps } from "../src/render/water/targets.js";

function kernel(radiusM: number, pixelsPerUnit: number, tapsMax = 9): Kernel {
  const made = { tapsMax, reachPx: 0, range: 0, pull: 0 };
  setKernel(made, radiusM, pixelsPerUnit);
  return made;
}

test("the kernel reaches equally far over the water at any distance, until it is too wide", () => {
  const one = kernel(0.01, 400);
  const [near, far] = [tapsAt(one, 3), tapsAt(one, 6)];
  expect(near.count).toBe(8);
  expect(far.count).toBe(4);
  expect(near.stride).toBe(1);
  const close = tapsAt(one, 0.1);
  expect(close.count).toBe(9);
  expect(close.stride).toBe(STRIDE_MAX);
});

test("a kernel has a tap to either side, however far the water is", () => {
  expect(tapsAt(kernel(0.01, 400), 1000)).toEqual({ count: 1, stride: 1 });
});

test("taps that are too few stand farther apart, and reach as far", () => {
  const taps = tapsAt(kernel(0.01, 400, 6), 1.5);
  expect(taps.count).toBe(6);
  expect(taps.count * taps.stride).toBeCloseTo((5.5 * 0.01 * 400) / 1.5);
});

test("a tank of twice the size is smoothed alike from twice as far", () => {
  const [small, large] = [kernel(0.01, 400), kernel(0.02, 400)];
  expect(tapsAt(large, 6)).toEqual(tapsAt(small, 3));
  expect(large.range).toBeCloseTo(2 * small.range);
  expect(large.pull).toBeCloseTo(2 * small.pull);
});

test("the low tier's maps take much less than the high one's, and none is empty", () => {
  const bytes = (tier: "water" | "water-low"): number =>
    planMaps(tier, 1280, 720).reduce((sum, map) => sum + map.bytes, 0);
  expect(bytes("water-low")).toBeLessThan(0.6 * bytes("water"));
  for (const map of planMaps("water-low", 1, 1)) expect(map.bytes).toBeGreaterThan(0);
});
