// The messages of tarn.v1 other than frames. protocol/SPEC.md is the authority; golden vectors hold this file to it.
//
// What comes from the server is read defensively: a message that lacks something is refused as a whole, unknown kinds
// and unknown fields are ignored.

import { decode, Encoder } from "@msgpack/msgpack";
import { PlainError } from "../net/plain.js";
import {
  type ACTIONS,
  ADDED_MAX,
  ADDED_VALUES,
  CHANNELS_MAX,
  FIELDS_MAX,
  FRAME_AT,
  FRAME_KIND,
  FRAME_MAGIC,
  LIVE_PROBES_MAX,
  LOCKS,
  LOCKS_MAX,
  type MODERATIONS,
  NAME_BYTES_MAX,
  PARTS,
  type PHASES,
  PROBE_KINDS,
  PROBE_VALUES_MAX,
  REMARKS_MAX,
  ROLES,
  TOOLS,
  TOOLS_MAX,
} from "../tables/protocol-tables.js";
import type { ControllerInput, HandInput } from "./headset-inputs.js";

export type Tool = (typeof TOOLS)[number];
/** Tools that add something, which has a colour. */
export const COLOURED: ReadonlySet<Tool> = new Set(["pour", "dye"]);
export type Phase = (typeof PHASES)[number];
export type Action = (typeof ACTIONS)[number];

export interface PointerInput {
  id: number;
  phase: Phase;
  tool: Tool;
  origin_m: readonly number[];
  direction: readonly number[];
  radius_m: number;
  strength: number;
  /** sRGB, 0..0xffffff, of dye and of what is poured; absent: the server chooses. */
  colour?: number;
}

export interface OrientationInput {
  /** Of the tank in the room: x y z w, of unit length. */
  orientation: readonly number[];
}

/** How what a camera sees moves: a grid over a rectangle in the tank. */
export interface MotionInput {
  /** Tells a viewer's cameras apart. */
  source: number;
  columns: number;
  rows: number;
  /** Where the grid's first row begins; from there to the row's end, and to where the last row begins. */
  corner_m: readonly number[];
  across_m: readonly number[];
  up_m: readonly number[];
  /** It acts so far to either side; 0: all through the tank. */
  depth_m: number;
  /** What 127 stands for. */
  speed_m_s: number;
  /** How firmly the fluid goes along, 0..1. */
  strength: number;
  /** Coded (motion-code.ts); empty: the source is gone. */
  cells: Uint8Array;
}

/** What of the stream this page can use at most; 0: no ceiling. */
export interface Ceilings {
  mbit_per_s: number;
  frames_per_s: number;
  particles: number;
}

export const NO_CEILINGS: Ceilings = { mbit_per_s: 0, frames_per_s: 0, particles: 0 };

/** What a viewer may do; each may what the ones before it may. */
export type Role = (typeof ROLES)[number];

/** What an owner does about somebody. */
export type Moderation = (typeof MODERATIONS)[number];

/** What may be locked. */
export type Lock = (typeof LOCKS)[number];

export type Part = (typeof PARTS)[number];

/** What a probe measures. */
export type ProbeKind = (typeof PROBE_KINDS)[number];

/** What somebody wants of a probe. */
export type ProbeWish =
  | {
      action: "place";
      kind: ProbeKind;
      at_m: readonly number[];
      /** A gauge's other end, a flux's or wall's other corner. */
      to_m: readonly number[];
      /** Of a force: which of the scene's solids. */
      solid?: number;
      label?: string;
    }
  | { action: "move"; id: number; at_m: readonly number[]; to_m: readonly number[] }
  | { action: "remove"; id: number };

/** Where something of this page's viewer is, in tank coordinates. */
export interface PresencePoint {
  part: Part;
  position_m: readonly number[];
  /** x y z w; absent: not known. */
  orientation?: readonly number[];
  pressed?: boolean;
  tool?: Tool;
}

