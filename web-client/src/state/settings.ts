// The settings that live in the page's address: one table says what there is, what is allowed and where it acts. What
// isn't in the table belongs to others and stays as it is.
import { clipName, type Tool } from "../protocol/messages.js";
import { RANGE, TOOLS } from "../tables/protocol-tables.js";
import { OWN } from "./colour-by.js";
import { DRAWINGS } from "./drawing.js";
import { colourText } from "./identity.js";
import { LIGHT_WORDS } from "./light.js";
import { QUALITIES } from "./quality.js";
import { LOOK_WORDS } from "./wall-look.js";
import { PART_MIN, readPart, type WallPart } from "./wall-part.js";

interface NumberKind {
  kind: "number";
  min: number;
  max: number;
  /** Digits behind the point that are written. */
  digits: number;
  /** Absent: what the page finds best. */
  default: number | null;
}

interface WordKind {
  kind: "word";
  words: readonly string[];
  default: string;
}

interface SwitchKind {
  kind: "switch";
  default: boolean;
}

/** Six hexadecimal digits, sRGB. */
interface ColourKind {
  kind: "colour";
  /** Absent: what the page has by itself. */
  default: number | null;
}

/** A name as the protocol has it, or an address. */
interface TextKind {
  kind: "name" | "address";
  default: string;
}

/** Of a flat tank: four shares of it. */
interface PartKind {
  kind: "part";
  default: null;
}

type Kind = NumberKind | WordKind | SwitchKind | ColourKind | TextKind | PartKind;

const ADDRESS_CHARACTERS_MAX = 1000;

/** README.md has this table in words. */
export const SETTINGS = {
  session: { kind: "name", default: "" },
  name: { kind: "name", default: "" },
  tool: { kind: "word", words: TOOLS, default: "push" },
  radius: { kind: "number", ...RANGE.radius_m, digits: 3, default: null },
  strength: { kind: "number", ...RANGE.strength, digits: 2, default: 1 },
  colour: { kind: "colour", default: 0xe8467c },
  yaw: { kind: "number", min: -180, max: 180, digits: 0, default: null },
  pitch: { kind: "number", min: -8, max: 83, digits: 0, default: null },
  distance: { kind: "number", min: 0.6, max: 6, digits: 2, default: null },
  panel: { kind: "switch", default: true },
  tools: { kind: "switch", default: true },
  readout: { kind: "switch", default: false },
  help: { kind: "switch", default: true },
  keys: { kind: "switch", default: true },
  code: { kind: "switch", default: true },
  detail: { kind: "word", words: ["auto", "full"], default: "auto" },
  draw: { kind: "word", words: ["auto", ...DRAWINGS], default: "auto" },
  look: { kind: "word", words: LOOK_WORDS, default: "auto" },
  view: { kind: "part", default: null },
  camera: { kind: "switch", default: false },
  quality: { kind: "word", words: ["auto", ...Object.keys(QUALITIES)], default: "auto" },
  channel: { kind: "name", default: OWN },
  field: { kind: "name", default: "" },
  slice: { kind: "number", min: 0, max: 1, digits: 2, default: 0.5 },
  light: { kind: "word", words: LIGHT_WORDS, default: "auto" },
  sky: { kind: "colour", default: null },
  mbit: { kind: "number", ...RANGE.mbit_per_s, digits: 2, default: 0 },
  fps: { kind: "number", ...RANGE.frames_per_s, digits: 1, default: 0 },
  particles: { kind: "number", ...RANGE.particles, digits: 0, default: 0 },
  recording: { kind: "address", default: "" },
  t: { kind: "number", min: 0, max: 86400, digits: 2, default: null },
} as const satisfies Readonly<Record<string, Kind>>;

export type SettingName = keyof typeof SETTINGS;

type ValueOf<K> = K extends { kind: "number"; default: infer D }
  ? D extends number
    ? number
    : number | null
  : K extends { kind: "switch" }
    ? boolean
    : K extends { kind: "colour"; default: infer C }
      ? C extends number
        ? number
        : number | null
      : K extends { kind: "part" }
        ? WallPart | null
        : K extends { words: readonly Tool[] }
          ? Tool
          : string;

