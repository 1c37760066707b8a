import { expect, test } from "vitest";
import { stepText } from "../src/ui/readout.js";

test("the step says how many pressures ended early, and nothing where none did", () => {
  expect(stepText({ step: 12345, unconverged: 0 })).toBe("12,345");
  expect(stepText({ step: 7, unconverged: 1 })).toBe("7 · 1 step's pressure ended early");
  expect(stepText({ step: 7, unconverged: 1200 })).toBe("7 · 1,200 steps' pressure ended early");
});