export type ClientMessage =
  | { t: "hello"; versions: readonly number[]; client: string }
  | {
      t: "join";
      session: string;
      viewer: string;
      colour?: number;
      key?: string;
      preview?: boolean;
      browser?: string;
    }
  | ({ t: "input"; seq: number; k: "pointer" } & PointerInput)
  | ({ t: "input"; seq: number; k: "orientation" } & OrientationInput)
  | ({ t: "input"; seq: number; k: "controller" } & ControllerInput)
  | ({ t: "input"; seq: number; k: "hand" } & HandInput)
  | ({ t: "input"; seq: number; k: "motion" } & MotionInput)
  | { t: "input"; seq: number; k: "parameter"; name: string; value: number }
  | { t: "control"; seq: number; action: Action; scene?: string; speed?: number }
  | ({ t: "ack"; key?: boolean } & FramePosition)
  | { t: "ping"; id: number; client_time_ms: number }
  | { t: "presence"; points: readonly PresencePoint[] }
  | { t: "profile"; name: string; colour: number }
  | { t: "moderate"; viewer_id: number; action: Moderation }
  | { t: "lock"; locked: readonly Lock[]; open_parameters: boolean }
  | ({ t: "probe" } & ProbeWish)
  | ({ t: "view"; hidden: boolean; channel?: string; field?: string; probes?: boolean } & Ceilings);

export interface ParameterInfo {
  name: string;
  value: number;
  min: number;
  max: number;
  /** For people; "": none. */
  label: string;
  unit: string;
  /** It has whole values only. */
  whole: boolean;
  /** Of its values the magnitude counts. */
  magnitudes: boolean;
  /** For people: what of the value acts, where that is less; "": all of it. */
  note: string;
}

/** What particles can be coloured by, or what cells have. */
export interface Channel {
  name: string;
  /** For people; "": none. */
  label: string;
  unit: string;
  /** Of a field of kinds, for people: their names, with commas between them. */
  kinds?: string;
}

export interface SessionState {
  scene: string;
  paused: boolean;
  workerReady: boolean;
  sizeM: [number, number, number];
  cellM: number;
  dtS: number;
  /** Seconds of its time that the tank's clock is to have in one. */
  speed: number;
  /** The last step of what is played back; 0: the tank is live. */
  replayUntil: number;
  parameters: ParameterInfo[];
  /** What the tank holds; "": not known, and then all tools may be offered. */
  model: string;
  /** That this page knows and that do something to it, in the order in which to offer them. */
  tools: readonly Tool[];
  channels: Channel[];
  fields: Channel[];
  /** Solids that people put in: ADDED_VALUES numbers each, see state/added-solids.ts. */
  added: number[][];
  /** Sentences for people, on what acts otherwise than it was asked for. */
  remarks: string[];
  /** What those who only play may not do for now. */
  locked: readonly Lock[];
  /** They may set parameters. */
  openParameters: boolean;
}

export interface ViewerInfo {
  viewerId: number;
  name: string;
  /** sRGB, 0xRRGGBB. */
  colour: number;
  role: Role;
  /** What it does has no effect. */
  muted: boolean;
  /** An owner gave it its role. */
  given: boolean;
}

/** Where something of a viewer is, in tank coordinates. */
export interface Presence {
  viewerId: number;
  part: Part;
  positionM: number[];
  /** x y z w; zeros: not known. */
  orientation: number[];
  pressed: boolean;
  tool: Tool;
}

/** One of what measures in the tank. */
export interface Probe {
  id: number;
  /** Whose it is; 0: nobody's who is there. */
  viewerId: number;
  /** It came with the scene. */
  scene: boolean;
  kind: ProbeKind;
  /** Tank coordinates: its place, a rod's beginning, a rectangle's corner. */
  atM: number[];
  /** A rod's end, the opposite corner; else as `atM`. */
  toM: number[];
  /** Of a force: which of the scene's solids. */
  solid: number;
  /** For people; "": none. */
  label: string;
  /** What it measures: names that end with their units. */
  columns: string[];
}

/** All probes that there are. */
export interface ProbeList {
  t: "probes";
  list: number;
  probes: Probe[];
}

/** What all probes of a list measured, behind steps that follow each other. */
export interface Readings {
  t: "readings";
  /** Number of the list. */
  list: number;
  epoch: number;
  /** Behind which the first row was measured. */
  step: number;
  /** Of a step, simulated seconds. */
  dtS: number;
  rows: number;
  /** Row by row all columns of the list's first probe, then of the next. */
  values: Float32Array;
}

