import { Matrix4, Quaternion, Vector3 } from "three";
import { expect, test } from "vitest";
import type { ControllerInput, HandInput } from "../src/protocol/headset-inputs.js";
import type { Tool } from "../src/protocol/messages.js";
import { type Device, newDevice } from "../src/xr/devices.js";
import { type Around, Grasping } from "../src/xr/grasp.js";
import { readHandPose } from "../src/xr/hand-pose.js";
import { acts } from "../src/xr/inputs.js";
import { isAtPanel } from "../src/xr/panel-layout.js";
import { TrackedInput } from "../src/xr/tracked-input.js";

/** A hand that lies flat, fingers along -z: wrist, then thumb (4), index, middle, ring, little finger (5 each). */
function flatHand(curl = 0, thumbToIndex = 0.09): Float32Array {
  const joints = new Float32Array(75);
  for (let finger = 0; finger < 5; finger++) {
    const count = finger === 0 ? 4 : 5;
    for (let i = 0; i < count; i++) {
      const joint = finger === 0 ? 1 + i : 5 + 5 * (finger - 1) + i;
      const reach = i < 2 ? 0.03 + 0.06 * i : 0.09 + (1 - curl) * 0.03 * (i - 1) - curl * 0.015 * (i - 1);
      joints.set([0.02 * (finger - 2), i < 2 ? 0 : -0.03 * curl, -reach], 3 * joint);
    }
  }
  joints.set([joints[27] as number, (joints[28] as number) + thumbToIndex, joints[29] as number], 12);
  return joints;
}

function device(kind: Device["kind"], change: Partial<Device> = {}): Device {
  return Object.assign(newDevice("right"), { kind, tracked: true }, change);
}

function told(tool: Tool = "push"): {
  controllers: ControllerInput[];
  hands: HandInput[];
  input: TrackedInput;
} {
  const controllers: ControllerInput[] = [];
  const hands: HandInput[] = [];
  const input = new TrackedInput("right", {
    controller: (one) => controllers.push(one),
    hand: (one) => hands.push(one),
    tool: { tool, radiusM: 50, strength: 2, colour: 0xff8000 },
  });
  return { controllers, hands, input };
}

const never: Around = { bodyNear: () => false, toolHere: () => false };
const always: Around = { bodyNear: () => true, toolHere: () => true };
const inTank: Around = { bodyNear: () => false, toolHere: () => true };

test("a flat hand is open, a curled one a fist, and fingers that meet pinch", () => {
  const pose = { pinch: -1, fist: -1 };
  readHandPose(flatHand(), pose);
  expect(pose).toEqual({ pinch: 0, fist: 0 });
  readHandPose(flatHand(1), pose);
  expect(pose.fist).toBeGreaterThan(0.7);
  readHandPose(flatHand(0, 0.012), pose);
  expect(pose).toEqual({ pinch: 1, fist: 0 });
  readHandPose(flatHand(0, 0.0325), pose);
  expect(pose.pinch).toBeCloseTo(0.5, 3);
  readHandPose(new Float32Array(75), pose);
  expect(pose.fist).toBe(0);
});

test("a grip holds the body beside it, else the tank, until it opens", () => {
  const grasping = new Grasping();
  grasping.tick(device("controller", { squeeze: 0.5 }), false, always);
  expect(grasping.now).toBe("free");
  grasping.tick(device("controller", { squeeze: 0.9 }), false, always);
  expect(grasping.now).toBe("body");
  grasping.tick(device("controller", { squeeze: 0.5 }), false, never);
  expect(grasping.now).toBe("body");
  grasping.tick(device("controller", { squeeze: 0.1 }), false, never);
  expect(grasping.now).toBe("free");
  grasping.tick(device("controller", { squeeze: 0.9 }), false, never);
  expect(grasping.now).toBe("tank");
  grasping.tick(device("controller", { squeeze: 0.9, tracked: false }), false, never);
  expect(grasping.now).toBe("free");
});

test("a trigger that presses the panel pushes nothing until it is released", () => {
  const grasping = new Grasping();
  const pressed = device("controller", { trigger: 1 });
  expect(grasping.tick(pressed, true, never)).toBe(true);
  expect(grasping.tick(pressed, true, never)).toBe(false);
  grasping.tick(pressed, false, never);
  expect(acts(pressed, grasping, "push")).toBe(false);
  grasping.tick(device("controller"), false, never);
  grasping.tick(pressed, false, never);
  expect(acts(pressed, grasping, "push")).toBe(true);
  expect(grasping.tick(pressed, true, never)).toBe(false);
});

