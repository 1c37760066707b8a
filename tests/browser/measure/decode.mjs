// What a frame costs the page: decoding in the worker's code, and the bytes that go to the graphics card.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { WEB } from "../places.mjs";
import { median, table } from "./print.mjs";
import { recordDam } from "./recorded-dam.mjs";

const KINDS = ["key", "base", "extra"];
const ROUNDS = 3;
const POSITION_BYTES = 8;
const VELOCITY_BYTES = 4;
const PICTURES_EACH = 2;

async function codec() {
  const bytes = readFileSync(join(WEB, "src", "codec", "codec.wasm"));
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const c = instance.exports;
  return (frame) => {
    c.tarn_codec_reserve(frame.byteLength, 0);
    new Uint8Array(c.memory.buffer, c.tarn_codec_input(), frame.byteLength).set(frame);
    const status = c.tarn_codec_decode(frame.byteLength);
    if (status !== 0) throw new Error(`a frame isn't decoded: ${status}`);
    return new Float64Array(c.memory.buffer, c.tarn_codec_header(), 35)[8];
  };
}

/** Milliseconds that this thread has had a core, whatever else the machine did. */
function threadMs() {
  return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6;
}

export async function decode() {
  const { frames } = recordDam(2);
  const decodeFrame = await codec();
  const taken = KINDS.map(() => []);
  let particles = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    for (const frame of frames) {
      const began = threadMs();
      particles = decodeFrame(frame);
      // The first round makes the engine's fast code.
      if (round > 0) taken[frame[12]].push(threadMs() - began);
    }
  }
  const all = taken.flat();
  const ms = (values) => median(values).toFixed(2);
  const perFrame = all.reduce((sum, value) => sum + value, 0) / all.length;
  console.log(`decoding ${particles} particles on one core, 30 frames a second of which one is a key frame`);
  table(
    ["frames", "of all", "median ms", "least ms"],
    KINDS.map((kind, i) => [
      kind,
      `${((100 * taken[i].length) / all.length).toFixed(0)} %`,
      ms(taken[i]),
      Math.min(...taken[i]).toFixed(2),
    ]),
  );
  console.log(
    `mean of a frame ${perFrame.toFixed(2)} ms; of a picture at 60 a second ${(perFrame / PICTURES_EACH).toFixed(2)} ms`,
  );
  const mb = (particles * (POSITION_BYTES + VELOCITY_BYTES)) / 1e6;
  console.log(
    `uploaded: ${mb.toFixed(2)} MB a frame, ${(30 * mb).toFixed(0)} MB a second; nothing for a picture between`,
  );
  const [from, to] = [new Uint8Array(mb * 1e6), new Uint8Array(mb * 1e6)];
  const copies = Array.from({ length: 50 }, () => {
    const began = performance.now();
    to.set(from);
    return performance.now() - began;
  });
  console.log(`a copy of that many bytes: ${ms(copies)} ms`);
}
