// The Web Worker that looks at the camera's pictures: small, grey and as in a mirror, then what moves in them, then the
// bytes of a message. A picture ends here: nothing that goes back to the page can be seen.

import { PlainError, plainly } from "../net/plain.js";
import { aspectFor, cutFor, Pace } from "./camera-framing.js";
import type { FromMotionWorker, ToMotionWorker } from "./camera-messages.js";
import type { GreyPicture } from "./flow.js";
import { type MotionCells, packMotion } from "./motion-cells.js";
import { MotionFinder } from "./motion-finder.js";
import { MotionView } from "./motion-view.js";

const WIDTH = 160;
const HEIGHT = 120;
const PER_SECOND_MAX = 30;

const port = self as unknown as {
  postMessage(message: FromMotionWorker, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<ToMotionWorker>) => void) | null;
};

class Watcher {
  widthM = 1;
  heightM = 1;

  private readonly finder = new MotionFinder(WIDTH, HEIGHT);
  private readonly view: MotionView;
  private readonly small: OffscreenCanvasRenderingContext2D;
  private readonly picture: GreyPicture = {
    width: WIDTH,
    height: HEIGHT,
    values: new Uint8Array(WIDTH * HEIGHT),
  };
  private moved = false;

  constructor(view: OffscreenCanvas) {
    const small = new OffscreenCanvas(WIDTH, HEIGHT).getContext("2d", { willReadFrequently: true });
    if (small === null) throw new PlainError("the browser gives no canvas to read from");
    this.small = small;
    this.view = new MotionView(view, WIDTH, HEIGHT);
  }

  look(image: CanvasImageSource, width: number, height: number, timeS: number): void {
    const began = performance.now();
    this.shrink(image, width, height);
    const moves = this.finder.next(this.picture, timeS);
    this.view.show(this.picture, this.finder);
    const motion = moves
      ? packMotion(this.finder, this.widthM, this.heightM)
      : this.moved
        ? this.nothing()
        : null;
    this.moved = moves;
    port.postMessage({ kind: "seen", motion, workMs: performance.now() - began }, []);
  }

  private shrink(image: CanvasImageSource, width: number, height: number): void {
    const [left, top, cutWidth, cutHeight] = cutFor(aspectFor(this.widthM, this.heightM), width, height);
    const { small, picture } = this;
    small.imageSmoothingQuality = "medium";
    small.setTransform(-1, 0, 0, 1, WIDTH, 0);
    small.drawImage(image, left, top, cutWidth, cutHeight, 0, 0, WIDTH, HEIGHT);
    const { data } = small.getImageData(0, 0, WIDTH, HEIGHT);
    for (let i = 0; i < picture.values.length; i++)
      picture.values[i] =
        (77 * (data[4 * i] as number) +
          150 * (data[4 * i + 1] as number) +
          29 * (data[4 * i + 2] as number)) >>
        8;
  }

  /** Says once that what moved doesn't any more. */
  private nothing(): MotionCells {
    return { columns: this.finder.columns, rows: this.finder.rows, speed_m_s: 1, cells: new Uint8Array(0) };
  }
}

let watcher: Watcher | null = null;

port.onmessage = ({ data: message }) => {
  try {
    hear(message);
  } catch (error) {
    fail(error);
  }
};

function hear(message: ToMotionWorker): void {
  if (message.kind === "start") {
    watcher = new Watcher(message.view);
    if (message.pictures !== null) void readAll(watcher, message.pictures).catch(fail);
  }
  if (watcher === null) return;
  if (message.kind === "picture") {
    const { bitmap, timeS } = message;
    watcher.look(bitmap, bitmap.width, bitmap.height, timeS);
    bitmap.close();
  } else [watcher.widthM, watcher.heightM] = [message.widthM, message.heightM];
}

/** Takes pictures as they come; each has to be closed, or no more come. */
async function readAll(taker: Watcher, pictures: ReadableStream<VideoFrame>): Promise<void> {
  const pace = new Pace(PER_SECOND_MAX);
  const reader = pictures.getReader();
  for (;;) {
    const { done, value: picture } = await reader.read();
    if (done) break;
    const timeS = picture.timestamp / 1e6;
    try {
      if (pace.takes(timeS)) taker.look(picture, picture.displayWidth, picture.displayHeight, timeS);
    } finally {
      picture.close();
    }
  }
  port.postMessage({ kind: "ended" }, []);
}

function fail(error: unknown): void {
  port.postMessage({ kind: "failed", why: plainly(error, "the part that looks for motion has failed") }, []);
}
