// Recorded frames through the codec; that it gives what the native decoder gives is tested beside that.
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FrameCodec } from "../src/codec/frame-codec.js";
import type { FrameInfo } from "../src/codec/frame-info.js";
import { frameKind, framePosition, isFrame } from "../src/protocol/messages.js";
import { FRAME_KIND } from "../src/tables/protocol-tables.js";

const RECORDED = new URL("../../tests/browser/streams/small-splash.bin", import.meta.url);
const CODEC = new URL("../src/codec/codec.wasm", import.meta.url);
const available = existsSync(CODEC);

/** The frames of a recording, each of which lies behind its size. */
function frames(): Uint8Array<ArrayBuffer>[] {
  const file = new Uint8Array(readFileSync(RECORDED));
  const view = new DataView(file.buffer);
  const found: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < file.length; ) {
    const size = view.getUint32(at, true);
    found.push(file.slice(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return found;
}

const create = (): Promise<FrameCodec> => FrameCodec.create(new Uint8Array(readFileSync(CODEC)));

function decoded(codec: FrameCodec, frame: Uint8Array): FrameInfo | null {
  return codec.decode(frame) ? codec.info(1) : null;
}

test.skipIf(!available)("every recorded frame decodes to particles inside the tank", async () => {
  const codec = await create();
  const kinds = new Set<number>();
  for (const frame of frames()) {
    const info = decoded(codec, frame) as FrameInfo;
    expect(isFrame(frame.buffer)).toBe(true);
    expect(info.kind).toBe(frameKind(frame.buffer));
    expect(framePosition(frame.buffer)).toMatchObject({ epoch: info.epoch, step: info.step });
    expect(info).toMatchObject({
      receivedBytes: frame.length,
      layersPresent: 3,
      layersTotal: 3,
      coloured: true,
    });
    expect(info.unitBits).toBe(10);
    expect(info.particleCount).toBeGreaterThan(2500);
    expect(Buffer.compare(codec.bytes(), frame)).toBe(0);
    const positions = codec.positions(info.particleCount);
    for (let i = 0; i < positions.length; i += 4)
      for (let axis = 0; axis < 3; axis++)
        if ((positions[i + axis] as number) >> info.unitBits >= (info.cells[axis] as number))
          expect.fail(`particle ${i / 4} of step ${info.step} is outside`);
    kinds.add(info.kind);
  }
  expect([...kinds].sort()).toEqual([FRAME_KIND.key, FRAME_KIND.base, FRAME_KIND.extra]);
});

/** Without its last layer, whose bytes the layer table says. */
function withoutLast(frame: Uint8Array): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset);
  const table = view.getUint16(6, true) + 8 * view.getUint16(70, true);
  const last = (frame[14] as number) - 1;
  return frame.slice(0, frame.length - view.getUint32(table + 16 * last, true));
}

test.skipIf(!available)("a frame that was cut tells of the particles that didn't come", async () => {
  const codec = await create();
  const [key] = frames() as [Uint8Array];
  const whole = decoded(codec, key) as FrameInfo;
  const cut = decoded(codec, withoutLast(key)) as FrameInfo;
  expect(whole.particlesTotal).toBe(whole.particleCount);
  expect(cut.particlesTotal).toBe(whole.particlesTotal);
  expect(cut.particleCount).toBeLessThan(whole.particleCount);
  expect(cut).toMatchObject({ layersPresent: 2, layersTotal: 3 });
});

test.skipIf(!available)("after a lost base frame nothing decodes until the next key frame", async () => {
  const codec = await create();
  const all = frames();
  const lost = all.findIndex((frame, i) => i > 4 && frameKind(frame.buffer) === FRAME_KIND.base);
  const key = all.findIndex((frame, i) => i > lost && frameKind(frame.buffer) === FRAME_KIND.key);
  expect(key).toBeGreaterThan(lost);
  const which = all.flatMap((frame, i) => (i !== lost && decoded(codec, frame) !== null ? [i] : []));
  const expected = all.map((_, i) => i).filter((i) => i < lost || i >= key);
  expect(which).toEqual(expected);
});

test.skipIf(!available)(
  "a damaged frame is refused by name, and what follows waits for a key frame",
  async () => {
    const codec = await create();
    const [key, , base] = frames() as [Uint8Array, Uint8Array, Uint8Array];
    decoded(codec, key);
    const damaged = base.slice();
    damaged.fill(0xff, damaged.length - 40);
    expect(() => codec.decode(damaged)).toThrow(/TARN_E_MALFORMED/);
    expect(decoded(codec, base)).toBeNull();
    expect(decoded(codec, key)?.kind).toBe(FRAME_KIND.key);
  },
);

test.skipIf(!available)("the flow's vorticity goes where there is room, and nowhere else", async () => {
  const codec = await create();
  let highest = 0;
  for (const frame of frames()) {
    const info = decoded(codec, frame) as FrameInfo;
    const before = codec.positions(info.particleCount).slice();
    expect(info.hasCurl).toBe(false);
    codec.showCurl(info);
    expect(info.hasCurl).toBe(true);
    const after = codec.positions(info.particleCount);
    for (let i = 0; i < after.length; i++) {
      const level = i % 4 === 3 ? (after[i] as number) >> 8 : 0;
      if ((after[i] as number) - 256 * level !== before[i]) expect.fail(`value ${i} of step ${info.step}`);
      highest = Math.max(highest, level);
    }
  }
  expect(highest).toBeGreaterThan(20);
});
