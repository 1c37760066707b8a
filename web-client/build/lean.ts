// Makes the page's first load smaller: of shaders what their compiler doesn't read, and of three.js the shaders of
// materials, and the parts for lights, that the page doesn't use. What a library gets wrong is put right here, too.
import type { Plugin } from "vite";

/** What opens a template literal of GLSL. */
const MARK = /\/\* glsl \*\/\s*`/g;

/** three.js's table of how rough metal mirrors, for its physical materials alone. */
const TABLE = /^const DATA = new Uint16Array\( \[[^\]]*\] \);/m;

/** Programs of three.js's own materials that the page draws with. */
const PROGRAMS = ["meshbasic_vert", "meshbasic_frag", "sprite_vert", "sprite_frag"];

/**
 * Parts of three.js's renderer that are made or called for what the page doesn't have, as lights, rough metal, shadows
 * and shapes that morph, and what stands in their place.
 */
const STANDINS: Readonly<Record<string, string>> = {
  "class PMREMGenerator": "class PMREMGenerator {}",
  "class WebGLCubeRenderTarget": "class WebGLCubeRenderTarget {}",
  "function WebGLMorphtargets": "function WebGLMorphtargets() { return { update() {} }; }",
  "function WebGLShadowMap":
    "function WebGLShadowMap() { this.enabled = false; this.autoUpdate = true; this.needsUpdate = false; this.type = PCFShadowMap; this.render = () => {}; }",
};

/** uPlot asks for numbers as the navigator's language writes them, and throws where that is none, as "C" is. The page is English. */
export function leanPlot(code: string): string {
  const asked = "new Intl.NumberFormat(domEnv ? nav.language : 'en-US')";
  if (!code.includes(asked)) throw new Error("uPlot asks for the language elsewhere than it is looked for");
  return code.replace(asked, "new Intl.NumberFormat('en-GB')");
}

/** A stretch of GLSL: without comments, without space that separates nothing. */
function leanText(text: string): string {
  return text
    .replace(/\/\/[^\n]*/g, "")
    .replace(/^[ \t]+|[ \t]+$/gm, "")
    .replace(/\n{2,}/g, "\n")
    .replace(/^[^#\n].*$/gm, (line) => line.replace(/ *([=*/,;{}()<>?:]) */g, "$1"));
}

/** What stands for the expressions in a template while its text is worked on: from this character on. */
const HELD = 0xe000;

/** Where an expression ends that begins at `at`, within `${` and `}`: the index behind it. */
function endOfExpression(code: string, at: number): number {
  let depth = 1;
  for (let i = at; i < code.length; i++) {
    if (code[i] === "{") depth++;
    else if (code[i] === "}" && --depth === 0) return i + 1;
    else if (code[i] === "`") i = endOfTemplate(code, i + 1) - 1;
  }
  throw new Error("an expression in a template doesn't end");
}

/** The index behind a template that begins at `at`. @param found  receives where its expressions begin and end */
function endOfTemplate(code: string, at: number, found: [number, number][] = []): number {
  for (let i = at; i < code.length; i++) {
    if (code[i] === "\\") i++;
    else if (code[i] === "`") return i + 1;
    else if (code.startsWith("${", i)) {
      const end = endOfExpression(code, i + 2);
      found.push([i, end]);
      i = end - 1;
    }
  }
  throw new Error("a template doesn't end");
}

/** @returns the code with its templates of GLSL lean */
export function leanShaders(code: string): string {
  let [lean, done] = ["", 0];
  for (const mark of code.matchAll(MARK)) {
    const from = mark.index + mark[0].length;
    if (from <= done) continue; // within an expression of the one before
    const expressions: [number, number][] = [];
    const end = endOfTemplate(code, from, expressions);
    let [text, at] = ["", from];
    expressions.forEach(([begin, behind], i) => {
      text += code.slice(at, begin) + String.fromCharCode(HELD + i);
      at = behind;
    });
    text = leanText(text + code.slice(at, end - 1));
    const put = (held: string): string => {
      const [begin, behind] = expressions[held.charCodeAt(0) - HELD] as [number, number];
      return leanShaders(code.slice(begin, behind));
    };
    lean += code.slice(done, from) + text.replace(/[\ue000-\uf8ff]/g, put);
    done = end - 1;
  }
  return lean + code.slice(done);
}

/**
 * @param code  three.js's module of its WebGL renderer
 * @returns it without TABLE, with STANDINS, and with an error in place of each shader that no program of PROGRAMS includes
 */
export function leanThree(code: string): string {
  const table = code.match(/^const ShaderChunk = \{([^}]*)\}/m)?.[1];
  if (table === undefined) throw new Error("three.js has no table of shader chunks where it is looked for");
  const texts = new Map<string, string>();
  for (const [, name, variable] of table.matchAll(/(\w+): ([\w$]+)/g) as Iterable<RegExpMatchArray>) {
    const value = `^(?:var|const) ${(variable as string).replaceAll("$", "\\$")} = ("(?:[^"\\\\\\n]|\\\\.)*");`;
    const found = code.match(new RegExp(value, "m"))?.[1];
    if (found === undefined) throw new Error(`three.js's shader chunk ${name} isn't where it is looked for`);
    texts.set(name as string, found);
  }
  const used = new Set<string>();
  const use = (name: string): void => {
    const text = texts.get(name);
    if (text === undefined) throw new Error(`three.js has no shader chunk ${name}`);
    if (used.has(name)) return;
    used.add(name);
    for (const [, other] of text.matchAll(/#include <(\w+)>/g)) use(other as string);
  };
  PROGRAMS.forEach(use);
  // What every program gets.
  for (const [, name] of code.matchAll(/ShaderChunk\[ ?['"](\w+)['"] ?\]/g)) use(name as string);
  let lean = code;
  for (const [name, text] of texts) {
    if (!used.has(name)) lean = lean.replace(` = ${text};`, () => ` = "#error ${name} was left out";`);
  }
  for (const [head, standin] of Object.entries(STANDINS)) {
    const whole = new RegExp(`^${head}\\b[^]*?^}`, "m");
    if (!whole.test(lean)) throw new Error(`three.js has no ${head} where it is looked for`);
    lean = lean.replace(whole, () => standin);
  }
  if (!TABLE.test(lean)) throw new Error("three.js has no table of reflections where it is looked for");
  return lean.replace(TABLE, "const DATA = new Uint16Array( 0 );");
}

/** What Vite does of it, before anything else reads the sources. */
export const lean: Plugin = {
  name: "lean",
  enforce: "pre",
  apply: "build",
  transform(code, id) {
    if (id.endsWith("/three/build/three.module.js")) return leanShaders(leanThree(code));
    if (id.endsWith("/uplot/dist/uPlot.esm.js")) return leanPlot(code);
    return /\/src\/[^?]*\.ts$/.test(id) && code.includes("/* glsl */") ? leanShaders(code) : null;
  },
};
