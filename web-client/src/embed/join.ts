// The small way in, for pages of others: joins a tank, gives its frames as typed arrays, takes inputs. The element
// <tarn-tank> is built on it.

import wasmUrl from "../codec/codec.wasm?url";
import DecodeWorker from "../codec/decode-worker.js?worker&inline";
import type { FrameInfo } from "../codec/frame-info.js";
import { NO_ANSWER } from "../protocol/conversation.js";
import { createLive, sentence, socketUrlBeside } from "../protocol/live.js";
import {
  type Action,
  type Ceilings,
  clipName,
  type FramePosition,
  NO_CEILINGS,
  type PointerInput,
  type SessionState,
} from "../protocol/messages.js";
import { type DecodedFrame, FrameStream } from "../state/frame-stream.js";
import { keyIn } from "../state/links.js";
import { NewestFeed } from "../state/newest-feed.js";
import { ERROR, PASS_BYTES_MAX } from "../tables/protocol-tables.js";

const PING_MS = 1000;

export interface JoinOptions extends Partial<Ceilings> {
  /** Of the tank; absent: what the address names, or else the server's own. */
  session?: string;
  /** That others see; absent: what the address names, or else one that the server picks. */
  name?: string;
  /** Of a role; absent: what the address names, or else a guest's. */
  key?: string;
  onFrame?: (frame: TankFrame) => void;
  onState?: (state: SessionState) => void;
  /** A sentence about what is wrong; `final`: it doesn't pass by itself. */
  onProblem?: (text: string, final: boolean) => void;
}

export interface TankFrame {
  info: Readonly<FrameInfo>;
  /** x y z and colour (the lower byte) and level of info.channel (the upper one) for each particle, uint16; x y z in 1/2^info.unitBits of a cell of info.cellM metres. */
  positions: Uint16Array;
  /** x y z and nothing for each particle, int8, in info.velocityScale m/s. */
  velocities: Int8Array;
  /** Local time at which it came, ms. */
  arrivedMs: number;
}

export interface Tank {
  readonly state: SessionState | null;
  readonly connected: boolean;
  /** The newest frame; its arrays are valid until the next one comes. */
  readonly latest: TankFrame | null;
  /** @return the input's number, 0 where nothing was sent */
  send(input: PointerInput): number;
  control(action: Exclude<Action, "speed">, scene?: string): number;
  /** Has the tank's clock go at another speed, 0.05 to 4 seconds of its time in one. */
  speed(speed: number): number;
  /** No frames come while it is hidden. */
  hide(hidden: boolean): void;
  /** Asks for a channel of the tank that frames are to carry; "": for none. */
  carry(channel: string): void;
  /** Frames as they come; who is slow misses some. Arrays are copies. Ends when the tank is closed. */
  frames(): AsyncIterableIterator<TankFrame>;
  close(): void;
}

/** Joins the tank that an address of a Tarn page names: https://host/?session=NAME#key=KEY. @throws where it is no address */
export function join(address: string, options: JoinOptions = {}): Tank {
  return new JoinedTank(new URL(address, document.baseURI), options);
}

class JoinedTank implements Tank {
  state: SessionState | null = null;
  connected = false;
  readonly stream: FrameStream;

  private readonly live: ReturnType<typeof createLive>;
  private readonly worker = new DecodeWorker();
  private readonly takers = new Set<NewestFeed<TankFrame>>();
  private readonly timer: number;
  private readonly leaving = new AbortController();
  private closed = false;

