import { decode, encode } from "@msgpack/msgpack";
import { beforeEach, expect, test } from "vitest";
import { Backoff } from "../src/net/backoff.js";
import { Link } from "../src/net/link.js";
import { Conversation, OWN_VERSIONS } from "../src/protocol/conversation.js";

let sent: Record<string, unknown>[];
let log: string[];
let now: number;
let cleared: number[];
let conversation: Conversation;
let hear: (message: unknown) => void;
let drop: (code: number, reason?: string) => void;
let link: Link;

const STATE = {
  scene: "s",
  paused: false,
  worker_ready: true,
  size_m: [1, 1, 1],
  cell_m: 0.1,
  dt_s: 0.01,
  parameters: [],
};
const POINTER = {
  id: 0,
  phase: "down",
  tool: "push",
  origin_m: [0, 0, 0],
  direction: [0, 0, 1],
  radius_m: 0.1,
  strength: 1,
} as const;

beforeEach(() => {
  sent = [];
  log = [];
  now = 0;
  cleared = [];
  conversation = new Conversation(
    { session: "room", viewer: "Ada", client: "test", versions: OWN_VERSIONS },
    () => now,
    {
      onJoined: (message) => log.push(`joined ${message.viewerId}`),
      onMessage: (message) => log.push(message.t),
      onFrame: (bytes) => log.push(`frame ${bytes.byteLength}`),
      onRoundTrip: (ms) => log.push(`round trip ${ms}`),
      onLost: (why, retryMs) => log.push(`lost: ${why}, ${retryMs}`),
      onEnded: (why, text) => log.push(`ended ${why}: ${text}`),
      onProblem: (text) => log.push(text),
    },
  );
  link = new Link(
    {
      open: () => {
        const socket = {
          binaryType: "blob" as BinaryType,
          bufferedAmount: 0,
          readyState: 1,
          onopen: null as ((event: Event) => void) | null,
          onmessage: null as ((event: MessageEvent) => void) | null,
          onclose: null as ((event: CloseEvent) => void) | null,
          onerror: null,
          send: (data: Uint8Array) => void sent.push(decode(data) as Record<string, unknown>),
          close: () => {},
        };
        queueMicrotask(() => socket.onopen?.({} as Event));
        hear = (message) => socket.onmessage?.({ data: encode(message).slice().buffer } as MessageEvent);
        drop = (code, reason = "") => socket.onclose?.({ code, reason } as CloseEvent);
        return socket;
      },
      nowMs: () => now,
      setTimer: () => 1,
      clearTimer: (id) => void cleared.push(id),
    },
    new Backoff(() => 1),
    {
      onOpen: () => conversation.linkOpened(),
      onBinary: (bytes) => conversation.linkBinary(bytes),
      onDown: (code, reason, retryMs) => conversation.linkDown(code, reason, retryMs),
    },
  );
  conversation.attach(link);
});

async function open(): Promise<void> {
  link.start();
  await Promise.resolve();
}

async function join(): Promise<void> {
  await open();
  hear({ t: "welcome", version: 1, server: "s", device: "d", scenes: [] });
  hear({ t: "joined", session: "room", viewer_id: 4, viewer: "Ada", state: STATE });
}

test("hello, then join after the welcome, then joined", async () => {
  await join();
  expect(sent).toEqual([
    { t: "hello", versions: [1], client: "test" },
    { t: "join", session: "room", viewer: "Ada" },
  ]);
  expect(log).toEqual(["welcome", "joined 4"]);
});

test("inputs and controls share one rising numbering that starts again with each connection", async () => {
  await join();
  expect(conversation.pointer(POINTER)).toBe(1);
  expect(conversation.control("pause")).toBe(2);
  expect(conversation.parameter("cfl", 1)).toBe(3);
  drop(1006);
  await join();
  expect(conversation.pointer(POINTER)).toBe(1);
});

test("nothing is numbered while nobody listens", async () => {
  expect(conversation.pointer(POINTER)).toBe(0);
  await open();
  expect(conversation.control("reset")).toBe(0);
  expect(conversation.sequence).toBe(0);
});

test("a ray beyond the protocol's coordinates is not sent", async () => {
  await join();
  expect(conversation.pointer({ ...POINTER, origin_m: [0, 0, 1001] })).toBe(0);
});

test("a scene is named only when one is loaded", async () => {
  await join();
  conversation.control("load", "pool");
  conversation.speed(0.25);
  conversation.control("reset");
  expect(sent.slice(2)).toEqual([
    { t: "control", seq: 1, action: "load", scene: "pool" },
    { t: "control", seq: 2, action: "speed", speed: 0.25 },
    { t: "control", seq: 3, action: "reset" },
  ]);
});

