import { expect, test } from "vitest";
import { RADIUS_MAX_M, RADIUS_MIN_M } from "../src/sound/bubbles.js";
import { type HeardInfo, PER_S_MAX, type Splash, Splashes } from "../src/sound/splashes.js";

const COUNT = 5000;
const INFO: HeardInfo = {
  particleCount: COUNT,
  unitBits: 6,
  cellM: 0.05,
  velocityScale: 0.05,
  cells: [40, 20, 20],
  gravity: [0, -9.81, 0],
  paused: false,
};
const FRAME_S = 1 / 30;

/** The same numbers each time. */
function seeded(): () => number {
  let state = 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** @param speed  in velocity units, of the particles on the tank's right, which one in five is */
function views(speed: number) {
  const positions = new Uint16Array(4 * COUNT);
  const velocities = new Int8Array(4 * COUNT);
  for (let i = 0; i < COUNT; i++) {
    const isRight = i % 5 === 0;
    positions.set([(isRight ? 38 : 4) * 64, 10 * 64, 10 * 64], 4 * i);
    velocities.set([isRight ? -speed : 1, 1, 0], 4 * i);
  }
  return { positions, velocities };
}

function listen(speed: number, { frames = 300, info = INFO, lastsS = FRAME_S } = {}): Splash[] {
  const splashes = new Splashes(seeded());
  const heard = views(speed);
  return Array.from({ length: frames }, () => splashes.hear(info, heard, lastsS)).filter(
    (one) => one !== null,
  );
}

const bubbles = (splashes: Splash[]): number => splashes.reduce((sum, one) => sum + one.bubbles.length, 0);

test("calm water is silent, and so is a tank that stands still or has none", () => {
  expect(listen(2)).toEqual([]);
  expect(listen(60, { info: { ...INFO, paused: true } })).toEqual([]);
  expect(listen(60, { info: { ...INFO, particleCount: 0 } })).toEqual([]);
});

test("what is faster is louder, up to a limit, and it is heard where it is", () => {
  const [slow, fast] = [listen(12), listen(60)];
  expect(bubbles(slow)).toBeGreaterThan(20);
  expect(bubbles(fast)).toBeGreaterThan(2 * bubbles(slow));
  expect(bubbles(fast)).toBeLessThanOrEqual(PER_S_MAX * 10 * 1.1);
  for (const { at } of fast) {
    expect(at[0]).toBeCloseTo(38 * 0.05, 5);
    expect(at[1]).toBeCloseTo(10 * 0.05, 5);
  }
});

test("bubbles lie within what is heard, and begin until the next frame, of which a break is none", () => {
  for (const { bubbles: some } of listen(60, { lastsS: 5 })) {
    expect(some.length).toBeLessThanOrEqual(PER_S_MAX * 0.25 * 1.5 + 1);
    for (const { radiusM, amplitude, atS, rise } of some) {
      expect(radiusM).toBeGreaterThanOrEqual(RADIUS_MIN_M);
      expect(radiusM).toBeLessThanOrEqual(RADIUS_MAX_M);
      expect(amplitude).toBeGreaterThanOrEqual(0);
      expect(amplitude).toBeLessThanOrEqual(0.5);
      expect(atS).toBeLessThanOrEqual(0.25);
      expect(rise).toBeLessThanOrEqual(0.1);
    }
  }
});
