// codec.wasm against the golden vectors of version 1, which the native decoder wrote: the same header, inputs, positions
// and velocities; the same refusals; memory that stays as it is while frames don't grow.
//
//     node test_wasm.mjs codec.wasm golden/
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { HEADER_VALUES, STATUS, codecs, give, run, text } from "./wasm_codec.mjs";

const [wasmPath, goldenPath] = process.argv.slice(2);
const fresh = codecs(wasmPath);
const INPUT_BYTES_MAX = 1024 + 8 * 64 + (16 + 192) * 2 ** 20 + 4 * 2 ** 24;

const vectors = readdirSync(goldenPath)
  .filter((name) => /^frame-.*\.bin$/.test(name))
  .map((name) => ({
    name,
    bytes: new Uint8Array(readFileSync(join(goldenPath, name))),
    expected: JSON.parse(readFileSync(join(goldenPath, name.replace(/bin$/, "json")), "utf8")),
  }));

function result(codec) {
  const { buffer } = codec.memory;
  const h = Array.from(new Float64Array(buffer, codec.tarn_codec_header(), HEADER_VALUES));
  const count = h[8];
  assert.ok(count <= codec.tarn_codec_particles_max());
  const inputs = new Uint32Array(buffer, codec.tarn_codec_inputs(), 2 * h[10]);
  const positions = new Uint16Array(buffer, codec.tarn_codec_positions(), 4 * count);
  const velocities = new Int8Array(buffer, codec.tarn_codec_velocities(), 4 * count);
  const bodies = new Float64Array(buffer, codec.tarn_codec_bodies(), 8 * h[26]);
  assert.equal(h[25], 1);
  assert.deepEqual(h.slice(28), [5, 0, 0, h[15], 0, 0, count]); // units of 1/32 cell, all layers, no chain
  const particles = Array.from({ length: count }, (_, i) => {
    if (!h[27]) assert.equal(positions[4 * i + 3], 0);
    const colour = h[27] ? [positions[4 * i + 3]] : [];
    return [...positions.subarray(4 * i, 4 * i + 3), ...velocities.subarray(4 * i, 4 * i + 4), ...colour];
  });
  const rotation = (value) => Math.round(value * 32767);
  return {
    kind: h[0], flags: h[1], frame_bytes: h[2], epoch: h[3], step: h[4], sim_time_s: h[5], server_time_us: h[6],
    realtime_factor: h[7], particle_count: count, tile_count: h[9], input_count: h[10], cells: h.slice(11, 14),
    position_bits: h[14], layer_count: h[15], cell_m: h[16], orientation: h.slice(17, 21),
    gravity_m_s2: h.slice(21, 24), velocity_scale_m_s: h[24],
    inputs: Array.from({ length: h[10] }, (_, i) => [inputs[2 * i], inputs[2 * i + 1]]),
    ...(h[26] && {
      bodies_solid_x_y_z_rotation: Array.from({ length: h[26] }, (_, i) => [
        ...bodies.subarray(8 * i, 8 * i + 4), ...Array.from(bodies.subarray(8 * i + 4, 8 * i + 8), rotation),
      ]),
    }),
    [h[27] ? "particles_x_y_z_u_v_w_layer_colour" : "particles_x_y_z_u_v_w_layer"]: particles,
  };
}

const tests = {
  async every_vector_decodes_as_it_does_natively() {
    const codec = await fresh();
    for (const { name, bytes, expected } of vectors) {
      assert.equal(codec.tarn_codec_decode(give(codec, bytes)), 0, name);
      assert.deepEqual(result(codec), expected, name);
    }
  },
  async opening_fills_the_header_only() {
    const codec = await fresh();
    const { bytes, expected } = vectors.find(({ name }) => name === "frame-six-tiles.bin");
    assert.equal(codec.tarn_codec_open(give(codec, bytes)), 0);
    const header = new Float64Array(codec.memory.buffer, codec.tarn_codec_header(), HEADER_VALUES);
    assert.equal(header[8], expected.particle_count);
    assert.equal(codec.tarn_codec_particles_max(), 0);
  },
  async every_truncation_is_refused_and_the_next_frame_decodes() {
    const codec = await fresh();
    for (const { name, bytes, expected } of vectors) {
      give(codec, bytes);
      for (let cut = 0; cut < bytes.length; cut++) {
        assert.equal(codec.tarn_codec_decode(cut), STATUS.truncated, `${name} cut to ${cut}`);
      }
      assert.equal(codec.tarn_codec_decode(bytes.length), 0);
      assert.deepEqual(result(codec), expected, name);
    }
  },
  async changed_bytes_never_trap() {
    const codec = await fresh();
    for (const { bytes } of vectors) {
      const changed = bytes.slice();
      for (let at = 0; at < Math.min(bytes.length, 300); at++) {
        for (const change of [1, 0x80, 0xff]) {
          changed[at] = bytes[at] ^ change;
          codec.tarn_codec_decode(give(codec, changed));
        }
        changed[at] = bytes[at];
      }
    }
  },
  async memory_stays_as_it_is_while_frames_do_not_grow() {
    const codec = await fresh();
    const { bytes, expected } = vectors.find(({ name }) => name === "frame-one-tile.bin");
    codec.tarn_codec_decode(give(codec, bytes));
    const { buffer } = codec.memory;
    const addresses = [codec.tarn_codec_input(), codec.tarn_codec_positions(), codec.tarn_codec_velocities()];
    for (let i = 0; i < 1000; i++) assert.equal(codec.tarn_codec_decode(give(codec, bytes)), 0);
    assert.equal(codec.memory.buffer, buffer);
    assert.deepEqual([codec.tarn_codec_input(), codec.tarn_codec_positions(), codec.tarn_codec_velocities()], addresses);
    for (const address of addresses) assert.equal(address % 16, 0);
    assert.deepEqual(result(codec), expected);
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
};

assert.ok(vectors.length >= 9, "the golden frames are there");
await run(tests);
