// codec.wasm for its tests: instances, frames going in, and running the tests.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export const ABI = 6;
export const HEADER_VALUES = 43;
export const STATUS = {
  memory: -2, space: -5, truncated: -6, malformed: -7, version: -8, limit: -9, state: -12,
};

/** @returns makes instances of the codec */
export function codecs(path) {
  const wasm = readFileSync(path);
  return async () => {
    const { instance, module } = await WebAssembly.instantiate(wasm, {});
    assert.deepEqual(WebAssembly.Module.imports(module), []);
    assert.equal(instance.exports.tarn_codec_abi(), ABI);
    return instance.exports;
  };
}

/** Copies a frame into the codec. @returns its size */
export function give(codec, bytes) {
  assert.equal(codec.tarn_codec_reserve(bytes.length, 0), 0);
  new Uint8Array(codec.memory.buffer, codec.tarn_codec_input(), bytes.length).set(bytes);
  return bytes.length;
}

/** What codec.wasm makes of a frame: a status and, where it is 0, everything else as trace_stream writes it. */
export function decode(codec, frame) {
  const status = codec.tarn_codec_decode(give(codec, frame));
  if (status !== 0) return { status };
  const { buffer } = codec.memory;
  const header = new Float64Array(buffer, codec.tarn_codec_header(), HEADER_VALUES);
  const [particles, bodies, inputs] = [header[8], header[26], header[10]];
  assert.ok(particles <= codec.tarn_codec_particles_max());
  const parts = [
    [codec.tarn_codec_header(), 8 * HEADER_VALUES],
    [codec.tarn_codec_bodies(), 64 * bodies],
    [codec.tarn_codec_inputs(), 8 * inputs],
    [codec.tarn_codec_positions(), 8 * particles],
    [codec.tarn_codec_velocities(), 4 * particles],
    ...(header[38] > 0
      ? [[codec.tarn_codec_field_plane(Math.floor(header[13] / 2)), header[11] * header[12]]]
      : []),
  ].map(([at, count]) => new Uint8Array(buffer, at, count));
  const counts = new Uint8Array(new Uint32Array([particles, bodies, inputs]).buffer);
  return { status, particles, bytes: Buffer.concat([counts, ...parts]) };
}

export function text(codec, address) {
  const bytes = new Uint8Array(codec.memory.buffer, address);
  return Buffer.from(bytes.subarray(0, bytes.indexOf(0))).toString("ascii");
}

/** Runs tests by their names and ends the process with what came out. */
export async function run(tests) {
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test();
      console.log(`[       OK ] ${name}`);
    } catch (error) {
      failed++;
      console.log(`[  FAILED  ] ${name}\n${error.stack}`);
    }
  }
  console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}
