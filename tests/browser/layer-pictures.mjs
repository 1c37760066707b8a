// What the layers of the stream are worth: records the dam break, shows the same moments with the first one, two ...
// layers on a phone's screen, measures how far they are from the whole picture, and prints what they cost.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brightness, compare, waterIn } from "./compare.mjs";
import { ROOT, WEB } from "./places.mjs";
import { readPng, writePng } from "./png.mjs";
import { recordStream } from "./record-stream.mjs";
import { framesOf, meanBytes, Still, sectionsOf } from "./recorded-layers.mjs";
import { bare, World } from "./world.mjs";

const FRAMES = { "--frames": 120, "--first": 30, "--every": 2, "--key": 30, "--base": 2, "--layers": 4 };
const FRAMES_PER_S = 30;
/** The last frames but one before the next key frame, when layers have aged most. The first is shown. */
const MOMENTS = [28, 58, 88];
/** A phone's screen; the picture is measured and shown with one value for each of its 2 x 2 pixels. */
const PHONE = { viewport: { width: 390, height: 300 }, deviceScaleFactor: 2 };
const SHOWN_SCALE = 1.4;
const COLOURS = 128;
const SHOWN = join(WEB, "docs", "layers.png");

export async function takeLayerPictures(browser) {
  const frames = record();
  const layers = sectionsOf(frames[0]).layers.length;
  const { world, end } = await World.make(browser);
  try {
    const empty = brightness((await see(world, [], 0, 0)).picture, PHONE.deviceScaleFactor);
    const rows = Array.from({ length: layers }, () => ({
      particles: 0,
      difference: 0,
      similarity: 0,
      holes: 0,
    }));
    const shown = [];
    for (const moment of MOMENTS) {
      const views = [];
      for (let n = 1; n <= layers; n++) views.push(await see(world, frames, moment, n));
      if (shown.length === 0) shown.push(...views);
      const whole = brightness(views.at(-1).picture, PHONE.deviceScaleFactor);
      views.forEach((view, i) => {
        add(rows[i], view, whole, empty);
      });
    }
    print(frames, rows);
    await compose(world, shown, frames);
  } finally {
    await end();
  }
}

function record() {
  const folder = mkdtempSync(join(tmpdir(), "tarn-layers-"));
  try {
    const file = join(folder, "dam-break.bin");
    const scene = join(ROOT, "server", "scenes", "dam-break.json");
    recordStream(scene, file, FRAMES);
    return framesOf(readFileSync(file));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The page's picture of a frame with its first layers; of an empty tank where there are no frames. */
async function see(world, frames, index, layers) {
  const still = frames.length > 0 ? new Still(frames, index, layers) : { frames: [], next: () => null };
  const server = await world.fake({ recording: still });
  const page = await world.open(`http://127.0.0.1:${server.port}/?detail=full`, { context: PHONE });
  await page.waitForFunction(
    (count) => window.tarn?.connection === "connected" && window.tarn.framesDecoded === count,
    still.frames.length,
  );
  await bare(page);
  const png = await page.screenshot();
  const particles = await page.evaluate(() => window.tarn.particles);
  await page.context().close();
  return { png, picture: readPng(png), particles };
}

/** Adds what a moment's picture says to the means of its number of layers. */
function add(row, view, whole, empty) {
  const values = brightness(view.picture, PHONE.deviceScaleFactor);
  const [here, there] = [waterIn(values, empty), waterIn(whole, empty)];
  const found = compare(
    values,
    whole,
    here.map((is, i) => is | there[i]),
  );
  row.particles += view.particles / MOMENTS.length;
  for (const name of ["difference", "similarity", "holes"]) row[name] += found[name] / MOMENTS.length;
}

const mbit = (frames, layers, withExtra) =>
  ((8 * FRAMES_PER_S * meanBytes(frames, layers, withExtra)) / 1e6).toFixed(2);

function print(frames, rows) {
  console.log(
    "| layers | particles | Mbit/s, 15 frames/s | Mbit/s, 30 frames/s | difference | similarity | holes |",
  );
  console.log("|---|---|---|---|---|---|---|");
  rows.forEach((row, i) => {
    const cells = [
      i + 1,
      Math.round(row.particles),
      mbit(frames, i + 1, false),
      mbit(frames, i + 1, true),
      row.difference.toFixed(1),
      row.similarity.toFixed(2),
      `${(100 * row.holes).toFixed(1)} %`,
    ];
    console.log(`| ${cells.join(" | ")} |`);
  });
}

/** Puts the pictures side by side, each with its layers. */
async function compose(world, views, frames) {
  const [width, height] = [PHONE.viewport.width, PHONE.viewport.height].map((size) => SHOWN_SCALE * size);
  const context = await world.browser.newContext({ viewport: { width: 2 * width, height: 2 * height } });
  const page = await context.newPage();
  const figures = views.map((view, i) => {
    const whole = i + 1 === views.length;
    const particles = view.particles.toLocaleString("en");
    const text = [
      `${i + 1} of ${views.length} layers`,
      `${particles} particles`,
      `${mbit(frames, i + 1, whole)} Mbit/s`,
    ];
    const image = `<img src="data:image/png;base64,${view.png.toString("base64")}">`;
    return `<figure>${image}<figcaption>${text.join(" · ")}</figcaption></figure>`;
  });
  await page.setContent(`<style>
    body { margin: 0; display: grid; grid-template-columns: ${width}px ${width}px; background: #000 }
    figure { margin: 0; position: relative }
    img { width: ${width}px; height: ${height}px; display: block }
    figcaption { position: absolute; left: 10px; bottom: 8px; font: 15px sans-serif; color: #cfe3f0 }
    </style>${figures.join("")}`);
  const bytes = writePng(readPng(await page.screenshot()), COLOURS);
  await context.close();
  mkdirSync(join(WEB, "docs"), { recursive: true });
  writeFileSync(SHOWN, bytes);
  console.log(`web-client/docs/layers.png: ${bytes.length} bytes`);
}
