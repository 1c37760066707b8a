import { beforeEach, expect, test } from "vitest";
import { bend, type PadLike, PadReader } from "../src/input/gamepad.js";

let log: string[];
let reader: PadReader;

beforeEach(() => {
  log = [];
  const note =
    (name: string) =>
    (...values: number[]) =>
      void log.push([name, ...values.map((value) => value.toFixed(3))].join(" "));
  reader = new PadReader({
    moveCursor: note("cursor"),
    press: note("press"),
    release: note("release"),
    turn: note("turn"),
    zoom: note("zoom"),
    resizeTool: note("radius"),
    nextTool: note("tool"),
    togglePause: note("pause"),
    goHome: note("home"),
  });
});

function pad(axes: number[], pressed: Readonly<Record<number, number>> = {}): PadLike {
  const buttons = Array.from({ length: 17 }, (_, i) => ({
    pressed: (pressed[i] ?? 0) > 0.5,
    value: pressed[i] ?? 0,
  }));
  return { axes, buttons };
}

test("a stick at rest does nothing, a full one goes the whole way", () => {
  expect(bend(0.14)).toBe(0);
  expect(bend(Number.NaN)).toBe(0);
  expect(bend(1)).toBe(1);
  expect(bend(-1)).toBe(-1);
  expect(bend(0.5)).toBeGreaterThan(0.1);
  expect(bend(0.5)).toBeLessThan(0.25);
  expect(reader.read(pad([0.1, -0.1, 0, 0.1]), 0.02)).toBe(false);
  expect(log).toEqual([]);
});

test("the left stick moves the cursor, the right one the view", () => {
  expect(reader.read(pad([1, 0, 0, 0]), 0.5)).toBe(true);
  reader.read(pad([0, 0, 0, -1]), 0.5);
  expect(log).toEqual(["cursor 0.450 0.000", "turn 0.000 -0.225"]);
});

test("a trigger that trembles presses once", () => {
  for (const value of [0.1, 0.4, 0.3, 0.4, 0.25, 0.1, 0]) reader.read(pad([], { 7: value }), 0.02);
  expect(log).toEqual(["press", "release"]);
});

test("buttons act once for each press", () => {
  for (const held of [{ 5: 1 }, { 5: 1 }, {}, { 5: 1 }, { 4: 1, 9: 1, 3: 1 }])
    reader.read(pad([], held), 0.02);
  expect(log).toEqual(["tool 1.000", "tool 1.000", "tool -1.000", "pause", "home"]);
});

test("the cross sizes the tool and zooms", () => {
  reader.read(pad([], { 12: 1, 15: 1 }), 1);
  expect(log).toEqual(["radius 2.200", "zoom 0.556"]);
});

test("a gamepad that goes away releases", () => {
  reader.read(pad([], { 0: 1 }), 0.02);
  reader.stop();
  reader.stop();
  expect(log).toEqual(["press", "release"]);
});
