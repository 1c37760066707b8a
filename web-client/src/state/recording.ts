// Recordings of what a viewer received: protocol/RECORDING.md. Writes them from frames as they come, and reads them
// whatever is in the file: what is no recording is refused, one that breaks off is read up to there.

import { PlainError, plainly } from "../net/plain.js";
import { frameKind, isFrame, type ProbeList, readMessage, type SessionState } from "../protocol/messages.js";
import { type Measured, writeMeasured, writeState } from "../protocol/recorded-messages.js";
import { FRAME_HEADER_BYTES, FRAME_KIND } from "../tables/protocol-tables.js";

const MAGIC = 0x524e5254; // "TRNR"
const END_MAGIC = 0x584e5254; // "TRNX"
const VERSION = 1;
const HEADER_BYTES = 32;
const HEADER_BYTES_MAX = 1024;
const RECORD_BYTES = 16;
const ENTRY_BYTES = 16;
const END_BYTES = 16;
/** Payload of one record. */
export const RECORD_BYTES_MAX = 64 * 1024 * 1024;
export const RECORDING_BYTES_MAX = 512 * 1024 * 1024;
export const RECORDS_MAX = 1_000_000;

/** Who goes to a moment of a recording decodes it from the key frame before, so that there is one that often. */
const KEYS_MS = 1000;

const RECORD = { frame: 1, message: 2, index: 3 } as const;

export class RecordingError extends PlainError {}

export interface WriterLimits {
  bytes: number;
  durationMs: number;
}

export class RecordingWriter {
  /** Of the file, so far. */
  byteCount = HEADER_BYTES;
  durationMs = 0;
  frames = 0;
  isFull = false;

  private readonly parts: Uint8Array<ArrayBuffer>[] = [];
  private readonly keys: { offset: number; timeUs: number }[] = [];
  private newestState: SessionState | null = null;
  private newestList: ProbeList | null = null;
  private beganMs = 0;

  /** @param startedUnixMs  for people */
  constructor(
    startedUnixMs: number,
    private readonly limits: WriterLimits,
  ) {
    const header = new DataView(new ArrayBuffer(HEADER_BYTES));
    header.setUint32(0, MAGIC, true);
    header.setUint16(4, VERSION, true);
    header.setUint16(6, HEADER_BYTES, true);
    header.setFloat64(8, startedUnixMs, true);
    this.parts.push(new Uint8Array(header.buffer));
  }

  state(state: SessionState, nowMs: number): void {
    this.newestState = state;
    if (this.frames > 0) this.add(RECORD.message, writeState(state), nowMs);
  }

  /** What probes there are, or what they measured. */
  measured(message: Measured, nowMs: number): void {
    // Where there have been no probes nothing is said, and of a list that isn't known nobody can tell whose readings are.
    if (this.newestList === null && (message.t === "readings" || message.probes.length === 0)) return;
    if (message.t === "probes") this.newestList = message;
    if (this.frames > 0 && !this.isFull) this.add(RECORD.message, writeMeasured(message), nowMs);
  }

  /** Copies a frame. What comes before the first key frame is left out. */
  frame(bytes: ArrayBuffer, nowMs: number): void {
    if (this.isFull || bytes.byteLength < FRAME_HEADER_BYTES) return;
    const isKey = frameKind(bytes) === FRAME_KIND.key;
    if (this.frames === 0) {
      if (!isKey) return;
      this.beganMs = nowMs;
      if (this.newestState !== null) this.add(RECORD.message, writeState(this.newestState), nowMs);
      if (this.newestList !== null) this.add(RECORD.message, writeMeasured(this.newestList), nowMs);
    }
    const offset = this.byteCount;
    if (!this.add(RECORD.frame, new Uint8Array(bytes.slice(0)), nowMs)) return;
    this.frames++;
    if (isKey) this.keys.push({ offset, timeUs: this.durationMs * 1000 });
  }

  /** Whether it is time for a key frame. */
  wantsKey(nowMs: number): boolean {
    const key = this.keys.at(-1);
    return key === undefined || nowMs - this.beganMs >= key.timeUs / 1000 + KEYS_MS;
  }

