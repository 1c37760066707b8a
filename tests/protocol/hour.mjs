// A long stream decoded by codec.wasm and by the native decoder: every frame gives the same bytes.
//
//     node hour.mjs codec.wasm record_stream trace_stream SCENE.json MINUTES
//
// The frames go from one program to the next as they are made, so the memory that it takes doesn't grow with the time.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { codecs, decode } from "./wasm_codec.mjs";

const [wasmPath, recorder, tracer, scene, minutes] = process.argv.slice(2);
const FRAMES_PER_S = 30;
/** Frames whose results the native decoder may still hold in its buffer. */
const BEHIND_MAX = 8;

/** Takes exactly as many bytes as asked for from a stream. */
class Pieces {
  #chunks = [];
  #have = 0;
  #source;
  constructor(source) {
    this.#source = source[Symbol.asyncIterator]();
  }
  /** @returns null at the end of the stream */
  async take(count) {
    while (this.#have < count) {
      const { value, done } = await this.#source.next();
      if (done) {
        if (this.#have > 0) throw new Error(`${this.#have} bytes where ${count} should come`);
        return null;
      }
      this.#chunks.push(value);
      this.#have += value.length;
    }
    const all = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#chunks = all.length > count ? [all.subarray(count)] : [];
    this.#have -= count;
    return all.subarray(0, count);
  }
}

async function expectSame(trace, number, expected) {
  const status = (await trace.take(4))?.readInt32LE(0);
  const bytes = status === 0 ? await trace.take(expected.bytes?.length ?? 0) : null;
  if (status !== expected.status || (status === 0 && Buffer.compare(bytes, expected.bytes) !== 0))
    throw new Error(`frame ${number} differs: status ${status} natively, ${expected.status} in WebAssembly`);
}

async function compare() {
  const frames = Math.round(Number(minutes) * 60 * FRAMES_PER_S);
  const options = ["--frames", frames, "--key", FRAMES_PER_S, "--base", 2].map(String);
  const recording = spawn(recorder, [scene, "-", ...options], { stdio: ["ignore", "pipe", "inherit"] });
  const tracing = spawn(tracer, ["-", "-"], { stdio: ["pipe", "pipe", "inherit"] });
  const codec = await codecs(wasmPath)();
  const stream = new Pieces(recording.stdout);
  const trace = new Pieces(tracing.stdout);
  const behind = [];
  let count = 0;
  let compared = 0;
  let bytes = 0;
  let particles = 0;
  for (let size = await stream.take(4); size !== null; size = await stream.take(4)) {
    const frame = await stream.take(size.readUInt32LE(0));
    const whole = Buffer.concat([size, frame]);
    if (!tracing.stdin.write(whole)) await once(tracing.stdin, "drain");
    behind.push(decode(codec, frame));
    particles += behind.at(-1).particles ?? 0;
    bytes += whole.length;
    count++;
    if (behind.length > BEHIND_MAX) await expectSame(trace, compared++, behind.shift());
  }
  tracing.stdin.end();
  while (behind.length > 0) await expectSame(trace, compared++, behind.shift());
  if (count !== frames) throw new Error(`${count} frames came, expected were ${frames}`);
  console.log(`${count} frames with ${particles} particles in ${bytes} bytes decode to the same bytes`);
}

await compare();
