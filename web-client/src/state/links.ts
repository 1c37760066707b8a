// Links to a tank: the page's own address with a session and, for what guests may not do, a key.
import type { Joined, Role } from "../protocol/messages.js";

/**
 * A link by which others come to a session.
 * @param here  an address of this page; what it has besides the session and its key stays behind
 */
export function linkTo(here: string, session: string, key: string): string {
  const url = new URL(here);
  url.search = "";
  url.hash = "";
  url.searchParams.set("session", session);
  if (key !== "") url.searchParams.set("key", key);
  return url.href;
}

/** Said of links that nobody else can follow. */
export const ONLY_HERE = "This link works on this machine only: deploy/run --host 0.0.0.0 lets others in.";

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
