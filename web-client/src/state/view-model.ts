// What the page knows of its session: who, where, what is running, and the running measurements.
import type { SessionState, ViewerInfo } from "../protocol/messages.js";
import { Drops, InputTimes, Rate, Smoothed } from "./rates.js";

/** Playing: a recording, without a server. */
export type Connection = "connecting" | "connected" | "lost" | "ended" | "playing";

export class ViewModel {
  connection: Connection = "connecting";
  session = "";
  viewerId = 0;
  server = "";
  device = "";
  scenes: string[] = [];
  viewers: ViewerInfo[] = [];
  state: SessionState | null = null;

  /** Since the page was loaded. */
  framesDecoded = 0;
  framesRefused = 0;
  framesUnreferenced = 0;
  connections = 0;

  readonly displayRate = new Rate();
  readonly byteRate = new Rate();
  readonly frameRate = new Rate();
  readonly roundTrip = new Smoothed(0.3);
  readonly latency = new Smoothed(0.2);
  /** Of a frame: from its arrival until it is decoded, and from there until it is drawn. */
  readonly decodeTime = new Smoothed(0.1);
  readonly drawTime = new Smoothed(0.1);
  /** Of the server's work, ms: wait, step, encode, pass, write; empty: not known. */
  serverStagesMs: readonly number[] = [];
  /** The tank's substeps whose pressure ended short of its tolerance. */
  unconverged = 0;
  readonly inputTimes = new InputTimes();
  /** That came for each particle, of frames of all kinds. */
  readonly bits = new Smoothed(0.05);
  readonly drops = new Drops();
}
