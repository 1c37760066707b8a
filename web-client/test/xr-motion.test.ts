import { Quaternion, Vector3 } from "three";
import { expect, test } from "vitest";
import { Beat } from "../src/xr/beat.js";
import { Locomotion } from "../src/xr/locomotion.js";
import { Motion } from "../src/xr/motion.js";
import { Tilt } from "../src/xr/tank-tilt.js";

function turned(angle: number): Quaternion {
  return new Quaternion().setFromAxisAngle(new Vector3(0, 0, 1), angle);
}

test("velocity and spin follow the poses, whatever the rate of pictures", () => {
  for (const stepMs of [11, 200]) {
    const motion = new Motion();
    for (let i = 0; i < 6; i++) {
      const s = (i * stepMs) / 1000;
      motion.add(1000 + i * stepMs, new Vector3(2 * s, -s, 0), turned(3 * s), 100);
    }
    expect(motion.velocity.toArray()).toEqual([2, -1, 0].map((x) => expect.closeTo(x, 6)));
    expect(motion.spin.toArray()).toEqual([0, 0, 3].map((x) => expect.closeTo(x, 6)));
  }
});

test("what is old doesn't count, a pause and a jump begin afresh, and speeds are bounded", () => {
  const motion = new Motion();
  for (let i = 0; i < 5; i++) motion.add(i * 40, new Vector3(i, 0, 0), turned(0), 100);
  motion.add(200, new Vector3(4, 0, 0), turned(0), 100);
  motion.add(240, new Vector3(4, 0, 0), turned(0), 100);
  expect(motion.velocity.x).toBe(0);
  motion.add(280, new Vector3(400, 0, 0), turned(0), 100);
  expect(motion.velocity.x).toBe(100);
  motion.add(2000, new Vector3(0, 0, 0), turned(0), 100);
  expect(motion.velocity.x).toBe(0);
  motion.add(2010, new Vector3(0.01, 0, 0), turned(0), 100);
  expect(motion.velocity.x).toBeCloseTo(1, 6);
  motion.reset();
  motion.add(2020, new Vector3(5, 0, 0), turned(0), 100);
  expect(motion.velocity.x).toBe(0);
});

test("inputs are sent at a bounded rate, slower where nothing happens, and changes at once", () => {
  const count = (acts: boolean): number => {
    const beat = new Beat();
    let sent = 0;
    for (let ms = 0; ms < 1000; ms++) if (beat.due(ms, acts, false)) sent++;
    return sent;
  };
  expect(count(true)).toBeLessThanOrEqual(70);
  expect(count(true)).toBeGreaterThan(50);
  expect(count(false)).toBe(10);
  const beat = new Beat();
  expect([beat.due(0, true, false), beat.due(1, true, false), beat.due(1, true, true)]).toEqual([
    true,
    false,
    true,
  ]);
});

test("the stick moves along the view, turns in steps and sizes the tool", () => {
  const walk = new Locomotion();
  walk.tick([0, -1], [0, 0], 0, 0.05);
  expect([walk.dx, walk.dz].map((x) => Math.round(100 * x))).toEqual([0, -7]);
  walk.tick([0, -1], [0, 0], Math.PI / 2, 0.05);
  expect([walk.dx, walk.dz].map((x) => Math.round(100 * x) + 0)).toEqual([-7, 0]);
  walk.tick([0.1, 0.1], [0.9, 0], 0, 0.05);
  expect([walk.dx, walk.dz]).toEqual([0, 0]);
  expect(walk.turn).toBeCloseTo(-Math.PI / 6, 9);
  walk.tick([0, 0], [0.9, 0], 0, 0.05);
  expect(walk.turn).toBe(0);
  walk.tick([0, 0], [0, 0], 0, 0.05);
  walk.tick([0, 0], [-0.9, 0], 0, 0.05);
  expect(walk.turn).toBeCloseTo(Math.PI / 6, 9);
  walk.tick([0, 0], [0, -1], 0, 0.1);
  expect(walk.sizeFactor).toBeGreaterThan(1.1);
  walk.tick([0, 0], [0, 1], 0, 0.1);
  expect(walk.sizeFactor).toBeLessThan(0.9);
});

test("the hands' tilt is shown at once and stays until the frames have it, or a second long", () => {
  const tilt = new Tilt();
  const frames = turned(0.1);
  const shown = (nowMs: number): Quaternion => {
    const q = frames.clone();
    tilt.show(q, nowMs);
    return q;
  };
  expect(shown(0).angleTo(frames)).toBe(0);
  tilt.hold(turned(0.5));
  expect(shown(10).angleTo(turned(0.5))).toBeLessThan(1e-7);
  tilt.release(20);
  expect(shown(500).angleTo(turned(0.5))).toBeLessThan(1e-7);
  frames.copy(turned(0.495));
  expect(shown(600).angleTo(frames)).toBeLessThan(1e-7);
  frames.copy(turned(0.2));
  expect(shown(700).angleTo(frames)).toBeLessThan(1e-7);
  tilt.hold(turned(0.5));
  tilt.release(1000);
  expect(shown(2001).angleTo(frames)).toBeLessThan(1e-7);
});
