// The way of a frame through the page: socket -> queue -> worker -> newest decoded frame. One frame is with the worker
// at a time and few wait (frame-queue.ts). So memory is bounded and what is drawn is always the newest that could be
// decoded.
import {
  type FieldPlane,
  type FrameInfo,
  type SlotViews,
  slotBytes,
  slotCapacity,
  slotViews,
} from "../codec/frame-info.js";
import type { Obstacle } from "../codec/obstacles.js";
import type { DecoderPort, FromWorker } from "../codec/worker-messages.js";
import type { FramePosition } from "../protocol/messages.js";
import { FrameQueue, type WaitingFrame } from "./frame-queue.js";

export interface DecodedFrame {
  info: FrameInfo;
  slot: ArrayBuffer;
  views: SlotViews;
  /** Null: none is asked for, or there is none. */
  field: FieldPlane | null;
  /** Across which that plane lies: x, y, z. */
  fieldAxis: number;
  /** Local time at which the frame's last byte arrived, ms. */
  arrivedMs: number;
  position: FramePosition | null;
}

export interface FrameStreamEvents {
  onDecoded(frame: DecodedFrame, hash: string): void;
  /** The frame was refused; it is to be acknowledged all the same, so that the stream goes on. */
  onRefused(why: string, position: FramePosition | null): void;
  /** The frame refers to one that isn't there. It is to be acknowledged, too. */
  onUnreferenced(position: FramePosition | null): void;
  /** A frame won't be decoded, nor does a newer one wait. It is to be acknowledged, too. */
  onGivenUp(position: FramePosition): void;
  onFailed(why: string): void;
}

export class FrameStream {
  /** Newest decoded frame; its views are valid until the next onDecoded. */
  latest: DecodedFrame | null = null;
  viewerId = 0;
  /** Whether the worker fingerprints frames. */
  hashing = false;
  /** Whether it computes the flow's vorticity at the particles. */
  curl = false;
  /** How many particles of spray, foam and bubbles it may make. */
  secondaryRoom = 0;
  /** Where the plane lies that it cuts out of the field, as a share of the tank's edge; below 0: none is wanted. */
  slice = -1;
  /** Across which axis that plane lies. */
  sliceAxis: 0 | 1 | 2 = 2;

  private ready = false;
  private busy = false;
  private held = false;
  private readonly queue = new FrameQueue();
  private decoding: WaitingFrame | null = null;
  private freePlane: FieldPlane | null = null;
  private free: ArrayBuffer | null = new ArrayBuffer(slotBytes(slotCapacity(0)));

  /** @param wasm  the codec, now or later: until then frames wait; where it doesn't come others say so */
  constructor(
    private readonly port: DecoderPort,
    wasm: ArrayBuffer | Promise<ArrayBuffer>,
    private readonly events: FrameStreamEvents,
  ) {
    port.onmessage = (event) => this.receive(event.data);
    const begin = (bytes: ArrayBuffer): void => port.postMessage({ kind: "start", wasm: bytes }, [bytes]);
    if (wasm instanceof ArrayBuffer) begin(wasm);
    else wasm.then(begin, () => {});
  }

  /** Frames that were dropped before they could be decoded. */
  get overtaken(): number {
    return this.queue.dropped;
  }

  /** What comes is of no use before a key frame. */
  get needsKey(): boolean {
    return this.queue.needsKey;
  }

  /** Takes a frame's bytes over. */
  push(bytes: ArrayBuffer, nowMs: number): void {
    this.queue.push(bytes, nowMs);
    this.pump();
  }

  /** These solids are in the tank: foam knows that they aren't air. */
  showObstacles(obstacles: Obstacle[]): void {
    this.port.postMessage({ kind: "obstacles", obstacles }, []);
  }

  /** Lets frames wait, as while nobody looks, or lets them go on. */
  hold(held: boolean): void {
    this.held = held;
    this.pump();
  }

  /** Forgets the frames that wait, as after a lost connection. */
  drop(): void {
    this.queue.clear();
  }

  private pump(): void {
    if (!this.ready || this.busy || this.held) return;
    const next = this.queue.shift();
    if (next === null) {
      const givenUp = this.queue.takeGivenUp();
      if (givenUp !== null) this.events.onGivenUp(givenUp);
      return;
    }
    const slot = this.free ?? new ArrayBuffer(slotBytes(this.latest?.views.capacity ?? slotCapacity(0)));
    const { bytes } = next;
    this.free = null;
    this.busy = true;
    this.decoding = next;
    const { viewerId, hashing: hash, curl, secondaryRoom, slice, sliceAxis } = this;
    const plane = slice < 0 ? null : this.freePlane;
    this.freePlane = null;
    this.port.postMessage(
      { kind: "frame", bytes, slot, viewerId, hash, curl, secondaryRoom, slice, sliceAxis, plane },
      plane === null ? [bytes, slot] : [bytes, slot, plane.buffer],
    );
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
        this.events.onRefused(message.why, this.decoding?.position ?? null);
        break;
      case "unreferenced":
        this.busy = false;
        this.free = message.slot;
        this.events.onUnreferenced(this.decoding?.position ?? null);
        break;
      case "decoded": {
        this.busy = false;
        this.free = this.latest?.slot ?? null;
        this.freePlane = this.latest?.field ?? null;
        const { info, slot, field, fieldAxis } = message;
        const { arrivedMs, position } = this.decoding ?? { arrivedMs: 0, position: null };
        this.latest = { info, slot, views: slotViews(slot), field, fieldAxis, arrivedMs, position };
        this.events.onDecoded(this.latest, message.hash);
        break;
      }
    }
    this.pump();
  }
}
