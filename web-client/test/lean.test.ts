import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { leanPlot, leanShaders, leanThree } from "../build/lean.js";

test("of shaders goes what their compiler doesn't read, of other code nothing", () => {
  const code = [
    "const a = 1; // stays",
    "const part = /* glsl */ `",
    "  // goes",
    "  #define TWICE(x) ( 2.0 * (x) ) // goes, too",
    "  float y = - -x / 2.0;",
    "",
    "",
    "  @{a > 0 ? `float z = 1.0;` : /* glsl */ `  float z = 2.0;`}",
    "  float w = z - @{a}; // of @{a}",
    "  float @{name} = 1.0;",
    "`;",
    "const other = `  a  =  b  // stays`;",
  ]
    .join("\n")
    .replaceAll("@", "$");
  expect(leanShaders(code)).toBe(
    [
      "const a = 1; // stays",
      "const part = /* glsl */ `",
      "#define TWICE(x) ( 2.0 * (x) )",
      "float y=- -x/2.0;",
      "@{a > 0 ? `float z = 1.0;` : /* glsl */ `float z=2.0;`}",
      "float w=z - @{a};",
      "float @{name}=1.0;",
      "`;",
      "const other = `  a  =  b  // stays`;",
    ]
      .join("\n")
      .replaceAll("@", "$"),
  );
  expect(() => leanShaders("const a = /* glsl */ `float x;")).toThrow("doesn't end");
});

test("three.js keeps the shaders that the page's materials include", () => {
  const core = createRequire(import.meta.url).resolve("three");
  const whole = readFileSync(join(dirname(core), "three.module.js"), "utf8");
  const lean = leanThree(whole);
  expect(lean.length).toBeLessThan(0.85 * whole.length);
  expect(lean).toContain('"#error meshphysical_frag was left out"');
  for (const kept of ["meshbasic_vert", "map_fragment", "colorspace_pars_fragment", "common"])
    expect(lean).not.toContain(`#error ${kept} `);
  expect(lean).toContain("const DATA = new Uint16Array( 0 );");
  for (const [gone, standin] of [
    ["_getBlurMaterial(", "class PMREMGenerator {}"],
    ["class WebGLCubeRenderTarget extends", "class WebGLCubeRenderTarget {}"],
  ]) {
    expect(whole).toContain(gone);
    expect(lean).toContain(standin);
  }
  expect(lean).not.toContain("class WebGLCubeRenderTarget extends");
  expect(() => leanThree("const Chunks = {}")).toThrow("no table");
});

test("uPlot loads where the browser's language is none", () => {
  const path = createRequire(import.meta.url)
    .resolve("uplot")
    .replace("uPlot.cjs.js", "uPlot.esm.js");
  const lean = leanPlot(readFileSync(path, "utf8"));
  expect(lean).not.toContain("nav.language");
  expect(() => leanPlot("const numFormatter = null;")).toThrow("language");
});
