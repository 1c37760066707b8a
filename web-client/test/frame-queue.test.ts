import { expect, test } from "vitest";
import { FrameQueue, QUEUE_MAX } from "../src/state/frame-queue.js";

const KEY = 0;
const BASE = 1;
const EXTRA = 2;

function frame(kind: number, step: number): ArrayBuffer {
  const bytes = new ArrayBuffer(136);
  const view = new DataView(bytes);
  view.setUint8(12, kind);
  view.setUint32(20, 1, true);
  view.setUint32(24, step, true);
  view.setUint32(52, step, true);
  return bytes;
}

/** A queue into which frames of these kinds came, at the steps 1, 2, ... */
function queueOf(...kinds: number[]): FrameQueue {
  const queue = new FrameQueue();
  for (const [i, kind] of kinds.entries()) queue.push(frame(kind, i + 1), 10 * i);
  return queue;
}

function drain(queue: FrameQueue): (number | undefined)[] {
  const steps: (number | undefined)[] = [];
  for (let next = queue.shift(); next !== null; next = queue.shift()) steps.push(next.position?.step);
  return steps;
}

test("key and base frames come out in order", () => {
  const queue = queueOf(KEY, BASE, BASE);
  expect(queue.dropped).toBe(0);
  expect(queue.shift()).toMatchObject({
    kind: KEY,
    position: { epoch: 1, step: 1, number: 1 },
    arrivedMs: 0,
  });
  expect(drain(queue)).toEqual([2, 3]);
});

test("an extra frame waits only as long as nothing newer does", () => {
  expect(drain(queueOf(KEY, EXTRA))).toEqual([1, 2]);
  expect(drain(queueOf(KEY, EXTRA, EXTRA))).toEqual([1, 3]);
  const queue = queueOf(KEY, EXTRA, BASE);
  expect(queue.dropped).toBe(1);
  expect(drain(queue)).toEqual([1, 3]);
});

test("a key frame takes the place of all that waits", () => {
  const queue = queueOf(KEY, BASE, EXTRA, KEY, BASE);
  expect(queue.dropped).toBe(3);
  expect(drain(queue)).toEqual([4, 5]);
});

test("where too many wait the chain is given up behind its key frame, until the next one", () => {
  const queue = queueOf(KEY, BASE, BASE, BASE, BASE, BASE, EXTRA);
  expect(queue.dropped).toBe(6);
  expect(queue.takeGivenUp()).toEqual({ epoch: 1, step: 7, number: 7 });
  expect(drain(queue)).toEqual([1]);
  queue.push(frame(BASE, 8), 0);
  expect(drain(queue)).toEqual([]);
  expect(queue.needsKey).toBe(true);
  queue.push(frame(KEY, 9), 0);
  expect(queue.needsKey).toBe(false);
  queue.push(frame(BASE, 10), 0);
  expect(drain(queue)).toEqual([9, 10]);
});

test("without a key frame among too many all are given up", () => {
  const queue = queueOf(KEY);
  drain(queue);
  for (let step = 2; step < 2 + QUEUE_MAX; step++) queue.push(frame(BASE, step), 0);
  expect(queue.dropped).toBe(0);
  queue.push(frame(BASE, 9), 0);
  expect(queue.dropped).toBe(QUEUE_MAX + 1);
  expect(queue.takeGivenUp()).toEqual({ epoch: 1, step: 9, number: 9 });
  expect(drain(queue)).toEqual([]);
});

test("an extra frame that finds no room costs nobody else", () => {
  const queue = queueOf(KEY, BASE, BASE, BASE, EXTRA);
  expect(queue.dropped).toBe(1);
  expect(queue.needsKey).toBe(false);
  expect(queue.takeGivenUp()).toEqual({ epoch: 1, step: 5, number: 5 });
  expect(drain(queue)).toEqual([1, 2, 3, 4]);
});

test("never more than a few wait, whatever comes", () => {
  const queue = new FrameQueue();
  let random = 1;
  for (let step = 1; step < 5000; step++) {
    random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
    queue.push(frame((random >>> 8) % 16 === 0 ? KEY : 1 + ((random >>> 16) % 2), step), 0);
    if ((random >>> 24) % 64 === 0) expect(drain(queue).length).toBeLessThanOrEqual(QUEUE_MAX);
  }
  expect(drain(queue).length).toBeLessThanOrEqual(QUEUE_MAX);
});

test("what was given up is told once, and not where something newer waits", () => {
  const queue = queueOf(BASE);
  expect(queue.takeGivenUp()).toEqual({ epoch: 1, step: 1, number: 1 });
  expect(queue.takeGivenUp()).toBeNull();
  queue.push(frame(BASE, 2), 0);
  queue.push(frame(KEY, 3), 0);
  expect(queue.takeGivenUp()).toBeNull();
});

test("a cleared queue begins with a key frame", () => {
  const queue = queueOf(KEY, BASE);
  queue.clear();
  queue.push(frame(BASE, 3), 0);
  expect(drain(queue)).toEqual([]);
  queue.push(frame(KEY, 4), 0);
  expect(drain(queue)).toEqual([4]);
});

test("what is too short to be a frame stands for itself", () => {
  const queue = new FrameQueue();
  queue.push(new ArrayBuffer(5), 0);
  expect(queue.shift()).toMatchObject({ kind: KEY, position: null });
});
