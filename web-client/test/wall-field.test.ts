import { expect, test } from "vitest";
import { carriedField, STIRRED_MS, WALL_FIELD, type WallWish } from "../src/state/wall-field.js";

const FIELDS = ["smoke", "heat", WALL_FIELD].map((name) => ({ name, label: "", unit: "" }));
const WALL: WallWish = { draws: true, isDisplay: false, idleMs: 0 };

test("a wall is drawn with the speed, where the tank has it", () => {
  expect(carriedField("", FIELDS, WALL)).toBe(WALL_FIELD);
  expect(carriedField("", FIELDS.slice(0, 2), WALL)).toBe("");
  expect(carriedField("", [], WALL)).toBe("");
  expect(carriedField("", FIELDS, { ...WALL, draws: false })).toBe("");
});

test("what somebody looks at comes first, and whether there is a wall or not", () => {
  for (const draws of [true, false]) {
    expect(carriedField("heat", FIELDS, { ...WALL, draws })).toBe("heat");
    expect(carriedField("heat", [], { ...WALL, draws })).toBe("heat");
  }
});

test("a page does without it when nobody has done anything for long; a display doesn't", () => {
  const later = { ...WALL, idleMs: STIRRED_MS + 1 };
  expect(carriedField("", FIELDS, { ...WALL, idleMs: STIRRED_MS })).toBe(WALL_FIELD);
  expect(carriedField("", FIELDS, later)).toBe("");
  expect(carriedField("heat", FIELDS, later)).toBe("heat");
  expect(carriedField("", FIELDS, { ...later, isDisplay: true })).toBe(WALL_FIELD);
});
