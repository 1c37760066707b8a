import { expect, test } from "vitest";
import { BODY_VALUES } from "../src/codec/frame-info.js";
import { BodyTrack } from "../src/state/body-track.js";
import { FRAME_BODIES_MAX } from "../src/tables/protocol-tables.js";

type Body = [solid: number, x: number, y: number, z: number, angle: number];

/** Bodies turned by an angle about z. */
function bodies(...list: Body[]): Float32Array {
  const values = new Float32Array(FRAME_BODIES_MAX * BODY_VALUES);
  list.forEach(([solid, x, y, z, angle], i) => {
    values.set([solid, x, y, z, 0, 0, Math.sin(angle / 2), Math.cos(angle / 2)], i * BODY_VALUES);
  });
  return values;
}

function frame(simTimeS: number, bodyCount = 1, epoch = 1) {
  return { epoch, simTimeS, bodyCount };
}

function poseAt(track: BodyTrack, leadS: number, body = 0): number[] {
  const pose = new Float64Array(7);
  track.pose(body, leadS, pose);
  return [...pose];
}

function angleAt(track: BodyTrack, leadS: number): number {
  const pose = poseAt(track, leadS);
  return 2 * Math.atan2(pose[5] as number, pose[6] as number);
}

test("a body goes on as it went between the two newest frames", () => {
  const track = new BodyTrack();
  track.onFrame(frame(1), bodies([3, 0, 0, 0, 0]));
  expect(poseAt(track, 0.05)).toEqual([0, 0, 0, 0, 0, 0, 1]);
  track.onFrame(frame(1.04), bodies([3, 0.4, 0, -0.2, 0.1]));
  expect(track.count).toBe(1);
  expect(track.solid(0)).toBe(3);
  expect(poseAt(track, 0)[0]).toBeCloseTo(0.4, 6);
  expect(poseAt(track, -0.02)[0]).toBeCloseTo(0.2, 6);
  expect(poseAt(track, 0.02)[0]).toBeCloseTo(0.6, 6);
  expect(poseAt(track, 0.02)[2]).toBeCloseTo(-0.3, 6);
  expect(angleAt(track, 0)).toBeCloseTo(0.1, 6);
  expect(angleAt(track, -0.02)).toBeCloseTo(0.05, 4);
  expect(angleAt(track, 0.02)).toBeCloseTo(0.15, 3);
  expect(poseAt(track, -1)[0]).toBeCloseTo(0, 6); // not before the older one
});

test("rotations keep their length and take the short way, whatever the quaternion's sign", () => {
  const track = new BodyTrack();
  track.onFrame(frame(1), bodies([0, 0, 0, 0, 0.2]));
  const turned = bodies([0, 0, 0, 0, 0.3]);
  for (let i = 4; i < 8; i++) turned[i] = -(turned[i] as number);
  track.onFrame(frame(1.02), turned);
  expect(Math.hypot(...poseAt(track, 0.04).slice(3))).toBeCloseTo(1, 12);
  const angle = angleAt(track, -0.01);
  expect(Math.cos(angle / 2) ** 2).toBeCloseTo(Math.cos(0.125) ** 2, 4);
});

test("nothing is concluded from frames that don't follow each other", () => {
  const still = (next: ReturnType<typeof frame>, values: Float32Array) => {
    const track = new BodyTrack();
    track.onFrame(frame(1), bodies([0, 0, 0, 0, 0]));
    track.onFrame(next, values);
    return poseAt(track, 0.05)[0];
  };
  const moved = bodies([0, 1, 0, 0, 0]);
  expect(still(frame(1.02, 1, 2), moved)).toBe(1); // another epoch
  expect(still(frame(1.5), moved)).toBe(1); // long after
  expect(still(frame(0.9), moved)).toBe(1); // from before
  expect(still(frame(1.02), bodies([5, 1, 0, 0, 0]))).toBe(1); // another solid
  expect(still(frame(1.02, 2), bodies([0, 1, 0, 0, 0], [1, 0, 0, 0, 0]))).toBe(1); // one more
});

test("the same moment once more changes nothing", () => {
  const track = new BodyTrack();
  track.onFrame(frame(1), bodies([0, 0, 0, 0, 0]));
  track.onFrame(frame(1.02), bodies([0, 0.1, 0, 0, 0]));
  track.onFrame(frame(1.02), bodies([0, 0.1, 0, 0, 0]));
  expect(poseAt(track, 0.02)[0]).toBeCloseTo(0.2, 6);
});

test("a tank without bodies has none", () => {
  const track = new BodyTrack();
  track.onFrame(frame(1), bodies([0, 0, 0, 0, 0]));
  track.onFrame(frame(1.02, 0), bodies());
  expect(track.count).toBe(0);
});
