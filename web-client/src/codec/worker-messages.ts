// What the page and the decoding worker say to each other.
import type { FieldPlane, FrameInfo } from "./frame-info.js";
import type { Obstacle } from "./obstacles.js";

export type ToWorker =
  | { kind: "start"; wasm: ArrayBuffer }
  /** Decode `bytes` into `slot`. A slot that is too small is replaced by a larger one. */
  | {
      kind: "frame";
      bytes: ArrayBuffer;
      slot: ArrayBuffer;
      viewerId: number;
      hash: boolean;
      /** The particles' levels are to be those of the flow's vorticity. */
      curl: boolean;
      /** Spray, foam and bubbles that are wanted, at most. */
      secondaryRoom: number;
      /** Of the field the plane at this share of the tank's edge along an axis is wanted; below 0: none. */
      slice: number;
      sliceAxis: 0 | 1 | 2;
      /** For that plane, where the page has one to lend; one of another size is replaced. */
      plane: FieldPlane | null;
    }
  /** These solids are in the tank from the next frame on. */
  | { kind: "obstacles"; obstacles: Obstacle[] };

export type FromWorker =
  | { kind: "ready" }
  | {
      kind: "decoded";
      info: FrameInfo;
      slot: ArrayBuffer;
      hash: string;
      field: FieldPlane | null;
      /** As it was asked for. */
      fieldAxis: number;
    }
  /** The frame refers to one that isn't there; the stream goes on with the next key frame. */
  | { kind: "unreferenced"; slot: ArrayBuffer }
  /** The frame was refused; the stream goes on with the next. */
  | { kind: "refused"; slot: ArrayBuffer; why: string }
  | { kind: "failed"; why: string };

/** The page's end of the worker: a real Worker, or a test's. */
export interface DecoderPort {
  postMessage(message: ToWorker, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
}
