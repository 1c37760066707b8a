import { expect, test } from "vitest";
import type { ProbeList, Readings, SessionState } from "../src/protocol/messages.js";
import type { Measured } from "../src/protocol/recorded-messages.js";
import { MeasuredTrack } from "../src/state/measured-track.js";
import { RecordingError, RecordingWriter, readRecording } from "../src/state/recording.js";

const LIMITS = { bytes: 1 << 20, durationMs: 60_000 };
const STATE: SessionState = {
  scene: "dam-break",
  paused: false,
  workerReady: true,
  sizeM: [2, 1, 1],
  cellM: 0.03,
  dtS: 1 / 60,
  speed: 0.25,
  parameters: [
    {
      name: "gravity_m_s2",
      value: 9.81,
      min: 0,
      max: 50,
      label: "Gravity",
      unit: "m/s²",
      whole: false,
      magnitudes: false,
      note: "",
    },
  ],
  model: "liquid",
  tools: ["push", "dye"],
  channels: [{ name: "speed", label: "Speed", unit: "m/s" }],
  fields: [{ name: "cells", label: "Cells", unit: "", kinds: "air,liquid" }],
  added: [],
  remarks: [],
  locked: ["dye"],
  openParameters: true,
  replayUntil: 1234,
};

/** Something with a frame's first bytes. */
function frame(kind: number, mark: number, size = 160): ArrayBuffer {
  const bytes = new Uint8Array(size).fill(mark, 136);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0x464e5254, true);
  view.setUint8(12, kind);
  return bytes.buffer;
}

function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    file.set(part, at);
    at += part.byteLength;
  }
  return file;
}

function sample(): Uint8Array<ArrayBuffer> {
  const writer = new RecordingWriter(1_700_000_000_000, LIMITS);
  writer.state(STATE, 900);
  writer.frame(frame(1, 9), 950);
  [0, 2, 1, 2, 1, 0, 1].forEach((kind, i) => {
    writer.frame(frame(kind, i + 1), 1000 + 33.3 * i);
  });
  writer.state({ ...STATE, paused: true }, 1210);
  return join(writer.finish());
}

test("what was written is read again: frames from the first key frame on, times, states", () => {
  const recording = readRecording(sample().buffer);
  expect(recording.problem).toBe("");
  expect(recording.startedUnixMs).toBe(1_700_000_000_000);
  expect(recording.frames.map((f) => [f.isKey, f.isExtra])).toEqual([
    [true, false],
    [false, true],
    [false, false],
    [false, true],
    [false, false],
    [true, false],
    [false, false],
  ]);
  expect(recording.frames.map((f) => Math.round(f.atMs))).toEqual([0, 33, 67, 100, 133, 167, 200]);
  expect(recording.states.map(({ state }) => state)).toEqual([STATE, { ...STATE, paused: true }]);
  expect(recording.durationMs).toBeCloseTo(199.8, 3);
  recording.frames.forEach((f, i) => {
    const kind = [0, 2, 1, 2, 1, 0, 1][i] as number;
    expect(new Uint8Array(recording.bytesOf(f))).toEqual(new Uint8Array(frame(kind, i + 1)));
  });
});

const LIST: ProbeList = {
  t: "probes",
  list: 3,
  probes: [
    {
      id: 7,
      viewerId: 2,
      scene: false,
      kind: "gauge",
      atM: [0.5, 0, 0.25],
      toM: [0.5, 1, 0.25],
      solid: 0,
      label: "at the wall",
      columns: ["depth_m", "surface_m"],
    },
  ],
};

function rows(step: number): Readings {
  const values = new Float32Array([0.25, 0.125, step, -1]);
  return { t: "readings", list: 3, epoch: 2 ** 31 + 5, step, dtS: 1 / 60, rows: 2, values };
}

test("probes and what they measured are read again as they came, the list that there was to begin with as well", () => {
  const writer = new RecordingWriter(0, LIMITS);
  writer.measured(rows(1), 0); // nobody knows of what
  writer.measured(LIST, 0);
  writer.measured(rows(2), 0);
  writer.frame(frame(0, 1), 1000);
  writer.measured(rows(4), 1020);
  writer.measured({ ...LIST, list: 4, probes: [] }, 1040);
  writer.frame(frame(1, 2), 1050);
  const { measured, problem } = readRecording(join(writer.finish()).buffer);
  expect(problem).toBe("");
  expect(measured).toEqual([
    { atMs: 0, message: LIST },
    { atMs: 20, message: rows(4) },
    { atMs: 40, message: { ...LIST, list: 4, probes: [] } },
  ]);
});

test("readings count towards a recording's limits", () => {
  const writer = new RecordingWriter(0, { bytes: 32 + 176 + 500, durationMs: 1000 });
  writer.measured(LIST, 0);
  writer.frame(frame(0, 1), 0);
  for (let i = 0; i < 9; i++) writer.measured(rows(i), i);
  expect(writer.isFull).toBe(true);
  const { measured, problem } = readRecording(join(writer.finish()).buffer);
  expect([problem, measured.length > 0, measured.length < 9]).toEqual(["", true, true]);
});

