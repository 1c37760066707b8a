import { decode, encode } from "@msgpack/msgpack";
import { expect, test } from "vitest";
import {
  clipName,
  framePosition,
  isFrame,
  MessageError,
  readMessage,
  writeMessage,
} from "../src/protocol/messages.js";
import { writeState } from "../src/protocol/recorded-messages.js";
import { SERVER_KINDS, TOOLS, TOOLS_MAX } from "../src/tables/protocol-tables.js";

function buffer(value: unknown): ArrayBuffer {
  return encode(value).slice().buffer;
}

const STATE = {
  scene: "dam-break",
  paused: false,
  worker_ready: true,
  size_m: [2, 1, 1],
  cell_m: 0.03125,
  dt_s: 1 / 60,
  parameters: [{ name: "gravity_m_s2", value: 9.81, min: 0, max: 50 }],
};

test("a joined message is read whole", () => {
  const message = readMessage(
    buffer({ t: "joined", session: "a", viewer_id: 7, viewer: "Ada", state: STATE }),
  );
  expect(message).toEqual({
    t: "joined",
    session: "a",
    viewerId: 7,
    title: "",
    viewer: "Ada",
    role: "own",
    watchKey: "",
    playKey: "",
    ownKey: "",
    visitKey: "",
    past: false,
    state: {
      scene: "dam-break",
      paused: false,
      workerReady: true,
      sizeM: [2, 1, 1],
      cellM: 0.03125,
      dtS: 1 / 60,
      parameters: [
        {
          name: "gravity_m_s2",
          value: 9.81,
          min: 0,
          max: 50,
          label: "",
          unit: "",
          whole: false,
          magnitudes: false,
          note: "",
        },
      ],
      model: "",
      tools: TOOLS,
      channels: [],
      fields: [],
      added: [],
      remarks: [],
      locked: [],
      openParameters: false,
      speed: 1,
      replayUntil: 0,
    },
  });
});

test("a tank has the tools that its state names, as far as the page knows them", () => {
  const tools = (state: object): unknown => {
    const message = readMessage(buffer({ t: "state", state: { ...STATE, ...state } }));
    return message?.t === "state" && message.state.tools;
  };
  expect(tools({})).toEqual(TOOLS);
  expect(tools({ tools: ["push"] })).toEqual(TOOLS); // of what, isn't known
  expect(tools({ model: "whirl" })).toEqual([]);
  expect(tools({ model: "whirl", tools: ["dye", "sponge", "drain", "dye"] })).toEqual(["dye", "drain"]);
  expect(() => tools({ model: "whirl", tools: Array(TOOLS_MAX + 1).fill("dye") })).toThrow(/"tools"/);
});

test("a state says up to which step something is played back", () => {
  const until = (state: object): unknown => {
    const message = readMessage(buffer({ t: "state", state: { ...STATE, ...state } }));
    return message?.t === "state" && message.state.replayUntil;
  };
  expect(until({})).toBe(0);
  expect(until({ replay_until: 1234 })).toBe(1234);
  expect(() => until({ replay_until: "soon" })).toThrow(/"replay_until"/);
});

test("a state says how fast the tank's clock goes, as people wrote it; not said it is the world's", () => {
  const speed = (fields: object): unknown => {
    const message = readMessage(buffer({ t: "state", state: { ...STATE, ...fields } }));
    return message?.t === "state" && message.state.speed;
  };
  expect(speed({})).toBe(1);
  expect(speed({ speed: 0 })).toBe(1);
  expect(speed({ speed: Math.fround(0.05) })).toBe(0.05);
  expect(() => speed({ speed: "slow" })).toThrow(/"speed"/);
});

test("every kind that a server sends is known", () => {
  for (const t of SERVER_KINDS) expect(() => readMessage(buffer({ t }))).toThrow(MessageError);
  expect(readMessage(buffer({ t: "news" }))).toBe(null);
});

test("the other kinds are read", () => {
  expect(
    readMessage(buffer({ t: "welcome", version: 1, server: "s", device: "d", scenes: ["a", "b"] })),
  ).toEqual({ t: "welcome", version: 1, server: "s", device: "d", scenes: ["a", "b"] });
  expect(readMessage(buffer({ t: "viewers", viewers: [{ viewer_id: 1, name: "x" }] }))).toEqual({
    t: "viewers",
    viewers: [{ viewerId: 1, name: "x", colour: 0x8fadbd, role: "own", muted: false, given: false }],
  });
  const point = { viewer_id: 1, part: "foot", position_m: [1, 2, 3], tool: "sponge" };
  expect(readMessage(buffer({ t: "presences", points: [point] }))).toEqual({
    t: "presences",
    points: [
      {
        viewerId: 1,
        part: "cursor",
        positionM: [1, 2, 3],
        orientation: [0, 0, 0, 0],
        pressed: false,
        tool: "push",
      },
    ],
  });
  expect(() => readMessage(buffer({ t: "presences", points: [{ ...point, position_m: [1, 2] }] }))).toThrow();
  expect(
    readMessage(
      buffer({
        t: "pong",
        id: 1,
        client_time_ms: 1.5,
        server_time_us: 2 ** 50,
        stages_ms: [1, 2, 3, 4, 5],
        unconverged: 6,
      }),
    ),
  ).toEqual({
    t: "pong",
    id: 1,
    clientTimeMs: 1.5,
    serverTimeUs: 2 ** 50,
    stagesMs: [1, 2, 3, 4, 5],
    unconverged: 6,
  });
  expect(readMessage(buffer({ t: "pong", id: 1, client_time_ms: 1.5, server_time_us: 2 }))).toMatchObject({
    stagesMs: [],
    unconverged: 0,
  });
  expect(readMessage(buffer({ t: "error", code: 99, text: "odd" }))).toEqual({
    t: "error",
    code: 99,
    text: "odd",
  });
  expect(readMessage(buffer({ t: "state", state: STATE }))?.t).toBe("state");
});

