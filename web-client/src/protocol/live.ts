// A conversation over a socket that comes back, put together.
import { Backoff } from "../net/backoff.js";
import { Link, type SocketLike } from "../net/link.js";
import { SUBPROTOCOL } from "../tables/protocol-tables.js";
import { Conversation, type ConversationEvents, OWN_VERSIONS } from "./conversation.js";

export interface LiveOptions {
  socketUrl: string;
  session: string;
  viewer: string;
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
  const link = new Link(environment, new Backoff(), {
    onOpen: () => conversation.linkOpened(),
    onBinary: (bytes) => conversation.linkBinary(bytes),
    onDown: (code, reason, retryMs) => conversation.linkDown(code, reason, retryMs),
  });
  conversation.attach(link);
  return { conversation, link };
}

/** The socket beside an address, whatever path it is served under. */
export function socketUrlBeside(address: string): string {
  const url = new URL("ws", address);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.search = "";
  url.hash = "";
  return url.href;
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
