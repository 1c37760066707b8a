import { expect, test } from "vitest";
import { aspectFor, cutFor, Pace } from "../src/camera/camera-framing.js";

test("the tank's front is cut from the picture's middle", () => {
  expect(cutFor(aspectFor(2, 1), 640, 480)).toEqual([0, 80, 640, 320]);
  expect(cutFor(aspectFor(1, 1), 640, 480)).toEqual([80, 0, 480, 480]);
  expect(cutFor(aspectFor(4, 3), 640, 480)).toEqual([0, 0, 640, 480]);
  // A phone that is held upright.
  expect(cutFor(aspectFor(2, 1), 480, 640)).toEqual([0, 200, 480, 240]);
});

test("of a very wide or high tank's picture more than a strip is left", () => {
  expect(aspectFor(100, 1)).toBe(3);
  expect(aspectFor(1, 100)).toBe(0.5);
});

function taken(times: readonly number[]): number {
  const pace = new Pace(30);
  return times.filter((timeS) => pace.takes(timeS)).length;
}

const seconds = (perSecond: number, wobbleS = 0): number[] =>
  Array.from({ length: 10 * perSecond }, (_, i) => i / perSecond + (i % 2) * wobbleS);

test("no more pictures than that are let through, evenly", () => {
  expect(taken(seconds(30))).toBe(300);
  expect(taken(seconds(30, 0.005))).toBe(300);
  expect(taken(seconds(15))).toBe(150);
  expect(taken(seconds(25))).toBe(250);
  expect(taken(seconds(60))).toBe(300);
  expect(taken(seconds(120))).toBeLessThanOrEqual(301);
  expect(taken(seconds(50))).toBeLessThanOrEqual(301);
});

test("a camera's clock that begins anew stops nothing", () => {
  expect(taken([1000, 1000.033, 0, 0.033, 0.066])).toBe(5);
});
