import { expect, test } from "vitest";
import { topSpeed } from "../src/codec/frame-info.js";

test("the top speed is that of a fall along gravity, whichever way it points", () => {
  const tank = { cells: [40, 20, 10] as [number, number, number], cellM: 0.1 };
  const fall = (...gravity: [number, number, number]): number => topSpeed({ ...tank, gravity });
  const along = (height: number): number => Math.sqrt(2 * 9.81 * height * 0.85);
  expect(fall(0, -9.81, 0)).toBeCloseTo(along(2));
  expect(fall(9.81, 0, 0)).toBeCloseTo(along(4));
  expect(fall(0, 0, -9.81)).toBeCloseTo(along(1));
  const part = 9.81 * Math.SQRT1_2;
  expect(fall(part, -part, 0)).toBeCloseTo(along((4 + 2) * Math.SQRT1_2));
  // Where nothing falls it is what it was with little gravity along y.
  expect(fall(0, 0, 0)).toBeCloseTo(fall(0, -1, 0));
});
