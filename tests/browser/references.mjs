// How near the page's water comes to a path tracer's: moments of scenes, drawn by the page in each tier and rendered by
// Blender's Cycles from the surface that `tarn run` writes, with the same view, room and colours.
//
//     node tests/browser/references.mjs [SCENE[:STEP]...] [--tiers high,low,spheres] [--samples 128] [--into build/references]
//         [--before DIST] [--rendered] [--drawn]
//
// Prints the similarity of each tier's picture (compare.mjs) and the mean colour of the water in it, and writes a sheet of
// all. --before adds what another built page draws of the first tier. Needs the built page (or TARN_TEST_PAGE), the tests' build
// (TARN_TEST_BUILD) and Blender 3.4 or newer with numpy (BLENDER; default: blender). What was rendered stays in the folder and is
// used again, with --rendered nothing else is shown; the page's pictures stay, too, and are used again with --drawn.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs, promisify } from "node:util";
import { takeCanvas } from "./by-hand.mjs";
import { brightness, compare, waterIn } from "./compare.mjs";
import { chromium } from "./engines.mjs";
import { recordMoment, servedScene, showScene } from "./gallery.mjs";
import { Missing, runProgram } from "./missing.mjs";
import { HERE, ROOT, WEB, webRequire } from "./places.mjs";
import { readPng, writePng } from "./png.mjs";
import { bare, World } from "./world.mjs";

const SIZE = { width: 400, height: 250 };
const ROOM = { width: 1024, height: 512 };
/** Pictures are compared with one value for so many pixels along each axis: what a path tracer leaves of noise goes. */
const SCALE = 2;
/** Of solids that stand still, as the page draws them. */
const STILL_OPACITY = 0.52;
/** All parts of a colour that count as white are more than this. */
const WHITE = 215;
const BARE = "panel=0&tools=0&readout=0&help=0&light=day";
const SHEET_COLOURS = 256;
const MOMENTS = {
  "dam-break": [24, 42, 60, 78, 100, 130, 180, 300],
  "falling-block": [16, 26, 32, 40, 52, 70, 110, 240],
  "pouring-taps": [40, 80, 120, 180, 240, 300, 360, 480],
  waterfall: [60, 120, 180, 240, 300, 360, 420, 540],
  "wave-tank": [60, 120, 180, 240, 300, 360, 420, 480],
  "floating-ducks": [15, 30, 60, 90, 120, 150, 210, 300],
};

const run = promisify(execFile);

/** Bundles parts of the page for this program. */
async function importPage(into) {
  const file = join(into, "page.mjs");
  await webRequire("esbuild").build({
    stdin: {
      contents: `export { Room, room } from "./shader/room.ts"; export { tone } from "./shader/tone.ts";
        export { LIGHTS } from "./shader/lights.ts"; export { ABSORBED, CLEAR, SCATTERED, WATER_COLOUR } from "./shader/absorption.ts";`,
      resolveDir: join(WEB, "src"),
      loader: "ts",
    },
    bundle: true,
    format: "esm",
    outfile: file,
  });
  return await import(pathToFileURL(file).href);
}

/** Runs GLSL over a picture of floats in the browser. */
class Shader {
  static async open(browser) {
    const page = await browser.newPage();
    return new Shader(page);
  }

  constructor(page) {
    this.page = page;
  }

  /**
   * @param body      functions, and `vec3 pixel(ivec2 here)`, rows from the top; `source` is `pixels`
   * @param uniforms  name: number or numbers
   * @returns RGB, floats
   */
  async run(width, height, body, uniforms = {}, pixels = null) {
    const given = { width, height, body, uniforms, pixels: pixels === null ? null : encode(pixels) };
    return decode(await this.page.evaluate(runShader, given));
  }
}

const encode = (floats) =>
  Buffer.from(floats.buffer, floats.byteOffset, floats.byteLength).toString("base64");