test("unknown kinds and unknown fields are ignored", () => {
  expect(readMessage(buffer({ t: "weather", rain: true }))).toBe(null);
  expect(readMessage(buffer({ t: "error", code: 1, text: "", colour: ["red"] }))).toEqual({
    t: "error",
    code: 1,
    text: "",
  });
});

test("a message that lacks a field or has a wrong type is refused, naming the field", () => {
  const wrong: [unknown, RegExp][] = [
    [{ t: "error", code: 1 }, /"text"/],
    [{ t: "error", code: "1", text: "" }, /"code"/],
    [{ t: "welcome", version: 1, server: "s", device: "d", scenes: [1] }, /"scenes"/],
    [{ t: "state", state: { ...STATE, size_m: [1, 2] } }, /"size_m"/],
    [{ t: "state", state: { ...STATE, paused: 0 } }, /"paused"/],
    [
      { t: "state", state: { ...STATE, parameters: [{ name: "a", value: Number.NaN, min: 0, max: 1 }] } },
      /"value"/,
    ],
    [{ t: "viewers", viewers: {} }, /"viewers"/],
    [{ t: 5 }, /"t"/],
    [[1, 2], /"message"/],
  ];
  for (const [value, why] of wrong) expect(() => readMessage(buffer(value))).toThrow(why);
});

test("every truncation of a message is refused", () => {
  const whole = encode({ t: "joined", session: "a", viewer_id: 7, viewer: "Ada", state: STATE });
  for (let length = 0; length < whole.length; length++) {
    expect(() => readMessage(whole.slice(0, length).buffer)).toThrow(MessageError);
  }
});

test("what is written is one map with the kind first", () => {
  const bytes = writeMessage({
    t: "input",
    seq: 3,
    k: "pointer",
    id: 0,
    phase: "down",
    tool: "push",
    origin_m: [1, 2, 3],
    direction: [0, 0, -1],
    radius_m: 0.1,
    strength: 1,
  });
  const map = decode(bytes) as Record<string, unknown>;
  expect(Object.keys(map)).toEqual([
    "t",
    "seq",
    "k",
    "id",
    "phase",
    "tool",
    "origin_m",
    "direction",
    "radius_m",
    "strength",
  ]);
});

test("whole numbers are written as integers, as the protocol asks of steps", () => {
  const bytes = writeMessage({ t: "ack", epoch: 1, step: 2 ** 40, number: 7 });
  expect([...bytes]).not.toContain(0xcb); // float64
  expect(decode(bytes)).toEqual({ t: "ack", epoch: 1, step: 2 ** 40, number: 7 });
});

test("frames are told from messages by their first bytes", () => {
  expect(isFrame(new TextEncoder().encode("TRNF....").slice().buffer)).toBe(true);
  expect(isFrame(buffer({ t: "state", state: STATE }))).toBe(false);
  expect(isFrame(new ArrayBuffer(0))).toBe(false);
});

test("a frame's epoch, step and number are found without decoding it", () => {
  const bytes = new ArrayBuffer(56);
  new DataView(bytes).setUint32(20, 5, true);
  new DataView(bytes).setBigUint64(24, 2n ** 40n + 3n, true);
  new DataView(bytes).setUint32(52, 9, true);
  expect(framePosition(bytes)).toEqual({ epoch: 5, step: 2 ** 40 + 3, number: 9 });
  expect(framePosition(new ArrayBuffer(55))).toBe(null);
});

test("names are cut to what the protocol allows", () => {
  expect(clipName(" Ada\n\u202e ")).toBe("Ada");
  expect(clipName("\ufeffA\u200bd\u2060a\u00ad\u200e\u061c")).toBe("Ada");
  expect(clipName("👩\u200d🚀")).toBe("👩\u200d🚀");
  expect(new TextEncoder().encode(clipName("ü".repeat(80))).length).toBe(62);
});

test("what was put into the tank comes with the state, and goes into recordings", () => {
  const solid = [64, 1, 0, 0.25, 0, 0, 1, 2, 3, 0, 0, 0, 1, 255];
  const state = (added: unknown) => readMessage(buffer({ t: "state", state: { ...STATE, added } }));
  const message = state([solid]);
  if (message?.t !== "state") throw new Error("it is no state");
  expect(message.state.added).toEqual([solid]);
  expect(readMessage(writeState(message.state).slice().buffer)).toEqual(message);
  expect(() => state([solid.slice(1)])).toThrow("added");
  expect(() => state([[...solid.slice(1), Number.NaN]])).toThrow("added");
  expect(() => state(Array.from({ length: 73 }, () => solid))).toThrow("added");
});

test("a motion's cells are bytes", () => {
  const motion = {
    source: 0,
    columns: 2,
    rows: 1,
    corner_m: [0, 0, 1],
    across_m: [2, 0, 0],
    up_m: [0, 1, 0],
    depth_m: 0,
    speed_m_s: 4,
    strength: 1,
    cells: Uint8Array.of(1, 255, 0, 251, 0),
  };
  const bytes = writeMessage({ t: "input", seq: 3, k: "motion", ...motion });
  expect(decode(bytes)).toEqual({ t: "input", seq: 3, k: "motion", ...motion });
  const gone = decode(writeMessage({ t: "input", seq: 4, k: "motion", ...motion, cells: new Uint8Array(0) }));
  expect(gone).toMatchObject({ cells: new Uint8Array(0) });
});
