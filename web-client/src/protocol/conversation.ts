// The conversation with a server over a link: hello, join, then frames and messages both ways. Numbers the inputs,
// keeps the round trip measured, and tells a failure that passes from one that doesn't.

import type { Link } from "../net/link.js";
import { plainly } from "../net/plain.js";
import { CLOSE_BASE, CLOSING_ERRORS, COORDINATE_M_MAX, ERROR, VERSION } from "../tables/protocol-tables.js";
import type { ControllerInput, HandInput } from "./headset-inputs.js";
import {
  type Action,
  type Ceilings,
  type ClientMessage,
  type FramePosition,
  isFrame,
  type Joined,
  type Lock,
  type Moderation,
  type MotionInput,
  NO_CEILINGS,
  type OrientationInput,
  type PointerInput,
  type PresencePoint,
  type ProbeWish,
  type Role,
  readMessage,
  type ServerMessage,
  type SessionState,
  writeMessage,
} from "./messages.js";
import { FREE, mayAct, maySetParameters, mayUse, type Standing } from "./standing.js";

/** Refusals that another try would only meet again. */
const ENDS: ReadonlyMap<number, EndReason> = new Map([
  [ERROR.version, "version"],
  [ERROR.session, "session"],
  [ERROR.malformed, "refused"],
  [ERROR.order, "refused"],
  [ERROR.key, "key"],
  [ERROR.removed, "removed"],
]);

/** No connection came about; why, a browser doesn't tell. */
export const NO_ANSWER = "The server doesn't answer";

export interface ConversationEvents {
  onJoined(message: Joined): void;
  onMessage(message: ServerMessage): void;
  onFrame(bytes: ArrayBuffer): void;
  onRoundTrip(ms: number): void;
  onLost(why: string, retryMs: number): void;
  /** It makes no sense to try again by itself. */
  onEnded(why: EndReason, text: string): void;
  onProblem(text: string): void;
}

export type EndReason = "version" | "session" | "refused" | "key" | "removed";

export interface Identity {
  session: string;
  viewer: string;
  client: string;
  versions: readonly number[];
}

/** What else is said of whoever joins. */
export interface Introduction {
  /** "": the identity's. */
  viewer: string;
  /** 0: the server picks one. */
  colour: number;
  /** Of a role; "": a guest. */
  key: string;
  /** Only a glimpse: not one of those who are there. */
  preview: boolean;
  /** The same whenever this browser comes, and random; "": not said. */
  browser: string;
}

export class Conversation {
  joined = false;
  /** What this viewer may do, as the server said last: nothing else is sent. */
  standing: Standing = FREE;
  /** Said with the next join. */
  introduction: Introduction = { viewer: "", colour: 0, key: "", preview: false, browser: "" };
  /** Of the newest input or control sent. */
  sequence = 0;

  /** What is told while no connection comes about. */
  noAnswer = NO_ANSWER;

  private link: Link | null = null;
  private pingId = 0;
  private viewerId = 0;
  private hidden = false;
  private ceilings: Ceilings = NO_CEILINGS;
  private channel = "";
  private field = "";
  private probes = false;
  private refusal: { code: number; text: string } | null = null;
  private opened = false;
  private asked = false;

  constructor(
    private readonly identity: Identity,
    private readonly nowMs: () => number,
    private readonly events: ConversationEvents,
  ) {}

  /** The link whose events go to linkOpened, linkBinary and linkDown. */
  attach(link: Link): void {
    this.link = link;
  }

  linkOpened(): void {
    this.joined = false;
    this.opened = true;
    this.asked = false;
    this.sequence = 0;
    this.refusal = null;
    this.say({ t: "hello", versions: this.identity.versions, client: this.identity.client });
  }

  linkBinary(bytes: ArrayBuffer): void {
    if (isFrame(bytes)) {
      if (this.joined) this.events.onFrame(bytes);
      return;
    }
    let message: ServerMessage | null;
    try {
      message = readMessage(bytes);
    } catch (error) {
      const why = plainly(error, "its bytes say nothing");
      this.events.onProblem(`The server sent a message that can't be read: ${why}.`);
      return;
    }
    if (message !== null) this.hear(message);
  }

  /** The link is about to be stopped by this end: nothing more is said. */
  leave(): void {
    this.joined = false;
  }

