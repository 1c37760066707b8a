import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { inOrder } from "../src/state/scene-texts.js";

const SCENES = new URL("../../server/scenes/", import.meta.url);

test("scenes are offered as their README lists them, a server's own before them", () => {
  const scenes = readdirSync(SCENES)
    .filter((name) => name.endsWith(".json") && name !== "scene.schema.json")
    .map((name) => name.slice(0, -".json".length));
  const text = readFileSync(new URL("README.md", SCENES), "utf8");
  const listed = [...text.slice(text.indexOf("## The scenes")).matchAll(/^\| `([a-z0-9-]+)` \| /gm)].map(
    ([, name]) => name as string,
  );
  expect(inOrder(scenes)).toEqual(listed);
  expect(listed.slice(-3).every((name) => name.startsWith("lesson-"))).toBe(true);
  expect(inOrder(["maze", "lesson-waves", "pond", "dam-break", "a-pool"])).toEqual([
    "a-pool",
    "pond",
    "dam-break",
    "maze",
    "lesson-waves",
  ]);
});
