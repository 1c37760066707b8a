import { beforeEach, expect, test } from "vitest";
import { Backoff } from "../src/net/backoff.js";
import {
  LINK_BEHIND_BYTES,
  LINK_BUFFERED_BYTES_MAX,
  LINK_SILENCE_MS,
  LINK_WATCH_MS,
  Link,
  type SocketLike,
} from "../src/net/link.js";

class FakeSocket implements SocketLike {
  binaryType: BinaryType = "blob";
  bufferedAmount = 0;
  readyState = 0;
  onopen: SocketLike["onopen"] = null;
  onmessage: SocketLike["onmessage"] = null;
  onclose: SocketLike["onclose"] = null;
  onerror: SocketLike["onerror"] = null;
  sent: Uint8Array[] = [];
  closed = false;

  send(data: Uint8Array): void {
    this.sent.push(data);
  }
  close(): void {
    this.closed = true;
  }
  open(): void {
    this.readyState = 1;
    this.onopen?.({} as Event);
  }
  message(data: unknown): void {
    this.onmessage?.({ data } as MessageEvent);
  }
  drop(code: number, reason = ""): void {
    this.onclose?.({ code, reason } as CloseEvent);
  }
}

let sockets: FakeSocket[];
let timers: { callback: () => void; delayMs: number; id: number }[];
let now: number;
let log: string[];
let link: Link;

beforeEach(() => {
  sockets = [];
  timers = [];
  now = 0;
  log = [];
  let ids = 0;
  link = new Link(
    {
      open: () => {
        const socket = new FakeSocket();
        sockets.push(socket);
        return socket;
      },
      nowMs: () => now,
      setTimer: (callback, delayMs) => {
        timers.push({ callback, delayMs, id: ++ids });
        return ids;
      },
      clearTimer: (id) => {
        timers = timers.filter((timer) => timer.id !== id);
      },
    },
    new Backoff(() => 1),
    {
      onOpen: () => log.push("open"),
      onBinary: (bytes) => log.push(`binary ${bytes.byteLength}`),
      onDown: (code, reason, retryMs) => log.push(`down ${code} ${reason} ${retryMs}`),
    },
  );
  link.start();
});

function socket(): FakeSocket {
  return sockets.at(-1) as FakeSocket;
}

test("binary messages are handed on, text is ignored", () => {
  socket().open();
  socket().message(new ArrayBuffer(3));
  socket().message("text");
  expect(log).toEqual(["open", "binary 3"]);
  expect(socket().binaryType).toBe("arraybuffer");
});

test("a lost connection is tried again after the backoff, and a proven one starts it afresh", () => {
  socket().drop(1006, "gone");
  timers.shift()?.callback();
  socket().drop(1006);
  expect(log).toEqual(["down 1006 gone 500", "down 1006  1000"]);
  timers.shift()?.callback();
  socket().open();
  link.proven();
  socket().drop(1006);
  expect(log.at(-1)).toBe("down 1006  500");
  expect(sockets.length).toBe(3);
});

test("late events of an earlier socket change nothing", () => {
  const first = socket();
  first.drop(1006);
  timers.shift()?.callback();
  socket().open();
  first.drop(1006);
  first.message(new ArrayBuffer(1));
  expect(log).toEqual(["down 1006  500", "open"]);
  expect(link.state).toBe("open");
});

/** As a page does that runs. */
function watchUntil(endMs: number): void {
  while (now < endMs) {
    now = Math.min(endMs, now + LINK_WATCH_MS);
    link.watch();
  }
}

test("a silent connection is given up", () => {
  socket().open();
  watchUntil(LINK_SILENCE_MS - 1);
  expect(link.state).toBe("open");
  watchUntil(LINK_SILENCE_MS);
  expect(socket().closed).toBe(true);
  expect(link.state).toBe("waiting");
});

test("silence while the page was hidden or stood still means nothing, silence after it does", () => {
  socket().open();
  now = 10 * LINK_SILENCE_MS;
  link.watch();
  expect(link.state).toBe("open");
  watchUntil(11 * LINK_SILENCE_MS);
  expect(link.state).toBe("waiting");
});

test("nothing is sent before the connection is open or into a full buffer", () => {
  expect(link.send(new Uint8Array(1))).toBe(false);
  socket().open();
  expect(link.send(new Uint8Array(1))).toBe(true);
  socket().bufferedAmount = LINK_BUFFERED_BYTES_MAX + 1;
  expect(link.send(new Uint8Array(1))).toBe(false);
  expect(socket().sent.length).toBe(1);
});

test("a link says when what was sent waits for the network", () => {
  expect(link.isBehind).toBe(false);
  socket().open();
  expect(link.isBehind).toBe(false);
  socket().bufferedAmount = LINK_BEHIND_BYTES + 1;
  expect(link.isBehind).toBe(true);
});

test("a stopped link stays stopped", () => {
  socket().drop(1006);
  link.stop();
  expect(timers).toEqual([]);
  link.hurry();
  expect(sockets.length).toBe(1);
});

test("a link that is stopped before it is open is closed when it is", () => {
  link.stop();
  expect(socket().closed).toBe(false);
  socket().open();
  expect(socket().closed).toBe(true);
  expect(log).toEqual([]);
});

test("a waiting link can be hurried", () => {
  socket().drop(1006);
  link.hurry();
  expect(sockets.length).toBe(2);
  expect(timers).toEqual([]);
});

test("a socket that is closing takes nothing more", () => {
  socket().open();
  socket().readyState = 2;
  expect(link.send(new Uint8Array(1))).toBe(false);
  expect(socket().sent.length).toBe(0);
});
