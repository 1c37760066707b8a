// The library for other pages: one ES module with everything in it, and its types (tsconfig.embed.json).
import { defineConfig } from "vite";
import { compressed } from "./build/compress.js";
import { lean } from "./build/lean.js";

export default defineConfig({
  publicDir: false,
  plugins: [lean, compressed],
  build: {
    outDir: "dist/embed",
    target: "es2022",
    lib: { entry: "src/embed/embed.ts", formats: ["es"], fileName: () => "tarn-tank.js" },
    rollupOptions: { output: { inlineDynamicImports: true } },
  },
  worker: { format: "es" },
});
