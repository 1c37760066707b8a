// Joining from another page, with a socket, a decoder and a page that are made here.
import { decode, encode } from "@msgpack/msgpack";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { JoinOptions, Tank } from "../src/embed/join.js";

const fakes = vi.hoisted(() => {
  class FakeWorker {
    static newest: FakeWorker;
    onmessage: unknown = null;
    onerror: (() => void) | null = null;
    constructor() {
      FakeWorker.newest = this;
    }
    postMessage(): void {}
    terminate(): void {}
  }
  return { FakeWorker };
});
vi.mock("../src/codec/codec.wasm?url", () => ({ default: "data:application/wasm;base64,AAAA" }));
vi.mock("../src/codec/decode-worker.js?worker&inline", () => ({ default: fakes.FakeWorker }));

class FakeSocket {
  static all: FakeSocket[] = [];
  readonly bufferedAmount = 0;
  readonly readyState = 1;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: ArrayBuffer }) => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;
  readonly sent: Record<string, unknown>[] = [];
  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }
  send(bytes: Uint8Array): void {
    this.sent.push(decode(bytes) as Record<string, unknown>);
  }
  close(): void {}
  hear(message: unknown): void {
    this.onmessage?.({ data: Uint8Array.from(encode(message)).buffer });
  }
}

const page = Object.assign(new EventTarget(), { baseURI: "https://here/", hidden: false });
const problems: [string, boolean][] = [];
let tank: Tank | null = null;

/** A tank that has been joined, and its socket. */
async function joined(address: string, options: JoinOptions = {}): Promise<FakeSocket> {
  const { join } = await import("../src/embed/join.js");
  tank = join(address, { onProblem: (text, final) => problems.push([text, final]), ...options });
  const socket = FakeSocket.all.at(-1) as FakeSocket;
  socket.onopen?.();
  socket.hear({ t: "welcome", version: 1, server: "s", device: "d", scenes: [] });
  socket.hear({ t: "joined", session: "x", viewer_id: 1, viewer: "v", role: "play", state: STATE });
  return socket;
}

const STATE = {
  scene: "s",
  paused: false,
  worker_ready: true,
  size_m: [1, 1, 1],
  cell_m: 0.1,
  dt_s: 0.01,
  parameters: [],
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("document", page);
  vi.stubGlobal(
    "window",
    Object.assign(new EventTarget(), globalThis, { location: new URL("http://here:8350/") }),
  );
  FakeSocket.all = [];
  problems.length = 0;
  page.hidden = false;
});

afterEach(() => {
  tank?.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const said = (socket: FakeSocket): unknown => socket.sent.find(({ t }) => t === "join");

test("the address says which tank and who comes, an option says it before", async () => {
  const address = "https://there/tanks/?session=x&name=Zo%C3%AB";
  const socket = await joined(address);
  expect(socket.url).toBe("wss://there/tanks/ws");
  expect(said(socket)).toMatchObject({ session: "x", viewer: "Zoë" });
  tank?.close();
  expect(said(await joined(address, { session: "y", name: "Ada" }))).toMatchObject({
    session: "y",
    viewer: "Ada",
  });
});

test("silence ends the connection of a page that is seen, not of a hidden one", async () => {
  await joined("https://there/?session=x");
  page.hidden = true;
  page.dispatchEvent(new Event("visibilitychange"));
  vi.advanceTimersByTime(60_000);
  expect(problems).toEqual([]);
  page.hidden = false;
  page.dispatchEvent(new Event("visibilitychange"));
  vi.advanceTimersByTime(5000);
  expect(problems).toEqual([]);
  vi.advanceTimersByTime(5000);
  expect(problems).toEqual([["Nothing was heard from the server.", false]]);
});

test("where no connection comes about, the page learns how the server takes it", async () => {
  const { join } = await import("../src/embed/join.js");
  const fail = (address: string): unknown => {
    tank?.close();
    problems.length = 0;
    tank = join(address, { onProblem: (text, final) => problems.push([text, final]) });
    FakeSocket.all.at(-1)?.onclose?.({ code: 1006, reason: "" });
    return problems[0]?.[0];
  };
  expect(fail("http://there/?session=x")).toBe(
    "The server doesn't answer, or doesn't take this page: tarnd --origin http://here:8350",
  );
  expect(fail("http://here:8350/?session=x")).toBe("The server doesn't answer.");
});

test("a decoder that doesn't start is a problem that stays", async () => {
  await joined("https://there/?session=x");
  fakes.FakeWorker.newest.onerror?.();
  expect(problems).toEqual([[expect.stringContaining("can't be decoded"), true]]);
});