function decode(text) {
  const bytes = Buffer.from(text, "base64");
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

/** In the page. */
function runShader({ width, height, body, uniforms, pixels }) {
  const gl = new OffscreenCanvas(1, 1).getContext("webgl2");
  gl.getExtension("EXT_color_buffer_float");
  const program = gl.createProgram();
  const sources = [
    `#version 300 es
    void main() { gl_Position = vec4(vec2(4 * (gl_VertexID & 1) - 1, 4 * (gl_VertexID >> 1) - 1), 0, 1); }`,
    `#version 300 es
    precision highp float;
    uniform sampler2D source;
    ${body}
    out vec4 found;
    void main() { found = vec4(pixel(ivec2(gl_FragCoord.xy)), 1); }`,
  ];
  sources.forEach((source, i) => {
    const shader = gl.createShader(i === 0 ? gl.VERTEX_SHADER : gl.FRAGMENT_SHADER);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(program, shader);
  });
  gl.linkProgram(program);
  gl.useProgram(program);
  for (const [name, value] of Object.entries(uniforms)) {
    const at = gl.getUniformLocation(program, name);
    if (typeof value === "number") gl.uniform1f(at, value);
    else gl[`uniform${value.length}fv`](at, value);
  }
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  if (pixels !== null) {
    const bytes = Uint8Array.from(atob(pixels), (letter) => letter.charCodeAt(0));
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texImage2D(
      gl.TEXTURE_2D,
      0,
      gl.RGB32F,
      width,
      height,
      0,
      gl.RGB,
      gl.FLOAT,
      new Float32Array(bytes.buffer),
    );
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  }
  const target = gl.createTexture();
  gl.activeTexture(gl.TEXTURE1);
  gl.bindTexture(gl.TEXTURE_2D, target);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA32F, width, height);
  gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, target, 0);
  gl.viewport(0, 0, width, height);
  gl.drawArrays(gl.TRIANGLES, 0, 3);
  const read = new Float32Array(4 * width * height);
  gl.readPixels(0, 0, width, height, gl.RGBA, gl.FLOAT, read);
  const found = new Uint8Array(new Float32Array(read.filter((_, i) => i % 4 !== 3)).buffer);
  let text = "";
  for (let i = 0; i < found.length; i += 32768) text += String.fromCharCode(...found.subarray(i, i + 32768));
  return btoa(text);
}

/** What the page says of its light, for cycles.py. */
async function lightOf(page, shader, into) {
  const { room, Room, tone, LIGHTS } = page;
  const day = LIGHTS.day.values;
  const uniforms = Object.fromEntries(
    Object.entries(new Room().uniforms).map(([name, { value }]) => [name, value]),
  );
  const around = await shader.run(
    ROOM.width,
    ROOM.height,
    `${room}
    vec3 pixel(ivec2 here) {
      vec2 at = (vec2(here) + 0.5) / vec2(${ROOM.width}, ${ROOM.height});
      float turn = 6.2831853 * (at.x - 0.5);
      float up = 3.14159265 * (0.5 - at.y);
      return roomLight(vec3(cos(up) * cos(turn), sin(up), cos(up) * sin(turn)));
    }`,
    uniforms,
  );
  const file = join(into, "room.f32");
  writeFileSync(file, new Uint8Array(around.buffer));
  const shown = { table: day.tableColour, tile: day.tileColour, line: day.lineColour, bar: day.barDark };
  const light = {};
  for (const [name, colour] of Object.entries(shown)) {
    const body = `uniform vec3 one; ${tone} vec3 pixel(ivec2 here) { return lightShown(one); }`;
    light[name] = [...(await shader.run(1, 1, body, { one: colour }))];
  }
  const mean = day.sunFill.reduce((sum, part) => sum + part) / 3;
  return {
    ...light,
    room: { file, ...ROOM },
    sun: LIGHTS.day.sun,
    sun_colour: day.sunFill.map((part) => part / mean),
    still_opacity: STILL_OPACITY,
  };
}

