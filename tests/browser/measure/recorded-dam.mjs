// The dam break as the server sends it, recorded: 30 frames a second, a key frame each second, all layers.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../places.mjs";
import { recordStream } from "../record-stream.mjs";
import { framesOf } from "../recorded-layers.mjs";

const OPTIONS = { "--frames": 30, "--first": 30, "--every": 2, "--key": 30, "--base": 2, "--layers": 4 };

const KEPT = join(ROOT, "build", "browser");

/** @returns the frames of a dam break that is `lengths` times as long in z, and its cells; kept from call to call */
export function recordDam(lengths = 1) {
  const scene = JSON.parse(readFileSync(join(ROOT, "server", "scenes", "dam-break.json"), "utf8"));
  scene.size_m[2] *= lengths;
  scene.blocks[0].max_m[2] *= lengths;
  delete scene.$schema;
  const cells = scene.size_m.map((m) => Math.round(m / scene.cell_m));
  const kept = join(KEPT, `dam-${lengths}.bin`);
  if (!existsSync(kept)) {
    mkdirSync(KEPT, { recursive: true });
    const from = join(KEPT, `dam-${lengths}.json`);
    writeFileSync(from, JSON.stringify(scene));
    recordStream(from, `${kept}.part`, OPTIONS);
    renameSync(`${kept}.part`, kept);
  }
  return { frames: framesOf(readFileSync(kept)), cells, cellM: scene.cell_m };
}

/** Frames that startFakeServer plays, over and over. */
export class Played {
  constructor(frames) {
    this.frames = frames;
  }

  next(viewer) {
    const round = Math.floor(viewer.played / this.frames.length);
    const bytes = Buffer.from(this.frames[viewer.played++ % this.frames.length]);
    bytes.writeUInt32LE(1 + round, 20); // each round is an epoch of its own
    return bytes;
  }
}
