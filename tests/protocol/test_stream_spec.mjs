// The golden vectors of streams, which the C encoder wrote, through the decoder that was written from STREAM.md: the same
// heads, particles and hashes, frame by frame; and what is cut is refused.
//
//     node test_stream_spec.mjs golden/
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { STATUS } from "./stream_coding.mjs";
import { StreamDecoder } from "./stream_decoder.mjs";

const goldenPath = process.argv[2];

/** The frames of a vector, each behind its size. */
function framesOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const frames = [];
  for (let at = 0; at < bytes.length; ) {
    const size = view.getUint32(at, true);
    frames.push(bytes.slice(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return frames;
}

const vectors = ["", "version-2/"]
  .flatMap((folder) => readdirSync(join(goldenPath, folder)).map((name) => folder + name))
  .filter((name) => /\bstream-.*\.bin$/.test(name))
  .map((name) => ({
    name,
    frames: framesOf(new Uint8Array(readFileSync(join(goldenPath, name)))),
    expected: JSON.parse(readFileSync(join(goldenPath, name.replace(/bin$/, "json")), "utf8")).frames,
  }));

function hashOf(particles) {
  let hash = 0xcbf29ce484222325n;
  const add = (byte) => {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  };
  for (const { position, velocity, colour, layer } of particles) {
    for (const value of [...position, colour]) {
      add(value & 0xff);
      add(value >> 8);
    }
    for (const value of [...velocity, layer]) add(value & 0xff);
  }
  return hash.toString(16).padStart(16, "0");
}

function fieldHashOf(field) {
  let hash = 0xcbf29ce484222325n;
  for (const level of field?.shown() ?? []) hash = BigInt.asUintN(64, (hash ^ BigInt(level)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}

/** What the decoder has of a frame, as the vectors' JSON says it. */
function describe(bytes, result, expected) {
  const { head, sections } = result.frame;
  const { particles } = result;
  return {
    ...Object.fromEntries(Object.keys(expected).map((key) => [key, head[key]])),
    bytes: bytes.length,
    step: Number(head.step),
    server_time_us: Number(head.server_time_us),
    bodies_solid_x_y_z_rotation: head.bodies.map((body) => [
      body.solid,
      ...body.position_m,
      ...body.rotation,
    ]),
    layers_bytes_slots_particles_slots_max: head.layers.map((l) => [
      l.bytes,
      l.slots,
      l.particles,
      l.slots_max,
    ]),
    layers_present: sections.length,
    ...(head.field ? { field_fnv1a64: fieldHashOf(result.field) } : {}),
    unit_bits: result.unit_bits,
    velocity_scale_m_s: Math.fround(result.velocity_scale_m_s),
    count: particles.length,
    fnv1a64: hashOf(particles),
    first_x_y_z_colour_u_v_w_layer: particles
      .slice(0, 12)
      .map(({ position, colour, velocity, layer }) => [...position, colour, ...velocity, layer]),
  };
}

/** Float32 of one rounding more or less. */
function sameScale(found, expected) {
  assert.ok(Math.abs(found - expected) <= Math.abs(expected) * 2 ** -22, `${found} instead of ${expected}`);
}

const tests = {
  every_vector_decodes_as_it_does_in_c() {
    for (const { name, frames, expected } of vectors) {
      const decoder = new StreamDecoder();
      frames.forEach((bytes, i) => {
        const result = decoder.take(bytes);
        assert.equal(result.status, STATUS.OK, `${name}, frame ${i}: ${result.why}`);
        const found = describe(bytes, result, expected[i]);
        sameScale(found.velocity_scale_m_s, expected[i].velocity_scale_m_s);
        found.velocity_scale_m_s = expected[i].velocity_scale_m_s;
        assert.deepEqual(found, expected[i], `${name}, frame ${i}`);
      });
    }
  },
  frames_end_where_a_layer_does() {
    const { frames } = vectors.find(({ name }) => name === "stream-layers.bin");
    const { head } = new StreamDecoder().take(frames[0]).frame;
    const ends = [frames[0].length];
    for (const layer of head.layers.slice().reverse()) ends.unshift(ends[0] - layer.bytes);
    for (let cut = 0; cut < frames[0].length; cut++) {
      const { status } = new StreamDecoder().take(frames[0].slice(0, cut));
      assert.equal(status, ends.includes(cut) ? STATUS.OK : STATUS.TRUNCATED, `cut to ${cut}`);
    }
  },
  a_lost_frame_ends_the_chain() {
    const { frames } = vectors.find(({ name }) => name === "stream-births-deaths.bin");
    const decoder = new StreamDecoder();
    const statuses = [1, 0, 2, 3, 1, 2, 4].map((i) => decoder.take(frames[i]).status);
    assert.deepEqual(statuses, ["STATE", "OK", "STATE", "STATE", "OK", "OK", "OK"]);
  },
};

assert.ok(vectors.length >= 25, "the golden streams are there");
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    test();
    console.log(`[       OK ] ${name}`);
  } catch (error) {
    failed++;
    console.log(`[  FAILED  ] ${name}\n${error.stack}`);
  }
}
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
