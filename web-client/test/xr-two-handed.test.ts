import { Quaternion, Vector3 } from "three";
import { expect, test } from "vitest";
import {
  type Hold,
  newStand,
  type Stand,
  TankHold,
  TILT_SLACK_RAD,
  twistAbout,
} from "../src/xr/two-handed.js";

const UP = new Vector3(0, 1, 0);

function hold(x: number, y: number, z: number, orientation = new Quaternion()): Hold {
  return { point: new Vector3(x, y, z), orientation };
}

function about(axis: [number, number, number], angle: number): Quaternion {
  return new Quaternion().setFromAxisAngle(new Vector3(...axis).normalize(), angle);
}

/** Where a point beside the tank's middle is in the room. */
function inRoom(stand: Stand, point: [number, number, number]): Vector3 {
  const turn = new Quaternion().setFromAxisAngle(UP, stand.yaw).multiply(stand.tilt);
  return new Vector3(...point).multiplyScalar(stand.scale).applyQuaternion(turn).add(stand.position);
}

function standing(): Stand {
  const stand = newStand();
  stand.position.set(0.2, 1, -0.6);
  stand.yaw = 0.7;
  stand.scale = 0.5;
  stand.tilt.copy(about([1, 0, 0.3], 0.2));
  return stand;
}

function distance(a: Vector3, b: Vector3): number {
  return a.distanceTo(b);
}

test("one hand carries the tank and turns it about the vertical only", () => {
  const stand = standing();
  const tilt = stand.tilt.clone();
  const hands = new TankHold();
  hands.take([hold(0.3, 1.1, -0.4)], stand);
  const turned = about([0, 1, 0], 0.5).multiply(about([1, 0, 0], 0.4));
  hands.move([hold(0.1, 1.3, -0.5, turned)], stand);
  expect(stand.yaw).toBeCloseTo(0.7 + twistAbout(turned, UP), 9);
  expect(stand.tilt.angleTo(tilt)).toBeLessThan(1e-6);
  expect(stand.scale).toBe(0.5);
  // The place that was taken hold of is in the hand still.
  const arm = new Vector3(0.3, 1.1, -0.4).sub(new Vector3(0.2, 1, -0.6));
  const at = arm.applyAxisAngle(UP, twistAbout(turned, UP)).add(stand.position);
  expect(distance(at, new Vector3(0.1, 1.3, -0.5))).toBeLessThan(1e-6);
});

test("hands that move apart scale the tank about what lies between them", () => {
  const stand = standing();
  const before = stand.tilt.clone();
  const hands = new TankHold();
  hands.take([hold(0, 1, -0.5), hold(0.4, 1, -0.5)], stand);
  hands.move([hold(-0.2, 1, -0.5), hold(0.6, 1, -0.5)], stand);
  expect(stand.scale).toBeCloseTo(1, 9);
  expect(stand.yaw).toBeCloseTo(0.7, 9);
  expect(stand.tilt.angleTo(before)).toBeLessThan(1e-6);
  expect(distance(stand.position, new Vector3(0.2, 1, -0.7))).toBeLessThan(1e-6);
  hands.scaleMax = 0.8;
  hands.move([hold(-2, 1, -0.5), hold(2.4, 1, -0.5)], stand);
  expect(stand.scale).toBe(0.8);
});

test("hands that turn about the vertical leave the tilt, which the server knows, as it is", () => {
  const stand = standing();
  const before = stand.tilt.clone();
  const hands = new TankHold();
  hands.take([hold(-0.2, 1, 0), hold(0.2, 1, 0)], stand);
  const turn = about([0, 1, 0], 1);
  const [a, b] = [new Vector3(-0.2, 0, 0), new Vector3(0.2, 0, 0)].map((p) => p.applyQuaternion(turn));
  hands.move(
    [a, b].map((p) => hold((p as Vector3).x, 1, (p as Vector3).z, turn)),
    stand,
  );
  expect(stand.yaw).toBeCloseTo(1.7, 9);
  expect(stand.tilt.angleTo(before)).toBeLessThan(1e-6);
});

test.each([
  ["the left hand up", [0, 0, 1] as [number, number, number], -0.5],
  ["both hands rolled forwards", [1, 0, 0] as [number, number, number], -0.6],
])("%s tilts the tank as the hands turn, less the slack", (_, axis, angle) => {
  const stand = newStand();
  stand.yaw = 0.9;
  const hands = new TankHold();
  hands.take([hold(-0.2, 0, 0), hold(0.2, 0, 0)], stand);
  const turn = about(axis, angle);
  const [a, b] = [
    new Vector3(-0.2, 0, 0).applyQuaternion(turn),
    new Vector3(0.2, 0, 0).applyQuaternion(turn),
  ];
  hands.move([hold(a.x, a.y, a.z, turn), hold(b.x, b.y, b.z, turn)], stand);
  const whole = new Quaternion().setFromAxisAngle(UP, stand.yaw).multiply(stand.tilt);
  const meant = about(axis, angle - Math.sign(angle) * TILT_SLACK_RAD).multiply(about([0, 1, 0], 0.9));
  expect(whole.angleTo(meant)).toBeLessThan(1e-6);
  // Gravity in the tank is what the tilt alone says.
  const inTank = new Vector3(0, -1, 0).applyQuaternion(stand.tilt.clone().invert());
  const inTankWhole = new Vector3(0, -1, 0).applyQuaternion(whole.invert());
  expect(distance(inTank, inTankWhole)).toBeLessThan(1e-6);
  expect(inTank.y).toBeGreaterThan(-0.95);
});

test("a tilt goes on from the one that somebody else gave, and the middle between the hands stays there", () => {
  const stand = standing();
  const grabbed = inRoom(stand, [0.1, 0.05, -0.1]);
  const offset = new Vector3(0.3, 0, 0);
  const hands = new TankHold();
  const [a0, b0] = [grabbed.clone().sub(offset), grabbed.clone().add(offset)];
  hands.take([hold(a0.x, a0.y, a0.z), hold(b0.x, b0.y, b0.z)], stand);
  hands.move([hold(a0.x, a0.y, a0.z), hold(b0.x, b0.y, b0.z)], stand);
  expect(stand.tilt.angleTo(standing().tilt)).toBeLessThan(1e-6);
  const turn = about([0, 0, 1], 0.4);
  offset.applyQuaternion(turn);
  const shift = new Vector3(0.05, -0.1, 0.2);
  const [a, b] = [grabbed.clone().sub(offset).add(shift), grabbed.clone().add(offset).add(shift)];
  hands.move([hold(a.x, a.y, a.z, turn), hold(b.x, b.y, b.z, turn)], stand);
  expect(distance(inRoom(stand, [0.1, 0.05, -0.1]), grabbed.add(shift))).toBeLessThan(1e-6);
});

test("hands that touch say nothing", () => {
  const stand = standing();
  const hands = new TankHold();
  hands.take([hold(0, 1, 0), hold(0.3, 1, 0)], stand);
  hands.move([hold(0, 1, 0), hold(0.001, 1, 0)], stand);
  expect(stand.scale).toBe(0.5);
  expect(stand.position.x).toBe(0.2);
});
