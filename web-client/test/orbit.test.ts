import { expect, test } from "vitest";
import { ORBIT_DISTANCE_MAX, ORBIT_DISTANCE_MIN, ORBIT_PITCH_MAX, Orbit } from "../src/state/orbit.js";

test("the view moves towards its goal and arrives", () => {
  const orbit = new Orbit(0, 0);
  orbit.turn(0.1, 0);
  orbit.tick(0.016, false);
  const first = orbit.yaw;
  expect(first).toBeLessThan(0);
  for (let i = 0; i < 100; i++) orbit.tick(0.016, false);
  expect(orbit.yaw).toBeLessThan(first);
  expect(orbit.yaw).toBeCloseTo(-0.34, 3);
});

test("who asked for less motion gets the view at once", () => {
  const orbit = new Orbit(0, 0);
  orbit.turn(0.1, 0);
  orbit.tick(0, true);
  expect(orbit.yaw).toBeCloseTo(-0.34);
});

test("the view stays within its bounds and finds home", () => {
  const orbit = new Orbit(0.5, 0.3);
  orbit.turn(0, 100);
  orbit.zoom(1e6);
  orbit.tick(0, true);
  expect([orbit.pitch, orbit.distance]).toEqual([ORBIT_PITCH_MAX, ORBIT_DISTANCE_MAX]);
  orbit.zoom(1e-9);
  orbit.tick(0, true);
  expect(orbit.distance).toBeCloseTo(ORBIT_DISTANCE_MIN);
  orbit.goHome();
  orbit.tick(0, true);
  expect([orbit.yaw, orbit.pitch, orbit.distance]).toEqual([0.5, 0.3, 1]);
});

test("who looks from home moves along when home does, who looks from elsewhere stays", () => {
  const orbit = new Orbit();
  orbit.settle([0, 0]);
  expect([orbit.yaw, orbit.pitch, orbit.isHome]).toEqual([0, 0, true]);
  orbit.look(1, 0.5, 2);
  orbit.settle([-0.5, 0.4]);
  expect([orbit.yaw, orbit.pitch]).toEqual([1, 0.5]);
  orbit.goHome();
  expect(orbit.goal).toEqual([-0.5, 0.4, 1]);
});