  constructor(
    address: URL,
    private readonly options: JoinOptions,
  ) {
    this.live = createLive(
      {
        socketUrl: socketUrlBeside(address.href),
        session: clipName(options.session ?? address.searchParams.get("session") ?? ""),
        viewer: clipName(options.name ?? address.searchParams.get("name") ?? ""),
      },
      {
        onJoined: (message) => {
          this.connected = true;
          this.stream.viewerId = message.viewerId;
          this.showState(message.state);
        },
        onMessage: (message) => {
          if (message.t === "state") this.showState(message.state);
          else if (message.t === "error" && message.code !== ERROR.worker) this.say(sentence(message.text));
        },
        onFrame: (bytes) => this.stream.push(bytes, performance.now()),
        onRoundTrip: () => {},
        onLost: (why) => {
          this.connected = false;
          this.stream.drop();
          this.say(why === NO_ANSWER ? noAnswerText(address) : sentence(why));
        },
        onEnded: (_why, text) => {
          this.connected = false;
          this.say(sentence(text), true);
        },
        onProblem: (text) => this.say(text),
      },
    );
    const { conversation, link } = this.live;
    conversation.introduction.key = options.key?.slice(0, PASS_BYTES_MAX) ?? keyIn(address);
    const ack = (at: FramePosition | null, needsKey: boolean): void => {
      if (at !== null) conversation.ack(at, needsKey);
    };
    this.stream = new FrameStream(this.worker, decodeDataUrl(wasmUrl), {
      onDecoded: (frame) => {
        this.give(frame);
        ack(frame.position, false);
      },
      onRefused: (why, at) => {
        ack(at, true);
        this.say(`A frame could not be decoded: ${why}.`);
      },
      onUnreferenced: (at) => ack(at, true),
      onGivenUp: (at) => ack(at, this.stream.needsKey),
      onFailed: (why) => this.say(`The frames can't be decoded: ${why}.`, true),
    });
    const { mbit_per_s = 0, frames_per_s = 0, particles = 0 } = options;
    const bounded = mbit_per_s > 0 || frames_per_s > 0 || particles > 0;
    conversation.view(false, bounded ? { mbit_per_s, frames_per_s, particles } : NO_CEILINGS);
    this.worker.onerror = () =>
      this.say("The frames can't be decoded: the part that does it can't run.", true);
    this.timer = window.setInterval(() => this.beat(), PING_MS);
    const { signal } = this.leaving;
    document.addEventListener("visibilitychange", () => this.seen(), { signal });
    window.addEventListener("online", () => link.hurry(), { signal });
    link.start();
  }

  get latest(): TankFrame | null {
    const { latest } = this.stream;
    return latest === null ? null : tankFrame(latest);
  }

  send(input: PointerInput): number {
    return this.connected ? this.live.conversation.pointer(input) : 0;
  }

  control(action: Exclude<Action, "speed">, scene = ""): number {
    return this.connected ? this.live.conversation.control(action, scene) : 0;
  }

  speed(speed: number): number {
    return this.connected ? this.live.conversation.speed(speed) : 0;
  }

  hide(hidden: boolean): void {
    this.stream.hold(hidden);
    this.live.conversation.view(hidden);
    if (hidden) return;
    this.live.link.hurry();
  }

  carry(channel: string): void {
    this.live.conversation.carry(channel);
  }

  frames(): AsyncIterableIterator<TankFrame> {
    const feed = new NewestFeed<TankFrame>(copyFrame, () => this.takers.delete(feed));
    if (this.closed) feed.end();
    else this.takers.add(feed);
    return feed;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.connected = false;
    window.clearInterval(this.timer);
    this.leaving.abort();
    this.live.conversation.leave();
    this.live.link.stop();
    this.worker.terminate();
    for (const feed of this.takers) feed.end();
  }

  /** A hidden page hardly gets its timers: what it doesn't hear meanwhile means nothing. */
  private beat(): void {
    const { link, conversation } = this.live;
    if (document.hidden || link.state !== "open") return;
    link.watch();
    conversation.ping();
  }

  private seen(): void {
    if (document.hidden) return;
    this.live.link.hurry();
  }

  private give(frame: DecodedFrame): void {
    const given = tankFrame(frame);
    this.options.onFrame?.(given);
    for (const feed of this.takers) feed.give(given);
  }

  private showState(state: SessionState): void {
    this.state = state;
    this.options.onState?.(state);
  }

  private say(text: string, final = false): void {
    if (!this.closed) this.options.onProblem?.(text, final);
  }
}

/** A server that doesn't know the page refuses it, and the browser doesn't tell. */
function noAnswerText(server: URL): string {
  const { origin } = window.location;
  return server.origin === origin
    ? `${NO_ANSWER}.`
    : `${NO_ANSWER}, or doesn't take this page: tarnd --origin ${origin}`;
}

const copyFrame = (frame: TankFrame): TankFrame => ({
  ...frame,
  positions: frame.positions.slice(),
  velocities: frame.velocities.slice(),
});

function tankFrame({ info, views, arrivedMs }: DecodedFrame): TankFrame {
  const values = 4 * info.particleCount;
  return {
    info,
    positions: views.positions.subarray(0, values),
    velocities: views.velocities.subarray(0, values),
    arrivedMs,
  };
}

/** The codec is part of the library: fetching it could be forbidden by the page's policy. */
function decodeDataUrl(url: string): ArrayBuffer {
  const text = atob(url.slice(url.indexOf(",") + 1));
  return Uint8Array.from(text, (character) => character.charCodeAt(0)).buffer;
}
