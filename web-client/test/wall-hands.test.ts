import { expect, test } from "vitest";
import { HAND_VALUES, HANDS, KIND_VALUES, WallHands } from "../src/state/wall-hands.js";

const PICTURE_S = 1 / 60;

/** Place and velocity of a hand. */
const moveOf = (hands: WallHands, i: number): number[] => [
  ...hands.moves.subarray(HAND_VALUES * i, HAND_VALUES * (i + 1)),
];
const fastest = (hands: WallHands): number =>
  Math.max(...Array.from({ length: HANDS }, (_, i) => Math.hypot(...moveOf(hands, i).slice(2))));

function drag(hands: WallHands, id: number, speed: number, pictures = 30): void {
  for (let i = 0; i < pictures; i++) {
    hands.touch(id, 0.2 + speed * i * PICTURE_S, 0.5);
    hands.tick(PICTURE_S, 1.2, 0.8);
  }
}

test("a hand has the velocity that it is dragged with, from its second picture on", () => {
  const hands = new WallHands();
  hands.touch(7, 0.9, 0.1);
  hands.tick(PICTURE_S, 1.2, 0.8);
  expect(fastest(hands)).toBe(0);
  drag(hands, 8, 0.5);
  const [x, y, vx, vy] = moveOf(hands, 1);
  expect(x).toBeCloseTo(0.2 + (0.5 * 29) / 60, 5);
  expect([y, vx, vy]).toEqual([0.5, expect.closeTo(0.5, 2), 0]);
});

test("a hand that leaves comes to rest, and its place is another's", () => {
  const hands = new WallHands();
  drag(hands, 7, 0.5);
  for (let i = 0; i < 60; i++) hands.tick(PICTURE_S, 1.2, 0.8);
  expect(fastest(hands)).toBe(0);
  // Elsewhere and at once: it doesn't fly there from where the first one was.
  hands.touch(9, 0.9, 0.1);
  hands.tick(PICTURE_S, 1.2, 0.8);
  expect(moveOf(hands, 0)).toEqual([expect.closeTo(0.9), expect.closeTo(0.1), 0, 0]);
});

test("no hand is faster than fluid could be, and more hands than there is room for change nothing", () => {
  const hands = new WallHands();
  drag(hands, 7, 50);
  expect(fastest(hands)).toBeLessThanOrEqual(1.2001);
  for (let id = 10; id < 30; id++) hands.touch(id, 0.5, 0.5);
  hands.tick(PICTURE_S, 1.2, 0.8);
  expect(moveOf(hands, HANDS - 2).slice(2)).toEqual([0, 0]);
});

test("an idle display's strokes are there as strongly as is said, and add to what is known", () => {
  const [still, half, full] = [0, 0.5, 1].map((strength) => {
    const hands = new WallHands();
    hands.tick(PICTURE_S, 1.2, 0.8, strength, 3);
    return hands;
  }) as [WallHands, WallHands, WallHands];
  expect(fastest(still)).toBe(0);
  expect(fastest(half)).toBeCloseTo(0.5 * fastest(full));
  expect(fastest(full)).toBeGreaterThan(0.05);
  expect(full.kinds[KIND_VALUES * (HANDS - 1) + 1]).toBe(1);
  expect(full.kinds[1]).toBe(0);
});
