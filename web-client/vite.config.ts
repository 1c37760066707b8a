import { readdirSync, readFileSync } from "node:fs";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { compressed } from "./build/compress.js";
import { lean } from "./build/lean.js";
import { sceneMark } from "./src/state/scene-mark.js";

// lil-gui carries its icons as a font in a data: URL, which the content security policy refuses; the same characters
// exist in every system's fonts.
const withoutIconFont: Plugin = {
  name: "without-icon-font",
  enforce: "pre",
  transform: (code, id) => (id.includes("lil-gui.css") ? code.replace(/@font-face\s*\{[^}]*\}/g, "") : null),
};

const SCENES = new URL("../server/scenes/", import.meta.url);

/** Marks of the scenes that come with Tarn, by their names: pictures are of these (lobby/scene-pictures.ts). */
const marks = Object.fromEntries(
  readdirSync(SCENES)
    .filter((name) => name.endsWith(".json"))
    .map((name) => [
      name.slice(0, -".json".length),
      sceneMark(JSON.parse(readFileSync(new URL(name, SCENES), "utf8"))),
    ]),
);

/** That a development page talks to: one started beside it, unless told otherwise. */
const server = process.env.TARN_SERVER ?? "http://127.0.0.1:8080";

export default defineConfig({
  // Relative, so that the page can be served under any path.
  base: "./",
  define: { SCENE_MARKS: JSON.stringify(marks) },
  plugins: [withoutIconFont, lean, compressed],
  build: {
    target: "es2022",
    // Inlined data: URLs would need an exception in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1024,
  },
  worker: { format: "es" },
  server: {
    fs: { allow: [".", "../server/scenes/pictures"] },
    // The host's name stays the page's: the server takes a page's wishes where both are one.
    proxy: {
      "/ws": { target: server.replace(/^http/, "ws"), ws: true },
      "/scenes": { target: server },
      "/sessions": { target: server },
    },
  },
  test: { include: ["test/**/*.test.ts"], environment: "node", testTimeout: 30_000 },
});
