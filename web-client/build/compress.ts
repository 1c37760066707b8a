// Lays compressed forms beside the page's files, which tarnd sends to whoever takes them: NAME.HASH.br and NAME.HASH.gz.
// HASH are the first 16 digits of the file's SHA-256, so that a form never passes for that of another file.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

/** What is compressed in itself, and what isn't for browsers. */
const LEFT_OUT = /\.(png|jpg|webp|ico|woff2|ts|br|gz)$/;
/** Less than one packet. */
const LEAST_BYTES = 1024;

const FORMS: [string, (bytes: Buffer) => Buffer][] = [
  ["br", (bytes) => brotliCompressSync(bytes)],
  ["gz", (bytes) => gzipSync(bytes, { level: 9 })],
];

/** Compresses what lies in a folder; forms that were there go. */
export function compressFolder(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      compressFolder(path);
    } else if (/\.[0-9a-f]{16}\.(br|gz)$/.test(entry.name)) {
      rmSync(path);
    } else if (entry.isFile() && !LEFT_OUT.test(entry.name)) {
      const bytes = readFileSync(path);
      if (bytes.length < LEAST_BYTES) continue;
      const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
      for (const [ending, compress] of FORMS) {
        const made = compress(bytes);
        if (made.length < bytes.length) writeFileSync(`${path}.${hash}.${ending}`, made);
      }
    }
  }
}

/** What Vite does of it, once all files are there. */
export const compressed: Plugin = {
  name: "compressed",
  apply: "build",
  writeBundle: ({ dir }) => {
    if (dir !== undefined) compressFolder(dir);
  },
};
