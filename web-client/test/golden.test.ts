// Holds the page's readers and writers to the protocol's golden vectors.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { decode } from "@msgpack/msgpack";
import { expect, test } from "vitest";
import { FrameCodec } from "../src/codec/frame-codec.js";
import {
  type ClientMessage,
  frameStep,
  isFrame,
  readMessage,
  writeMessage,
} from "../src/protocol/messages.js";

const FOLDER = new URL("../../tests/protocol/golden/", import.meta.url);
const CODEC = new URL("../src/codec/codec.wasm", import.meta.url);

function vectors(prefix: string): string[] {
  return readdirSync(FOLDER)
    .filter((name) => name.startsWith(prefix) && name.endsWith(".bin"))
    .map((name) => name.slice(0, -4));
}

function bytes(name: string): ArrayBuffer {
  return new Uint8Array(readFileSync(new URL(`${name}.bin`, FOLDER))).buffer;
}

function json(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8"));
}

const FROM_SERVER = ["welcome", "joined", "viewers", "pong", "error", "state"];

/** The reader's names for the wire's: snake_case becomes camelCase. */
function camel(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camel);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      camel(item),
    ]),
  );
}

test("there are vectors for messages and frames", () => {
  expect(vectors("message-").length).toBeGreaterThan(10);
  expect(vectors("frame-").length).toBeGreaterThan(3);
});

/** Inputs that this page doesn't send. */
const NOT_SENT = ["controller", "hand", "orientation"];

for (const name of vectors("message-")) {
  const meaning = json(name);
  if (NOT_SENT.includes(meaning.k as string)) continue;
  if (FROM_SERVER.includes(meaning.t as string)) {
    test(`${name} is read as what it says`, () => {
      expect(readMessage(bytes(name))).toEqual(camel(meaning));
    });
  } else {
    test(`${name} is written so that it reads back the same`, () => {
      const written = decode(writeMessage(meaning as unknown as ClientMessage));
      expect(written).toEqual(decode(bytes(name)));
    });
  }
}

const available = existsSync(CODEC);

for (const name of vectors("frame-")) {
  test.skipIf(!available)(`${name} is decoded to its particles`, async () => {
    const meaning = json(name);
    const codec = await FrameCodec.create(new Uint8Array(readFileSync(CODEC)));
    const frame = bytes(name);
    expect(isFrame(frame)).toBe(true);
    expect(frameStep(frame)).toEqual({ epoch: meaning.epoch, step: meaning.step });
    codec.decode(new Uint8Array(frame));
    const inputs = meaning.inputs as [number, number][];
    const info = codec.info(inputs[0]?.[0] ?? 1);
    expect(info).toMatchObject({
      epoch: meaning.epoch,
      step: meaning.step,
      simTimeS: meaning.sim_time_s,
      serverTimeUs: meaning.server_time_us,
      realtimeFactor: meaning.realtime_factor,
      paused: ((meaning.flags as number) & 1) === 1,
      particleCount: meaning.particle_count,
      kind: 0,
      receivedBytes: meaning.frame_bytes,
      layersPresent: 1,
      layersTotal: 1,
      unitBits: 5,
      cells: meaning.cells,
      cellM: meaning.cell_m,
      orientation: meaning.orientation,
      gravity: meaning.gravity_m_s2,
      velocityScale: meaning.velocity_scale_m_s,
      ownSequence: inputs[0]?.[1] ?? 0,
    });
    const positions = codec.positions(info.particleCount);
    const velocities = codec.velocities(info.particleCount);
    const particles = Array.from({ length: info.particleCount }, (_, i) => [
      ...positions.subarray(4 * i, 4 * i + 3),
      ...velocities.subarray(4 * i, 4 * i + 4),
      ...(info.coloured ? positions.subarray(4 * i + 3, 4 * i + 4) : []),
    ]);
    const coloured = "particles_x_y_z_u_v_w_layer_colour" in meaning;
    expect(info.coloured).toBe(coloured);
    expect(particles).toEqual(meaning[`particles_x_y_z_u_v_w_layer${coloured ? "_colour" : ""}`]);
    const bodies = (meaning.bodies_solid_x_y_z_rotation ?? []) as number[][];
    const values = codec.bodies(info.bodyCount);
    const found = Array.from({ length: info.bodyCount }, (_, i) => [
      ...values.subarray(8 * i, 8 * i + 4),
      ...values.subarray(8 * i + 4, 8 * i + 8).map((part) => Math.round(part * 32767)),
    ]);
    expect(found).toEqual(bodies);
  });

  test.skipIf(!available)(`${name} is refused when its end is missing, and the codec goes on`, async () => {
    const codec = await FrameCodec.create(new Uint8Array(readFileSync(CODEC)));
    const frame = new Uint8Array(bytes(name));
    for (const length of [0, 7, 135, frame.length - 1]) {
      expect(() => codec.decode(frame.subarray(0, length))).toThrow(/TARN_E_/);
    }
    codec.decode(frame);
    expect(codec.bytes()).toEqual(frame);
  });
}
