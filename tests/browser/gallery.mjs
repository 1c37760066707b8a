// Pictures of all scenes: records each at a good moment and shows the page's picture of it, in several tiers.
//
//     node tests/browser/gallery.mjs [SCENE[@STEP]...] [--tiers high,low] [--size 1280x800] [--into build/gallery] [--headset]
//     node tests/browser/gallery.mjs [SCENE...] --kept
//
// Foam, spray and bubbles come from what went before: a page sees the last frames that lead to the moment.
// With --headset the pictures are those of an emulated headset's two eyes. --kept makes the small ones that the start page
// and server/scenes/README.md show.
// Needs the built page and the tests' build (TARN_TEST_BUILD). What was recorded stays in the folder, beside the pictures,
// and is used again: removed, it is recorded anew.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { drawByHand, drawUntil, takeCanvas } from "./by-hand.mjs";
import { chromium } from "./engines.mjs";
import { runProgram } from "./missing.mjs";
import { SCREENSHOT_MS } from "./moment.mjs";
import { ROOT } from "./places.mjs";
import { recordStream } from "./record-stream.mjs";
import { framesOf, Still, sectionsOf } from "./recorded-layers.mjs";
import { World } from "./world.mjs";
import { enter, plugIn } from "./worn.mjs";

const SCENES = join(ROOT, "server", "scenes");
const KEPT = join(SCENES, "pictures");
const KEPT_SIZE = { width: 480, height: 300 };
/** So near that the tank is most of what there is to see. */
const KEPT_DISTANCE = 0.82;
/** The first that makes a file small enough. */
const KEPT_QUALITIES = [0.85, 0.7, 0.55, 0.4];
const KEPT_BYTES_MAX = 12_000;
/** The step to look at. */
const MOMENT = 90;
const EYES_MS = 60_000;
const MOMENTS = {
  candles: 300,
  chimney: 270,
  "colliding-plumes": 300,
  "dam-break": 78,
  "drop-into-pool": 42,
  "dye-drop": 180,
  "dye-drops-collide": 210,
  "falling-block": 40,
  "floating-ducks": 150,
  "lesson-buoyancy": 200,
  "lesson-waves": 48,
  maze: 240,
  "oil-and-water": 150,
  plume: 360,
  "pouring-taps": 360,
  "rotating-tank": 200,
  "smoke-2d": 900,
  "still-pool": 60,
  stir: 130,
  "vortex-rings": 60,
  "water-wall": 900,
  waterfall: 420,
  "wave-tank": 300,
};

/** Frames that lead to a moment, and the steps from one to the next. */
const LEAD = { frames: 45, every: 2 };

/**
 * Records what leads to a scene's moment.
 * @param skips  whether a page may leave frames out: one that draws meanwhile can't keep up
 * @returns a tank that stands still there
 */
export function recordMoment(name, into, moment, skips = false) {
  const { every } = LEAD;
  const frames = Math.min(LEAD.frames, Math.ceil(moment / every));
  const first = moment - (frames - 1) * every;
  const led = recordScene(name, into, { first, frames, every, key: skips ? 1 : frames });
  return () => new Still(led, frames - 1, sectionsOf(led[0]).layers.length, 0);
}

/** Records a scene's steps with all layers, each as a key frame unless told otherwise. @returns the frames */
export function recordScene(
  name,
  into,
  { first = MOMENTS[name] ?? MOMENT, frames = 1, every = 1, key = 1 } = {},
) {
  const file = join(into, `${name}-${first}-${frames}x${every}-${key}.bin`);
  if (!existsSync(file)) {
    const options = {
      "--first": first,
      "--frames": frames,
      "--every": every,
      "--key": key,
      "--base": 1,
      "--layers": 1,
    };
    recordStream(join(SCENES, `${name}.json`), file, options);
  }
  return framesOf(readFileSync(file));
}

/** What a fake server has to have to show a recording of a scene. */
export function servedScene(name) {
  const text = readFileSync(join(SCENES, `${name}.json`), "utf8");
  const { model = "liquid", size_m, cell_m, solids = [] } = JSON.parse(text);
  const files = { "dam-break.json": text, "duck.obj": readFileSync(join(SCENES, "duck.obj"), "utf8") };
  const cells = size_m.map((m) => Math.round(m / cell_m));
  return { files, cells, cellM: cell_m, solids: solids.length, model: { model } };
}

