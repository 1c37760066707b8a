import { expect, test } from "vitest";
import { type KeyLike, type KeyTarget, pressKey, releaseKey } from "../src/input/keys.js";

function press(key: string, change: Partial<KeyLike & { isReleased: boolean }> = {}): string[] {
  const log: string[] = [];
  const target: KeyTarget = {
    togglePause: () => log.push("pause"),
    step: () => log.push("step"),
    reset: () => log.push("reset"),
    toggleHelp: () => log.push("help"),
    toggleReadout: () => log.push("readout"),
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
    "r",
    "h",
    "m",
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
    "reset",
    "help",
    "readout",
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
