// A tank's past over HTTP, for its owners: what is kept, going back, another tank from there, marks.
// What comes is read defensively.
import type { Mark, Past } from "../state/past.js";
import { ask, type Fetch, isObject, type MadeSession, SessionsError, withKey } from "./sessions.js";

/** More than a server has. */
const MARKS_MAX = 64;

/** How often what the server is busy with is asked for again, and how far apart. */
const TRIES = 20;
const AGAIN_MS = 100;

export class PastClient {
  /** @param key  its owners', or that of a visit by one */
  constructor(
    private readonly fetch: Fetch,
    private readonly session: string,
    private readonly key: string,
  ) {}

  async look(): Promise<Past> {
    const answer = await ask(this.fetch, this.path("history"), { headers: withKey(this.key) });
    const { from, until, speed, marks } = answer;
    if (!isNumber(from) || !isNumber(until) || !isNumber(speed) || !Array.isArray(marks))
      throw new SessionsError("The server's answer can't be read.");
    return { from, until, speed, marks: marks.slice(0, MARKS_MAX).flatMap((item) => readMark(item)) };
  }

  async goBack(t: number): Promise<void> {
    await this.say("rewind", { t });
  }

  /** Goes back, and has what was done from then on done again. */
  async playAgain(t: number): Promise<void> {
    await this.say("rewind", { t, replay: true });
  }

  async fork(t: number, name: string): Promise<MadeSession> {
    const answer = await this.say("fork", name === "" ? { t } : { t, name });
    const keys = isObject(answer.keys) ? answer.keys : {};
    if (typeof answer.session !== "string" || typeof keys.own !== "string")
      throw new SessionsError("The server's answer can't be read.");
    return { session: answer.session, ownKey: keys.own };
  }

  async mark(t: number, name: string): Promise<void> {
    await this.say("marks", { t, name });
  }

  async unmark(id: number): Promise<void> {
    await this.say("marks", { remove: id });
  }

  private path(page: string): string {
    return `sessions/${encodeURIComponent(this.session)}/${page}`;
  }

  private async say(page: string, body: unknown): Promise<Record<string, unknown>> {
    const headers = { "content-type": "application/json", ...withKey(this.key) };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return ask(this.fetch, this.path(page), init);
  }
}

/** Does something once, or again while the server is busy with something else of the past. */
export async function patiently<T>(act: () => Promise<T>, wait: (ms: number) => Promise<void>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await act();
    } catch (error) {
      const isBusy = error instanceof SessionsError && error.message.includes("try again in a moment");
      if (!isBusy || tries === TRIES) throw error;
      await wait(AGAIN_MS);
    }
  }
}

function readMark(item: unknown): Mark[] {
  if (!isObject(item) || !isNumber(item.id) || !isNumber(item.t) || typeof item.name !== "string") return [];
  return [{ id: item.id, t: item.t, name: item.name }];
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
