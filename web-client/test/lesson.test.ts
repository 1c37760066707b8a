import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { lessonOf } from "../src/state/lesson.js";

const SCENES = new URL("../../server/scenes/", import.meta.url);

test("a scene's lesson is read, and whatever else stands there is none", () => {
  const lesson = { text: "a", task: "b", answer: "c" };
  expect(lessonOf({ title: "x", lesson })).toEqual(lesson);
  for (const file of [null, 5, "x", {}, { lesson: null }, { lesson: [] }, { lesson: { ...lesson, task: 5 } }])
    expect(lessonOf(file)).toBe(null);
});

test("each lesson that comes with Tarn names probes that its scene has", () => {
  const names = readdirSync(SCENES).filter((name) => /^lesson-.*\.json$/.test(name));
  expect(names.length).toBe(3);
  for (const name of names) {
    const file = JSON.parse(readFileSync(new URL(name, SCENES), "utf8")) as { probes: { name: string }[] };
    const lesson = lessonOf(file);
    for (const probe of file.probes)
      expect(new RegExp(`\\b${probe.name}\\b`).test(lesson?.task ?? ""), `${name}: ${probe.name}`).toBe(true);
  }
});

test("what scenes tell people has the sign for times, and raised digits", () => {
  const names = readdirSync(SCENES).filter((name) => name.endsWith(".json") && name !== "scene.schema.json");
  expect(names.length).toBeGreaterThan(20);
  for (const name of names) {
    const { title, description, lesson } = JSON.parse(readFileSync(new URL(name, SCENES), "utf8"));
    const told = [title, description, ...Object.values(lesson ?? {})].join(" ");
    expect(told.match(/[\w)] x [\w(]|\bk?m[23]\b|s2\b/g), name).toBe(null);
  }
});
