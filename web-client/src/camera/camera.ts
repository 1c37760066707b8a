// The camera while it runs: its pictures go to the worker that looks for motion, and what is found comes back. Where the
// browser can, a stream of pictures is handed over once; elsewhere each picture is, as a bitmap, when the worker has
// done with the one before.

import { PlainError } from "../net/plain.js";
import { Pace } from "./camera-framing.js";
import type { FromMotionWorker, ToMotionWorker } from "./camera-messages.js";
import type { MotionCells } from "./motion-cells.js";
import MotionWorker from "./motion-worker.js?worker";

const WANTED: MediaStreamConstraints = {
  audio: false,
  video: {
    width: { ideal: 320 },
    height: { ideal: 240 },
    frameRate: { ideal: 30 },
    facingMode: "user",
  },
};
const PER_SECOND_MAX = 30;
/** So many of what pictures cost are kept. */
const OWN_TIMES = 128;
/** Without a picture for so long the camera is said to be silent. */
const SILENT_MS = 3000;

/** In sentences, by the names of the errors of getUserMedia. */
const REFUSALS: Readonly<Record<string, string>> = {
  NotAllowedError: "The camera may not be used: you, the browser or the system refused it.",
  SecurityError: "The camera may not be used: the browser or the system refuses it.",
  NotFoundError: "No camera was found.",
  OverconstrainedError: "No camera was found that fits.",
  NotReadableError: "The camera can't be used at the moment: another program may have it.",
  AbortError: "The camera can't be used at the moment: another program may have it.",
};

export class CameraError extends PlainError {}

export interface CameraEvents {
  onMotion(motion: MotionCells): void;
  /** It has stopped by itself: why, in a sentence. */
  onEnded(why: string): void;
  /** No pictures have come for some seconds, or they come again. */
  onSilent(silent: boolean): void;
}

interface Processor {
  readonly readable: ReadableStream<VideoFrame>;
}

type ProcessorMaker = new (init: { track: MediaStreamTrack }) => Processor;

/** Asks for a camera. @throws CameraError with a sentence for people */
export async function askForCamera(): Promise<MediaStream> {
  try {
    return await navigator.mediaDevices.getUserMedia(WANTED);
  } catch (error) {
    const name = error instanceof DOMException ? error.name : "";
    throw new CameraError(
      REFUSALS[name] ?? "The camera can't be used: the browser gives none, and doesn't say why.",
    );
  }
}

export class Camera {
  /** Looked at so far. */
  pictures = 0;
  /** What the newest picture took the worker. */
  workMs = 0;
  /** What the newest pictures took the page's own thread, in no order. */
  readonly ownMs: number[] = [];

  private readonly worker = new MotionWorker();
  private readonly ending = new AbortController();
  private readonly timer: number;
  private heardMs = performance.now();
  private silent = false;
  /** The worker has a picture that came by itself. */
  private busy = false;
  /** That has cost the page so much already. */
  private givenMs = 0;

  /**
   * @param view    where what was found is drawn; it can't be used for anything else any more
   * @param widthM  of the tank's front, and its height
   */
  constructor(
    private readonly stream: MediaStream,
    view: HTMLCanvasElement,
    widthM: number,
    heightM: number,
    private readonly events: CameraEvents,
  ) {
    const [track] = stream.getVideoTracks();
    if (track === undefined) {
      this.worker.terminate();
      throw new CameraError("The camera has no picture.");
    }
    const { signal } = this.ending;
    track.addEventListener("ended", () => this.gone(), { signal });
    this.worker.onmessage = ({ data }: MessageEvent<FromMotionWorker>) => this.hear(data);
    this.worker.onerror = () =>
      this.end("The camera's pictures can't be looked at: that part of the page can't run.");
    this.timer = window.setInterval(() => this.watch(), SILENT_MS / 6);
    let pictures: ReadableStream<VideoFrame> | null;
    try {
      pictures = pictureStream(track);
      const canvas = view.transferControlToOffscreen();
      const transfer: Transferable[] = pictures === null ? [canvas] : [canvas, pictures];
      this.tell({ kind: "start", view: canvas, widthM, heightM, pictures }, transfer);
    } catch (error) {
      this.stop();
      throw error;
    }
    if (pictures === null) void this.play();
  }

  /** The tank's front is so large now. */
  fit(widthM: number, heightM: number): void {
    this.tell({ kind: "tank", widthM, heightM }, []);
  }

  stop(): void {
    this.ending.abort();
    window.clearInterval(this.timer);
    for (const track of this.stream.getTracks()) track.stop();
    this.worker.terminate();
  }

  private end(why: string): void {
    if (this.ending.signal.aborted) return;
    this.stop();
    this.events.onEnded(why);
  }

  private gone(): void {
    this.end("The camera is gone: it was unplugged, or the browser took it back.");
  }

  private hear(message: FromMotionWorker): void {
    if (this.ending.signal.aborted) return;
    if (message.kind === "ended") this.gone();
    else if (message.kind === "failed") this.end(`The camera's pictures can't be looked at: ${message.why}.`);
    else {
      const began = performance.now();
      this.pictures++;
      this.busy = false;
      this.heardMs = began;
      this.workMs = message.workMs;
      if (message.motion !== null) this.events.onMotion(message.motion);
      this.ownMs[(this.pictures - 1) % OWN_TIMES] = performance.now() - began + this.givenMs;
      this.givenMs = 0;
    }
  }

  private watch(): void {
    const silent = performance.now() - this.heardMs > SILENT_MS;
    if (silent === this.silent) return;
    this.silent = silent;
    this.events.onSilent(silent);
  }

  /** Hands each picture over as it comes. */
  private async play(): Promise<void> {
    const video = document.createElement("video");
    video.muted = true;
    video.playsInline = true;
    video.srcObject = this.stream;
    const pace = new Pace(PER_SECOND_MAX);
    const next = (): void => {
      if ("requestVideoFrameCallback" in video) video.requestVideoFrameCallback(give);
      else window.setTimeout(() => give(performance.now(), {}), 1000 / PER_SECOND_MAX);
    };
    const give = (nowMs: number, { captureTime }: Partial<VideoFrameCallbackMetadata>): void => {
      if (this.ending.signal.aborted) return;
      next();
      const timeS = (captureTime ?? nowMs) / 1000;
      if (this.busy || !pace.takes(timeS)) return;
      const began = performance.now();
      this.busy = true;
      createImageBitmap(video).then(
        (bitmap) => this.tell({ kind: "picture", bitmap, timeS }, [bitmap]),
        () => {
          this.busy = false; // there is none at the moment
        },
      );
      this.givenMs = performance.now() - began;
    };
    next();
    await video
      .play()
      .catch(() => this.end("The camera's pictures can't be shown: the browser plays no video here."));
  }

  private tell(message: ToMotionWorker, transfer: Transferable[]): void {
    this.worker.postMessage(message, transfer);
  }
}

/** Null where pictures have to be handed over one by one. */
function pictureStream(track: MediaStreamTrack): ReadableStream<VideoFrame> | null {
  const { MediaStreamTrackProcessor: Maker } = window as { MediaStreamTrackProcessor?: ProcessorMaker };
  return Maker === undefined ? null : new Maker({ track }).readable;
}