test("what was measured is told up to the moment that is shown, from the start again before an earlier one", () => {
  const told: (Measured | null)[] = [];
  let isReady = false;
  const items = [LIST, rows(0), rows(2), rows(4)].map((message, i) => ({ atMs: 10 * i, message }));
  const track = new MeasuredTrack(items, {
    restart: () => void told.push(null),
    take: (message) => {
      if (message.t === "readings" && !isReady) return false;
      told.push(message);
      return true;
    },
  });
  track.show(15);
  expect(told).toEqual([null, LIST]);
  isReady = true;
  track.show(20);
  expect(told).toEqual([null, LIST, rows(0), rows(2)]);
  track.show(10);
  expect(told.slice(4)).toEqual([null, LIST, rows(0)]);
  track.show(1000);
  expect(told.slice(7)).toEqual([rows(2), rows(4)]);
});

test("the last bytes lead to the index, and the index to the key frames", () => {
  const file = sample();
  const view = new DataView(file.buffer);
  const end = file.byteLength - 16;
  expect(new TextDecoder().decode(file.subarray(end + 8, end + 12))).toBe("TRNX");
  const index = Number(view.getBigUint64(end, true));
  expect(view.getUint8(index + 4)).toBe(3);
  expect(view.getUint32(index, true)).toBe(2 * 16);
  for (const entry of [index + 16, index + 32]) {
    const offset = Number(view.getBigUint64(entry, true));
    expect(view.getUint8(offset + 4)).toBe(1);
    expect(view.getUint8(offset + 16 + 12)).toBe(0);
  }
});

test("a recording ends at its limits", () => {
  const small = new RecordingWriter(0, { bytes: 32 + 3 * 176, durationMs: 1000 });
  for (let i = 0; i < 5; i++) small.frame(frame(0, i), i);
  expect([small.frames, small.isFull]).toEqual([3, true]);
  const short = new RecordingWriter(0, { bytes: 1 << 20, durationMs: 100 });
  for (let i = 0; i < 5; i++) short.frame(frame(0, i), 40 * i);
  expect([short.frames, short.isFull]).toEqual([3, true]);
  expect(readRecording(join(short.finish()).buffer).frames).toHaveLength(3);
});

test("a recording wants a key frame to begin with, and one a second after", () => {
  const writer = new RecordingWriter(0, LIMITS);
  expect(writer.wantsKey(5000)).toBe(true);
  writer.frame(frame(1, 1), 5000);
  expect(writer.wantsKey(5000)).toBe(true);
  writer.frame(frame(0, 2), 5100);
  expect(writer.wantsKey(6000)).toBe(false);
  writer.frame(frame(1, 3), 6050);
  expect(writer.wantsKey(6100)).toBe(true);
  writer.frame(frame(0, 4), 6100);
  expect(writer.wantsKey(6200)).toBe(false);
});

test.each<[string, (file: Uint8Array<ArrayBuffer>) => void, RegExp]>([
  ["another file", (file) => file.fill(0, 0, 4), /no recording/],
  ["a later version", (file) => file.fill(2, 4, 5), /version 2/],
  ["a header of no size", (file) => file.fill(0, 6, 8), /header/],
  ["a first record without end", (file) => file.fill(255, 32, 36), /no frame in it/],
])("%s is refused", (_name, spoil, words) => {
  const file = sample();
  spoil(file);
  expect(() => readRecording(file.buffer)).toThrow(RecordingError);
  expect(() => readRecording(file.buffer)).toThrow(words);
});

test("every cut is refused or read up to there, and says so", () => {
  const file = sample();
  const whole = readRecording(file.buffer).frames;
  let least = 0;
  for (let size = 0; size < file.byteLength; size++) {
    try {
      const { frames, problem } = readRecording(file.slice(0, size).buffer);
      expect(problem).toMatch(/^The recording is damaged after .* s: /);
      expect(frames).toEqual(whole.slice(0, frames.length));
      expect(frames.length).toBeGreaterThanOrEqual(least);
      least = frames.length;
    } catch (error) {
      expect(error).toBeInstanceOf(RecordingError);
      expect(least).toBe(0);
    }
  }
  expect(least).toBe(whole.length);
});

test("random damage is refused or read, never more than is there", () => {
  let seed = 12345;
  const random = (): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  let damaged = 0;
  for (let round = 0; round < 3000; round++) {
    const file = sample();
    const spots = 1 + Math.floor(random() * 4);
    for (let i = 0; i < spots; i++) file[Math.floor(random() * file.byteLength)] = Math.floor(random() * 256);
    const cut = file.slice(0, Math.floor(random() * (file.byteLength + 1)));
    try {
      const recording = readRecording(cut.buffer);
      if (recording.problem !== "") damaged++;
      for (const f of recording.frames) {
        expect(f.offset + f.byteCount).toBeLessThanOrEqual(cut.byteLength);
        expect(recording.bytesOf(f).byteLength).toBe(f.byteCount);
      }
    } catch (error) {
      expect(error).toBeInstanceOf(RecordingError);
    }
  }
  expect(damaged).toBeGreaterThan(500);
});

test("an index that lies and bytes behind the end are noticed", () => {
  const file = sample();
  const lying = file.slice();
  lying[file.byteLength - 32] = 77;
  expect(readRecording(lying.buffer).problem).toMatch(/index/);
  expect(readRecording(join([file, new Uint8Array(3)]).buffer).problem).toMatch(/behind its end/);
});
