import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { inOrder, SceneTexts } from "../src/state/scene-texts.js";

function texts(files: Record<string, string>) {
  const asked: string[] = [];
  const made = new SceneTexts(async (path) => {
    asked.push(path);
    const body = files[path];
    return new Response(body ?? "", { status: body === undefined ? 404 : 200 });
  });
  return { made, asked };
}

test("a scene is called by its file's title, or by the words of its name", async () => {
  const { made, asked } = texts({
    "waterfall.json": JSON.stringify({ title: "Waterfall over steps", description: "Falls." }),
    "small-pool.json": "{}",
    "broken.json": "{",
  });
  expect(made.of("waterfall").title).toBe("Waterfall");
  await made.read(["waterfall", "small-pool", "broken", "not-there", ""]);
  await made.read(["waterfall", "broken"]);
  const scenes = ["waterfall", "small-pool", "broken", "not-there"];
  expect(scenes.map((scene) => made.of(scene).title)).toEqual([
    "Waterfall over steps",
    "Small pool",
    "Broken",
    "Not there",
  ]);
  expect(made.of("waterfall").description).toBe("Falls.");
  expect(asked).toEqual(scenes.map((scene) => `${scene}.json`));
});

test("a file that was read for something else is not asked for again", async () => {
  const { made, asked } = texts({});
  made.know("maze", { title: 5 });
  made.know("duckscene", { title: "Duck" });
  made.know("odd", null);
  await made.read(["maze", "duckscene", "odd"]);
  expect(asked).toEqual([]);
  expect(["maze", "duckscene", "odd"].map((scene) => made.of(scene).title)).toEqual(["Maze", "Duck", "Odd"]);
});

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
