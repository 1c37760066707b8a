import { expect, test } from "vitest";
import { MadeHere } from "../src/lobby/made-here.js";

function shelf(): Pick<Storage, "getItem" | "setItem"> {
  const kept = new Map<string, string>();
  return { getItem: (name) => kept.get(name) ?? null, setItem: (name, text) => void kept.set(name, text) };
}

test("who made a tank comes back to it as its owner; of many the last ones are known", () => {
  const storage = shelf();
  const made = new MadeHere(() => storage);
  expect(made.keyOf("a")).toBe("");
  made.add("a", "old");
  made.add("a", "new");
  expect(new MadeHere(() => storage).keyOf("a")).toBe("new");
  for (let i = 0; i < 32; i++) made.add(`tank ${i}`, "key");
  expect([made.keyOf("a"), made.keyOf("tank 0"), made.keyOf("tank 31")]).toEqual(["", "key", "key"]);
});

test("a browser that keeps nothing, or something else, is no obstacle", () => {
  const refuses = new MadeHere(() => {
    throw new Error("not here");
  });
  refuses.add("a", "key");
  expect(refuses.keyOf("a")).toBe("");
  for (const text of ["{", '"a"', '[["a"], 5, ["a", 7]]']) {
    const storage = shelf();
    storage.setItem("tarn-made", text);
    expect(new MadeHere(() => storage).keyOf("a")).toBe("");
  }
});