/** Opens a page, drawn by hand, on a tank that stands still at a recorded frame of a scene. */
export async function showScene(world, name, recording, { query, size }) {
  const { solids, ...served } = servedScene(name);
  const server = await world.fake({ recording, ...served });
  const page = await world.open(`http://127.0.0.1:${server.port}/?detail=full&${query}`, {
    context: { viewport: size },
    prepare: drawByHand,
  });
  await drawUntil(page, { connection: "connected", framesDecoded: recording.frames.length, solids });
  return page;
}

/** What both eyes of a headset see of a tank that stands still. @returns a PNG */
async function takeEyes(world, name, recording, moment, { query, size }) {
  const { solids, ...served } = servedScene(name);
  const server = await world.fake({ recording, ...served });
  const page = await world.open(`http://127.0.0.1:${server.port}/?detail=full&${query}`, {
    context: { viewport: size },
    prepare: plugIn,
  });
  const isThere = () =>
    page.waitForFunction(
      ([step, bodies]) => window.tarn?.step === step && window.tarn.solids === bodies,
      [moment, solids],
      { timeout: EYES_MS },
    );
  await isThere();
  await enter(page);
  await isThere(); // a page that can't keep up begins with what leads to the moment again
  return page.screenshot({ timeout: SCREENSHOT_MS });
}

/** What a page with nothing but the tank shows of a scene, in a small file. */
async function keep(world, name, recording) {
  const [width, height, depth] = servedScene(name).cells;
  // A flat tank fills the picture already, and so does a high one.
  const near = depth === 1 || height > 0.75 * width ? "" : `&distance=${KEPT_DISTANCE}`;
  const query = `quality=high&panel=0&tools=0&readout=0&help=0${near}`;
  const page = await showScene(world, name, recording, { query, size: KEPT_SIZE });
  const file = join(KEPT, `${name}.webp`);
  for (const quality of KEPT_QUALITIES) {
    const webp = await takeCanvas(page, "image/webp", quality);
    writeFileSync(file, webp);
    if (webp.length <= KEPT_BYTES_MAX) break;
  }
  return file;
}

async function take(world, name, recording, { tier, values, into, size, label, step }) {
  const wanted = { query: `quality=${tier}&${values.query}`, size };
  const png = values.headset
    ? await takeEyes(world, name, recording, step, wanted)
    : await takeCanvas(await showScene(world, name, recording, wanted));
  const file = join(into, `${label}-${tier}${values.headset ? "-eyes" : ""}.png`);
  writeFileSync(file, png);
  return file;
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      tiers: { type: "string", default: "high,low" },
      size: { type: "string", default: "1280x800" },
      into: { type: "string", default: join(ROOT, "build", "gallery") },
      query: { type: "string", default: "" },
      headset: { type: "boolean", default: false },
      kept: { type: "boolean", default: false },
    },
  });
  const all = readdirSync(SCENES)
    .filter((file) => file.endsWith(".json") && file !== "scene.schema.json")
    .map((file) => file.slice(0, -".json".length));
  const wanted = positionals.map((text) => ({
    label: text,
    name: text.split("@")[0],
    moment: text.split("@")[1],
  }));
  const unknown = wanted.find(({ name, moment = "1" }) => !all.includes(name) || !(moment > 0))?.label;
  const [width, height] = values.size.split("x").map(Number);
  if (unknown !== undefined || !(width > 0 && height > 0)) {
    console.error(
      unknown === undefined
        ? `--size: found ${values.size}, expected e.g. 1280x800`
        : `there is no scene "${unknown}"`,
    );
    return 1;
  }
  const into = resolve(values.into);
  mkdirSync(into, { recursive: true });
  const browser = await chromium.launch();
  const shown = wanted.length > 0 ? wanted : all.map((name) => ({ label: name, name }));
  try {
    for (const { label, name, moment } of shown) {
      const step = Number(moment ?? MOMENTS[name] ?? MOMENT);
      const still = recordMoment(name, into, step, values.headset);
      for (const tier of values.kept ? ["high"] : values.tiers.split(",")) {
        const { world, check, end } = await World.make(browser);
        try {
          const file = values.kept
            ? await keep(world, name, still())
            : await take(world, name, still(), { tier, values, into, size: { width, height }, label, step });
          check();
          console.log(file);
        } finally {
          await end();
        }
      }
    }
  } finally {
    await browser.close();
  }
  return 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runProgram(main);
