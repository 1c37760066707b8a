// What a frame costs the page: decoding in the worker's code, and the bytes that go to the graphics card.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { WEB } from "../places.mjs";
import { median, table } from "./print.mjs";
import { recordDam } from "./recorded-dam.mjs";

const KINDS = ["key", "base", "extra"];
/** A frame took as long as it did in the best of so many rounds: in the others something else had the core. */
const ROUNDS = 10;
const POSITION_BYTES = 8;
const VELOCITY_BYTES = 4;
const PICTURES_EACH = 2;

/** The worker's own code, which is TypeScript. */
async function workerCode() {
  const { build } = createRequire(join(WEB, "package.json"))("esbuild");
  const contents = `
    export { copyFrame, lightFrame } from "./fill-slot.js";
    export { SECONDARY_MAX } from "./frame-info.js";
    export { SecondaryParticles } from "./secondary-particles.js";
    export { FrameCodec } from "./frame-codec.js";
    export { LightVolume } from "./light-volume.js";`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: join(WEB, "src", "codec") },
    bundle: true,
    format: "esm",
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

/** Does what the worker does with a frame. @returns its particles, and the times at which codec and all were done */
async function worker() {
  const { FrameCodec, LightVolume, SECONDARY_MAX, SecondaryParticles, copyFrame, lightFrame } =
    await workerCode();
  const codec = await FrameCodec.create(readFileSync(join(WEB, "src", "codec", "codec.wasm")));
  const volume = new LightVolume();
  const secondary = new SecondaryParticles();
  let slot = new ArrayBuffer(2 ** 20);
  return (frame) => {
    if (!codec.decode(frame)) throw new Error("a frame refers to one that isn't there");
    const info = codec.info(0);
    const { particleCount } = info;
    const decodedMs = performance.now();
    const copied = copyFrame(codec, info, slot);
    slot = copied.slot;
    const copiedMs = performance.now();
    lightFrame(volume, info, copied.views);
    const litMs = performance.now();
    const secondaryCount = secondary.follow(info, copied.views, SECONDARY_MAX);
    return { particleCount, secondaryCount, decodedMs, copiedMs, litMs, doneMs: performance.now() };
  };
}

export async function decode() {
  const { frames } = recordDam(2);
  const take = await worker();
  const best = frames.map((frame) => ({
    kind: frame[12],
    decoding: Infinity,
    copying: Infinity,
    lighting: Infinity,
    foaming: Infinity,
  }));
  let particles = 0;
  let secondary = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    frames.forEach((frame, i) => {
      const began = performance.now();
      const { particleCount, secondaryCount, decodedMs, copiedMs, litMs, doneMs } = take(frame);
      particles = particleCount;
      secondary = Math.max(secondary, secondaryCount);
      if (round === 0) return; // makes the engine's fast code
      const of = best[i];
      of.decoding = Math.min(of.decoding, decodedMs - began);
      of.copying = Math.min(of.copying, copiedMs - decodedMs);
      of.lighting = Math.min(of.lighting, litMs - copiedMs);
      of.foaming = Math.min(of.foaming, doneMs - litMs);
    });
  }
  const ms = (values) => median(values).toFixed(2);
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const all = best.map(({ decoding }) => decoding);
  const copying = best.map((of) => of.copying);
  const lighting = best.map((of) => of.lighting);
  const foaming = best.map((of) => of.foaming);
  console.log(`${particles} particles on one core, 30 frames a second of which one is a key frame`);
  table(
    ["of a frame", "frames", "median ms", "least", "most"],
    [
      ...KINDS.map((name, kind) => [
        `decoding, ${name}`,
        best.filter((of) => of.kind === kind).map(({ decoding }) => decoding),
      ]),
      ["copy into the slot", copying],
      ["light volume", lighting],
      [`spray, foam and bubbles, up to ${secondary}`, foaming],
    ].map(([what, values]) => [
      what,
      values.length,
      ms(values),
      Math.min(...values).toFixed(2),
      Math.max(...values).toFixed(2),
    ]),
  );
  const perFrame = mean(all) + mean(copying) + mean(lighting) + mean(foaming);
  console.log(
    `mean of a frame ${perFrame.toFixed(2)} ms, ${mean(all).toFixed(2)} of it the codec; of a picture at 60 a second ${(perFrame / PICTURES_EACH).toFixed(2)} ms`,
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
