import { expect, test } from "vitest";
import { Drops, InputTimes, Rate, Smoothed } from "../src/state/rates.js";

test("a rate settles at what comes in and falls to nothing in silence", () => {
  const rate = new Rate(2000, 20);
  for (let ms = 0; ms < 5000; ms += 20) rate.add(1, ms);
  expect(rate.perSecond(5000)).toBeGreaterThan(45);
  expect(rate.perSecond(5000)).toBeLessThan(52);
  expect(rate.perSecond(8000)).toBe(0);
});

test("a rate is right within its first second", () => {
  const rate = new Rate(2000, 20);
  for (let ms = 0; ms <= 500; ms += 10) rate.add(1, ms);
  expect(rate.perSecond(500)).toBeCloseTo(100, -1);
});

test("an input's age is told once, by the first frame that contains it or a later one", () => {
  const times = new InputTimes();
  times.sent(1, 100);
  times.sent(2, 116);
  expect(times.contained(0, 120)).toBe(null);
  expect(times.contained(2, 150)).toBe(34);
  expect(times.contained(2, 170)).toBe(null);
  expect(times.contained(1, 170)).toBe(null);
});

test("an input that was never sent has no age", () => {
  const times = new InputTimes();
  times.sent(1, 100);
  expect(times.contained(257, 300)).toBe(null);
});

/** Frames at 30 a second of a tank that makes 60 steps a second, except for the ones left out. */
function drops(frames: number, left: (frame: number) => boolean, stepsPerFrame = 2): number {
  const counter = new Drops();
  for (let i = 0; i < frames; i++) {
    const jitterUs = 3000 * Math.sin(17 * i);
    if (!left(i)) counter.onFrame(1, i * stepsPerFrame, 1e15 + i * 33_333 + jitterUs, false);
  }
  return counter.total;
}

test("an even stream drops nothing, whatever its rate", () => {
  expect(drops(300, () => false)).toBe(0);
  expect(drops(300, () => false, 1)).toBe(0);
});

test("frames that are missing are counted", () => {
  expect(drops(300, (i) => i % 50 === 49)).toBe(5);
  expect(drops(300, (i) => i >= 100 && i < 110)).toBe(10);
});

test("a tank that slows down to a step at a time drops nothing", () => {
  const counter = new Drops();
  for (let i = 0; i < 30; i++) counter.onFrame(1, 2 * i, 1e15 + i * 33_333, false);
  for (let i = 1; i < 30; i++) counter.onFrame(1, 58 + i, 1e15 + 29 * 33_333 + i * 90_000, false);
  expect(counter.total).toBe(0);
});

test("a pause and a new epoch drop nothing", () => {
  const counter = new Drops();
  for (let i = 0; i < 10; i++) counter.onFrame(1, 2 * i, 1e15 + i * 33_333, false);
  counter.onFrame(1, 20, 1e15 + 340_000, true);
  counter.onFrame(1, 24, 1e15 + 9_000_000, false);
  counter.onFrame(2, 100, 1e15 + 12_000_000, false);
  expect(counter.total).toBe(0);
});

test("a smoothed value begins with its first sample", () => {
  const smoothed = new Smoothed(0.5);
  smoothed.add(10);
  expect(smoothed.value).toBe(10);
  smoothed.add(20);
  expect(smoothed.value).toBe(15);
});
