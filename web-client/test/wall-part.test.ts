import { expect, test } from "vitest";
import { readSettings } from "../src/state/settings.js";
import { hasCorner, readPart, windowOf } from "../src/state/wall-part.js";

test.each([
  ["0,0,1,1", [0, 0, 1, 1]],
  ["0,0,0.49,1", [0, 0, 0.49, 1]],
  [".51, 0, 1, 1", [0.51, 0, 1, 1]],
  ["0.99,0,1,1", [0.99, 0, 1, 1]],
])("view=%s is a part", (text, part) => {
  expect(readPart(text)).toEqual(part);
});

test.each([
  "",
  "0,0,1",
  "0,0,1,1,1",
  "0,,1,1",
  "0,0,1.1,1",
  "-0.1,0,1,1",
  "0.5,0,0.5,1",
  "0.6,0,0.4,1",
  "0,0,0.005,1",
  "left",
  "0,0,NaN,1",
])("view=%s is none, and said in a sentence", (text) => {
  expect(readPart(text)).toBeUndefined();
  const { values, problems } = readSettings(`?view=${encodeURIComponent(text)}`);
  expect(values.view).toBeNull();
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(/has view=.*allowed is x0,y0,x1,y1/);
});

test("a window is the piece of the whole that its part says", () => {
  expect(windowOf([0, 0, 1, 1], 800, 600)).toEqual({ fullWidth: 800, fullHeight: 600, left: 0, top: 0 });
  // The right half's upper quarter.
  const { fullWidth, fullHeight, left, top } = windowOf([0.5, 0.75, 1, 1], 800, 600);
  expect([fullWidth, fullHeight, left, top]).toEqual([1600, 2400, 800, 0]);
});

test("of several displays one has the lower right corner", () => {
  const parts = ["0,0,0.49,1", "0.51,0,1,0.5", "0.51,0.5,1,1"].map(readPart);
  expect(parts.map((part) => part !== undefined && hasCorner(part))).toEqual([false, true, false]);
});

test("two projectors with a gap between them show what lies beside it, as large", () => {
  const [a, b] = [windowOf([0, 0, 0.49, 1], 980, 1000), windowOf([0.51, 0, 1, 1], 980, 1000)];
  expect(a.fullWidth).toBeCloseTo(2000);
  expect(b.fullWidth).toBeCloseTo(2000);
  expect(b.left - (a.left + 980)).toBeCloseTo(40);
});
