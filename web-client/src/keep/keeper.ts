// What people take home from the page: a picture, a clip, a recording of the frames. Loaded when it is first used.
import type { ProbeList, SessionState } from "../protocol/messages.js";
import type { Measured } from "../protocol/recorded-messages.js";
import { RecordingWriter } from "../state/recording.js";

/** A clip and a recording end by themselves, so that a forgotten one doesn't fill the memory. */
const CLIP_MS_MAX = 120_000;
const CLIP_BYTES_MAX = 200 * 1024 * 1024;
const RECORDING_LIMITS = { bytes: 256 * 1024 * 1024, durationMs: 600_000 };
const CLIP_FPS = 30;
const CLIP_BITS_PER_S = 8_000_000;
/** A download has begun by then, and its memory may go. */
const REVOKE_MS = 60_000;

export interface KeeperHost {
  canvas: HTMLCanvasElement;
  scene(): string;
  /** What is being kept changed. */
  changed(): void;
  say(text: string): void;
}

export class Keeper {
  private recorder: MediaRecorder | null = null;
  private writer: RecordingWriter | null = null;

  constructor(private readonly host: KeeperHost) {}

  get filming(): boolean {
    return this.recorder !== null;
  }

  get recording(): boolean {
    return this.writer !== null;
  }

  get wantsKey(): boolean {
    return this.writer?.wantsKey(performance.now()) ?? false;
  }

  /** To be called right behind the drawing: the canvas keeps its picture no longer. It is copied at once. */
  picture(): void {
    this.host.canvas.toBlob((blob) => {
      if (blob === null) this.host.say("The picture could not be made: this browser gives out none.");
      else this.download(blob, "png");
    }, "image/png");
  }

  toggleClip(): void {
    if (this.recorder !== null) this.recorder.stop();
    else this.startClip();
  }

  /** @param list  the probes that there are; null: none is known */
  toggleRecording(state: SessionState | null, list: ProbeList | null): void {
    if (this.writer !== null) {
      this.endRecording("");
      return;
    }
    this.writer = new RecordingWriter(Date.now(), RECORDING_LIMITS);
    if (state !== null) this.writer.state(state, performance.now());
    if (list !== null) this.writer.measured(list, performance.now());
    this.host.changed();
  }

  frame(bytes: ArrayBuffer, nowMs: number): void {
    this.writer?.frame(bytes, nowMs);
    if (this.writer?.isFull)
      this.endRecording("The recording is as large as it may get: it ended and is being saved.");
  }

  state(state: SessionState): void {
    this.writer?.state(state, performance.now());
  }

  measured(message: Measured): void {
    this.writer?.measured(message, performance.now());
  }

  private endRecording(why: string): void {
    const { writer } = this;
    this.writer = null;
    this.host.changed();
    if (writer === null || writer.frames === 0) {
      this.host.say("Nothing was recorded: no key frame came in the meantime.");
      return;
    }
    this.download(new Blob(writer.finish(), { type: "application/octet-stream" }), "tarn");
    if (why !== "") this.host.say(why);
  }

  private startClip(): void {
    const { canvas, host } = this;
    const type = clipType((name) => "MediaRecorder" in window && MediaRecorder.isTypeSupported(name));
    if (type === null || !("captureStream" in canvas)) {
      host.say("This browser can't film the picture; a recording of the tank works everywhere.");
      return;
    }
    const [kind] = type.split(";") as [string];
    const stream = canvas.captureStream(CLIP_FPS);
    const recorder = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: CLIP_BITS_PER_S });
    const parts: Blob[] = [];
    let bytes = 0;
    const timer = window.setTimeout(() => {
      host.say("The clip is as long as it may get: it ended and is being saved.");
      recorder.stop();
    }, CLIP_MS_MAX);
    recorder.ondataavailable = (event) => {
      parts.push(event.data);
      bytes += event.data.size;
      if (bytes > CLIP_BYTES_MAX && recorder.state === "recording") recorder.stop();
    };
    recorder.onerror = () => host.say("The browser stopped filming.");
    recorder.onstop = () => {
      window.clearTimeout(timer);
      for (const track of stream.getTracks()) track.stop();
      this.recorder = null;
      host.changed();
      if (bytes === 0) host.say("The clip is empty: nothing was drawn in the meantime.");
      else this.download(new Blob(parts, { type: kind }), kind.slice(kind.indexOf("/") + 1));
    };
    recorder.start(1000);
    this.recorder = recorder;
    host.changed();
  }

  private get canvas(): HTMLCanvasElement {
    return this.host.canvas;
  }

  private download(blob: Blob, ending: string): void {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = fileName(this.host.scene(), new Date(), ending);
    link.click();
    window.setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_MS);
  }
}

/** The best that a browser can film in: WebM, or MP4 where there is nothing else, as in Safari. @returns null: none */
export function clipType(isSupported: (type: string) => boolean): string | null {
  const types = ["webm;codecs=vp9", "webm;codecs=vp8", "webm", "mp4;codecs=avc1", "mp4"];
  return types.map((type) => `video/${type}`).find(isSupported) ?? null;
}

/** tarn-SCENE-YEAR-MONTH-DAY-HOUR-MINUTE-SECOND, local time. */
export function fileName(scene: string, now: Date, ending: string): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())];
  const time = [two(now.getHours()), two(now.getMinutes()), two(now.getSeconds())];
  const name = scene.replace(/[^a-zA-Z0-9-]/g, "-") || "tank";
  return `tarn-${name}-${[...day, ...time].join("-")}.${ending}`;
}