/** The matrix, of three rows, that takes places in the tank to the page's pixels: solved from twelve places. */
async function matrixOf(page, [x, y, z]) {
  const places = [0, 1].flatMap((a) => [0, 1].flatMap((b) => [0, 0.4, 1].map((c) => [a * x, b * y, c * z])));
  const seen = await page.evaluate((all) => all.map((place) => window.tarn.project(place)), places);
  // The last entry is 1: the eye isn't at the tank's corner.
  const rows = places.flatMap(([px, py, pz], i) => {
    const [u, v] = seen[i];
    return [
      [px, py, pz, 1, 0, 0, 0, 0, -u * px, -u * py, -u * pz, u],
      [0, 0, 0, 0, px, py, pz, 1, -v * px, -v * py, -v * pz, v],
    ];
  });
  return [...leastSquares(rows, 11), 1];
}

/** Solves rows of `count` coefficients and a right side, by the normal equations. */
function leastSquares(rows, count) {
  const m = Array.from({ length: count }, (_, i) =>
    Array.from({ length: count + 1 }, (_, j) => rows.reduce((sum, row) => sum + row[i] * row[j], 0)),
  );
  for (let i = 0; i < count; i++) {
    const best = m.slice(i).reduce((at, row, k) => (Math.abs(row[i]) > Math.abs(m[at][i]) ? i + k : at), i);
    [m[i], m[best]] = [m[best], m[i]];
    for (let k = 0; k < count; k++) {
      if (k === i) continue;
      const share = m[k][i] / m[i][i];
      for (let j = i; j <= count; j++) m[k][j] -= share * m[i][j];
    }
  }
  return m.map((row, i) => row[count] / row[i]);
}

async function surfaceOf(scene, step, into) {
  const file = join(into, `${scene}-${step}.usda`);
  if (!existsSync(file)) {
    const build = process.env.TARN_TEST_BUILD ?? join(ROOT, "build", "release");
    const options = ["-q", "--steps", step, "--every", step, "--surface", file];
    await run(join(build, "bin", "tarn"), ["run", scene, ...options.map(String)]);
  }
  return file;
}

/** @returns a PNG of what Cycles makes of a moment */
async function renderCycles({ shader, page, light }, moment, matrix, { into, samples }) {
  const { scene, step, name } = moment;
  const { size_m } = JSON.parse(readFileSync(join(ROOT, "server", "scenes", `${scene}.json`), "utf8"));
  const picture = join(into, `${name}-${samples}.f32`);
  if (!existsSync(picture)) {
    if (matrix === null) throw new Missing(`${name} isn't rendered yet: without --drawn it is`);
    const job = join(into, `${name}.json`);
    const given = {
      ...light,
      ...SIZE,
      matrix,
      samples,
      picture,
      surface: await surfaceOf(scene, step, into),
      size_m,
      water: page.WATER_COLOUR,
      absorbed: page.ABSORBED,
      scattered: page.SCATTERED,
      clear_m: page.CLEAR * Math.cbrt(size_m[0] * size_m[1] * size_m[2]),
    };
    writeFileSync(job, JSON.stringify(given));
    const options = ["-b", "--factory-startup", "--python-exit-code", "1"];
    const script = ["--python", join(HERE, "references", "cycles.py"), "--", job];
    const { stdout, stderr } = await run(process.env.BLENDER ?? "blender", [...options, ...script], {
      maxBuffer: 1 << 26,
    }).catch((error) => error);
    if (!existsSync(picture)) throw new Error(`Blender made no picture of ${name}:\n${stdout}\n${stderr}`);
  }
  const bytes = readFileSync(picture);
  const floats = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const body = `${page.tone} vec3 pixel(ivec2 here) { return shown(texelFetch(source, here, 0).rgb); }`;
  const shown = await shader.run(SIZE.width, SIZE.height, body, {}, floats);
  return {
    ...SIZE,
    at: (x, y) => [0, 1, 2].map((i) => 255 * Math.min(1, Math.max(0, shown[3 * (y * SIZE.width + x) + i]))),
  };
}

const colourText = ({ mean, white }) =>
  `${mean.map((part) => part.toFixed(0)).join(" ")}, ${(100 * white).toFixed(1)} %`;