  linkDown(code: number, reason: string, retryMs: number): void {
    this.joined = false;
    const refused = this.refusal?.code ?? (code > CLOSE_BASE ? code - CLOSE_BASE : 0);
    const text = this.refusal?.text || reason;
    // Before it asked to join nothing can have been out of order: it was too slow, as a busy machine is.
    const wasLate = refused === ERROR.order && !this.asked;
    const end = wasLate ? undefined : ENDS.get(refused);
    // Somebody got this place since nobody looked: it isn't asked for again before somebody does.
    if (refused === ERROR.away && this.hidden) this.link?.rest();
    const opened = this.opened;
    this.opened = false;
    if (end !== undefined) this.end(end, text);
    else if (!opened)
      this.events.onLost(refused === ERROR.shutdown ? "The server has shut down" : this.noAnswer, retryMs);
    else if (refused === ERROR.shutdown) this.events.onLost("The server is shutting down", retryMs);
    else this.events.onLost(text || "The connection was lost", retryMs);
  }

  get role(): Role {
    return this.standing.role;
  }

  pointer(input: PointerInput): number {
    if (input.phase !== "up" && !mayUse(this.standing, input.tool)) return 0;
    // What the protocol can't say isn't said: the server would close the connection.
    if (!input.origin_m.every((x) => Math.abs(x) <= COORDINATE_M_MAX)) return 0;
    return this.numbered((seq) => ({ t: "input", seq, k: "pointer", ...input }));
  }

  orientation(input: OrientationInput): number {
    if (!mayUse(this.standing, "tilt")) return 0;
    return this.numbered((seq) => ({ t: "input", seq, k: "orientation", ...input }));
  }

  controller(input: ControllerInput): number {
    if (input.tracked && !mayUse(this.standing, input.tool)) return 0;
    return this.numbered((seq) => ({ t: "input", seq, k: "controller", ...input }));
  }

  hand(input: HandInput): number {
    if (input.tracked && !mayUse(this.standing, input.tool)) return 0;
    return this.numbered((seq) => ({ t: "input", seq, k: "hand", ...input }));
  }

  motion(input: MotionInput): number {
    if (input.cells.length > 0 && !mayUse(this.standing, "camera")) return 0;
    return this.numbered((seq) => ({ t: "input", seq, k: "motion", ...input }));
  }

  parameter(name: string, value: number): number {
    if (!maySetParameters(this.standing)) return 0;
    return this.numbered((seq) => ({ t: "input", seq, k: "parameter", name, value }));
  }

  control(action: Exclude<Action, "speed">, scene = ""): number {
    if (this.role !== "own") return 0;
    return this.numbered((seq) =>
      action === "load" ? { t: "control", seq, action, scene } : { t: "control", seq, action },
    );
  }

  /** Has the tank's clock go at another speed. */
  speed(speed: number): number {
    if (this.role !== "own") return 0;
    return this.numbered((seq) => ({ t: "control", seq, action: "speed", speed }));
  }

  /** @param needsKey  nothing goes on here without a key frame */
  ack({ epoch, step, number }: FramePosition, needsKey = false): void {
    if (this.joined) this.say({ t: "ack", epoch, step, number, ...(needsKey && { key: true }) });
  }

  /** Shows the others where this viewer is. @return whether it was sent */
  presence(points: readonly PresencePoint[]): boolean {
    if (!points.every(({ position_m }) => position_m.every((x) => Math.abs(x) <= COORDINATE_M_MAX)))
      return false;
    return this.joined && this.say({ t: "presence", points });
  }

  /** Changes name and colour, now and on every connection to come; "" and 0 leave them as they are. */
  profile(name: string, colour: number): void {
    if (name !== "") this.introduction.viewer = name;
    if (colour !== 0) this.introduction.colour = colour;
    if (this.joined) this.say({ t: "profile", name, colour });
  }

  /** Does something about a viewer; owners only. */
  moderate(viewerId: number, action: Moderation): void {
    if (this.joined && this.role === "own") this.say({ t: "moderate", viewer_id: viewerId, action });
  }

  /** Locks these for those who only play, and nothing else; owners only. */
  lock(locked: readonly Lock[], openParameters: boolean): void {
    if (this.joined && this.role === "own") this.say({ t: "lock", locked, open_parameters: openParameters });
  }

