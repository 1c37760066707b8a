import { expect, test } from "vitest";
import { LEVELS, Pacing, SCALE_MIN } from "../src/xr/pacing.js";

const INTERVAL = 1000 / 72;

/** Runs pictures of a length for some seconds. @return how often the foveation changed */
function run(pacing: Pacing, from: { ms: number }, seconds: number, pictureMs: number): number {
  let changes = 0;
  const end = from.ms + seconds * 1000;
  while (from.ms < end) {
    from.ms += pictureMs;
    if (pacing.tick(from.ms, INTERVAL)) changes++;
  }
  return changes;
}

test("a headset that keeps up isn't touched", () => {
  const pacing = new Pacing();
  pacing.begin();
  expect(run(pacing, { ms: 0 }, 60, INTERVAL)).toBe(0);
  expect([pacing.foveation, pacing.scale]).toEqual([0, 1]);
});

test("late pictures make the edges coarser step by step, and then the next session's resolution", () => {
  const pacing = new Pacing();
  pacing.begin();
  const clock = { ms: 0 };
  expect(run(pacing, clock, 10, 2 * INTERVAL)).toBe(LEVELS.length - 1);
  expect(pacing.foveation).toBe(1);
  expect(pacing.scale).toBeLessThan(1);
  for (let session = 0; session < 12; session++) {
    pacing.begin();
    run(pacing, clock, 12, 2 * INTERVAL);
  }
  expect(pacing.scale).toBe(SCALE_MIN);
});

test("late pictures make spheres of the water, and calm makes water again, later each time", () => {
  const pacing = new Pacing();
  pacing.begin("water-low");
  const clock = { ms: 0 };
  run(pacing, clock, 30, INTERVAL);
  expect(pacing.tier).toBe("water-low");
  const untilWater = (): number => {
    run(pacing, clock, 3.2, 2 * INTERVAL);
    expect(pacing.tier).toBe("spheres");
    const from = clock.ms;
    while (pacing.tier === "spheres" && clock.ms < from + 400_000) run(pacing, clock, 1, INTERVAL);
    expect(pacing.tier).toBe("water-low");
    return (clock.ms - from) / 1000;
  };
  const first = untilWater();
  expect(first).toBeGreaterThan(15);
  expect(untilWater()).toBeGreaterThan(first + 10);
});

test("one slow second doesn't, and what somebody asked for stays", () => {
  const pacing = new Pacing();
  pacing.begin("water-low");
  const clock = { ms: 0 };
  run(pacing, clock, 1.1, 2 * INTERVAL);
  run(pacing, clock, 3, INTERVAL);
  expect(pacing.tier).toBe("water-low");
  pacing.begin("water", true);
  run(pacing, clock, 30, 2 * INTERVAL);
  expect(pacing.tier).toBe("water");
  expect(pacing.foveation).toBe(1);
});

test("it gets finer again after calm, later each time that this was taken back", () => {
  const pacing = new Pacing();
  pacing.begin();
  const clock = { ms: 0 };
  run(pacing, clock, 1.1, 2 * INTERVAL);
  expect(pacing.foveation).toBe(LEVELS[1]);
  run(pacing, clock, 5, INTERVAL);
  expect(pacing.foveation).toBe(LEVELS[1]);
  run(pacing, clock, 8, INTERVAL);
  expect(pacing.foveation).toBe(LEVELS[0]);
  while (pacing.foveation === LEVELS[0]) run(pacing, clock, 0.1, 2 * INTERVAL);
  run(pacing, clock, 14, INTERVAL);
  expect(pacing.foveation).toBe(LEVELS[1]);
  run(pacing, clock, 10, INTERVAL);
  expect(pacing.foveation).toBe(LEVELS[0]);
});

test("a pause says nothing, and long calm gives the resolution back", () => {
  const pacing = new Pacing();
  pacing.begin();
  const clock = { ms: 0 };
  run(pacing, clock, 12, 2 * INTERVAL);
  const { scale } = pacing;
  expect(scale).toBeLessThan(1);
  pacing.begin();
  pacing.tick(clock.ms, INTERVAL);
  clock.ms += 20_000;
  expect(pacing.tick(clock.ms, INTERVAL)).toBe(false);
  run(pacing, clock, 40, INTERVAL);
  expect(pacing.scale).toBeGreaterThan(scale);
});
