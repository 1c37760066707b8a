// The way of a frame through the page: socket -> worker -> newest decoded frame. One frame is with the worker at a
// time and one waits; a newer one takes the place of the one that waits. So memory is bounded and what is drawn is
// always the newest that could be decoded.
import { type FrameInfo, type SlotViews, slotBytes, slotCapacity, slotViews } from "../codec/frame-info.js";
import type { DecoderPort, FromWorker } from "../codec/worker-messages.js";
import { frameStep } from "../protocol/messages.js";

export interface DecodedFrame {
  info: FrameInfo;
  slot: ArrayBuffer;
  views: SlotViews;
  /** Local time at which the frame's last byte arrived, ms. */
  arrivedMs: number;
}

export interface FramePosition {
  epoch: number;
  step: number;
}

export interface FrameStreamEvents {
  onDecoded(frame: DecodedFrame, hash: string): void;
  /** The frame was refused; it is to be acknowledged all the same, so that the stream goes on. */
  onRefused(why: string, position: FramePosition | null): void;
  onFailed(why: string): void;
}

export class FrameStream {
  /** Newest decoded frame; its views are valid until the next onDecoded. */
  latest: DecodedFrame | null = null;
  viewerId = 0;
  /** Frames that a newer one overtook before they could be decoded. */
  overtaken = 0;
  /** Whether the worker fingerprints frames. */
  hashing = false;

  private ready = false;
  private busy = false;
  private waiting: ArrayBuffer | null = null;
  private waitingSinceMs = 0;
  private decodingSinceMs = 0;
  private decoding: FramePosition | null = null;
  private free: ArrayBuffer | null = new ArrayBuffer(slotBytes(slotCapacity(0)));

  constructor(
    private readonly port: DecoderPort,
    wasm: ArrayBuffer,
    private readonly events: FrameStreamEvents,
  ) {
    port.onmessage = (event) => this.receive(event.data);
    port.postMessage({ kind: "start", wasm }, [wasm]);
  }

  /** Takes a frame's bytes over. */
  push(bytes: ArrayBuffer, nowMs: number): void {
    if (this.waiting !== null) this.overtaken++;
    this.waiting = bytes;
    this.waitingSinceMs = nowMs;
    this.pump();
  }

  /** Forgets the frame that waits, as after a lost connection. */
  drop(): void {
    this.waiting = null;
  }

  private pump(): void {
    if (!this.ready || this.busy || this.waiting === null) return;
    const slot = this.free ?? new ArrayBuffer(slotBytes(this.latest?.views.capacity ?? slotCapacity(0)));
    const bytes = this.waiting;
    this.free = null;
    this.waiting = null;
    this.busy = true;
    this.decodingSinceMs = this.waitingSinceMs;
    this.decoding = frameStep(bytes);
    const message = { kind: "frame", bytes, slot, viewerId: this.viewerId, hash: this.hashing } as const;
    this.port.postMessage(message, [bytes, slot]);
  }

  private receive(message: FromWorker): void {
    switch (message.kind) {
      case "ready":
        this.ready = true;
        break;
      case "failed":
        this.events.onFailed(message.why);
        return;
      case "refused":
        this.busy = false;
        this.free = message.slot;
        this.events.onRefused(message.why, this.decoding);
        break;
      case "decoded": {
        this.busy = false;
        this.free = this.latest?.slot ?? null;
        const { info, slot } = message;
        this.latest = { info, slot, views: slotViews(slot), arrivedMs: this.decodingSinceMs };
        this.events.onDecoded(this.latest, message.hash);
        break;
      }
    }
    this.pump();
  }
}
