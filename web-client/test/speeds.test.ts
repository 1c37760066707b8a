import { expect, test } from "vitest";
import { nextSpeed, SPEEDS, slowerInTurn, speedWords } from "../src/state/speeds.js";

test("keys go through the speeds, to their ends, also from one that isn't offered", () => {
  const down = [4, 2, 1, 0.5, 0.25, 0.1, 0.05, 0.05];
  for (let i = 0; i + 1 < down.length; i++) expect(nextSpeed(down[i] as number, -1)).toBe(down[i + 1]);
  const up = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 4];
  for (let i = 0; i + 1 < up.length; i++) expect(nextSpeed(up[i] as number, 1)).toBe(up[i + 1]);
  expect([nextSpeed(0.3, -1), nextSpeed(0.3, 1)]).toEqual([0.25, 0.5]);
});

test("a single button goes through slow motion and comes back to the world's time", () => {
  const turn = [1];
  for (let i = 0; i < 6; i++) turn.push(slowerInTurn(turn.at(-1) as number));
  expect(turn).toEqual([1, 0.5, 0.25, 0.1, 0.05, 1, 0.5]);
  expect(slowerInTurn(4)).toBe(1);
});

test("people are told of another speed than the world's", () => {
  expect(SPEEDS.map(speedWords)).toEqual([
    "Slow motion 0.05×",
    "Slow motion 0.1×",
    "Slow motion 0.25×",
    "Slow motion 0.5×",
    "",
    "Fast motion 2×",
    "Fast motion 4×",
  ]);
});
