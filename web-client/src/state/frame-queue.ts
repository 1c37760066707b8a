// The frames that wait for the decoder, and which of them are worth waiting for. A key frame makes all before it
// useless. An extra frame is useless once anything newer waits. A base frame is needed by those after it: where there
// are more of them than may wait, the chain is given up, and the next key frame begins another.

import { type FramePosition, frameKind, framePosition } from "../protocol/messages.js";
import { FRAME_KIND } from "../tables/protocol-tables.js";

/** Frames that wait, at most. */
export const QUEUE_MAX = 4;

export interface WaitingFrame {
  bytes: ArrayBuffer;
  kind: number;
  /** Null where the frame is too short to say. */
  position: FramePosition | null;
  arrivedMs: number;
}

export class FrameQueue {
  /** Frames that were dropped: a newer one took their place, or the chain was given up. */
  dropped = 0;
  /** What comes is of no use before a key frame. */
  needsKey = true;

  private readonly frames: WaitingFrame[] = [];
  private givenUp: FramePosition | null = null;

  push(bytes: ArrayBuffer, arrivedMs: number): void {
    const frame = { bytes, kind: frameKind(bytes), position: framePosition(bytes), arrivedMs };
    if (this.makeRoom(frame.kind)) {
      this.givenUp = null;
      this.frames.push(frame);
    } else {
      this.givenUp = frame.position;
      this.dropped++;
    }
  }

  shift(): WaitingFrame | null {
    return this.frames.shift() ?? null;
  }

  /** The newest frame that was given up and that nothing newer followed, once. */
  takeGivenUp(): FramePosition | null {
    const position = this.givenUp;
    this.givenUp = null;
    return position;
  }

  /** Forgets all, as after a lost connection: what comes next begins with a key frame. */
  clear(): void {
    this.frames.length = 0;
    this.needsKey = true;
    this.givenUp = null;
  }

  /** Drops what a frame of this kind makes useless. @return whether it may wait itself */
  private makeRoom(kind: number): boolean {
    if (kind === FRAME_KIND.key) {
      this.keep(() => false);
      this.needsKey = false;
      return true;
    }
    if (this.needsKey) return false;
    this.keep((frame) => frame.kind !== FRAME_KIND.extra);
    if (this.frames.length < QUEUE_MAX) return true;
    if (kind === FRAME_KIND.base) {
      this.keep((frame) => frame.kind === FRAME_KIND.key);
      this.needsKey = true;
    }
    return false;
  }

  private keep(isKept: (frame: WaitingFrame) => boolean): void {
    let count = 0;
    for (const frame of this.frames) if (isKept(frame)) this.frames[count++] = frame;
    this.dropped += this.frames.length - count;
    this.frames.length = count;
  }
}