test("a pinch on the panel presses it and holds nothing", () => {
  const grasping = new Grasping();
  const pinching = device("hand", { pose: { pinch: 1, fist: 0 } });
  expect(grasping.tick(pinching, true, always)).toBe(true);
  expect([grasping.now, acts(pinching, grasping, "push")]).toEqual(["free", false]);
});

test("a pinch in the tank uses a tool other than push, and one beside a body holds it", () => {
  const { hands, input } = told("pour");
  const [unit, none] = [new Matrix4(), new Quaternion()];
  const grasping = new Grasping();
  const hand = device("hand", { joints: flatHand() });
  let nowMs = 0;
  const pinch = (pinch: number, fist: number, around: Around): unknown => {
    Object.assign(hand.pose, { pinch, fist });
    grasping.tick(hand, false, around);
    nowMs += 200;
    input.tick(hand, grasping, unit, none, nowMs);
    const sent = hands.at(-1) as HandInput;
    return [grasping.now, acts(hand, grasping, "pour"), sent.tracked, sent.pinch, sent.grip];
  };
  expect(pinch(0.2, 0.1, inTank)).toEqual(["free", false, true, 0.2, 0.1]);
  expect(pinch(0.8, 0.1, inTank)).toEqual(["free", false, true, 0.6, 0.1]);
  // Curled fingers are no fist that would end it, and what comes near isn't held.
  expect(pinch(0.95, 0.7, inTank)).toEqual(["tool", true, true, 1, 0]);
  expect(pinch(0.7, 0.7, always)).toEqual(["tool", true, true, 1, 0]);
  expect(pinch(0.3, 0, always)).toEqual(["free", false, true, 0.3, 0]);
  expect(pinch(0.95, 0.1, always)).toEqual(["body", true, true, 1, 1]);
  pinch(0, 0, always);
  expect(pinch(0, 0.8, never)).toEqual(["free", true, true, 0, 0.8]);
  pinch(0, 0, always);
  expect(pinch(0.95, 0, never)).toEqual(["tank", false, false, 0, 0]);
});

test("a controller's grip in the tank holds the tank with every tool", () => {
  const grasping = new Grasping();
  grasping.tick(device("controller", { squeeze: 1 }), false, inTank);
  expect(grasping.now).toBe("tank");
});

test("a hand at the panel is gone for the server until it leaves it, unless it holds something", () => {
  const { hands, input } = told();
  const [unit, none] = [new Matrix4(), new Quaternion()];
  const grasping = new Grasping();
  const hand = device("hand", { joints: flatHand() });
  let nowMs = 0;
  const step = (pinch: number, over: boolean, touches: boolean): unknown => {
    hand.pose.pinch = pinch;
    grasping.tick(hand, over, always);
    if (touches) grasping.touchPanel();
    nowMs += 200;
    input.tick(hand, grasping, unit, none, nowMs);
    return hands.at(-1)?.tracked;
  };
  expect(step(0, true, false)).toBe(true);
  expect(step(1, true, false)).toBe(false);
  expect(step(1, false, false)).toBe(false);
  expect(step(0, true, false)).toBe(true);
  expect(step(0, false, true)).toBe(false);
  expect(step(1, false, true)).toBe(false); // it holds nothing there
  expect(step(0, false, false)).toBe(true);
  expect(step(1, false, false)).toBe(true);
  expect([step(1, false, true), grasping.now]).toEqual([true, "body"]);
  const at = device("controller", { trigger: 1 });
  const other = told();
  const pressing = new Grasping();
  pressing.tick(at, true, never);
  other.input.tick(at, pressing, unit, none, 0);
  expect(other.controllers.map(({ tracked, trigger }) => [tracked, trigger])).toEqual([[true, 0]]);
});

test("a finger is at the panel from just before it to somewhat behind it", () => {
  expect([0.03, 0.02, 0, -0.05, -0.2].map(isAtPanel)).toEqual([false, true, true, true, false]);
});