  /** @return the whole file, in parts */
  finish(): Uint8Array<ArrayBuffer>[] {
    const index = new DataView(new ArrayBuffer(this.keys.length * ENTRY_BYTES));
    this.keys.forEach(({ offset, timeUs }, i) => {
      setWhole(index, i * ENTRY_BYTES, offset);
      setWhole(index, i * ENTRY_BYTES + 8, Math.round(timeUs));
    });
    const end = new DataView(new ArrayBuffer(END_BYTES));
    setWhole(end, 0, this.byteCount);
    end.setUint32(8, END_MAGIC, true);
    return [
      ...this.parts,
      recordHead(RECORD.index, index.byteLength, this.durationMs),
      new Uint8Array(index.buffer),
      new Uint8Array(end.buffer),
    ];
  }

  private add(kind: number, payload: Uint8Array<ArrayBuffer>, nowMs: number): boolean {
    const atMs = Math.max(this.durationMs, nowMs - this.beganMs);
    const size = RECORD_BYTES + payload.byteLength;
    if (this.byteCount + size > this.limits.bytes || atMs > this.limits.durationMs) {
      this.isFull = true;
      return false;
    }
    this.parts.push(recordHead(kind, payload.byteLength, atMs), payload);
    this.byteCount += size;
    this.durationMs = atMs;
    return true;
  }
}

export interface RecordedFrame {
  atMs: number;
  isKey: boolean;
  isExtra: boolean;
  /** Of the frame in the file. */
  offset: number;
  byteCount: number;
}

export interface Recording {
  /** Begins with a key frame. */
  frames: RecordedFrame[];
  states: { atMs: number; state: SessionState }[];
  /** Lists of probes, and what those measured. */
  measured: { atMs: number; message: Measured }[];
  durationMs: number;
  startedUnixMs: number;
  /** Why it isn't all there; empty: it is. */
  problem: string;
  /** A copy of a frame's bytes. */
  bytesOf(frame: RecordedFrame): ArrayBuffer;
}

/** @throws RecordingError where nothing of it can be shown */
export function readRecording(file: ArrayBuffer): Recording {
  if (file.byteLength > RECORDING_BYTES_MAX)
    throw new RecordingError(`it has ${file.byteLength} bytes; this page opens up to ${RECORDING_BYTES_MAX}`);
  const recording: Recording = {
    frames: [],
    states: [],
    measured: [],
    durationMs: 0,
    startedUnixMs: 0,
    problem: "",
    bytesOf: ({ offset, byteCount }) => file.slice(offset, offset + byteCount),
  };
  const reader = new Reader(file, recording);
  reader.readHeader();
  recording.problem = reader.readRecords();
  const last = recording.frames.at(-1);
  if (last === undefined)
    throw new RecordingError(`there is no frame in it that can be shown${withReason(recording.problem)}`);
  recording.durationMs = last.atMs;
  if (recording.problem !== "")
    recording.problem = `The recording is damaged after ${(last.atMs / 1000).toFixed(1)} s: ${recording.problem}.`;
  return recording;
}

class Reader {
  private readonly view: DataView;
  private readonly keys: { offset: number; timeUs: number }[] = [];
  private at = 0;
  private timeUs = 0;

  constructor(
    private readonly file: ArrayBuffer,
    private readonly recording: Recording,
  ) {
    this.view = new DataView(file);
  }

  readHeader(): void {
    const { view } = this;
    if (view.byteLength < HEADER_BYTES || view.getUint32(0, true) !== MAGIC)
      throw new RecordingError("it is no recording of Tarn");
    const version = view.getUint16(4, true);
    if (version !== VERSION)
      throw new RecordingError(`it has version ${version} of the format; this page knows ${VERSION}`);
    const size = view.getUint16(6, true);
    if (size < HEADER_BYTES || size > HEADER_BYTES_MAX || size % 8 !== 0)
      throw new RecordingError(`its header says that it has ${size} bytes`);
    const started = view.getFloat64(8, true);
    this.recording.startedUnixMs = Number.isFinite(started) ? started : 0;
    this.at = size;
  }

