// What the page of a tank begins at once, while the code that draws is still on its way: the connection and the
// decoder. What they have to say meanwhile waits for the App; frames are decoded already.
//
//     start ─┬─ arrive: socket ─ hello ─ join ─ first key frame ─ decoded ─┐
//            └─ main.js ─ App ─ programs ──────────────────────────────────┴─ first picture

import wasmUrl from "../codec/codec.wasm?url";
import DecodeWorker from "../codec/decode-worker.js?worker";
import { bare, beside, here } from "../net/here.js";
import { PlainError, plainly } from "../net/plain.js";
import type { ConversationEvents } from "../protocol/conversation.js";
import { createLive, explainSilence, type Live, socketUrlBeside } from "../protocol/live.js";
import { type Ceilings, NO_CEILINGS } from "../protocol/messages.js";
import { FrameStream, type FrameStreamEvents } from "../state/frame-stream.js";
import { IdentityShelf, introductionOf } from "../state/identity.js";
import { Settings, type SettingValues } from "../state/settings.js";
import { type Later, later } from "./later.js";

export interface Arrival {
  settings: Settings;
  live: Live;
  stream: FrameStream;
  conversationEvents: Later<ConversationEvents>;
  streamEvents: Later<FrameStreamEvents>;
  /** What of the page could not be loaded, in a sentence; "": all is there. */
  missing: Promise<string>;
}

export function arrive(): Arrival {
  const settings = new Settings({
    search: () => window.location.search,
    replace: (search) =>
      window.history.replaceState(null, "", `${window.location.pathname}${search}${window.location.hash}`),
    setTimer: (callback, delayMs) => void window.setTimeout(callback, delayMs),
  });
  const wasm = fetchCodec();
  const streamEvents = later<FrameStreamEvents>([
    "onDecoded",
    "onRefused",
    "onUnreferenced",
    "onGivenUp",
    "onFailed",
  ]);
  const decoder = new DecodeWorker();
  decoder.onerror = () => streamEvents.events.onFailed("the part that does it could not be started");
  const stream = new FrameStream(decoder, wasm, streamEvents.events);
  stream.hold(document.hidden);
  const conversationEvents = later<ConversationEvents>([
    "onJoined",
    "onMessage",
    "onFrame",
    "onRoundTrip",
    "onLost",
    "onEnded",
    "onProblem",
  ]);
  conversationEvents.events.onFrame = (bytes) => stream.push(bytes, performance.now());
  const live = connect(settings.values, conversationEvents.events);
  return {
    settings,
    live,
    stream,
    conversationEvents,
    streamEvents,
    missing: wasm.then(
      () => "",
      (error: unknown) => plainly(error, "The frame codec could not be loaded."),
    ),
  };
}

/** Goes to the server's tank, unless the address leads to a recording. */
function connect(values: SettingValues, events: ConversationEvents): Live {
  const socketUrl = socketUrlBeside(beside("./"));
  const live = createLive(
    {
      socketUrl,
      session: values.session,
      viewer: values.name,
      explain: () => explainSilence(fetch, socketUrl),
    },
    events,
  );
  const { conversation, link } = live;
  const address = new URL(here());
  conversation.introduction = introductionOf(address, new IdentityShelf(() => window.localStorage));
  conversation.view(document.hidden, ceilings(values));
  if (values.recording === "") link.start();
  return live;
}

function ceilings({ mbit, fps, particles }: SettingValues): Ceilings {
  if (mbit === 0 && fps === 0 && particles === 0) return NO_CEILINGS;
  return { mbit_per_s: mbit, frames_per_s: fps, particles };
}

async function fetchCodec(): Promise<ArrayBuffer> {
  const response = await fetch(bare(wasmUrl));
  if (!response.ok) throw new PlainError(`The frame codec could not be loaded (${response.status}).`);
  return response.arrayBuffer();
}
