// A conversation over a socket that comes back, put together.
import { Backoff } from "../net/backoff.js";
import { bare } from "../net/here.js";
import { Link, type SocketLike } from "../net/link.js";
import { SUBPROTOCOL } from "../tables/protocol-tables.js";
import { Conversation, type ConversationEvents, NO_ANSWER, OWN_VERSIONS } from "./conversation.js";

export interface LiveOptions {
  socketUrl: string;
  session: string;
  viewer: string;
  /** Finds out in the course of things why no connection comes about, in a sentence; absent: nobody asks. */
  explain?: () => Promise<string>;
}

export interface Live {
  conversation: Conversation;
  link: Link;
}

export function createLive(options: LiveOptions, events: ConversationEvents): Live {
  const identity = {
    session: options.session,
    viewer: options.viewer,
    client: "tarn-web 0.1.0",
    versions: OWN_VERSIONS,
  };
  const conversation = new Conversation(identity, () => performance.now(), events);
  const environment = {
    open: () => new WebSocket(options.socketUrl, SUBPROTOCOL) as SocketLike,
    nowMs: () => performance.now(),
    setTimer: (callback: () => void, delayMs: number) => window.setTimeout(callback, delayMs),
    clearTimer: (id: number) => window.clearTimeout(id),
  };
  // Only the first connection is explained: where one came about, nothing on the way is against it.
  let explain = options.explain;
  let isAsking = false;
  const link = new Link(environment, new Backoff(), {
    onOpen: () => {
      explain = undefined;
      conversation.noAnswer = NO_ANSWER;
      conversation.linkOpened();
    },
    onBinary: (bytes) => conversation.linkBinary(bytes),
    onDown: (code, reason, retryMs) => {
      conversation.linkDown(code, reason, retryMs);
      if (explain === undefined || isAsking) return;
      isAsking = true;
      void explain().then((why) => {
        isAsking = false;
        if (explain !== undefined) conversation.noAnswer = why;
      });
    },
  });
  conversation.attach(link);
  return { conversation, link };
}

/** The socket beside an address, whatever path it is served under. */
export function socketUrlBeside(address: string): string {
  const url = new URL("ws", bare(address));
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.search = "";
  url.hash = "";
  return url.href;
}

/** Longer than this nobody is asked, ms. */
const EXPLAIN_MS = 8000;

/**
 * Why no WebSocket comes about, which browsers keep to themselves: from what the socket's own address answers to a plain
 * request. A server answers it with 426; anything else comes from what stands before it.
 */
export async function explainSilence(
  fetch: (address: string, init: RequestInit) => Promise<Response>,
  socketUrl: string,
): Promise<string> {
  const leaving = new AbortController();
  const timer = setTimeout(() => leaving.abort(), EXPLAIN_MS);
  // Without the browser's own passwords, as the WebSockets of some browsers are.
  const init: RequestInit = { credentials: "omit", cache: "no-store", signal: leaving.signal };
  const status = await fetch(socketUrl.replace(/^ws/, "http"), init).then(
    (response) => response.status,
    () => 0,
  );
  clearTimeout(timer);
  if (status === 0) return NO_ANSWER;
  if (status === 401 || status === 407)
    return (
      "This server is behind a password, which this browser doesn't send when it opens a WebSocket: Safari never " +
      "does. The proxy before the server can let the path /ws in without it"
    );
  if (status === 426)
    return (
      "The server is there, but a proxy before it lets no WebSocket through: it has to pass the fields Upgrade and " +
      "Connection on, over HTTP/1.1, as Tarn's deploy/README.md shows"
    );
  return (
    `A proxy answers in the server's place (status ${status}): it has to pass the path /ws on to the server, with the ` +
    "fields Upgrade and Connection, as Tarn's deploy/README.md shows"
  );
}

/** The field of a message that a refusal is about: people know nothing of it. */
const FIELD = /^(hello|join|control)\.[a-z_]+: /;

/** Whether a refusal from the server is about a message's field. */
export function isAboutField(text: string): boolean {
  return FIELD.test(text);
}

/** Text from the server as a sentence: begins large, ends with a full stop, without a message's field. */
export function sentence(text: string): string {
  const told = text.replace(FIELD, "");
  if (told === "") return "";
  const large = told.charAt(0).toUpperCase() + told.slice(1);
  return /[.!?]$/.test(large) ? large : `${large}.`;
}