  /** Places, moves or removes a probe. @return whether it was sent */
  probe(wish: ProbeWish): boolean {
    const may = wish.action === "remove" ? mayAct(this.standing) : mayUse(this.standing, "probe");
    return this.joined && may && this.say({ t: "probe", ...wish });
  }

  /** Has what probes measure come, now and on every connection to come, or not. */
  measure(on: boolean): void {
    if (on === this.probes) return;
    this.probes = on;
    this.view(this.hidden);
  }

  /** Says what of the stream is of use, now and on every connection to come. */
  view(hidden: boolean, ceilings: Ceilings = this.ceilings): void {
    this.hidden = hidden;
    this.ceilings = ceilings;
    const { channel, field, probes } = this;
    if (!this.joined) return;
    const carried = {
      ...(channel !== "" && { channel }),
      ...(field !== "" && { field }),
      ...(probes && { probes }),
    };
    this.say({ t: "view", hidden, ...ceilings, ...carried });
  }

  /** Has the stream begin anew, as for whoever looks again: a paused tank sends its picture once more. */
  lookAgain(): void {
    if (!this.joined || this.hidden) return;
    this.view(true);
    this.view(false);
  }

  /** Asks for a channel that frames are to carry, now and on every connection to come; "": for none. */
  carry(channel: string): void {
    if (channel === this.channel) return;
    this.channel = channel;
    this.view(this.hidden);
  }

  /** The same of a field. */
  carryField(field: string): void {
    if (field === this.field) return;
    this.field = field;
    this.view(this.hidden);
  }

  ping(): void {
    if (!this.joined) return;
    this.pingId = (this.pingId + 1) >>> 0;
    this.say({ t: "ping", id: this.pingId, client_time_ms: this.nowMs() });
  }

  private hear(message: ServerMessage): void {
    switch (message.t) {
      case "welcome":
        if (!this.identity.versions.includes(message.version)) {
          this.end("version", `The server speaks version ${message.version} of the protocol.`);
          return;
        }
        this.join();
        break;
      case "joined":
        this.joined = true;
        this.viewerId = message.viewerId;
        this.standing = { role: message.role, muted: false, ...locksOf(message.state) };
        if (
          this.hidden ||
          this.probes ||
          this.ceilings !== NO_CEILINGS ||
          `${this.channel}${this.field}` !== ""
        )
          this.view(this.hidden);
        this.link?.proven();
        this.events.onJoined(message);
        return;
      case "pong":
        if (message.id !== this.pingId) return;
        this.events.onRoundTrip(this.nowMs() - message.clientTimeMs);
        break;
      case "state":
        this.standing = { ...this.standing, ...locksOf(message.state) };
        break;
      case "viewers": {
        const me = message.viewers.find(({ viewerId }) => viewerId === this.viewerId);
        if (me !== undefined) this.standing = { ...this.standing, role: me.role, muted: me.muted };
        break;
      }
      case "error":
        if (CLOSING_ERRORS.includes(message.code)) this.refusal = { code: message.code, text: message.text };
        break;
    }
    this.events.onMessage(message);
  }

  private join(): void {
    this.asked = true;
    const { viewer, colour, key, preview, browser } = this.introduction;
    this.say({
      t: "join",
      session: this.identity.session,
      viewer: viewer || this.identity.viewer,
      ...(colour !== 0 && { colour }),
      ...(key !== "" && { key }),
      ...(preview && { preview }),
      ...(browser !== "" && { browser }),
    });
  }

  /** @return the sequence, or 0 where nothing was sent */
  private numbered(make: (seq: number) => ClientMessage): number {
    if (!this.joined || !mayAct(this.standing)) return 0;
    const seq = this.sequence + 1;
    if (!this.say(make(seq))) return 0;
    this.sequence = seq;
    return seq;
  }

  private say(message: ClientMessage): boolean {
    return this.link?.send(writeMessage(message)) ?? false;
  }

  private end(why: EndReason, text: string): void {
    if (why === "version") this.link?.stop(CLOSE_BASE + ERROR.version);
    else this.link?.stop();
    this.joined = false;
    this.events.onEnded(why, text);
  }
}

function locksOf({ locked, openParameters }: SessionState): Pick<Standing, "locked" | "openParameters"> {
  return { locked, openParameters };
}

export const OWN_VERSIONS: readonly number[] = [VERSION];
