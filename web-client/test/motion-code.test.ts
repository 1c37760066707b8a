import { expect, test } from "vitest";
import { encodeMotion, motionBound } from "../src/protocol/motion-code.js";
import { createRandom } from "./made-pictures.js";
import { decodeMotion } from "./read-motion.js";

function coded(planes: readonly number[]): number[] {
  const out = new Uint8Array(motionBound(planes.length));
  return [...out.subarray(0, encodeMotion(Uint8Array.from(planes), out))];
}

test("runs and what is between them", () => {
  expect(coded([])).toEqual([]);
  expect(coded([7])).toEqual([0, 7]);
  expect(coded([7, 7])).toEqual([1, 7, 7]);
  expect(coded([7, 7, 7])).toEqual([254, 7]);
  expect(coded([1, 2, 0, 0, 0, 0, 3])).toEqual([1, 1, 2, 253, 0, 0, 3]);
  expect(coded(Array(130).fill(9))).toEqual([129, 9, 1, 9, 9]);
  expect(coded(Array.from({ length: 129 }, (_, i) => i % 251))).toEqual([
    127,
    ...Array.from({ length: 128 }, (_, i) => i),
    0,
    128,
  ]);
});

test("whatever is coded is read as it was, within the bound", () => {
  const random = createRandom(11);
  for (let round = 0; round < 400; round++) {
    const calm = random();
    const planes = new Uint8Array(Math.floor(600 * random()));
    for (let i = 1; i < planes.length; i++)
      planes[i] = random() < calm ? (planes[i - 1] as number) : Math.floor(256 * random());
    const out = new Uint8Array(motionBound(planes.length));
    const code = out.subarray(0, encodeMotion(planes, out));
    expect(decodeMotion(code, planes.length)).toEqual(planes);
  }
});

test("what doesn't fit isn't written", () => {
  const planes = Uint8Array.from([1, 2, 3, 4, 4, 4, 4]);
  const size = coded([...planes]).length;
  for (let room = 0; room < size; room++) expect(encodeMotion(planes, new Uint8Array(room))).toBe(0);
  expect(encodeMotion(planes, new Uint8Array(size))).toBe(size);
});
