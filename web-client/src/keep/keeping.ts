// The page's side of keeping and playing: everything behind it is loaded when it is first used.

import { here } from "../net/here.js";
import { partOf, plainly } from "../net/plain.js";
import type { ProbeList, ServerMessage, SessionState } from "../protocol/messages.js";
import type { MeasuredSink } from "../state/measured-track.js";
import type { Settings } from "../state/settings.js";
import type { Keeper } from "./keeper.js";
import type { Playback } from "./playback.js";

export interface KeepingHost {
  canvas: HTMLCanvasElement;
  settings: Settings;
  state(): SessionState | null;
  showState(state: SessionState): void;
  /** Show what probes of a recording measured, and have the newest list of those that there are; null: none is known. */
  instruments(): MeasuredSink & { readonly list: ProbeList | null };
  /** Gives a frame to the decoder. */
  push(bytes: ArrayBuffer): void;
  /** Draws the picture that is shown as finely as it can be, for `take`. */
  drawFinest(take: () => void): void;
  pace(speed: number): void;
  /** What is shown next has nothing to do with what was before. */
  restart(): void;
  leave(): void;
  goLive(): void;
  changed(clip: boolean, recording: boolean): void;
  /** Fills the page with why there is nothing to see; `back` leads to the live tank. */
  stop(title: string, text: string, back: () => void): void;
  say(text: string): void;
}

export class Keeping {
  private keeper: Keeper | null = null;
  private playback: Playback | null = null;
  private wantsPicture = false;

  constructor(private readonly host: KeepingHost) {
    this.listenToDrops();
  }

  get playing(): boolean {
    return this.playback !== null;
  }

  get catchingUp(): boolean {
    return this.playback?.catchingUp ?? false;
  }

  /** What is played; null: the tank is live. */
  get player(): Playback | null {
    return this.playback;
  }

  // ---- once per frame or picture ----

  frame(bytes: ArrayBuffer, nowMs: number): void {
    this.keeper?.frame(bytes, nowMs);
  }

  state(state: SessionState): void {
    this.keeper?.state(state);
  }

  heard(message: ServerMessage): void {
    if (message.t === "probes" || message.t === "readings") this.keeper?.measured(message);
  }

  /** A recording needs a key frame. */
  get wantsKey(): boolean {
    return this.keeper?.wantsKey ?? false;
  }

  settled(): void {
    this.playback?.settled();
  }

  tick(nowMs: number): void {
    this.playback?.tick(nowMs);
  }

  /** The picture has just been drawn. */
  drawn(): void {
    if (!this.wantsPicture || this.keeper === null) return;
    const { keeper } = this;
    this.wantsPicture = false;
    this.host.drawFinest(() => keeper.picture());
  }

  // ---- what people ask for ----

  picture(): void {
    this.wantsPicture = true;
    void this.load();
  }

  toggleClip(): void {
    void this.load().then((keeper) => keeper?.toggleClip());
  }

  toggleRecording(): void {
    if (this.playback !== null) this.host.say("This is a recording already.");
    else
      void this.load().then((keeper) =>
        keeper?.toggleRecording(this.host.state(), this.host.instruments().list),
      );
  }

  togglePause(): void {
    this.playback?.toggle();
  }

  /** Asks for a file. */
  choose(): void {
    const input = document.createElement("input");
    input.type = "file";
    input.accept = ".tarn";
    input.addEventListener("change", () => {
      const file = input.files?.[0];
      if (file !== undefined) void this.openFile(file);
    });
    input.click();
  }

  async openFile(file: File): Promise<void> {
    await this.open(file.name, null, 0, async () => (await import("./playback.js")).readFile(file));
  }

  async openAddress(address: string, atS: number): Promise<void> {
    const { settings } = this.host;
    const link = (): string => {
      settings.flush();
      return here();
    };
    await this.open("The recording", link, atS, async () =>
      (await import("./playback.js")).fetchRecording(address),
    );
  }

  private async open(
    name: string,
    link: (() => string) | null,
    atS: number,
    get: () => Promise<ArrayBuffer>,
  ): Promise<void> {
    const { host } = this;
    const close = (): void => {
      this.close();
      host.settings.set("recording", "");
      host.goLive();
    };
    try {
      const bytes = await get();
      const { Playback } = await import("./playback.js");
      const playback = new Playback(bytes, atS, {
        push: (frame) => host.push(frame),
        restart: () => host.restart(),
        state: (state) => host.showState(state),
        measured: host.instruments(),
        pace: (speed) => host.pace(speed),
        moment: (seconds) => {
          if (link !== null) host.settings.set("t", seconds);
        },
        link,
        say: (text) => host.say(text),
        close,
      });
      this.close();
      if (this.keeper?.recording) this.keeper.toggleRecording(null, null);
      host.leave();
      host.restart();
      if (link === null) host.settings.set("recording", "");
      this.playback = playback;
    } catch (error) {
      const text = `${name} can't be opened: ${plainly(error, "a part of the page that plays it could not be loaded; try again")}.`;
      // The tank that is shown stays.
      if (link === null) host.say(text);
      else host.stop("There is nothing to play", text, close);
    }
  }

  private close(): void {
    this.playback?.remove();
    this.playback = null;
  }

  private async load(): Promise<Keeper | null> {
    if (this.keeper !== null) return this.keeper;
    const { host } = this;
    const part = await partOf(
      () => import("./keeper.js"),
      (text) => host.say(text),
    );
    if (part === null) return this.keeper;
    this.keeper ??= new part.Keeper({
      canvas: host.canvas,
      scene: () => host.state()?.scene ?? "",
      changed: () => host.changed(this.keeper?.filming ?? false, this.keeper?.recording ?? false),
      say: (text) => host.say(text),
    });
    return this.keeper;
  }

  private listenToDrops(): void {
    const hasFile = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
    window.addEventListener("dragover", (event) => {
      if (hasFile(event)) event.preventDefault();
    });
    window.addEventListener("drop", (event) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file !== undefined) void this.openFile(file);
    });
  }
}