/** Fake servers serve a column's page from now on. */
function usePage({ page }) {
  if (page === undefined) delete process.env.TARN_TEST_PAGE;
  else process.env.TARN_TEST_PAGE = page;
}

async function takePage(browser, scene, step, column, into) {
  const { tier } = column;
  const { world, check, end } = await World.make(browser);
  usePage(column);
  try {
    const still = recordMoment(scene, into, step)();
    const page = await showScene(world, scene, still, { query: `quality=${tier}&${BARE}`, size: SIZE });
    const png = await takeCanvas(page);
    const matrix = await matrixOf(page, await page.evaluate(() => [...window.tarn.sizeM]));
    check();
    return { png, matrix };
  } finally {
    await end();
  }
}

/** The same view of the same scene before there is any water. */
async function takeEmpty(browser, scene, column) {
  const { world, end } = await World.make(browser);
  usePage(column);
  try {
    const { solids, ...served } = servedScene(scene);
    const server = await world.fake({ recording: { frames: [], next: () => null }, ...served });
    const page = await world.open(`http://127.0.0.1:${server.port}/?detail=full&${BARE}`, {
      context: { viewport: SIZE },
    });
    await page.waitForFunction(
      (count) => window.tarn?.connection === "connected" && window.tarn.solids === count,
      solids,
    );
    await bare(page);
    return { png: await page.screenshot() };
  } finally {
    await end();
  }
}

function momentsOf(asked) {
  const wanted = asked.length > 0 ? asked : Object.keys(MOMENTS);
  return wanted.flatMap((text) => {
    const [scene, step] = text.split(":");
    if (MOMENTS[scene] === undefined || (step !== undefined && !/^[1-9]\d{0,4}$/.test(step)))
      throw new Missing(
        `"${text}": expected SCENE or SCENE:STEP with one of ${Object.keys(MOMENTS).join(", ")}`,
      );
    const steps = step === undefined ? MOMENTS[scene] : [Number(step)];
    return steps.map((one) => ({ scene, step: one, name: `${scene}-${one}` }));
  });
}

/** How alike a picture is to the reference where either shows water. */
function alike(picture, reference, empty) {
  const [a, b, c] = [picture, reference, empty].map((one) => brightness(one, SCALE));
  const [here, there] = [waterIn(a, c), waterIn(b, c)];
  const mask = here.map((is, i) => is | there[i]);
  // The reference's table and sky aren't quite the page's: where the page shows no water is what counts as none.
  return compare(a, b, here.some((is) => is === 1) ? here : mask);
}

/** The mean colour of a picture where it or the reference shows water, 0..255, and the share of places that are white there. */
function colourOf(picture, reference, empty) {
  const [a, b, c] = [picture, reference, empty].map((one) => brightness(one, SCALE));
  const mask = waterIn(a, c).map((is, i) => is & waterIn(b, c)[i]);
  const mean = [0, 0, 0];
  let [count, white] = [0, 0];
  mask.forEach((is, i) => {
    if (is === 0) return;
    const [x, y] = [SCALE * (i % a.width), SCALE * Math.floor(i / a.width)];
    const colour = picture.at(x, y);
    for (let part = 0; part < 3; part++) mean[part] += colour[part];
    white += Math.min(...colour) > WHITE ? 1 : 0;
    count++;
  });
  return { mean: mean.map((sum) => sum / count), white: white / count };
}

