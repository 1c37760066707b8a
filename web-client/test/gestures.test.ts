import { beforeEach, expect, test } from "vitest";
import { Gestures, type PointerLike } from "../src/input/gestures.js";

let log: string[];
let gestures: Gestures;

beforeEach(() => {
  log = [];
  gestures = new Gestures({
    overTank: (x) => x >= 100,
    pushDown: (pointer, x) => log.push(`down ${pointer} ${x}`),
    pushMove: (pointer, x) => log.push(`move ${pointer} ${x}`),
    pushUp: (pointer, x) => log.push(`up ${pointer} ${x}`),
    hover: (at) => log.push(at === null ? "hover none" : `hover ${at[0]}`),
    turn: (dx) => log.push(`turn ${dx.toFixed(2)}`),
    zoom: (factor) => log.push(`zoom ${factor.toFixed(2)}`),
    resizeTool: (factor) => log.push(`radius ${factor.toFixed(2)}`),
  });
});

function pointer(x: number, change: Partial<PointerLike> = {}): PointerLike {
  return { pointerId: 1, pointerType: "mouse", button: 0, x, y: 0, ...change };
}
const touch = (x: number, pointerId: number): PointerLike => pointer(x, { pointerId, pointerType: "touch" });

test("the left button on the tank pushes", () => {
  gestures.down(pointer(120));
  gestures.move(pointer(130), 100);
  gestures.up(pointer(140));
  expect(log).toEqual(["hover none", "down 0 120", "move 0 130", "up 0 140"]);
});

test("the left button beside the tank and the right one on it look around", () => {
  gestures.down(pointer(20));
  gestures.move(pointer(70), 100);
  gestures.up(pointer(70));
  gestures.down(pointer(120, { button: 2 }));
  gestures.move(pointer(130), 100);
  gestures.up(pointer(130));
  expect(log.filter((line) => !line.startsWith("hover"))).toEqual(["turn 0.50", "turn 0.10"]);
});

test("a push that leaves the tank goes on until it is released", () => {
  gestures.down(pointer(120));
  gestures.move(pointer(10), 100);
  gestures.up(pointer(10));
  expect(log.slice(1)).toEqual(["down 0 120", "move 0 10", "up 0 10"]);
});

test("one finger pushes; a second one ends the push and both look around and zoom", () => {
  gestures.down(touch(120, 1));
  gestures.down(touch(160, 2));
  gestures.move(touch(200, 2), 100);
  expect(log.filter((line) => !line.startsWith("hover"))).toEqual([
    "down 0 120",
    "up 0 120",
    "turn 0.20",
    "zoom 0.50",
  ]);
});

test("a cancelled page releases what it pushes", () => {
  gestures.down(pointer(120));
  gestures.cancel();
  expect(log).toContain("up 0 120");
  gestures.up(pointer(120));
  expect(log.filter((line) => line.startsWith("up")).length).toBe(1);
});

test("the wheel zooms, with shift it sizes the tool", () => {
  gestures.wheel(100, false);
  gestures.wheel(-100, true);
  expect(log).toEqual(["zoom 1.13", "radius 1.13"]);
});
