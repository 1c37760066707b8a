import { expect, test } from "vitest";
import {
  type FieldPlane,
  type FrameInfo,
  slotBytes,
  slotCapacity,
  slotViews,
} from "../src/codec/frame-info.js";
import type { DecoderPort, FromWorker, ToWorker } from "../src/codec/worker-messages.js";
import { FrameStream } from "../src/state/frame-stream.js";

const INFO: FrameInfo = {
  epoch: 1,
  step: 1,
  simTimeS: 0,
  serverTimeUs: 0,
  realtimeFactor: 1,
  paused: false,
  particleCount: 10,
  particlesTotal: 10,
  kind: 0,
  receivedBytes: 100,
  layersPresent: 1,
  layersTotal: 1,
  unitBits: 5,
  cells: [8, 8, 8],
  cellM: 0.1,
  orientation: [0, 0, 0, 1],
  gravity: [0, -9.81, 0],
  velocityScale: 0.1,
  bodyCount: 0,
  coloured: false,
  hasCurl: false,
  channel: 0,
  channelLow: 0,
  channelHigh: 0,
  field: 0,
  fieldLow: 0,
  fieldHigh: 0,
  inputs: 0,
  ownSequence: 0,
  lightDims: [4, 4, 4],
  lightCells: 2,
  crowding: 8,
  secondaryCount: 0,
  decodeMs: 0,
};

class FakePort implements DecoderPort {
  onmessage: DecoderPort["onmessage"] = null;
  frames: Extract<ToWorker, { kind: "frame" }>[] = [];

  postMessage(message: ToWorker): void {
    if (message.kind === "frame") this.frames.push(message);
  }
  say(message: FromWorker): void {
    this.onmessage?.({ data: message } as MessageEvent<FromWorker>);
  }
  answer(step: number): void {
    const frame = this.frames.at(-1);
    if (frame === undefined) throw new Error("nothing to decode");
    this.say({
      kind: "decoded",
      info: { ...INFO, step },
      slot: frame.slot,
      field: null,
      fieldAxis: 2,
      hash: "",
    });
  }
}

function stream(): { port: FakePort; frames: FrameStream; log: string[] } {
  const port = new FakePort();
  const log: string[] = [];
  const frames = new FrameStream(port, new ArrayBuffer(0), {
    onDecoded: (frame) => log.push(`decoded ${frame.info.step} at ${frame.arrivedMs}`),
    onRefused: (why) => log.push(`refused ${why}`),
    onUnreferenced: (position) => log.push(`unreferenced ${position?.step}`),
    onGivenUp: ({ step }) => log.push(`given up ${step}`),
    onFailed: (why) => log.push(`failed ${why}`),
  });
  return { port, frames, log };
}

/** The first bytes of a frame. */
function streamFrame(kind: number, step: number): ArrayBuffer {
  const buffer = new ArrayBuffer(136);
  const view = new DataView(buffer);
  view.setUint16(4, 2, true);
  view.setUint8(12, kind);
  view.setUint32(20, 1, true);
  view.setUint32(24, step, true);
  return buffer;
}

const bytes = (n: number): ArrayBuffer => new ArrayBuffer(n);

test("frames wait until the codec is ready, and only the newest waits", () => {
  const { port, frames } = stream();
  frames.push(bytes(1), 10);
  frames.push(bytes(2), 20);
  expect(port.frames.length).toBe(0);
  port.say({ kind: "ready" });
  expect(port.frames.map((frame) => frame.bytes.byteLength)).toEqual([2]);
  expect(frames.overtaken).toBe(1);
});

test("one frame is with the worker at a time; the newest follows", () => {
  const { port, frames, log } = stream();
  port.say({ kind: "ready" });
  frames.push(bytes(1), 10);
  frames.push(bytes(2), 20);
  frames.push(bytes(3), 30);
  port.answer(1);
  port.answer(3);
  expect(port.frames.map((frame) => frame.bytes.byteLength)).toEqual([1, 3]);
  expect(log).toEqual(["decoded 1 at 10", "decoded 3 at 30"]);
  expect(frames.overtaken).toBe(1);
});

test("two slots serve for ever", () => {
  const { port, frames } = stream();
  port.say({ kind: "ready" });
  const slots = new Set<ArrayBuffer>();
  for (let step = 1; step <= 50; step++) {
    frames.push(bytes(step), step);
    slots.add((port.frames.at(-1) as { slot: ArrayBuffer }).slot);
    port.answer(step);
  }
  expect(slots.size).toBe(2);
});