/** Keys for links to a session, of those roles that this viewer may pass on; "": none. */
export interface RoleKeys {
  watchKey: string;
  playKey: string;
  ownKey: string;
}

export interface Joined extends RoleKeys {
  t: "joined";
  session: string;
  /** Of the session, for people; "": none. */
  title: string;
  viewerId: number;
  viewer: string;
  role: Role;
  /** What asks for the tank's past with the role that this viewer has at the time; "": none is kept. */
  visitKey: string;
  /** The server keeps the tank's past, and this viewer may go back to it. */
  past: boolean;
  state: SessionState;
}

export type ServerMessage =
  | { t: "welcome"; version: number; server: string; device: string; scenes: string[] }
  | Joined
  | { t: "viewers"; viewers: ViewerInfo[] }
  | { t: "presences"; points: Presence[] }
  | {
      t: "pong";
      id: number;
      clientTimeMs: number;
      serverTimeUs: number;
      stagesMs: number[];
      unconverged: number;
    }
  | ProbeList
  | Readings
  | { t: "error"; code: number; text: string }
  | { t: "state"; state: SessionState };

const encoder = new Encoder({ ignoreUndefined: true });

export function writeMessage(message: ClientMessage): Uint8Array<ArrayBuffer> {
  return encoder.encode(message);
}

export function isFrame(bytes: ArrayBuffer): boolean {
  return bytes.byteLength >= 4 && new DataView(bytes).getUint32(0, true) === FRAME_MAGIC;
}

/** What an acknowledgement names a frame by. */
export interface FramePosition {
  epoch: number;
  step: number;
  number: number;
}

/** That of a frame that need not be valid otherwise; null where it is too short to say. */
export function framePosition(bytes: ArrayBuffer): FramePosition | null {
  if (bytes.byteLength < FRAME_AT.number + 4) return null;
  const view = new DataView(bytes);
  const step = view.getUint32(FRAME_AT.step, true) + view.getUint32(FRAME_AT.step + 4, true) * 2 ** 32;
  return {
    epoch: view.getUint32(FRAME_AT.epoch, true),
    step: Math.min(step, Number.MAX_SAFE_INTEGER),
    number: view.getUint32(FRAME_AT.number, true),
  };
}

/** A FRAME_KIND, as far as the frame says so: it need not be valid. What is too short to say stands for itself. */
export function frameKind(bytes: ArrayBuffer): number {
  return bytes.byteLength > FRAME_AT.kind ? new DataView(bytes).getUint8(FRAME_AT.kind) : FRAME_KIND.key;
}

