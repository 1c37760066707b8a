// What the page and the worker that looks for motion say to each other.
import type { MotionCells } from "./motion-cells.js";

export type ToMotionWorker =
  | {
      kind: "start";
      /** Where what was found is drawn. */
      view: OffscreenCanvas;
      /** Of the tank's front. */
      widthM: number;
      heightM: number;
      /** The camera's pictures; null: they come one by one. */
      pictures: ReadableStream<VideoFrame> | null;
    }
  | { kind: "tank"; widthM: number; heightM: number }
  /** The next one is wanted when this one has been answered. */
  | { kind: "picture"; bitmap: ImageBitmap; timeS: number };

export type FromMotionWorker =
  /** A picture was looked at. */
  | {
      kind: "seen";
      /** Null where nothing moves, and nothing did before. */
      motion: MotionCells | null;
      /** That it took. */
      workMs: number;
    }
  /** No picture comes any more. */
  | { kind: "ended" }
  | { kind: "failed"; why: string };