test("two planes of a field serve for ever, and none goes where none is wanted", () => {
  const { port, frames } = stream();
  port.say({ kind: "ready" });
  frames.slice = 0.5;
  const planes = new Set<FieldPlane>();
  for (let step = 1; step <= 50; step++) {
    frames.push(bytes(step), step);
    const { slot, plane } = port.frames.at(-1) as { slot: ArrayBuffer; plane: FieldPlane | null };
    const field = plane ?? new Uint8Array(64);
    planes.add(field);
    port.say({ kind: "decoded", info: { ...INFO, step }, slot, field, fieldAxis: 0, hash: "" });
    expect(frames.latest?.field).toBe(field);
    expect(frames.latest?.fieldAxis).toBe(0);
  }
  expect(planes.size).toBe(2);
  frames.slice = -1;
  frames.push(bytes(51), 51);
  expect(port.frames.at(-1)?.plane).toBeNull();
});

test("a frame without its reference is reported, and its slot comes back", () => {
  const { port, frames, log } = stream();
  port.say({ kind: "ready" });
  frames.push(streamFrame(0, 1), 1);
  port.answer(1);
  frames.push(streamFrame(1, 5), 5);
  const { slot } = port.frames.at(-1) as { slot: ArrayBuffer };
  port.say({ kind: "unreferenced", slot });
  frames.push(streamFrame(0, 7), 7);
  expect(port.frames.at(-1)?.slot).toBe(slot);
  port.answer(7);
  expect(log).toEqual(["decoded 1 at 1", "unreferenced 5", "decoded 7 at 7"]);
});

test("frames that are held wait in order and go on when they may", () => {
  const { port, frames, log } = stream();
  port.say({ kind: "ready" });
  frames.hold(true);
  frames.push(streamFrame(0, 1), 1);
  frames.push(streamFrame(1, 2), 2);
  expect(port.frames.length).toBe(0);
  frames.hold(false);
  port.answer(1);
  port.answer(2);
  expect(log).toEqual(["decoded 1 at 1", "decoded 2 at 2"]);
});

test("a chain that is given up is acknowledged, but not before the frames that still wait", () => {
  const { port, frames, log } = stream();
  port.say({ kind: "ready" });
  for (let step = 1; step <= 7; step++) frames.push(streamFrame(step === 1 ? 0 : 1, step), step);
  expect(log).toEqual([]);
  port.answer(1);
  expect(log).toEqual(["decoded 1 at 1", "given up 7"]);
  frames.push(streamFrame(1, 8), 8);
  frames.push(streamFrame(2, 9), 9);
  expect(log.slice(2)).toEqual(["given up 8", "given up 9"]);
  frames.push(streamFrame(0, 10), 10);
  port.answer(10);
  expect(log.at(-1)).toBe("decoded 10 at 10");
});

test("what is given up while held is acknowledged only afterwards", () => {
  const { port, frames, log } = stream();
  port.say({ kind: "ready" });
  frames.hold(true);
  frames.push(streamFrame(1, 3), 3);
  expect(log).toEqual([]);
  frames.hold(false);
  expect(log).toEqual(["given up 3"]);
});

test("a slot that grew in the worker sets the size of the next", () => {
  const { port, frames } = stream();
  port.say({ kind: "ready" });
  frames.push(bytes(1), 1);
  const large = new ArrayBuffer(slotBytes(100_000));
  port.say({ kind: "decoded", info: INFO, slot: large, field: null, fieldAxis: 2, hash: "" });
  expect(frames.latest?.views.capacity).toBe(100_000);
  frames.push(bytes(2), 2);
  expect(port.frames.at(-1)?.slot.byteLength).toBeGreaterThanOrEqual(slotBytes(100_000));
});

test("a refused frame is reported and the stream goes on", () => {
  const { port, frames, log } = stream();
  port.say({ kind: "ready" });
  frames.push(bytes(1), 1);
  port.say({ kind: "refused", slot: (port.frames.at(-1) as { slot: ArrayBuffer }).slot, why: "bad" });
  frames.push(bytes(2), 2);
  port.answer(2);
  expect(log).toEqual(["refused bad", "decoded 2 at 2"]);
});

test("a slot's arrays don't overlap and fill it", () => {
  const slot = new ArrayBuffer(slotBytes(slotCapacity(5000)));
  const { positions, velocities, light, bodies, secondaryPlaces, secondaryMotions, capacity } =
    slotViews(slot);
  expect(capacity).toBe(slotCapacity(5000));
  expect(positions.byteOffset + positions.byteLength).toBe(velocities.byteOffset);
  expect(velocities.byteOffset + velocities.byteLength).toBe(light.byteOffset);
  expect(light.byteOffset + light.byteLength).toBe(bodies.byteOffset);
  expect(bodies.byteOffset + bodies.byteLength).toBe(secondaryPlaces.byteOffset);
  expect(secondaryPlaces.byteOffset + secondaryPlaces.byteLength).toBe(secondaryMotions.byteOffset);
  expect(secondaryMotions.byteOffset + secondaryMotions.byteLength).toBe(slot.byteLength);
});