/** Controls, marks of text direction, and what isn't seen. */
const UNSEEN = /[\p{Cc}\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

/** A name as the protocol allows it: none of those, at most NAME_BYTES_MAX bytes. */
export function clipName(text: string): string {
  let name = "";
  let bytes = 0;
  // A lone half of a surrogate pair (\p{Cs}) has no UTF-8.
  const clean = text.replace(UNSEEN, "").replace(/\p{Cs}/gu, "\ufffd");
  for (const character of clean) {
    bytes += new TextEncoder().encode(character).length;
    if (bytes > NAME_BYTES_MAX) break;
    name += character;
  }
  return name.trim();
}

/** @return null where the kind is unknown, @throws MessageError where the message is wrong */
export function readMessage(bytes: ArrayBuffer): ServerMessage | null {
  let map: Fields;
  try {
    map = fields(decode(bytes), "message");
  } catch (error) {
    throw error instanceof MessageError ? error : new MessageError("it is not msgpack");
  }
  switch (map.t) {
    case "welcome":
      return {
        t: "welcome",
        version: number(map, "version"),
        server: string(map, "server"),
        device: string(map, "device"),
        scenes: list(map, "scenes").map((item) =>
          typeof item === "string" ? item : fail("scenes", "strings"),
        ),
      };
    case "joined":
      return {
        t: "joined",
        session: string(map, "session"),
        viewerId: number(map, "viewer_id"),
        viewer: string(map, "viewer"),
        title: optionalString(map, "title"),
        role: word(map, "role", ROLES, "own"),
        watchKey: optionalString(map, "watch_key"),
        playKey: optionalString(map, "play_key"),
        ownKey: optionalString(map, "own_key"),
        visitKey: optionalString(map, "visit_key"),
        past: map.past === true,
        state: sessionState(fields(map.state, "state")),
      };
    case "viewers":
      return {
        t: "viewers",
        viewers: list(map, "viewers").map((item) => {
          const viewer = fields(item, "viewers");
          return {
            viewerId: number(viewer, "viewer_id"),
            name: string(viewer, "name"),
            colour: viewer.colour === undefined ? 0x8fadbd : number(viewer, "colour"),
            role: word(viewer, "role", ROLES, "own"),
            muted: viewer.muted === true,
            given: viewer.given === true,
          };
        }),
      };
    case "presences":
      return { t: "presences", points: list(map, "points").map(presence) };
    case "pong":
      return {
        t: "pong",
        id: number(map, "id"),
        clientTimeMs: number(map, "client_time_ms"),
        serverTimeUs: number(map, "server_time_us"),
        stagesMs: map.stages_ms === undefined ? [] : numbers(map, "stages_ms"),
        unconverged: map.unconverged === undefined ? 0 : number(map, "unconverged"),
      };
    case "probes":
      return {
        t: "probes",
        list: number(map, "list"),
        probes: optionalList(map, "probes", LIVE_PROBES_MAX).map(probe),
      };
    case "readings":
      return readings(map);
    case "error":
      return { t: "error", code: number(map, "code"), text: string(map, "text") };
    case "state":
      return { t: "state", state: sessionState(fields(map.state, "state")) };
    default:
      return typeof map.t === "string" ? null : fail("t", "a string");
  }
}

export class MessageError extends PlainError {}

type Fields = Record<string, unknown>;

/** Told as 0 or not at all it is the world's; of a float32 what people wrote. */
function speedOf(map: Fields): number {
  const speed = map.speed === undefined ? 0 : number(map, "speed");
  return speed > 0 ? Number(speed.toPrecision(6)) : 1;
}

function sessionState(map: Fields): SessionState {
  const size = list(map, "size_m");
  const [x, y, z] = size;
  if (size.length !== 3 || typeof x !== "number" || typeof y !== "number" || typeof z !== "number") {
    return fail("size_m", "three numbers");
  }
  const model = optionalString(map, "model");
  return {
    scene: string(map, "scene"),
    paused: boolean(map, "paused"),
    workerReady: boolean(map, "worker_ready"),
    sizeM: [x, y, z],
    cellM: number(map, "cell_m"),
    dtS: number(map, "dt_s"),
    speed: speedOf(map),
    replayUntil: map.replay_until === undefined ? 0 : number(map, "replay_until"),
    parameters: list(map, "parameters").map((item) => {
      const p = fields(item, "parameters");
      return {
        name: string(p, "name"),
        value: number(p, "value"),
        min: number(p, "min"),
        max: number(p, "max"),
        label: optionalString(p, "label"),
        unit: optionalString(p, "unit"),
        whole: p.whole === true,
        magnitudes: p.magnitudes === true,
        note: optionalString(p, "note"),
      };
    }),
    model,
    tools: model === "" ? TOOLS : known(TOOLS, optionalList(map, "tools", TOOLS_MAX)),
    channels: readChannels(map, "channels", CHANNELS_MAX),
    fields: readChannels(map, "fields", FIELDS_MAX),
    added: addedSolids(optionalList(map, "added", ADDED_MAX)),
    remarks: optionalList(map, "remarks", REMARKS_MAX).map((remark) =>
      typeof remark === "string" ? remark : fail("remarks", "strings"),
    ),
    locked: known(LOCKS, optionalList(map, "locked", LOCKS_MAX)),
    openParameters: map.open_parameters === true,
  };
}

function readChannels(map: Fields, key: string, max: number): Channel[] {
  return optionalList(map, key, max).map((item) => {
    const channel = fields(item, key);
    const kinds = optionalString(channel, "kinds");
    return {
      name: string(channel, "name"),
      label: optionalString(channel, "label"),
      unit: optionalString(channel, "unit"),
      ...(kinds !== "" && { kinds }),
    };
  });
}

/** Words of a list, once each; those of a newer server are left out. */
function known<T extends string>(all: readonly T[], words: unknown[]): T[] {
  return [...new Set(words)].flatMap((word) => all.find((one) => one === word) ?? []);
}

function addedSolids(entries: unknown[]): number[][] {
  return entries.map((values) => {
    const sound =
      Array.isArray(values) &&
      values.length === ADDED_VALUES &&
      values.every((value) => Number.isFinite(value));
    return sound ? (values as number[]) : fail("added", `lists of ${ADDED_VALUES} numbers`);
  });
}

function presence(item: unknown): Presence {
  const point = fields(item, "points");
  const positionM = numbers(point, "position_m");
  const orientation = point.orientation === undefined ? [0, 0, 0, 0] : numbers(point, "orientation");
  if (positionM.length !== 3) return fail("position_m", "three numbers");
  if (orientation.length !== 4) return fail("orientation", "four numbers");
  return {
    viewerId: number(point, "viewer_id"),
    part: word(point, "part", PARTS, "cursor"),
    positionM,
    orientation,
    pressed: point.pressed === undefined ? false : boolean(point, "pressed"),
    tool: word(point, "tool", TOOLS, "push"),
  };
}

function place(map: Fields, key: string): number[] {
  const values = numbers(map, key);
  return values.length === 3 ? values : fail(key, "three numbers");
}

function probe(item: unknown): Probe {
  const map = fields(item, "probes");
  return {
    id: number(map, "id"),
    viewerId: map.viewer_id === undefined ? 0 : number(map, "viewer_id"),
    scene: map.scene === true,
    kind: word(map, "kind", PROBE_KINDS, "point"),
    atM: place(map, "at_m"),
    toM: place(map, "to_m"),
    solid: map.solid === undefined ? 0 : number(map, "solid"),
    label: optionalString(map, "label"),
    columns: optionalList(map, "columns", PROBE_VALUES_MAX).map((name) =>
      typeof name === "string" ? name : fail("columns", "strings"),
    ),
  };
}

function readings(map: Fields): Readings {
  const { values: bytes } = map;
  const rows = number(map, "rows");
  if (!(bytes instanceof Uint8Array) || !(rows >= 1) || bytes.length % (4 * rows) !== 0)
    return fail("values", "numbers of 32 bits, as many for each row");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = new Float32Array(bytes.length / 4);
  for (let i = 0; i < values.length; i++) values[i] = view.getFloat32(4 * i, true);
  return {
    t: "readings",
    list: number(map, "list"),
    epoch: number(map, "epoch"),
    step: number(map, "step"),
    dtS: number(map, "dt_s"),
    rows,
    values,
  };
}

/** A word of a list; one that isn't there, or that a newer server may know, is `otherwise`. */
function word<T extends string>(map: Fields, key: string, words: readonly T[], otherwise: T): T {
  return words.find((known) => known === map[key]) ?? otherwise;
}

function optionalString(map: Fields, key: string): string {
  return map[key] === undefined ? "" : string(map, key);
}

function optionalList(map: Fields, key: string, most: number): unknown[] {
  const entries = map[key] === undefined ? [] : list(map, key);
  return entries.length <= most ? entries : fail(key, `an array of up to ${most}`);
}

function fields(value: unknown, name: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  return fail(name, "a map");
}

function number(map: Fields, key: string): number {
  const value = map[key];
  return typeof value === "number" && Number.isFinite(value) ? value : fail(key, "a number");
}

function string(map: Fields, key: string): string {
  const value = map[key];
  return typeof value === "string" ? value : fail(key, "a string");
}

function boolean(map: Fields, key: string): boolean {
  const value = map[key];
  return typeof value === "boolean" ? value : fail(key, "a boolean");
}

function list(map: Fields, key: string): unknown[] {
  const value = map[key];
  return Array.isArray(value) ? value : fail(key, "an array");
}

function numbers(map: Fields, key: string): number[] {
  const values = list(map, key);
  return values.every((value) => typeof value === "number" && Number.isFinite(value))
    ? (values as number[])
    : fail(key, "numbers");
}

function fail(key: string, allowed: string): never {
  throw new MessageError(`"${key}" is not ${allowed}`);
}
