// Holds the page's readers and writers to the protocol's golden vectors.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { decode } from "@msgpack/msgpack";
import { expect, test } from "vitest";
import { FrameCodec } from "../src/codec/frame-codec.js";
import type { FieldPlane } from "../src/codec/frame-info.js";
import {
  type ClientMessage,
  frameKind,
  framePosition,
  isFrame,
  type MotionInput,
  readMessage,
  writeMessage,
} from "../src/protocol/messages.js";
import { encodeMotion, motionBound } from "../src/protocol/motion-code.js";
import { SERVER_KINDS, TOOLS } from "../src/tables/protocol-tables.js";
import { decodeMotion } from "./read-motion.js";

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

/** As it is read: what isn't said of a state is nothing. */
function read(meaning: Record<string, unknown>): unknown {
  if (meaning.t === "viewers") {
    const viewers = (meaning.viewers as object[]).map((one) => ({ muted: false, given: false, ...one }));
    return camel({ ...meaning, viewers });
  }
  if (meaning.t === "probes") {
    const probes = (meaning.probes as object[]).map((one) => ({ scene: false, label: "", solid: 0, ...one }));
    return camel({ ...meaning, probes });
  }
  if (meaning.t === "readings") {
    const hex = meaning.values as string;
    const values = Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
    return { ...(camel(meaning) as object), values: new Float32Array(values.buffer) };
  }
  if (meaning.state === undefined) return camel(meaning);
  const state = meaning.state as { parameters: object[]; channels?: object[]; fields?: object[] };
  const people = { label: "", unit: "" };
  return camel({
    ...(meaning.t === "joined" && { past: false, visitKey: "" }),
    ...meaning,
    state: {
      model: "",
      tools: TOOLS,
      added: [],
      remarks: [],
      locked: [],
      open_parameters: false,
      replay_until: 0,
      speed: 1,
      ...state,
      parameters: state.parameters.map((p) => ({
        ...people,
        whole: false,
        magnitudes: false,
        note: "",
        ...p,
      })),
      channels: (state.channels ?? []).map((channel) => ({ ...people, ...channel })),
      fields: (state.fields ?? []).map((field) => ({ ...people, ...field })),
    },
  });
}

/** What is said is JSON, which has no bytes: a motion's are those of the vector. */
function withBytes(meaning: Record<string, unknown>, name: string): Record<string, unknown> {
  if (meaning.k !== "motion") return meaning;
  const { cells } = decode(bytes(name)) as MotionInput;
  return { ...meaning, cells };
}

test("a motion's cells are coded as the vector's are", () => {
  const { cells, columns, rows } = decode(bytes("message-input-motion")) as MotionInput;
  const planes = decodeMotion(cells, 4 * columns * rows);
  const code = new Uint8Array(motionBound(planes.length));
  expect(code.subarray(0, encodeMotion(planes, code))).toEqual(cells);
});

test("there are vectors for messages and frames", () => {
  expect(vectors("message-").length).toBeGreaterThan(10);
  expect(vectors("stream-").length).toBeGreaterThan(10);
});

/** Inputs that this page doesn't send. */
const NOT_SENT = ["controller", "hand", "orientation"];

for (const name of vectors("message-")) {
  const meaning = json(name);
  if (NOT_SENT.includes(meaning.k as string)) continue;
  if (SERVER_KINDS.some((kind) => kind === (meaning.t as string))) {
    test(`${name} is read as what it says`, () => {
      expect(readMessage(bytes(name))).toEqual(read(meaning));
    });
  } else {
    test(`${name} is written so that it reads back the same`, () => {
      const written = decode(writeMessage(withBytes(meaning, name) as unknown as ClientMessage));
      expect(written).toEqual(decode(bytes(name)));
    });
  }
}

const available = existsSync(CODEC);

interface GoldenFrame extends Record<string, unknown> {
  epoch: number;
  step: number;
  flags: number;
  count: number;
  inputs: [number, number][];
  bodies_solid_x_y_z_rotation: number[][];
  layers_bytes_slots_particles_slots_max: number[][];
  first_x_y_z_colour_u_v_w_layer: number[][];
}

/** A vector's frames, each of which lies behind its size, and what they say. */
function framesOf(name: string): { frame: Uint8Array<ArrayBuffer>; meaning: GoldenFrame }[] {
  const file = bytes(name);
  const view = new DataView(file);
  let at = 0;
  return (json(name).frames as GoldenFrame[]).map((meaning) => {
    const size = view.getUint32(at, true);
    at += 4 + size;
    return { frame: new Uint8Array(file.slice(at - size, at)), meaning };
  });
}

const create = (): Promise<FrameCodec> => FrameCodec.create(new Uint8Array(readFileSync(CODEC)));

