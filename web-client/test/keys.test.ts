import { expect, test } from "vitest";
import {
  type FocusLike,
  isForTank,
  type KeyLike,
  type KeyTarget,
  lookKey,
  pressKey,
  releaseKey,
} from "../src/input/keys.js";

function press(key: string, change: Partial<KeyLike & { isReleased: boolean }> = {}): string[] {
  const log: string[] = [];
  const target: KeyTarget = {
    togglePause: () => log.push("pause"),
    step: () => log.push("step"),
    changeSpeed: (way) => log.push(way < 0 ? "slower" : "faster"),
    reset: () => log.push("reset"),
    toggleHelp: () => log.push("help"),
    toggleReadout: () => log.push("readout"),
    toggleInstrument: (which) => log.push(which),
    goHome: () => log.push("home"),
    turn: (dx, dy) => log.push(`turn ${Math.sign(dx)} ${Math.sign(dy)}`),
    toggleFullScreen: () => log.push("full screen"),
    chooseTool: (index) => log.push(`tool ${index}`),
    pour: (held) => log.push(held ? "pour" : "stop pouring"),
    resizeTool: (factor) => log.push(factor < 1 ? "smaller" : "larger"),
    zoom: (factor) => log.push(factor < 1 ? "nearer" : "farther"),
  };
  const event = { key, ctrlKey: false, metaKey: false, altKey: false, repeat: false, ...change };
  const used = change.isReleased ? releaseKey(event, target) : pressKey(event, target);
  return used ? log : ["unused"];
}

test("keys do what the help says", () => {
  const keys = [
    "p",
    "P",
    "s",
    "<",
    ">",
    "r",
    "h",
    "m",
    "0",
    "i",
    "v",
    "ArrowLeft",
    "ArrowUp",
    "+",
    "-",
    "f",
    "1",
    "9",
    " ",
    "[",
    "]",
  ];
  expect(keys.flatMap((key) => press(key))).toEqual([
    "pause",
    "pause",
    "step",
    "slower",
    "faster",
    "reset",
    "help",
    "readout",
    "probes",
    "insight",
    "home",
    "turn -1 0",
    "turn 0 1",
    "nearer",
    "farther",
    "full screen",
    "tool 0",
    "tool 8",
    "pour",
    "smaller",
    "larger",
  ]);
});

test("the browser's own shortcuts stay its own", () => {
  expect(press("r", { ctrlKey: true })).toEqual(["unused"]);
  expect(press("p", { metaKey: true })).toEqual(["unused"]);
  expect(press("x")).toEqual(["unused"]);
});

test("a key that is held steps on and on but resets once", () => {
  expect(press("s", { repeat: true })).toEqual(["step"]);
  expect(press("r", { repeat: true })).toEqual(["unused"]);
});

test("a held space bar pours once, its release ends it", () => {
  expect(press(" ", { repeat: true })).toEqual([]);
  expect(press(" ", { isReleased: true })).toEqual(["stop pouring"]);
  expect(press("x", { isReleased: true })).toEqual(["unused"]);
});

/** An element, by the simple selectors that it and those around it match. */
const element = (...matched: string[]): FocusLike => ({
  closest: (selector) => (selector.split(", ").some((part) => matched.includes(part)) ? {} : null),
});

test("keys are the tank's wherever the focus is, but in fields and dialogs", () => {
  const fields = [
    element("input"),
    element("select"),
    element("button", "[role='dialog']"),
    element("dialog"),
  ];
  for (const key of ["r", "p", " ", "Enter", "ArrowLeft"]) {
    for (const field of fields) expect(isForTank(field, key, true), key).toBe(false);
    for (const place of [null, element("body"), element("canvas")])
      expect(isForTank(place, key, true), key).toBe(true);
  }
});

test("the space bar and Enter press a button that has the focus, other keys stay the tank's", () => {
  const button = element("button");
  const used = ["h", "1", "ArrowLeft", " ", "Enter"].filter((key) => isForTank(button, key, true));
  expect(used).toEqual(["h", "1", "ArrowLeft"]);
  expect(isForTank(element("button", "[role='toolbar']"), "ArrowLeft", true)).toBe(false);
  expect(isForTank(element("button", "[role='toolbar']"), "r", true)).toBe(true);
});

test("without character keys the arrows and the space bar remain", () => {
  const canvas = element("canvas");
  expect(["r", "1", "+", "[", "é"].filter((key) => isForTank(canvas, key, false))).toEqual([]);
  expect(["ArrowUp", " "].filter((key) => isForTank(canvas, key, false))).toEqual(["ArrowUp", " "]);
});

test("where one can only look, only the keys for that mean something", () => {
  const log: string[] = [];
  const target = { turn: () => log.push("turn"), zoom: () => log.push("zoom") };
  const used = ["ArrowUp", "-", "r", " ", "["].map((key) =>
    lookKey({ key, ctrlKey: false, metaKey: false, altKey: false, repeat: false }, target),
  );
  expect(used).toEqual([true, true, false, false, false]);
  expect(log).toEqual(["turn", "zoom"]);
});