test("a controller is sent in tank coordinates, within the protocol's bounds", () => {
  const { controllers, input } = told();
  const turn = new Quaternion().setFromAxisAngle(new Vector3(0, 1, 0), 0.5);
  const toTank = new Matrix4().compose(new Vector3(1, 2, 3), turn, new Vector3(4, 4, 4));
  const grasping = new Grasping();
  const at = device("controller", { trigger: 0.8, point: new Vector3(0.1, 0, 0) });
  grasping.tick(at, false, never);
  input.tick(at, grasping, toTank, turn, 0);
  at.point.set(0.1, 0.05, 0);
  input.tick(at, grasping, toTank, turn, 20);
  expect(controllers.length).toBe(2);
  const [, sent] = controllers as [ControllerInput, ControllerInput];
  expect(sent.position_m).toEqual(new Vector3(0.1, 0.05, 0).applyMatrix4(toTank).toArray());
  expect(sent.velocity_m_s).toEqual([0, 10, 0].map((x) => expect.closeTo(x, 6)));
  expect(sent.orientation).toEqual(turn.toArray().map((x) => expect.closeTo(x, 6)));
  expect([sent.side, sent.tracked, sent.trigger, sent.grip]).toEqual(["right", true, 0.8, 0]);
  expect([sent.radius_m, sent.strength]).toEqual([10, 1]);
});

test("what holds the tank is gone for the server, and comes back when it lets go", () => {
  const { controllers, input } = told();
  const grasping = new Grasping();
  const [unit, none] = [new Matrix4(), new Quaternion()];
  const at = device("controller");
  const step = (squeeze: number, ms: number): void => {
    at.squeeze = squeeze;
    grasping.tick(at, false, never);
    input.tick(at, grasping, unit, none, ms);
  };
  step(0, 0);
  step(1, 1);
  step(1, 500);
  step(0, 501);
  at.tracked = false;
  step(0, 502);
  step(0, 1000);
  expect(controllers.map(({ tracked }) => tracked)).toEqual([true, false, true, false]);
});

test("a controller that is put down for a hand is said to be gone, and the hand says its joints", () => {
  const { controllers, hands, input } = told();
  const grasping = new Grasping();
  const [unit, none] = [new Matrix4().makeScale(2, 2, 2), new Quaternion()];
  input.tick(device("controller"), grasping, unit, none, 0);
  const hand = device("hand", { joints: flatHand(), pose: { pinch: 0.75, fist: 0.1 } });
  grasping.tick(hand, false, never);
  input.tick(hand, grasping, unit, none, 20);
  expect(controllers.map(({ tracked }) => tracked)).toEqual([true, false]);
  const [sent] = hands as [HandInput];
  expect(sent.joints_m.length).toBe(75);
  expect(sent.joints_m[29]).toBeCloseTo(2 * (flatHand()[29] as number), 6);
  // Nothing is near: the server, which takes hold from 0.7 on, is not to find a body later.
  expect(sent.pinch).toBeLessThan(0.7);
  expect(sent.grip).toBeCloseTo(0.1, 6);
});

test("what is too far away to be said isn't", () => {
  const { controllers, input } = told();
  const far = device("controller", { point: new Vector3(2000, 0, 0) });
  input.tick(far, new Grasping(), new Matrix4(), new Quaternion(), 0);
  expect(controllers).toEqual([]);
});

test("what adds something is told in its colour, what doesn't without one", () => {
  const { controllers, hands } = ["dye", "push"].reduce(
    (all, tool) => {
      const input = new TrackedInput("right", {
        controller: (one) => all.controllers.push(one),
        hand: (one) => all.hands.push(one),
        tool: { tool: tool as "dye" | "push", radiusM: 0.1, strength: 1, colour: 0x30a0ff },
      });
      input.tick(device("controller"), new Grasping(), new Matrix4(), new Quaternion(), 0);
      input.tick(device("hand"), new Grasping(), new Matrix4(), new Quaternion(), 1000);
      return all;
    },
    { controllers: [] as ControllerInput[], hands: [] as HandInput[] },
  );
  expect([...controllers, ...hands].filter(({ tracked }) => tracked).map(({ colour }) => colour)).toEqual([
    0x30a0ff,
    undefined,
    0x30a0ff,
    undefined,
  ]);
});