export type SettingValues = { -readonly [N in SettingName]: ValueOf<(typeof SETTINGS)[N]> };

const NAMES = Object.keys(SETTINGS) as SettingName[];

/** Reads an address's query. What is wrong counts as absent; `problems` has a sentence about it. */
export function readSettings(search: string): { values: SettingValues; problems: string[] } {
  const query = new URLSearchParams(search);
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const name of NAMES) {
    const kind: Kind = SETTINGS[name];
    const text = query.get(name);
    values[name] = kind.default;
    if (text === null) continue;
    const value = parsed(kind, text);
    if (value === undefined)
      problems.push(`The address has ${name}=${shortened(text)}; allowed ${allowed(kind)}.`);
    else values[name] = value;
  }
  // Whoever comes by a display's keyboard isn't the owner whose key it has.
  if (query.get("display") === "1" && query.get("keys") !== "1") values.keys = false;
  return { values: values as SettingValues, problems };
}

/** @return the query with changed settings, beginning with "?" or empty; what stands for the default is left out */
export function writeSettings(search: string, changes: Partial<SettingValues>): string {
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    const kind: Kind = SETTINGS[name as SettingName];
    const text = textOf(kind, value);
    if (text === textOf(kind, kind.default)) query.delete(name);
    else query.set(name, text);
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

function parsed(kind: Kind, text: string): unknown {
  switch (kind.kind) {
    case "number": {
      const value = text.trim() === "" ? Number.NaN : Number(text);
      if (!(value >= kind.min && value <= kind.max)) return undefined;
      return Number(value.toFixed(kind.digits));
    }
    case "word":
      return kind.words.includes(text) ? text : undefined;
    case "switch":
      return text === "1" ? true : text === "0" ? false : undefined;
    case "colour":
      return /^[0-9a-f]{6}$/i.test(text) ? Number.parseInt(text, 16) : undefined;
    case "part":
      return readPart(text);
    case "name":
      return clipName(text);
    case "address":
      return text.length <= ADDRESS_CHARACTERS_MAX ? text : undefined;
  }
}

function textOf(kind: Kind, value: unknown): string {
  if (value === null || value === undefined) return "";
  switch (kind.kind) {
    case "number":
      return String(Number((value as number).toFixed(kind.digits)));
    case "switch":
      return value ? "1" : "0";
    case "colour":
      return colourText(value as number).slice(1);
    default:
      return String(value);
  }
}

function allowed(kind: Kind): string {
  switch (kind.kind) {
    case "number":
      return `is a number from ${kind.min} to ${kind.max}`;
    case "word":
      return `are ${kind.words.join(", ")}`;
    case "switch":
      return "are 0 and 1";
    case "colour":
      return "are six hexadecimal digits";
    case "part":
      return `is x0,y0,x1,y1: shares of 0 to 1, x1 and y1 larger by ${PART_MIN} or more`;
    default:
      return `are up to ${ADDRESS_CHARACTERS_MAX} characters`;
  }
}

function shortened(text: string): string {
  return text.length > 24 ? `${text.slice(0, 24)}…` : text;
}

/** Browsers refuse an address that changes too often. */
const WRITE_MS = 400;

export interface AddressBar {
  search(): string;
  /** Shows another query without a new entry in the history. */
  replace(search: string): void;
  setTimer(callback: () => void, delayMs: number): void;
}

/** The settings of this page: read once, written back when they change. */
export class Settings {
  readonly values: SettingValues;
  readonly problems: readonly string[];
  private waiting: Partial<SettingValues> | null = null;

  constructor(private readonly bar: AddressBar) {
    const { values, problems } = readSettings(bar.search());
    this.values = values;
    this.problems = problems;
  }

  set<N extends SettingName>(name: N, value: SettingValues[N]): void {
    if (this.values[name] === value) return;
    this.values[name] = value;
    if (this.waiting === null) {
      this.waiting = {};
      this.bar.setTimer(() => this.flush(), WRITE_MS);
    }
    this.waiting[name] = value;
  }

  /** Writes what waits, as before a link is copied. */
  flush(): void {
    if (this.waiting === null) return;
    const search = writeSettings(this.bar.search(), this.waiting);
    this.waiting = null;
    this.bar.replace(search);
  }
}
