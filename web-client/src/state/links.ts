// Links to a tank: the page's own address with a session and, for what guests may not do, a key. The key is behind the
// '#', which browsers keep to themselves: servers and proxies on the way log what is before it.
import { bare } from "../net/here.js";
import type { Joined, Role } from "../protocol/messages.js";
import { PASS_BYTES_MAX } from "../tables/protocol-tables.js";

/**
 * A link by which others come to a session.
 * @param here  an address of this page; what it has besides the session and its key stays behind
 * @param momentS  of the tank's time, to which owners are led; null: none
 */
export function linkTo(here: string, session: string, key: string, momentS: number | null = null): string {
  const url = new URL(bare(here));
  url.search = "";
  url.hash = "";
  url.searchParams.set("session", session);
  const behind = new URLSearchParams(key === "" ? {} : { key });
  if (momentS !== null) behind.set("t", momentS.toFixed(2));
  url.hash = behind.toString();
  return url.href;
}

/** The moment in an address, seconds of the tank's time; null: it has none. */
export function momentIn(address: URL): number | null {
  const text = new URLSearchParams(address.hash.slice(1)).get("t");
  const seconds = text === null || text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
}

/** The start page, where an owner's key lets make more tanks. @param base  its address, without a query */
export function startPage(base: string, ownKey: string): string {
  const url = new URL(bare(base));
  if (ownKey !== "") url.hash = new URLSearchParams({ key: ownKey }).toString();
  return url.href;
}

/** The key in an address; "": there is none. Links of old have it before the '#'. */
export function keyIn(address: URL): string {
  const key = new URLSearchParams(address.hash.slice(1)).get("key") ?? address.searchParams.get("key") ?? "";
  return key.slice(0, PASS_BYTES_MAX);
}

/** An address of old with its key behind the '#'. @return null: it has none before it */
export function withHiddenKey(address: string): string | null {
  const url = new URL(address);
  if (!url.searchParams.has("key")) return null;
  const key = keyIn(url);
  url.searchParams.delete("key");
  if (key !== "") {
    const hash = new URLSearchParams(url.hash.slice(1));
    hash.set("key", key);
    url.hash = hash.toString();
  }
  return url.href;
}

/** An address without its key, which is behind the '#'. */
export function withoutKey(address: string): string {
  const url = new URL(address);
  const hash = new URLSearchParams(url.hash.slice(1));
  hash.delete("key");
  url.hash = hash.toString();
  return url.href;
}

/** Said of links that nobody else can follow. */
export const ONLY_HERE =
  "This link works on this machine only. With deploy/run --host 0.0.0.0 others get in: open this page by the address that it prints for them.";

/** Whether an address leads whoever opens it to their own machine. */
export function isOfThisMachine(address: string): boolean {
  return /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(address).hostname);
}

/** The roles that a viewer may pass on, with their keys, the least first. */
export function keysOf(joined: Joined): [Role, string][] {
  const keys: [Role, string][] = [
    ["watch", joined.watchKey],
    ["play", joined.playKey],
    ["own", joined.ownKey],
  ];
  return keys.filter(([, key]) => key !== "");
}
