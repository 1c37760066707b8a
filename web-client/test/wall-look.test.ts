import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readSettings } from "../src/state/settings.js";
import { isWall, LOOK_WORDS, lookOfScene, WALL_LOOKS, wallLookOf } from "../src/state/wall-look.js";

const SCENES = new URL("../../server/scenes/", import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, SCENES), "utf8"));

test("only flat tanks that are full are walls", () => {
  expect(isWall("smoke", true)).toBe(true);
  expect(isWall("vortons", true)).toBe(true);
  expect(isWall("smoke", false)).toBe(false);
  expect(isWall("liquid", true)).toBe(false);
  expect(isWall("", true)).toBe(false);
});

test("what is asked for comes before what the scene names, and particles before both", () => {
  expect(wallLookOf("auto", null)).toBeNull();
  expect(wallLookOf("auto", "water")).toBe("water");
  expect(wallLookOf("lava", "water")).toBe("lava");
  expect(wallLookOf("particles", "water")).toBeNull();
});

test("a scene's file may name a look; what isn't one counts as none", () => {
  expect(lookOfScene({ look: "ink" })).toBe("ink");
  for (const file of [{ look: "mud" }, { look: 3 }, {}, null, "ink"]) expect(lookOfScene(file)).toBeNull();
  expect(lookOfScene(read("water-wall.json"))).toBe("water");
  expect(lookOfScene(read("smoke-2d.json"))).toBeNull();
});

test("scenes may name exactly the looks that there are", () => {
  const schema = read("scene.schema.json") as { properties: { look: { enum: string[] } } };
  expect(schema.properties.look.enum).toEqual([...WALL_LOOKS]);
});

test("look= takes its words and refuses others in a sentence", () => {
  for (const word of LOOK_WORDS)
    expect(readSettings(`?look=${word}`)).toMatchObject({ values: { look: word }, problems: [] });
  const { values, problems } = readSettings("?look=mud");
  expect(values.look).toBe("auto");
  expect(problems[0]).toMatch(/look=mud; allowed are auto, particles, water, ink, lava, smoke, aurora/);
});
