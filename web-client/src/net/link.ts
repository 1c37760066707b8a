// A WebSocket that comes back. Knows nothing of what is said over it; the socket, the clock and the timers are passed
// in, so that tests pass theirs.
import type { Backoff } from "./backoff.js";

/** What a link needs of a WebSocket. */
export interface SocketLike {
  binaryType: BinaryType;
  readonly bufferedAmount: number;
  /** 1 while open; a socket that is closing still has its close event to come. */
  readonly readyState: number;
  onopen: ((event: Event) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
  onerror: ((event: Event) => void) | null;
  send(data: Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
}

export interface LinkEnvironment {
  open(): SocketLike;
  nowMs(): number;
  setTimer(callback: () => void, delayMs: number): number;
  clearTimer(id: number): void;
}

export interface LinkEvents {
  onOpen(): void;
  onBinary(bytes: ArrayBuffer): void;
  /** The socket closed, or never opened; the link tries again in `retryMs`. */
  onDown(code: number, reason: string, retryMs: number): void;
}

export type LinkState = "idle" | "connecting" | "open" | "waiting" | "stopped";

/** Nothing heard for so long: the connection is dead whatever TCP says. */
export const LINK_SILENCE_MS = 8000;
export const LINK_WATCH_MS = LINK_SILENCE_MS / 2;
const SOCKET_CONNECTING = 0;
const SOCKET_OPEN = 1;
/** Messages are dropped rather than queued beyond this. */
export const LINK_BUFFERED_BYTES_MAX = 256 * 1024;
/** Of what is soon replaced by newer, no more is added beyond this: all else would wait behind it. */
export const LINK_BEHIND_BYTES = 8 * 1024;

export class Link {
  state: LinkState = "idle";
  heardMs = 0;
  private watchedMs = 0;
  bytesReceived = 0;

  private socket: SocketLike | null = null;
  private timer: number | null = null;

  constructor(
    private readonly environment: LinkEnvironment,
    private readonly backoff: Backoff,
    private readonly events: LinkEvents,
  ) {}

  start(): void {
    this.cancelTimer();
    if (this.socket !== null) return;
    this.state = "connecting";
    this.heardMs = this.environment.nowMs();
    const socket = this.environment.open();
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      if (this.socket !== socket) return;
      this.state = "open";
      this.heardMs = this.environment.nowMs();
      this.events.onOpen();
    };
    socket.onmessage = (event) => {
      if (this.socket !== socket) return;
      this.heardMs = this.environment.nowMs();
      if (event.data instanceof ArrayBuffer) {
        this.bytesReceived += event.data.byteLength;
        this.events.onBinary(event.data);
      }
    };
    socket.onclose = (event) => this.down(socket, event.code, event.reason);
    socket.onerror = () => {}; // a close event follows, and says more
  }

  /** The conversation works: the next failure starts again with a short wait. */
  proven(): void {
    this.backoff.reset();
  }

  /** Sends now or not at all. */
  send(bytes: Uint8Array<ArrayBuffer>): boolean {
    if (this.state !== "open" || this.socket?.readyState !== SOCKET_OPEN) return false;
    if (this.socket.bufferedAmount > LINK_BUFFERED_BYTES_MAX) return false;
    this.socket.send(bytes);
    return true;
  }

  /** The network takes less than is sent. */
  get isBehind(): boolean {
    return (this.socket?.bufferedAmount ?? 0) > LINK_BEHIND_BYTES;
  }

  /**
   * To be called at least every LINK_WATCH_MS while the page is seen: gives up a connection on which nothing is heard any
   * more. Silence before a longer pause means nothing: the page was hidden, or stood still, and what came waits for it.
   */
  watch(): void {
    const nowMs = this.environment.nowMs();
    if (nowMs - this.watchedMs > LINK_WATCH_MS) this.heardMs = nowMs;
    this.watchedMs = nowMs;
    const socket = this.socket;
    if (socket === null || nowMs - this.heardMs < LINK_SILENCE_MS) return;
    socket.close();
    this.down(socket, 1006, "nothing was heard from the server");
  }

  /** Tries at once where the link is waiting to try. */
  hurry(): void {
    if (this.state === "waiting") this.start();
  }

  /** Where the link is waiting to try, it waits until it is told to hurry. */
  rest(): void {
    this.cancelTimer();
  }

  /** Closes for good. */
  stop(code = 1000, reason = ""): void {
    this.cancelTimer();
    this.state = "stopped";
    const socket = this.socket;
    this.socket = null;
    if (socket === null) return;
    // Browsers call it an error to close what isn't open yet.
    if (socket.readyState === SOCKET_CONNECTING) socket.onopen = () => socket.close(code, reason);
    else socket.close(code, reason);
  }

  private down(socket: SocketLike, code: number, reason: string): void {
    if (this.socket !== socket) return;
    this.socket = null;
    const retryMs = this.backoff.next();
    this.state = "waiting";
    this.timer = this.environment.setTimer(() => {
      this.timer = null;
      this.start();
    }, retryMs);
    this.events.onDown(code, reason, retryMs);
  }

  private cancelTimer(): void {
    if (this.timer !== null) this.environment.clearTimer(this.timer);
    this.timer = null;
  }
}
