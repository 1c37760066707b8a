import { expect, test } from "vitest";
import { DRAWINGS, drawingOf, drawingsOf, wordOf } from "../src/state/drawing.js";

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
  for (const drawing of DRAWINGS.filter((one) => one !== "arrows"))
    expect(drawingOf("smoke", drawing)).toBe(drawing);
});

test("arrows are offered and drawn of vortons only", () => {
  expect(drawingsOf("vortons")).toEqual(["dye", "arrows"]);
  expect(drawingOf("vortons", "arrows")).toBe("arrows");
  for (const model of ["liquid", "smoke", "", "constructor"]) {
    expect(drawingsOf(model)).toHaveLength(1);
    expect(drawingOf(model, "arrows")).toBe(drawingOf(model, "auto"));
  }
});

test("people are told of what they see: a wall's look, or what is drawn", () => {
  expect(wordOf("smoke", "lava")).toBe("lava");
  expect(wordOf("smoke", null)).toBe("smoke");
  expect(wordOf("arrows", null)).toBe("dye");
});