  /** @return what is wrong; empty: the file ends as it should */
  readRecords(): string {
    const { view } = this;
    for (let count = 0; count < RECORDS_MAX; count++) {
      if (view.byteLength - this.at < RECORD_BYTES) return "it ends early";
      const size = view.getUint32(this.at, true);
      const kind = view.getUint8(this.at + 4);
      const reserved = view.getUint8(this.at + 5) | view.getUint16(this.at + 6, true);
      const timeUs = getWhole(view, this.at + 8);
      if (reserved !== 0) return "a record's reserved bytes aren't zero";
      if (size > RECORD_BYTES_MAX) return `a record says that it has ${size} bytes`;
      if (size > view.byteLength - this.at - RECORD_BYTES) return "it ends early";
      if (timeUs < this.timeUs || timeUs > Number.MAX_SAFE_INTEGER) return "time goes backwards in it";
      this.timeUs = timeUs;
      const body = this.at + RECORD_BYTES;
      if (kind === RECORD.index) return this.checkEnd(body, size);
      const wrong =
        kind === RECORD.frame
          ? this.addFrame(body, size)
          : kind === RECORD.message
            ? this.addMessage(body, size)
            : "";
      if (wrong !== "") return wrong;
      this.at = body + size;
    }
    return `it has more than ${RECORDS_MAX} records`;
  }

  private addFrame(offset: number, byteCount: number): string {
    const head = this.file.slice(offset, offset + Math.min(byteCount, FRAME_HEADER_BYTES));
    if (byteCount < FRAME_HEADER_BYTES || !isFrame(head)) return "a frame in it is none";
    const kind = frameKind(head);
    const isKey = kind === FRAME_KIND.key;
    if (isKey) this.keys.push({ offset: this.at, timeUs: this.timeUs });
    if (isKey || this.recording.frames.length > 0)
      this.recording.frames.push({
        atMs: this.timeUs / 1000,
        isKey,
        isExtra: kind === FRAME_KIND.extra,
        offset,
        byteCount,
      });
    return "";
  }

  private addMessage(offset: number, byteCount: number): string {
    try {
      const message = readMessage(this.file.slice(offset, offset + byteCount));
      const atMs = this.timeUs / 1000;
      if (message?.t === "state") this.recording.states.push({ atMs, state: message.state });
      else if (message?.t === "probes" || message?.t === "readings")
        this.recording.measured.push({ atMs, message });
      return "";
    } catch (error) {
      return `a message in it can't be read: ${plainly(error, "its bytes say nothing")}`;
    }
  }

  /** The index must name the key frames that were found, and the file's last bytes the index. */
  private checkEnd(body: number, size: number): string {
    const { view } = this;
    const end = body + size;
    if (view.byteLength - end < END_BYTES) return "it ends early";
    if (view.byteLength - end > END_BYTES) return "there are bytes behind its end";
    if (getWhole(view, end) !== this.at || view.getUint32(end + 8, true) !== END_MAGIC)
      return "its last bytes don't name the index";
    if (size !== this.keys.length * ENTRY_BYTES) return "its index doesn't fit";
    for (let i = 0; i < this.keys.length; i++) {
      const key = this.keys[i] as { offset: number; timeUs: number };
      const entry = body + i * ENTRY_BYTES;
      if (getWhole(view, entry) !== key.offset || getWhole(view, entry + 8) !== key.timeUs)
        return "its index doesn't fit";
    }
    return "";
  }
}

function withReason(problem: string): string {
  return problem === "" ? "" : `: ${problem}`;
}

function recordHead(kind: number, byteCount: number, atMs: number): Uint8Array<ArrayBuffer> {
  const head = new DataView(new ArrayBuffer(RECORD_BYTES));
  head.setUint32(0, byteCount, true);
  head.setUint8(4, kind);
  setWhole(head, 8, Math.round(atMs * 1000));
  return new Uint8Array(head.buffer);
}

function setWhole(view: DataView, at: number, value: number): void {
  view.setUint32(at, value % 2 ** 32, true);
  view.setUint32(at + 4, Math.floor(value / 2 ** 32), true);
}

function getWhole(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
}
