import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { compressFolder } from "../build/compress.js";

test("what shrinks has a form in brotli and one in gzip, named by what it was made from", () => {
  const folder = mkdtempSync(join(tmpdir(), "tarn-compress-"));
  try {
    const text = "hash me ".repeat(1000);
    mkdirSync(join(folder, "assets"));
    writeFileSync(join(folder, "index.html"), text);
    writeFileSync(join(folder, "assets", "main.js"), `${text}in another file`);
    writeFileSync(join(folder, "assets", "small.css"), "a packet takes this anyway");
    writeFileSync(join(folder, "assets", "water.webp"), text);
    writeFileSync(join(folder, "index.html.0123456789abcdef.br"), "of another file");
    compressFolder(folder);
    // sha256sum of the two texts.
    const [page, script] = ["e5397e20ae96cdd5", "d432366beeedd240"];
    expect(readdirSync(folder).sort()).toEqual([
      "assets",
      "index.html",
      `index.html.${page}.br`,
      `index.html.${page}.gz`,
    ]);
    expect(readdirSync(join(folder, "assets")).sort()).toEqual([
      "main.js",
      `main.js.${script}.br`,
      `main.js.${script}.gz`,
      "small.css",
      "water.webp",
    ]);
    expect(brotliDecompressSync(readFileSync(join(folder, `index.html.${page}.br`))).toString()).toBe(text);
    expect(gunzipSync(readFileSync(join(folder, `index.html.${page}.gz`))).toString()).toBe(text);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
