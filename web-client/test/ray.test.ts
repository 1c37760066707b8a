import { expect, test } from "vitest";
import { cutBox, pointAt, type Ray, type Span, type Vec3 } from "../src/state/ray.js";

const SIZE = [2, 1, 1];

function cut(origin: Vec3, direction: Vec3): { hit: boolean } & Span {
  const span = { entry: 0, exit: 0 };
  const hit = cutBox({ origin, direction }, SIZE, span);
  return { hit, ...span };
}

test("a ray from outside enters and leaves the box", () => {
  expect(cut([1, 0.5, 3], [0, 0, -1])).toEqual({ hit: true, entry: 2, exit: 3 });
});

test("a ray that starts inside enters at once", () => {
  expect(cut([0.5, 0.5, 0.5], [1, 0, 0])).toEqual({ hit: true, entry: 0, exit: 1.5 });
});

test("rays beside, behind and parallel to the box miss it", () => {
  expect(cut([1, 2, 3], [0, 0, -1]).hit).toBe(false);
  expect(cut([1, 0.5, 3], [0, 0, 1]).hit).toBe(false);
  expect(cut([-0.1, 0.5, 0.5], [0, 1, 0]).hit).toBe(false);
});

test("an oblique ray meets the faces where the geometry says", () => {
  const s = Math.SQRT1_2;
  const { hit, entry, exit } = cut([-1, 0.5, 0.5], [s, 0, -s]);
  expect(hit).toBe(false);
  expect(exit).toBeLessThan(entry);
  const oblique = cut([-0.25, 0.5, 0.75], [s, 0, -s]);
  expect(oblique.hit).toBe(true);
  const ray: Ray = { origin: [-0.25, 0.5, 0.75], direction: [s, 0, -s] };
  const point: Vec3 = [0, 0, 0];
  pointAt(ray, oblique.entry, point);
  expect(point[0]).toBeCloseTo(0);
  expect(point[2]).toBeCloseTo(0.5);
});
