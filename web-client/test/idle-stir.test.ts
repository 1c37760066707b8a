import { expect, test } from "vitest";
import { IDLE_MS, IdleStir, type Stroke, strokeAt } from "../src/state/idle-stir.js";

const PICTURE_S = 1 / 60;

/** Lets pictures pass. @returns the strength after them */
function pass(idle: IdleStir, seconds: number, idleMs: (s: number) => number): number {
  for (let s = 0; s < seconds; s += PICTURE_S) idle.tick(PICTURE_S, idleMs(s));
  return idle.strength;
}

test("nothing stirs until nobody has done anything for half a minute", () => {
  const idle = new IdleStir();
  expect(pass(idle, 29.9, (s) => 1000 * s)).toBe(0);
  expect(idle.tick(PICTURE_S, IDLE_MS)).toBe(0);
  expect(idle.tick(PICTURE_S, IDLE_MS + 1)).toBeGreaterThan(0);
});

test("it sets in gently and is full in some seconds", () => {
  const idle = new IdleStir();
  expect(pass(idle, 0.5, () => IDLE_MS + 1)).toBeLessThan(0.15);
  expect(pass(idle, 8, () => IDLE_MS + 1)).toBe(1);
});

test("it is gone within a second once somebody moves", () => {
  const idle = new IdleStir();
  pass(idle, 10, () => 2 * IDLE_MS);
  expect(pass(idle, 1, (s) => 1000 * s)).toBe(0);
});

test.each([0, 1])("stroke %i stays on the wall, goes as it says and comes to all its sides", (which) => {
  const [now, soon]: Stroke[] = [0, 0].map(() => ({ x: 0, y: 0, vx: 0, vy: 0 })) as [Stroke, Stroke];
  const sides = { left: false, right: false, low: false, high: false };
  for (let s = 0; s < 60; s += 0.25) {
    strokeAt(which, s, now as Stroke);
    strokeAt(which, s + 1e-4, soon as Stroke);
    const { x, y, vx, vy } = now as Stroke;
    expect(Math.min(x, y, 1 - x, 1 - y)).toBeGreaterThan(0.05);
    expect(((soon as Stroke).x - x) / 1e-4).toBeCloseTo(vx, 2);
    expect(((soon as Stroke).y - y) / 1e-4).toBeCloseTo(vy, 2);
    sides.left ||= x < 0.25;
    sides.right ||= x > 0.75;
    sides.low ||= y < 0.25;
    sides.high ||= y > 0.75;
  }
  expect(Object.values(sides)).toEqual([true, true, true, true]);
});
