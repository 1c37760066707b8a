// codec.wasm against the native decoder, byte for byte: whole sequences, frames that are
// lost, cut or damaged; a decoder's state that outlives the growth of everything around it; bounded memory.
//
//     node test_wasm.mjs codec.wasm trace_stream scratch/ SEQUENCE.bin...
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { HEADER_VALUES, STATUS, codecs, decode, give, run, text } from "./wasm_codec.mjs";

const [wasmPath, tracer, scratch, ...paths] = process.argv.slice(2);
const fresh = codecs(wasmPath);
const AT = { version: 4, kind: 12, layers: 14, cells: 64, inputs: 70, flowTilesMax: 116 };
const INPUT_BYTES_MAX = 2 ** 28;
const KEY = 0;
const BASE = 1;
const EXTRA = 2;

/** The frames of a file, each behind its size. */
function framesOf(path) {
  const file = readFileSync(path);
  const frames = [];
  for (let at = 0; at < file.length; ) {
    const size = file.readUInt32LE(at);
    frames.push(file.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return frames;
}

const sequences = paths.map((path) => ({ name: basename(path), frames: framesOf(path) }));
const kindOf = (frame) => frame[AT.kind];

/** What the native decoder makes of frames: a status and, where it is 0, everything else as bytes. */
function trace(frames) {
  const size = (frame) => Buffer.from(new Uint32Array([frame.length]).buffer);
  const [sequence, traced] = [join(scratch, "sequence.bin"), join(scratch, "trace.bin")];
  writeFileSync(sequence, Buffer.concat(frames.flatMap((frame) => [size(frame), frame])));
  execFileSync(tracer, [sequence, traced], { stdio: ["ignore", "ignore", "inherit"] });
  const file = readFileSync(traced);
  const results = [];
  for (let at = 0; at < file.length; ) {
    const status = file.readInt32LE(at);
    at += 4;
    if (status !== 0) {
      results.push({ status });
      continue;
    }
    const [particles, bodies, inputs] = [0, 4, 8].map((k) => file.readUInt32LE(at + k));
    const value = (i) => file.readDoubleLE(at + 12 + 8 * i);
    const plane = value(38) > 0 ? value(11) * value(12) : 0;
    const rest = 8 * HEADER_VALUES + 64 * bodies + 8 * inputs + 12 * particles + plane;
    results.push({ status, particles, bytes: file.subarray(at, at + 12 + rest) });
    at += 12 + rest;
  }
  assert.equal(results.length, frames.length);
  return results;
}

function expectSame(found, expected, what) {
  assert.equal(found.status, expected.status, `${what}: status`);
  if (expected.status !== 0) return;
  assert.equal(found.particles, expected.particles, `${what}: particles`);
  const header = ({ bytes }) => Array.from({ length: HEADER_VALUES }, (_, i) => bytes.readDoubleLE(12 + 8 * i));
  assert.deepEqual(header(found), header(expected), what);
  assert.ok(found.bytes.equals(expected.bytes), `${what}: other bytes`);
}

function expectSameFrames(codec, frames, what) {
  trace(frames).forEach((expected, i) => expectSame(decode(codec, frames[i]), expected, `${what}, frame ${i}`));
}

/** A frame's bytes up to the end of each of its layers but the last; of all where a field's cells follow. */
function cuts(frame) {
  const layers = frame[AT.layers];
  const table = frame.readUInt16LE(6) + 8 * frame.readUInt16LE(AT.inputs);
  const hasField = frame.readUInt16LE(AT.version) === 5;
  const cells = hasField ? frame.readUInt32LE(table + 16 * layers + 24) : 0;
  const isCut = frame.length < frame.readUInt32LE(8);
  if (isCut) return [];
  let end = frame.length - cells;
  const found = cells > 0 ? [frame.subarray(0, end)] : [];
  for (let i = layers - 1; i > 0; i--) {
    end -= frame.readUInt32LE(table + 16 * i);
    found.push(frame.subarray(0, end));
  }
  return found;
}

/** The smallest sequence that has all kinds of frames. */
function smallest() {
  const whole = sequences.filter(({ frames }) => [KEY, BASE, EXTRA].every((k) => frames.some((f) => kindOf(f) === k)));
  assert.ok(whole.length > 0, "there is a sequence with all kinds of frames");
  return whole.reduce((a, b) => (b.frames[0].length < a.frames[0].length ? b : a)).frames;
}

function expectDecodes(codec, frame, status = 0) {
  assert.equal(codec.tarn_codec_decode(give(codec, frame)), status);
}

const tests = {
  async sequences_decode_as_they_do_natively() {
    for (const { name, frames } of sequences) {
      expectSameFrames(await fresh(), frames, name);
      assert.ok(frames.length === 1 || trace(frames).some(({ particles }) => particles > 0) || /empty/.test(name), name);
    }
  },
  async sequences_follow_one_another_in_one_codec() {
    const codec = await fresh();
    for (const { name, frames } of [...sequences, ...sequences.slice().reverse()]) expectSameFrames(codec, frames, name);
  },
  async a_lost_frame_costs_what_it_costs_natively() {
    for (const { name, frames } of sequences) {
      const codec = await fresh();
      for (let lost = 0; lost < Math.min(frames.length, 8); lost++) {
        const rest = frames.filter((_, i) => i !== lost);
        expectSameFrames(codec, rest, `${name} without ${lost}`);
      }
    }
  },
  async without_a_key_frame_there_is_no_state() {
    const codec = await fresh();
    const frames = smallest();
    expectDecodes(codec, frames.find((frame) => kindOf(frame) === BASE), STATUS.state);
    expectDecodes(codec, frames.find((frame) => kindOf(frame) === EXTRA), STATUS.state);
    expectSameFrames(codec, frames, "afterwards");
  },
  async frames_cut_behind_layers_decode_as_they_do_natively() {
    for (const { name, frames } of sequences) {
      const cut = frames.flatMap((frame, i) => (i < 12 ? [...cuts(frame), frame] : []));
      expectSameFrames(await fresh(), cut, `${name}, cut`);
      const fewer = frames.slice(0, 12).map((frame) => cuts(frame)[0] ?? frame);
      expectSameFrames(await fresh(), fewer, `${name} without the last layer`);
    }
  },
  async truncations_are_refused_as_they_are_natively() {
    const codec = await fresh();
    const truncated = smallest().slice(0, 3).flatMap((frame) => {
      const step = Math.max(1, Math.floor(frame.length / 200));
      return Array.from({ length: Math.ceil(frame.length / step) }, (_, i) => frame.subarray(0, i * step)).concat(frame);
    });
    expectSameFrames(codec, truncated, "truncated");
  },
  async damaged_frames_decode_or_are_refused_as_they_are_natively() {
    const codec = await fresh();
    const frames = smallest();
    // Not those that say how much room it takes: the native decoder has exactly that much, this one some to spare.
    const room = [AT.version, AT.version + 1, ...Array.from({ length: 6 }, (_, i) => AT.cells + i)];
    const isRoom = (frame, at) => {
      const table = frame.readUInt16LE(6) + 8 * frame.readUInt16LE(AT.inputs);
      const entry = (at - table) % 16;
      return room.includes(at) || (at >= AT.flowTilesMax && at < AT.flowTilesMax + 4) ||
        (at >= table && at < table + 16 * frame[AT.layers] && entry >= 12);
    };
    const first = (kind) => frames.find((frame) => kindOf(frame) === kind);
    const damaged = [];
    for (const kind of [KEY, BASE, EXTRA]) {
      const frame = first(kind);
      for (let i = 0; i < 150; i++) {
        const at = i < 100 ? i : Math.floor((frame.length * (i - 99)) / 51);
        if (isRoom(frame, at)) continue;
        const changed = Buffer.from(frame);
        changed[at] ^= [1, 0x80, 0xff][i % 3];
        damaged.push(first(KEY), changed, first(BASE));
      }
    }
    expectSameFrames(codec, damaged, "damaged");
  },
  async the_decoder_outlives_the_growth_of_input_and_arrays() {
    const codec = await fresh();
    const frames = smallest();
    const expected = trace(frames);
    frames.forEach((frame, i) => {
      expectSame(decode(codec, frame), expected[i], `frame ${i}`);
      assert.equal(codec.tarn_codec_reserve((i + 1) << 20, (i + 1) << 16), 0);
    });
    assert.ok(codec.memory.buffer.byteLength > frames.length << 20, "the memory grew");
  },
  async a_frame_of_another_version_leaves_the_decoder_alone() {
    const codec = await fresh();
    const frames = smallest();
    const expected = trace(frames);
    const other = Buffer.from(frames[0]);
    other[AT.version] = 1;
    frames.forEach((frame, i) => {
      expectSame(decode(codec, frame), expected[i], `frame ${i}`);
      assert.notEqual(codec.tarn_codec_decode(give(codec, other)), 0);
    });
  },
  async memory_stays_as_it_is_while_frames_do_not_grow() {
    const codec = await fresh();
    const frames = smallest();
    frames.forEach((frame) => expectDecodes(codec, frame));
    const { buffer } = codec.memory;
    for (let i = 0; i < 20; i++) frames.forEach((frame) => expectDecodes(codec, frame));
    assert.equal(codec.memory.buffer, buffer);
    for (const address of [codec.tarn_codec_input(), codec.tarn_codec_positions(), codec.tarn_codec_velocities()])
      assert.equal(address % 16, 0);
  },
  async a_key_frame_that_wants_too_much_is_refused_and_the_chain_goes_on() {
    const codec = await fresh();
    const frames = smallest();
    const expected = trace(frames);
    const greedy = Buffer.from(frames[0]);
    greedy.writeUInt32LE(2 ** 18, AT.flowTilesMax); // 3 GB of flow
    const greediest = Buffer.from(frames[0]);
    greediest.writeUInt32LE(368_000, AT.flowTilesMax); // a little more than 2^32 bytes
    const growing = Buffer.from(frames[0]);
    growing.writeUInt32LE(40_000, AT.flowTilesMax); // 445 MiB: no quarter to spare
    frames.forEach((frame, i) => {
      expectSame(decode(codec, frame), expected[i], `frame ${i}`);
      const { buffer } = codec.memory;
      expectDecodes(codec, greedy, STATUS.limit);
      expectDecodes(codec, greediest, STATUS.limit);
      assert.equal(codec.memory.buffer, buffer);
    });
    expectDecodes(codec, growing);
    assert.ok(codec.memory.buffer.byteLength <= 2 ** 29);
    frames.forEach((frame, i) => expectSame(decode(codec, frame), expected[i], `in the largest decoder, frame ${i}`));
  },
  async limits_of_the_room_are_kept() {
    const codec = await fresh();
    assert.equal(codec.tarn_codec_decode(1), STATUS.space);
    assert.equal(codec.tarn_codec_reserve(INPUT_BYTES_MAX + 1, 0), STATUS.limit);
    assert.equal(codec.tarn_codec_reserve(0, 2 ** 24 + 1), STATUS.limit);
    assert.equal(codec.tarn_codec_reserve(-1, -1), STATUS.limit);
    assert.equal(codec.tarn_codec_reserve(1000, 1000), 0);
    assert.ok(codec.tarn_codec_particles_max() >= 1000);
    assert.equal(codec.tarn_codec_decode(0x7fffffff), STATUS.space);
    assert.ok(codec.memory.buffer.byteLength < 2 ** 20);
    assert.equal(codec.tarn_codec_reserve(INPUT_BYTES_MAX, 2 ** 24), 0);
    assert.ok(codec.memory.buffer.byteLength <= 2 ** 29);
  },
  async statuses_have_texts() {
    const codec = await fresh();
    assert.equal(text(codec, codec.tarn_codec_status_name(STATUS.version)), "TARN_E_VERSION");
    assert.match(text(codec, codec.tarn_codec_status_text(STATUS.version)), /version/);
    assert.equal(text(codec, codec.tarn_codec_status_text(0)), "success");
    assert.ok(text(codec, codec.tarn_codec_status_text(-999)).length > 0);
  },
  async opening_fills_the_header_only() {
    const codec = await fresh();
    const [key] = smallest();
    assert.equal(codec.tarn_codec_open(give(codec, key)), 0);
    const header = new Float64Array(codec.memory.buffer, codec.tarn_codec_header(), HEADER_VALUES);
    assert.equal(header[25], 5);
    assert.equal(header[31], key[AT.layers]);
    assert.equal(header[8], trace([key])[0].particles);
    assert.equal(header[28], 0);
    assert.equal(codec.tarn_codec_particles_max(), 0);
  },
};

assert.ok(sequences.length > 0, "there are sequences");
await run(tests);
