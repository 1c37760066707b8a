import { Matrix4, Quaternion, Vector3 } from "three";
import { expect, test } from "vitest";
import { newDevice } from "../src/xr/devices.js";
import { Grasping } from "../src/xr/grasp.js";
import { OwnPresence } from "../src/xr/own-presence.js";

const TOOL = { tool: "push", radiusM: 0.1, strength: 1, colour: 0 } as const;
const sides = () =>
  (["left", "right"] as const).map((side) => ({ device: newDevice(side), grasping: new Grasping() }));

/** A tank at half its size, a metre before the origin, turned about the vertical. */
const TURN = new Quaternion().setFromAxisAngle(new Vector3(0, 1, 0), 0.5);
const TO_TANK = new Matrix4().compose(new Vector3(0, 0, -1), TURN, new Vector3(0.5, 0.5, 0.5)).invert();

test("head and tracked hands are told in the tank's coordinates", () => {
  const [left, right] = sides() as [ReturnType<typeof sides>[0], ReturnType<typeof sides>[0]];
  right.device.tracked = true;
  right.device.trigger = 1;
  right.device.point.set(0, 0, -1);
  const own = new OwnPresence();
  const eyes = new Vector3(0, 0.25, -1);
  const points = own.tell(eyes, TURN, [left, right], TO_TANK, TURN.clone().invert(), TOOL);
  expect(points.map(({ part }) => part)).toEqual(["head", "hand_right"]);
  expect(points[0]?.position_m).toEqual([0, 0.5, 0].map((x) => expect.closeTo(x, 2)));
  // It looks along the tank.
  expect(points[0]?.orientation).toEqual([0, 0, 0, 1].map((x) => expect.closeTo(x, 6)));
  expect(points[1]).toMatchObject({ pressed: true, tool: "push" });
  expect(points[0]?.pressed).toBeUndefined();
});

test("a tremble is no news, and what is too far off isn't told", () => {
  const own = new OwnPresence();
  const tell = (x: number) =>
    own.tell(new Vector3(x, 0, 0), TURN, sides(), new Matrix4(), new Quaternion(), TOOL);
  expect(tell(0.1001)).toEqual(tell(0.0999));
  expect(tell(0.1)).not.toEqual(tell(0.11));
  expect(tell(5000)).toEqual([]);
});
