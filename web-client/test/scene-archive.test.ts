import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { archiveOf, areScene, isArchive } from "../src/state/scene-archive.js";

const named = (...names: string[]) => names.map((name) => ({ name }));

test("tar reads what is written, contents filled up to whole blocks", () => {
  const contents = ["{}", "x".repeat(512), "", "y".repeat(1000)];
  const files = ["pool.json", "a/b.obj", "empty.stl", "z.ply"].map((name, i) => ({
    name,
    size: contents[i]?.length ?? 0,
  }));
  const parts = archiveOf(files).map((part) =>
    typeof part === "number" ? Buffer.from(contents[part] ?? "") : Buffer.from(part),
  );
  const folder = mkdtempSync(join(tmpdir(), "tarn-archive-"));
  try {
    const path = join(folder, "made.tar");
    writeFileSync(path, Buffer.concat(parts));
    const listed = execFileSync("tar", ["tf", path]).toString().trim().split("\n");
    expect(listed).toEqual(files.map((file) => file.name));
    for (const [i, file] of files.entries())
      expect(execFileSync("tar", ["xOf", path, file.name]).toString()).toBe(contents[i]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("what no scene names is left out, and a name that none could give is refused", () => {
  const files = [
    { name: "duck.mtl", size: 3 },
    { name: "pool.json", size: 512 },
  ];
  const parts = archiveOf(files);
  expect(parts.filter((part) => typeof part === "number")).toEqual([1]);
  for (const name of ["my duck.obj", "ä.obj", "/a.obj", "a//b.obj", `${"n".repeat(100)}.obj`])
    expect(() => archiveOf([{ name, size: 1 }]), name).toThrow("can't be used");
});

test("a scene is told from other files by its endings", () => {
  expect(areScene(named("pool.json", "duck.obj"))).toBe(true);
  expect(areScene(named("Pool.TAR"))).toBe(true);
  expect(areScene(named("a.tar", "b.tar"))).toBe(false);
  expect(areScene(named("duck.obj"))).toBe(false);
  expect(areScene(named("recording.tarn"))).toBe(false);
  expect(areScene(named())).toBe(false);
  expect(isArchive(named("a.tar"))).toBe(true);
  expect(isArchive(named(".json"))).toBe(false);
});
