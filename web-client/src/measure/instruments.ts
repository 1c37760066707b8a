// What measures in the tank: probes, which the server has, and insight into the flow, which the page has by itself. Of
// both a button is there; the rest is fetched when somebody presses it or the tank has probes.
import type { App } from "../app/app.js";
import type { ProbeList, ServerMessage } from "../protocol/messages.js";
import type { Measured } from "../protocol/recorded-messages.js";
import type { DecodedFrame } from "../state/frame-stream.js";
import { DeskButton, type Grip } from "./desk-button.js";
import type { InsightDesk } from "./insight-desk.js";
import type { ProbeDesk } from "./probe-desk.js";

export class Instruments implements Grip {
  readonly probes: DeskButton<ProbeDesk>;
  readonly insight: DeskButton<InsightDesk>;
  /** The scene's file; null: it isn't known. */
  sceneFile: unknown = null;
  /** The newest of probes; null: none has come. */
  list: ProbeList | null = null;
  private readonly listens = { headset: false, recording: false };

  constructor(app: App, canvas: HTMLCanvasElement, header: HTMLElement, say: (text: string) => void) {
    const probeDesk = async (opened: (open: boolean) => void): Promise<ProbeDesk> => {
      const desk = (await import("./probe-desk.js")).createProbeDesk(app, canvas, say, opened);
      desk.listen(this.isListening);
      if (this.list !== null) desk.show(this.list);
      return desk;
    };
    const insightDesk = async (opened: (open: boolean) => void): Promise<InsightDesk> =>
      (await import("./insight-desk.js")).createInsightDesk(app, () => this.sceneFile, say, opened);
    this.probes = new DeskButton(header, "measure", "Measure", "Measure, with probes (0)", probeDesk, say);
    this.insight = new DeskButton(
      header,
      "insight-button",
      "Flow",
      "Flow: see what a fluid hides (I)",
      insightDesk,
      say,
    );
  }

  onJoined(): void {
    this.onMessage({ t: "probes", list: 0, probes: [] }); // where there are any, they come right behind
  }

  onMessage(message: ServerMessage): void {
    const { probes } = this;
    if (message.t === "probes") {
      this.list = message;
      if (probes.desk !== null) probes.desk.show(message);
      else if (message.probes.length > 0) void probes.fetch();
    } else if (message.t === "readings") probes.desk?.take(message);
  }

  /** A recording begins anew, or is left. */
  restart(): void {
    this.onJoined();
  }

  /** It comes from a recording. @return false where there is nobody yet to take it */
  take(message: Measured): boolean {
    if (message.t === "readings" && this.probes.desk === null) return false;
    this.onMessage(message);
    return true;
  }

  /** A headset shows what probes measure from now on, or a recording keeps it; or no longer. */
  listen(who: "headset" | "recording", on: boolean): void {
    this.listens[who] = on;
    this.probes.desk?.listen(this.isListening);
  }

  private get isListening(): boolean {
    return this.listens.headset || this.listens.recording;
  }

  /** What each probe says now, as a line of text. */
  lines(): readonly string[] {
    return this.probes.desk?.lines() ?? [];
  }

  /** Its bytes are at hand. */
  decoded(frame: DecodedFrame): void {
    this.insight.desk?.decoded(frame);
  }

  /** Once per picture. */
  tick(nowMs: number): void {
    this.probes.desk?.tick(nowMs);
    this.insight.desk?.tick(nowMs);
  }

  reaches(x: number, y: number): boolean {
    return this.insight.desk?.reaches(x, y) ?? false;
  }

  down(pointer: number, x: number, y: number): boolean {
    return this.insight.desk?.down(pointer, x, y) || (this.probes.desk?.down(pointer, x, y) ?? false);
  }

  move(pointer: number, x: number, y: number): boolean {
    return this.insight.desk?.move(pointer, x, y) || (this.probes.desk?.move(pointer, x, y) ?? false);
  }

  up(pointer: number): boolean {
    return this.insight.desk?.up(pointer) || (this.probes.desk?.up(pointer) ?? false);
  }
}