test("what is of use is said, and said again on the next connection", async () => {
  const ceilings = { mbit_per_s: 4, frames_per_s: 0, particles: 5000 };
  conversation.view(false, ceilings);
  expect(sent).toEqual([]);
  await join();
  conversation.view(true);
  drop(1006);
  await join();
  expect(sent.filter(({ t }) => t === "view")).toEqual([
    { t: "view", hidden: false, ...ceilings },
    { t: "view", hidden: true, ...ceilings },
    { t: "view", hidden: true, ...ceilings },
  ]);
});

test("who looks again says so, but not while hidden", async () => {
  const open = { t: "view", hidden: false, mbit_per_s: 0, frames_per_s: 0, particles: 0 };
  conversation.lookAgain();
  await join();
  conversation.lookAgain();
  conversation.view(true);
  conversation.lookAgain();
  expect(sent.filter(({ t }) => t === "view")).toEqual([
    { ...open, hidden: true },
    open,
    { ...open, hidden: true },
  ]);
});

test("a channel is asked for now and after every new join, and given up", async () => {
  const open = { t: "view", hidden: false, mbit_per_s: 0, frames_per_s: 0, particles: 0 };
  conversation.carry("pressure");
  expect(sent).toEqual([]);
  await join();
  conversation.carry("pressure");
  conversation.carry("density");
  drop(1006);
  await join();
  conversation.carry("");
  expect(sent.filter(({ t }) => t === "view")).toEqual([
    { ...open, channel: "pressure" },
    { ...open, channel: "density" },
    { ...open, channel: "density" },
    open,
  ]);
});

test("a field is asked for beside a channel", async () => {
  const open = { t: "view", hidden: false, mbit_per_s: 0, frames_per_s: 0, particles: 0 };
  conversation.carryField("cells");
  await join();
  conversation.carryField("cells");
  conversation.carry("pressure");
  conversation.carryField("");
  expect(sent.filter(({ t }) => t === "view")).toEqual([
    { ...open, field: "cells" },
    { ...open, field: "cells", channel: "pressure" },
    { ...open, channel: "pressure" },
  ]);
});

test("the round trip is that of the newest ping", async () => {
  await join();
  now = 100;
  conversation.ping();
  now = 130;
  hear({ t: "pong", id: 99, client_time_ms: 0, server_time_us: 0 });
  hear({ t: "pong", id: 1, client_time_ms: 100, server_time_us: 0 });
  expect(log.slice(-2)).toEqual(["round trip 30", "pong"]);
  expect(log.filter((line) => line.startsWith("round"))).toHaveLength(1);
});

test("a version that wasn't offered ends the conversation", async () => {
  await open();
  hear({ t: "welcome", version: 2, server: "s", device: "d", scenes: [] });
  expect(log).toEqual(["ended version: The server speaks version 2 of the protocol."]);
  expect(link.state).toBe("stopped");
});

test("a missing session ends, by error or by close code alone", async () => {
  await open();
  hear({ t: "error", code: 5, text: "no session named room" });
  drop(4005);
  expect(log).toEqual(["error", "ended session: no session named room"]);
  await open();
  drop(4005, "no such session");
  expect(log.at(-1)).toBe("ended session: no such session");
});

test("a server that shuts down or is full is tried again", async () => {
  await join();
  drop(4010, "bye");
  expect(log.at(-1)).toBe("lost: The server is shutting down, 500");
  await open();
  hear({ t: "error", code: 6, text: "the session is full" });
  drop(4006);
  expect(log.at(-1)).toBe("lost: the session is full, 1000");
});

test("a page that was too slow to introduce itself tries again, one that was out of order doesn't", async () => {
  await open();
  drop(4004, "hello and join did not come in time");
  expect(log.at(-1)).toBe("lost: hello and join did not come in time, 500");
  await join();
  drop(4004, "out of order");
  expect(log.at(-1)).toBe("ended refused: out of order");
});

test("a hidden page whose place somebody got comes back when it is seen", async () => {
  await join();
  drop(4014, "there was no place left");
  expect(log.at(-1)).toBe("lost: there was no place left, 500");
  expect(cleared).toEqual([]);
  await join();
  conversation.view(true);
  cleared = [];
  hear({ t: "error", code: 14, text: "there was no place left" });
  drop(4014);
  expect(cleared).toEqual([1]);
  expect(link.state).toBe("waiting");
  link.hurry();
  expect(link.state).toBe("connecting");
});

