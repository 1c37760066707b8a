import { expect, test } from "vitest";
import { DETAIL_MIN, Detail } from "../src/state/detail.js";

/** Draws at a rate for some seconds. @return the scale at the end */
function draw(detail: Detail, from: number, rate: number, seconds: number): number {
  for (let ms = 0; ms <= seconds * 1000; ms += 1000 / rate) detail.tick(from + ms);
  return detail.scale;
}

test("a machine that keeps up draws at full detail", () => {
  expect(draw(new Detail(), 0, 60, 10)).toBe(1);
  expect(draw(new Detail(), 0, 30, 10)).toBe(1);
});

test("a slow machine draws coarser, down to a bound", () => {
  const detail = new Detail();
  const soon = draw(detail, 0, 8, 2.5);
  expect(soon).toBeLessThan(1);
  expect(draw(detail, 3000, 8, 30)).toBe(DETAIL_MIN);
});

test("detail comes back when the machine is quick again, and more slowly each time", () => {
  const detail = new Detail();
  const recovery = (from: number): number => {
    draw(detail, from, 8, 1.1);
    expect(detail.scale).toBeLessThan(1);
    let ms = from + 1100;
    while (detail.scale < 1) {
      ms += 16;
      detail.tick(ms);
    }
    return ms - from;
  };
  const first = recovery(0);
  expect(recovery(100_000)).toBeGreaterThan(first);
});

test("a page that was hidden for long measured nothing", () => {
  const detail = new Detail();
  detail.tick(0);
  detail.tick(60_000);
  expect(detail.scale).toBe(1);
});
