// Recorded frames, played to each viewer in their order, over and over: each round is an epoch of its own.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { HERE } from "./places.mjs";

const EPOCH_AT = 20;

export class Recording {
  /**
   * @param name    of a file in streams/: frames, each behind its size
   * @param isLost  whether a frame of a round never reaches the viewer
   */
  constructor(name, isLost = () => false) {
    const file = readFileSync(join(HERE, "streams", `${name}.bin`));
    this.frames = [];
    for (let at = 0; at < file.length; ) {
      const size = file.readUInt32LE(at);
      this.frames.push(file.subarray(at + 4, at + 4 + size));
      at += 4 + size;
    }
    this.isLost = isLost;
  }

  /** The next frame of a viewer, who is given `played`, how many came before. */
  next(viewer) {
    for (;;) {
      const index = viewer.played % this.frames.length;
      const round = Math.floor(viewer.played / this.frames.length);
      viewer.played++;
      if (this.isLost(index)) continue;
      const bytes = Buffer.from(this.frames[index]);
      bytes.writeUInt32LE(1 + round, EPOCH_AT);
      return bytes;
    }
  }
}
