// Recorded frames by their layers: what these cost, and what a viewer sees who is sent only the first ones.

const KIND = { key: 0, extra: 2 };
/** A flag of a frame, and where its flags are. */
export const FLAG_PAUSED = 1;
export const FLAGS_AT = 16;

/** The frames of a recording, each of which lies behind its size. */
export function framesOf(file) {
  const frames = [];
  for (let at = 0; at < file.length; ) {
    const size = file.readUInt32LE(at);
    frames.push(file.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return frames;
}

/** Where a frame's sections end (protocol/STREAM.md). */
export function sectionsOf(frame) {
  const table = frame.readUInt16LE(6) + 8 * frame.readUInt16LE(70);
  const count = frame[14];
  let end = table + 16 * count + frame.readUInt32LE(112);
  const layers = Array.from({ length: count }, (_, i) => {
    end += frame.readUInt32LE(table + 16 * i);
    return { end, particles: frame.readUInt32LE(table + 16 * i + 8) };
  });
  return { isKey: frame[12] === KIND.key, isExtra: frame[12] === KIND.extra, layers };
}

/** A copy of a frame with its first layers only. */
export function cutFrame(frame, layers) {
  return Buffer.from(frame.subarray(0, sectionsOf(frame).layers[layers - 1].end));
}

/** Mean bytes of the frames with the first layers only, per frame that there is. */
export function meanBytes(frames, layers, withExtra) {
  const sent = frames.map(sectionsOf).filter(({ isExtra }) => withExtra || !isExtra);
  return sent.reduce((sum, frame) => sum + frame.layers[layers - 1].end, 0) / frames.length;
}

/** A tank that stands still at a frame of a recording, for startFakeServer; a viewer gets what leads to that frame. */
export class Still {
  /**
   * @param layers  of the first ones, how many are sent
   * @param first   the frame to begin with, a key frame; without it the last one before
   */
  constructor(frames, index, layers, first = null) {
    const from = first ?? frames.findLastIndex((frame, i) => i <= index && sectionsOf(frame).isKey);
    this.frames = frames
      .slice(from, index + 1)
      .filter((frame, i) => from + i === index || !sectionsOf(frame).isExtra)
      .map((frame) => cutFrame(frame, layers));
    const last = this.frames.at(-1);
    last.writeUInt32LE(last.readUInt32LE(FLAGS_AT) | FLAG_PAUSED, FLAGS_AT);
  }

  next(viewer) {
    return this.frames[viewer.played++] ?? null;
  }
}