function expectFrame(codec: FrameCodec, frame: Uint8Array<ArrayBuffer>, meaning: GoldenFrame): void {
  expect(isFrame(frame.buffer)).toBe(true);
  expect(frameKind(frame.buffer)).toBe(meaning.kind);
  expect(framePosition(frame.buffer)).toEqual({
    epoch: meaning.epoch,
    step: meaning.step,
    number: meaning.number,
  });
  expect(codec.decode(frame)).toBe(true);
  const info = codec.info(meaning.inputs[0]?.[0] ?? 1);
  expect(info).toMatchObject({
    kind: meaning.kind,
    epoch: meaning.epoch,
    step: meaning.step,
    simTimeS: meaning.sim_time_s,
    serverTimeUs: meaning.server_time_us,
    realtimeFactor: meaning.realtime_factor,
    paused: (meaning.flags & 1) === 1,
    coloured: (meaning.flags & 2) === 2,
    particleCount: meaning.count,
    receivedBytes: meaning.bytes,
    layersPresent: meaning.layers_present,
    layersTotal: meaning.layers_bytes_slots_particles_slots_max.length,
    unitBits: meaning.unit_bits,
    cells: meaning.cells,
    cellM: meaning.cell_m,
    orientation: meaning.orientation,
    gravity: meaning.gravity_m_s2,
    velocityScale: meaning.velocity_scale_m_s,
    ownSequence: meaning.inputs[0]?.[1] ?? 0,
  });
  const positions = codec.positions(info.particleCount);
  const velocities = codec.velocities(info.particleCount);
  const first = meaning.first_x_y_z_colour_u_v_w_layer.map((_, i) => [
    ...positions.subarray(4 * i, 4 * i + 4),
    ...velocities.subarray(4 * i, 4 * i + 4),
  ]);
  expect(first).toEqual(meaning.first_x_y_z_colour_u_v_w_layer);
  const values = codec.bodies(info.bodyCount);
  const bodies = Array.from({ length: info.bodyCount }, (_, i) => [
    ...values.subarray(8 * i, 8 * i + 4),
    ...values.subarray(8 * i + 4, 8 * i + 8).map((part) => Math.round(part * 32767)),
  ]);
  expect(bodies).toEqual(meaning.bodies_solid_x_y_z_rotation);
}

/** FNV-1a of all planes, all of them in the memory of the first. */
function fieldHash(codec: FrameCodec, cells: number[]): string {
  let hash = 0xcbf29ce484222325n;
  const depth = cells[2] as number;
  let plane: FieldPlane | null = new Uint8Array(1); // too small
  const used = new Set<FieldPlane | null>();
  for (let z = 0; z < depth; z++) {
    plane = codec.fieldPlane(codec.info(1), (z + 0.5) / depth, plane);
    used.add(plane);
    for (const level of plane ?? []) hash = BigInt.asUintN(64, (hash ^ BigInt(level)) * 0x100000001b3n);
  }
  expect(used.size).toBe(1);
  return hash.toString(16).padStart(16, "0");
}

/** Of a plane across an axis, what the planes across z have there. */
function planeAcross(codec: FrameCodec, cells: readonly number[], axis: 0 | 1, cut: number): number[] {
  const [nx = 0, ny = 0, nz = 0] = cells;
  const info = codec.info(1);
  const planes = Array.from({ length: nz }, (_, z) => [
    ...(codec.fieldPlane(info, (z + 0.5) / nz, null) ?? []),
  ]);
  return axis === 0
    ? Array.from({ length: ny * nz }, (_, i) => planes[i % nz]?.[cut + nx * Math.floor(i / nz)] as number)
    : Array.from({ length: nx * nz }, (_, i) => planes[Math.floor(i / nx)]?.[(i % nx) + nx * cut] as number);
}

for (const name of vectors("stream-field"))
  test.skipIf(!available)(`${name} is cut across any axis`, async () => {
    const codec = await create();
    for (const { frame, meaning } of framesOf(name)) {
      expect(codec.decode(frame)).toBe(true);
      const cells = meaning.cells as number[];
      for (const axis of [0, 1] as const)
        for (const cut of [0, Math.floor((cells[axis] as number) / 2)]) {
          const plane = codec.fieldPlane(codec.info(1), (cut + 0.5) / (cells[axis] as number), null, axis);
          expect([...(plane ?? [])]).toEqual(planeAcross(codec, cells, axis, cut));
        }
    }
  });

for (const name of vectors("stream-field")) {
  test.skipIf(!available)(`${name} has the field that it says`, async () => {
    const codec = await create();
    for (const { frame, meaning } of framesOf(name)) {
      expect(codec.decode(frame)).toBe(true);
      const [field, , , fieldLow, fieldHigh] = meaning.field as number[];
      expect(codec.info(1)).toMatchObject({ field, fieldLow, fieldHigh });
      expect(fieldHash(codec, meaning.cells as number[])).toBe(meaning.field_fnv1a64);
    }
  });
}

for (const name of vectors("stream-")) {
  test.skipIf(!available)(`${name} is decoded to what it says`, async () => {
    const codec = await create();
    for (const { frame, meaning } of framesOf(name)) expectFrame(codec, frame, meaning);
  });

  test.skipIf(!available)(`${name} is refused when its end is missing, and the codec goes on`, async () => {
    const codec = await create();
    const [{ frame, meaning }] = framesOf(name) as [{ frame: Uint8Array<ArrayBuffer>; meaning: GoldenFrame }];
    for (const length of [0, 7, 135, frame.length - 1]) {
      expect(() => codec.decode(frame.subarray(0, length))).toThrow(/TARN_E_/);
    }
    expectFrame(codec, frame, meaning);
    expect(codec.bytes()).toEqual(frame);
  });
}
