import { expect, test } from "vitest";
import { type Quaternion, Tilt, turnBetween, turned, upOnScreen } from "../src/input/tilt.js";
import type { Vec3 } from "../src/state/ray.js";

function near(found: readonly number[], expected: readonly number[]): void {
  expect(found).toHaveLength(expected.length);
  found.forEach((x, i) => {
    expect(x).toBeCloseTo(expected[i] as number, 6);
  });
}

test("up on the screen of a phone: flat, upright, on its side", () => {
  const out: Vec3 = [0, 0, 0];
  near(upOnScreen(0, 0, 0, out), [0, 0, 1]);
  near(upOnScreen(90, 0, 0, out), [0, 1, 0]);
  // Turned to the left until its right edge is on top; the picture turned along.
  near(upOnScreen(0, -90, 0, out), [1, 0, 0]);
  near(upOnScreen(0, -90, 90, out), [0, 1, 0]);
  near(upOnScreen(0, 90, 270, out), [0, 1, 0]);
});

test("the shortest turn takes one direction to the other, also to the opposite", () => {
  const pairs: [Vec3, Vec3][] = [
    [
      [1, 0, 0],
      [0, 1, 0],
    ],
    [
      [0, 0.6, 0.8],
      [0, 1, 0],
    ],
    [
      [0, -1, 0],
      [0, 1, 0],
    ],
    [
      [0, 1, 0],
      [0, 1, 0],
    ],
  ];
  for (const [from, to] of pairs) near(turned(turnBetween(from, to), from), to);
});

function tilt(yaw = 0): { tilt: Tilt; sent: Quaternion[]; clock: { ms: number; screen: number } } {
  const sent: Quaternion[] = [];
  const clock = { ms: 0, screen: 0 };
  const made = new Tilt({
    yaw: () => yaw,
    screenDegrees: () => clock.screen,
    nowMs: () => clock.ms,
    send: (orientation) => sent.push(orientation),
  });
  return { tilt: made, sent, clock };
}

/** Gravity in tank axes for an orientation of the tank in the room. */
function gravity([x, y, z, w]: Quaternion): Vec3 {
  return turned([-x, -y, -z, w], [0, -1, 0]);
}

test("how it is held first counts as upright; leaning it to the right sends the water to the right", () => {
  const { tilt: t, sent, clock } = tilt();
  t.onReading(40, 0);
  expect(sent).toEqual([]);
  t.start();
  t.onReading(40, 0);
  near(gravity(sent[0] as Quaternion), [0, -1, 0]);
  clock.ms = 50;
  t.onReading(40, 25);
  const [x, y] = gravity(sent[1] as Quaternion);
  expect(x).toBeGreaterThan(0.2);
  expect(y).toBeLessThan(-0.8);
});

test("seen from the side, right is the tank's depth", () => {
  const { tilt: t, sent, clock } = tilt(Math.PI / 2);
  t.start();
  t.onReading(0, 0);
  clock.ms = 50;
  t.onReading(0, 30);
  const [x, , z] = gravity(sent[1] as Quaternion);
  expect(Math.abs(x)).toBeLessThan(1e-6);
  expect(z).toBeCloseTo(-0.5, 6);
});

test("messages are few: not without a change, not too often, none where there is no sensor", () => {
  const { tilt: t, sent, clock } = tilt();
  t.start();
  t.onReading(null, null);
  t.onReading(40, 0);
  clock.ms = 10;
  t.onReading(40, 20);
  clock.ms = 50;
  t.onReading(40, 0.01);
  expect(sent).toHaveLength(1);
});

test("a turned screen and a pause begin upright again; the end puts the tank upright", () => {
  const { tilt: t, sent, clock } = tilt();
  t.start();
  t.onReading(40, 30);
  clock.ms = 50;
  clock.screen = 90;
  t.onReading(10, -50);
  clock.ms = 100;
  t.rest();
  t.onReading(80, 0);
  for (const orientation of sent) near(gravity(orientation), [0, -1, 0]);
  t.stop();
  t.stop();
  expect(sent.at(-1)).toEqual([0, 0, 0, 1]);
  clock.ms = 200;
  t.onReading(80, 30);
  expect(sent.at(-1)).toEqual([0, 0, 0, 1]);
});
