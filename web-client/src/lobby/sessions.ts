// The server's tanks over HTTP: what there is, and making a new one. What comes is read defensively.
import { PlainError } from "../net/plain.js";

export interface SessionInfo {
  session: string;
  /** For people; "": none. */
  title: string;
  scene: string;
  /** None of those that a new one can be made from, though one of these may have its name. */
  sceneIsOwn: boolean;
  viewers: number;
  particles: number;
  realtimeFactor: number;
  /** Share of the time that its steps take of what there is. */
  load: number;
}

export interface SessionList {
  sessions: SessionInfo[];
  /** That a new one can be made from. */
  scenes: string[];
  /** Whether the server takes another one now. */
  create: boolean;
}

export interface MadeSession {
  session: string;
  ownKey: string;
}

/** More than a server has. */
const SESSIONS_MAX = 512;

/** Text for people says why it failed. */
export class SessionsError extends PlainError {}

export type Fetch = (path: string, init?: RequestInit) => Promise<Response>;

/** @param key  by which who asks may own a tank, and so perhaps make another; "": none */
export async function listSessions(fetch: Fetch, key: string): Promise<SessionList> {
  const answer = await ask(fetch, "sessions", { headers: withKey(key) });
  const list = answer.sessions;
  if (!Array.isArray(list)) throw new SessionsError("The server's list of tanks can't be read.");
  return {
    sessions: list.slice(0, SESSIONS_MAX).flatMap((item) => readSession(item)),
    scenes: Array.isArray(answer.scenes)
      ? answer.scenes.slice(0, SESSIONS_MAX).filter((scene): scene is string => typeof scene === "string")
      : [],
    create: answer.create === true,
  };
}

/** @param key  as above */
export async function makeSession(
  fetch: Fetch,
  scene: string,
  name: string,
  key: string,
): Promise<MadeSession> {
  const body = JSON.stringify(name === "" ? { scene } : { scene, name });
  const headers = { "content-type": "application/json", ...withKey(key) };
  const answer = await ask(fetch, "sessions", { method: "POST", headers, body });
  const keys = isObject(answer.keys) ? answer.keys : {};
  if (typeof answer.session !== "string" || typeof keys.own !== "string")
    throw new SessionsError("The server's answer can't be read.");
  return { session: answer.session, ownKey: keys.own };
}

/** The name of the tank that lasts as long as its server. */
export const LASTING_SESSION = "main";

/** Ends a tank, for everybody in it. @param ownKey  its owners' */
export async function endSession(fetch: Fetch, session: string, ownKey: string): Promise<void> {
  await ask(fetch, `sessions/${encodeURIComponent(session)}`, { method: "DELETE", headers: withKey(ownKey) });
}

export function withKey(key: string): Record<string, string> {
  return key === "" ? {} : { authorization: `Bearer ${key}` };
}

/** Why a server refused, in its words. */
export async function whyNot(response: Response): Promise<string> {
  const answer: unknown = await response.json().catch(() => null);
  return isObject(answer) && typeof answer.error === "string" ? answer.error : `status ${response.status}`;
}

export async function ask(fetch: Fetch, path: string, init?: RequestInit): Promise<Record<string, unknown>> {
  const response = await fetch(path, init).catch(() => {
    throw new SessionsError("The server doesn't answer.");
  });
  if (!response.ok) throw new SessionsError(`The server refused: ${await whyNot(response)}.`);
  const answer: unknown = await response.json().catch(() => null);
  if (!isObject(answer)) throw new SessionsError("The server's answer can't be read.");
  return answer;
}

function readSession(item: unknown): SessionInfo[] {
  if (!isObject(item) || typeof item.session !== "string" || typeof item.scene !== "string") return [];
  const number = (key: string): number => {
    const value = item[key];
    return typeof value === "number" && Number.isFinite(value) ? value : 0;
  };
  return [
    {
      session: item.session,
      title: typeof item.title === "string" ? item.title : "",
      scene: item.scene,
      sceneIsOwn: item.scene_is_own === true,
      viewers: number("viewers"),
      particles: number("particles"),
      realtimeFactor: number("realtime_factor"),
      load: number("load"),
    },
  ];
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