test("a server that can't be reached isn't said to be anything else", async () => {
  link.start();
  drop(1006);
  expect(log.at(-1)).toBe("lost: The server doesn't answer, 500");
  await open();
  hear({ t: "error", code: 10, text: "the server is ending" });
  drop(4010);
  expect(log.at(-1)).toBe("lost: The server is shutting down, 1000");
  link.start();
  drop(1006);
  expect(log.at(-1)).toBe("lost: The server has shut down, 2000");
});

test("an error that leaves the connection open does not colour a later loss", async () => {
  await join();
  hear({ t: "error", code: 7, text: "no such parameter" });
  drop(1006);
  expect(log.at(-1)).toBe("lost: The connection was lost, 500");
});

test("a message that can't be read is reported and survived", async () => {
  await join();
  hear({ t: "pong", id: 1 });
  expect(log.at(-1)).toMatch(/client_time_ms/);
  hear({ t: "state", state: STATE });
  expect(log.at(-1)).toBe("state");
});

test("what a role may not do isn't sent", async () => {
  await join();
  for (const [role, inputs] of [
    ["watch", []],
    ["play", ["input"]],
    ["own", ["input", "input", "control"]],
  ] as const) {
    hear({ t: "joined", session: "room", viewer_id: 5, viewer: "Ada", role, state: STATE });
    sent.length = 0;
    conversation.pointer(POINTER);
    conversation.parameter("gravity_m_s2", 1);
    conversation.control("reset");
    expect(sent.map((message) => message.t)).toEqual(inputs);
  }
});

test("what owners decide about this viewer holds before anything is sent", async () => {
  await open();
  hear({ t: "welcome", version: 1, server: "s", device: "d", scenes: [] });
  hear({ t: "joined", session: "room", viewer_id: 5, viewer: "Ada", role: "play", state: STATE });
  const me = { viewer_id: 5, name: "Ada", role: "play" };
  const pointers = (): number => {
    const before = sent.length;
    conversation.pointer(POINTER);
    return sent.length - before;
  };
  expect(pointers()).toBe(1);
  conversation.moderate(6, "mute"); // only owners do
  conversation.lock(["dye"], false);
  hear({ t: "viewers", viewers: [{ ...me, muted: true }] });
  expect(pointers()).toBe(0);
  hear({ t: "viewers", viewers: [me] });
  expect(pointers()).toBe(1);
  hear({ t: "state", state: { ...STATE, locked: ["push", "camera", "newer"], open_parameters: true } });
  expect(pointers()).toBe(0);
  expect(conversation.pointer({ ...POINTER, phase: "up" })).toBeGreaterThan(0); // what is held is let go
  expect(conversation.pointer({ ...POINTER, tool: "dye" })).toBeGreaterThan(0);
  expect(conversation.parameter("gravity_m_s2", 1)).toBeGreaterThan(0);
  expect(conversation.speed(0.25)).toBe(0);
  expect(conversation.control("pause")).toBe(0);
  hear({ t: "viewers", viewers: [{ ...me, role: "own", given: true }] });
  expect(pointers()).toBe(1);
  expect(conversation.control("pause")).toBeGreaterThan(0);
  conversation.moderate(6, "mute");
  expect(sent.at(-1)).toEqual({ t: "moderate", viewer_id: 6, action: "mute" });
  conversation.lock(["dye"], true);
  expect(sent.at(-1)).toEqual({ t: "lock", locked: ["dye"], open_parameters: true });
});

test("whoever was removed isn't tried again", async () => {
  await open();
  hear({ t: "error", code: 13, text: "an owner has removed you" });
  drop(4013);
  expect(log.at(-1)).toBe("ended removed: an owner has removed you");
});

test("an introduction is said with every join, and a new name with the next", async () => {
  await open();
  conversation.introduction = { viewer: "", colour: 0xff8800, key: "abc", preview: false, browser: "" };
  hear({ t: "welcome", version: 1, server: "s", device: "d", scenes: [] });
  expect(sent.at(-1)).toEqual({ t: "join", session: "room", viewer: "Ada", colour: 0xff8800, key: "abc" });
  hear({ t: "joined", session: "room", viewer_id: 5, viewer: "Ada", role: "own", state: STATE });
  conversation.profile("Zoë", 0);
  expect(sent.at(-1)).toEqual({ t: "profile", name: "Zoë", colour: 0 });
  conversation.linkOpened();
  hear({ t: "welcome", version: 1, server: "s", device: "d", scenes: [] });
  expect(sent.at(-1)).toMatchObject({ viewer: "Zoë", colour: 0xff8800 });
});

test("a wrong key ends the conversation with a reason of its own", async () => {
  await open();
  hear({ t: "error", code: 12, text: "the key opens nothing" });
  drop(4012);
  expect(log.at(-1)).toBe("ended key: the key opens nothing");
});
