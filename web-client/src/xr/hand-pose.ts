// What a tracked hand does, from its 25 joints in WebXR's order: how far it pinches and how far it is a fist.
import { HAND_JOINTS } from "../tables/protocol-tables.js";

export const WRIST = 0;
export const THUMB_TIP = 4;
export const INDEX_TIP = 9;
export const MIDDLE_METACARPAL = 10;
export const MIDDLE_PROXIMAL = 11;
/** Of middle, ring and little finger: the index finger is busy pinching. */
const FIST_TIPS: readonly number[] = [14, 19, 24];

/** Thumb and index finger: apart, and touching, between the joints' middles, metres. */
const PINCH_OPEN_M = 0.05;
const PINCH_CLOSED_M = 0.015;
/** Finger tips from the palm's middle, in lengths of the palm: of an open hand, and of a fist. */
const FIST_OPEN = 1.3;
const FIST_CLOSED = 0.7;

export interface HandPose {
  pinch: number;
  fist: number;
}

/** @param joints  x y z each, metres @param pose  written */
export function readHandPose(joints: ArrayLike<number>, pose: HandPose): void {
  pose.pinch = fall(distance(joints, THUMB_TIP, joints, INDEX_TIP), PINCH_CLOSED_M, PINCH_OPEN_M);
  const palm = distance(joints, WRIST, joints, MIDDLE_PROXIMAL);
  if (!(palm > 0)) {
    pose.fist = 0;
    return;
  }
  let reach = 0;
  for (const tip of FIST_TIPS) reach += fromPalm(joints, tip) / FIST_TIPS.length;
  pose.fist = fall(reach / palm, FIST_CLOSED, FIST_OPEN);
}

/** Middle of the palm: half-way along the middle finger's bone in it. */
export function palmOf(joints: ArrayLike<number>, axis: number): number {
  return 0.5 * (at(joints, MIDDLE_METACARPAL, axis) + at(joints, MIDDLE_PROXIMAL, axis));
}

/** Whether these can be the joints of a hand. */
export function areJoints(joints: ArrayLike<number>): boolean {
  if (joints.length !== 3 * HAND_JOINTS) return false;
  for (let i = 0; i < joints.length; i++) if (!Number.isFinite(joints[i])) return false;
  return true;
}

function fromPalm(joints: ArrayLike<number>, joint: number): number {
  return Math.hypot(...[0, 1, 2].map((axis) => at(joints, joint, axis) - palmOf(joints, axis)));
}

function distance(a: ArrayLike<number>, i: number, b: ArrayLike<number>, j: number): number {
  return Math.hypot(at(a, i, 0) - at(b, j, 0), at(a, i, 1) - at(b, j, 1), at(a, i, 2) - at(b, j, 2));
}

/** 1 up to `low`, 0 from `high` on. */
function fall(x: number, low: number, high: number): number {
  return Math.min(1, Math.max(0, (high - x) / (high - low)));
}

function at(joints: ArrayLike<number>, joint: number, axis: number): number {
  return joints[3 * joint + axis] as number;
}
