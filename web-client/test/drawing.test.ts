import { expect, test } from "vitest";
import { DRAWINGS, drawingOf } from "../src/state/drawing.js";

test.each([
  ["liquid", "water"],
  ["smoke", "smoke"],
  ["vortons", "dye"],
  ["", "water"],
  ["constructor", "water"],
])("a tank of the model %j is drawn as %s", (model, drawing) => {
  expect(drawingOf(model, "auto")).toBe(drawing);
});

test("what is asked for comes before the model", () => {
  for (const drawing of DRAWINGS) expect(drawingOf("smoke", drawing)).toBe(drawing);
});
