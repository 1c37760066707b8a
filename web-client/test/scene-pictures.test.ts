import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SCENES = new URL("../../server/scenes/", import.meta.url);
/** The start page's list has many of them. */
const BYTES_MAX = 20_000;

const names = (folder: URL, ending: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length));

test("each scene that comes with Tarn has a picture, and each picture a scene", () => {
  const scenes = names(SCENES, ".json").filter((name) => name !== "scene.schema");
  expect(scenes.length).toBeGreaterThan(20);
  // node tests/browser/gallery.mjs SCENE --kept
  expect(names(new URL("pictures/", SCENES), ".webp").sort()).toEqual(scenes.sort());
});

test.each(names(new URL("pictures/", SCENES), ".webp"))("the picture of %s is a small WebP", (name) => {
  const bytes = readFileSync(new URL(`pictures/${name}.webp`, SCENES));
  expect(bytes.length).toBeLessThan(BYTES_MAX);
  expect(bytes.toString("latin1", 0, 4) + bytes.toString("latin1", 8, 12)).toBe("RIFFWEBP");
});
