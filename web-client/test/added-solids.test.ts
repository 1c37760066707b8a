import { expect, test } from "vitest";
import { readAdded } from "../src/state/added-solids.js";

const TURNED = [0, 0.6, 0, 0.8];
const values = (number: number, shape: number, like: number, half: number[], rotation = TURNED): number[] => [
  ...[number, shape, like],
  ...half,
  ...[1, 2, 3],
  ...rotation,
  0xff8000,
];

test("what floats has its number, walls have none", () => {
  const [ball, wall] = readAdded([values(64, 1, 0, [0.25, 0, 0]), values(0, 0, 0, [0.5, 1, 0.125])]);
  expect(ball).toEqual({
    index: 64,
    shape: { kind: "sphere", radius: 0.25 },
    inverted: false,
    position: [1, 2, 3],
    rotation: TURNED,
    moves: true,
    colour: 0xff8000,
  });
  expect(wall).toMatchObject({ index: -1, shape: { kind: "box", size: [1, 2, 0.25] }, moves: false });
});

test("every shape is read", () => {
  const shape = (kind: number, half: number[]) => readAdded([values(0, kind, 3, half)])[0]?.shape;
  expect(shape(2, [0.5, 1, 0])).toEqual({ kind: "capsule", radius: 0.5, length: 2 });
  expect(shape(3, [0.5, 1, 0])).toEqual({ kind: "cylinder", radius: 0.5, height: 2 });
  expect(shape(4, [1, 0, 0])).toEqual({ kind: "like", solid: 3 });
});

test("what can't be understood is left out", () => {
  expect(
    readAdded([values(0, 5, 0, [1, 1, 1]), values(0, 0, 0, [1, 0, 1]), values(0, 1, 0, [0, 0, 0])]),
  ).toEqual([]);
  expect(readAdded([values(0, 1, 0, [1, 0, 0], [0, 0, 0, 0]), values(0, 2, 0, [1, 0, 0])])).toEqual([]);
});
