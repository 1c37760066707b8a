// Plays a recording through a decoder: which frame is due, and the way to a moment. The decoder has one frame at a
// time. A moment is reached from the last key frame before it; on the way there frames that nothing refers to are left
// out.
import type { RecordedFrame, Recording } from "./recording.js";

export const SPEEDS = [0.25, 0.5, 1, 2, 4] as const;

export interface PlayerSink {
  /** Decodes a frame; `settled` follows, whatever becomes of it. */
  push(bytes: ArrayBuffer): void;
  /** What comes next has nothing to do with what was before. */
  restart(): void;
}

export class Player {
  positionMs = 0;
  playing = true;
  speed = 1;

  private next = 0;
  private waiting = false;
  private seeking = true;
  private tickedMs = Number.NaN;

  constructor(
    readonly recording: Recording,
    private readonly sink: PlayerSink,
  ) {}

  /** Whether what is decoded isn't yet what is to be seen. */
  get catchingUp(): boolean {
    return this.seeking && (this.waiting || this.next <= this.goal());
  }

  /** Index of the frame to be seen. */
  goal(): number {
    const { frames } = this.recording;
    let [low, high] = [0, frames.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((frames[middle] as RecordedFrame).atMs <= this.positionMs) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Once per picture. */
  tick(nowMs: number): void {
    const elapsed = Number.isNaN(this.tickedMs) ? 0 : Math.max(0, Math.min(250, nowMs - this.tickedMs));
    this.tickedMs = nowMs;
    if (this.playing && !this.catchingUp) {
      this.positionMs = Math.min(this.recording.durationMs, this.positionMs + elapsed * this.speed);
      if (this.positionMs >= this.recording.durationMs) this.playing = false;
    }
    this.pump();
  }

  /** The decoder is done with the frame that it was given. */
  settled(): void {
    this.waiting = false;
    this.pump();
  }

  seek(ms: number): void {
    this.positionMs = Math.min(this.recording.durationMs, Math.max(0, Number.isFinite(ms) ? ms : 0));
    const goal = this.goal();
    const key = this.keyBefore(goal);
    // Ahead, and no key frame is nearer: on from here.
    if (goal + 1 >= this.next && key < this.next && this.next > 0) {
      this.seeking = this.waiting || goal >= this.next;
      return;
    }
    this.next = key;
    this.seeking = true;
    this.sink.restart();
  }

  /** Plays on, from the start where the end was reached. */
  toggle(): void {
    if (!this.playing && this.positionMs >= this.recording.durationMs) this.seek(0);
    this.playing = !this.playing;
  }

  private keyBefore(index: number): number {
    let key = index;
    while (key > 0 && !this.recording.frames[key]?.isKey) key--;
    return key;
  }

  private pump(): void {
    if (this.waiting) return;
    const goal = this.goal();
    if (this.next > goal) {
      this.seeking = false;
      return;
    }
    // A key frame makes all before it useless, and so does anything newer an extra frame.
    this.next = Math.max(this.next, this.keyBefore(goal));
    while (this.next < goal && this.recording.frames[this.next]?.isExtra) this.next++;
    const frame = this.recording.frames[this.next++] as RecordedFrame;
    this.waiting = true;
    this.sink.push(this.recording.bytesOf(frame));
  }
}