/** Pictures in rows, as one WebP file. @param rows  of PNGs */
async function makeSheet(browser, rows, file) {
  const page = await browser.newPage();
  const [width, height] = [SIZE.width / 2, SIZE.height / 2];
  const url = await page.evaluate(
    async ({ rows, width, height, quality }) => {
      const canvas = new OffscreenCanvas(width * rows[0].length, height * rows.length);
      const context = canvas.getContext("2d");
      context.imageSmoothingQuality = "high";
      for (const [y, row] of rows.entries()) {
        for (const [x, png] of row.entries()) {
          const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
          const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
          context.drawImage(image, x * width, y * height, width, height);
        }
      }
      const blob = await canvas.convertToBlob({ type: "image/webp", quality });
      const read = new FileReader();
      await new Promise((done) => {
        read.onload = done;
        read.readAsDataURL(blob);
      });
      return read.result;
    },
    { rows: rows.map((row) => row.map((png) => png.toString("base64"))), width, height, quality: 0.82 },
  );
  await page.close();
  writeFileSync(file, Buffer.from(url.slice(url.indexOf(",") + 1), "base64"));
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      tiers: { type: "string", default: "high,low,spheres" },
      samples: { type: "string", default: "128" },
      into: { type: "string", default: join(ROOT, "build", "references") },
      before: { type: "string" },
      rendered: { type: "boolean", default: false },
      drawn: { type: "boolean", default: false },
    },
  });
  const samples = Number(values.samples);
  if (!(Number.isInteger(samples) && samples >= 1 && samples <= 65536))
    throw new Missing(`--samples: found ${values.samples}, expected 1 to 65536`);
  const into = resolve(values.into);
  const moments = momentsOf(positionals).filter(
    ({ name }) => !values.rendered || existsSync(join(into, `${name}-${samples}.f32`)),
  );
  const tiers = values.tiers.split(",");
  const columns = tiers.map((tier) => ({ title: tier, tier, page: process.env.TARN_TEST_PAGE }));
  if (values.before !== undefined)
    columns.unshift({ title: "before", tier: tiers[0], page: resolve(values.before) });
  mkdirSync(into, { recursive: true });
  const browser = await chromium.launch();
  try {
    const page = await importPage(into);
    const shader = await Shader.open(browser);
    const renderer = { shader, page, light: await lightOf(page, shader, into) };
    const empties = new Map();
    const rows = [];
    const colours = [];
    console.log(
      `| moment | ${columns.map(({ title }) => `similarity, ${title} | difference`).join(" | ")} |`,
    );
    console.log(`|---|${"---|---|".repeat(columns.length)}`);
    for (const moment of moments) {
      const { scene, step, name } = moment;
      const kept = async (file, take) => {
        const path = join(into, file);
        if (values.drawn && existsSync(path)) return { png: readFileSync(path), matrix: null };
        const taken = await take();
        writeFileSync(path, taken.png);
        return taken;
      };
      const taken = [];
      const empty = [];
      for (const column of columns) {
        const { title, page: own = "" } = column;
        const key = `${scene}-empty${own && `-${title}`}.png`;
        if (!empties.has(key)) {
          const made = await kept(key, () => takeEmpty(browser, scene, column));
          empties.set(key, readPng(made.png));
        }
        empty.push(empties.get(key));
        taken.push(await kept(`${name}-${title}.png`, () => takePage(browser, scene, step, column, into)));
      }
      const matrix = taken.find((one) => one.matrix !== null)?.matrix ?? null;
      const reference = await renderCycles(renderer, moment, matrix, { into, samples });
      const cells = taken.map(({ png }, i) => {
        const { similarity, difference } = alike(readPng(png), reference, empty[i]);
        return `${similarity.toFixed(3)} | ${difference.toFixed(1)}`;
      });
      console.log(`| ${name} | ${cells.join(" | ")} |`);
      const shown = [reference, ...taken.map(({ png }) => readPng(png))];
      const colour = (one, i) => colourText(colourOf(one, reference, empty[i - 1] ?? empty.at(-1)));
      colours.push(`| ${name} | ${shown.map(colour).join(" | ")} |`);
      rows.push([writePng(reference, SHEET_COLOURS), ...taken.map(({ png }) => png)]);
    }
    const titles = ["Cycles", ...columns.map(({ title }) => title)];
    console.log(`\n| water's mean colour, share that is white | ${titles.join(" | ")} |`);
    console.log(`|---|${"---|".repeat(titles.length)}`);
    console.log(colours.join("\n"));
    const sheet = join(into, "sheet.webp");
    await makeSheet(browser, rows, sheet);
    console.log(`${basename(sheet)}: ${titles.join(", ")}`);
  } finally {
    await browser.close();
  }
  return 0;
}

await runProgram(main);
