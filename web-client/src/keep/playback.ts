// Plays a recording in the page's place of a server. Loaded when the first recording is opened.
import { beside } from "../net/here.js";
import { PlainError } from "../net/plain.js";
import type { SessionState } from "../protocol/messages.js";
import { type MeasuredSink, MeasuredTrack } from "../state/measured-track.js";
import { Player, SPEEDS } from "../state/player.js";
import { RECORDING_BYTES_MAX, readRecording } from "../state/recording.js";
import { StateTrack } from "../state/state-track.js";
import { ScrubBar } from "../ui/scrub-bar.js";

export interface PlaybackHost {
  push(bytes: ArrayBuffer): void;
  restart(): void;
  state(state: SessionState): void;
  /** Shows what probes measured. */
  measured: MeasuredSink;
  /** Of the time that is shown; 0: it stands still. */
  pace(speed: number): void;
  /** The moment that a link should lead to, seconds. */
  moment(seconds: number | null): void;
  /** Null where the recording has no address. */
  link: (() => string) | null;
  say(text: string): void;
  close(): void;
}

export class Playback {
  private readonly player: Player;
  private readonly states: StateTrack;
  private readonly measured: MeasuredTrack;
  private readonly bar: ScrubBar;
  private state: SessionState | null = null;

  /** @throws RecordingError */
  constructor(
    file: ArrayBuffer,
    atS: number,
    private readonly host: PlaybackHost,
  ) {
    const recording = readRecording(file);
    this.player = new Player(recording, host);
    this.states = new StateTrack(recording.states);
    this.measured = new MeasuredTrack(recording.measured, host.measured);
    this.bar = new ScrubBar(recording.durationMs, SPEEDS, recording.measured.length > 0, {
      toggle: () => this.toggle(),
      seek: (ms) => this.seek(ms),
      speed: (factor) => {
        this.player.speed = factor;
      },
      copyLink: host.link === null ? null : () => void this.copyLink(),
      close: () => host.close(),
    });
    if (recording.problem !== "") host.say(recording.problem);
    if (atS > 0) {
      this.player.playing = false;
      this.player.seek(1000 * atS);
    }
  }

  get catchingUp(): boolean {
    return this.player.catchingUp;
  }

  get positionMs(): number {
    return this.player.positionMs;
  }

  get playing(): boolean {
    return this.player.playing;
  }

  get durationMs(): number {
    return this.player.recording.durationMs;
  }

  /** Once per picture. */
  tick(nowMs: number): void {
    this.player.tick(nowMs);
    this.host.pace(this.player.playing ? this.player.speed : 0);
    this.bar.show(this.player.positionMs, this.player.playing);
    this.showState();
    this.measured.show(this.player.positionMs);
  }

  settled(): void {
    this.player.settled();
  }

  toggle(): void {
    this.player.toggle();
    this.mark();
  }

  seek(ms: number): void {
    this.player.seek(ms);
    this.mark();
  }

  remove(): void {
    this.bar.remove();
    this.host.pace(1);
    this.host.moment(null);
    this.host.measured.restart();
  }

  /** While it stands the address leads here. */
  private mark(): void {
    this.host.moment(this.player.playing ? null : this.player.positionMs / 1000);
  }

  private async copyLink(): Promise<void> {
    this.host.moment(this.player.positionMs / 1000);
    try {
      await navigator.clipboard.writeText(this.host.link?.() ?? "");
      this.host.say("The link to this moment is copied.");
    } catch {
      this.host.say("The browser doesn't let the page copy; the address bar has the link.");
    }
  }

  private showState(): void {
    const newest = this.states.at(this.player.positionMs);
    if (newest === null || newest === this.state) return;
    this.state = newest;
    this.host.state(newest);
  }
}

/** Gets a recording from this page's server. @throws with a sentence about what is wrong */
export async function fetchRecording(address: string): Promise<ArrayBuffer> {
  let url: URL;
  try {
    url = new URL(beside(address));
  } catch {
    throw new PlainError("its address is none");
  }
  if (url.origin !== window.location.origin) throw new PlainError("it lies on another server than this page");
  const response = await fetch(url).catch(() => {
    throw new PlainError("the server doesn't answer");
  });
  if (!response.ok || response.body === null) throw new PlainError(`the server answers ${response.status}`);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.byteLength;
    if (bytes > RECORDING_BYTES_MAX) {
      await reader.cancel();
      throw new PlainError(`it is larger than ${RECORDING_BYTES_MAX} bytes`);
    }
    parts.push(value);
  }
  return new Blob(parts).arrayBuffer();
}

/** @throws with a sentence about what is wrong */
export function readFile(file: File): Promise<ArrayBuffer> {
  if (file.size > RECORDING_BYTES_MAX) throw new PlainError(`it is larger than ${RECORDING_BYTES_MAX} bytes`);
  return file.arrayBuffer();
}
