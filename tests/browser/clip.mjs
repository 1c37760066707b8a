// The clip of web-client/README.md: the dam break, picture by picture, as an animated WebP.
//
//     node tests/browser/clip.mjs [--size 560x330] [--into build/clip]
//
// Needs the built page, the tests' build (TARN_BUILD) and img2webp (Debian: webp). The pictures stay in the folder.
import { execFileSync } from "node:child_process";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { drawUntil, takeCanvas } from "./by-hand.mjs";
import { recordScene, showScene } from "./gallery.mjs";
import { ROOT, WEB } from "./places.mjs";
import { Still } from "./recorded-layers.mjs";
import { launch, World } from "./world.mjs";

/** Simulated steps of 1/60 s between pictures, and how many. */
const EVERY = 4;
const PICTURES = 46;
const FIRST = 20;
const QUALITY = 62;

/** Frames that are shown one after the other, when they are asked for. */
class Turned {
  constructor(frames) {
    this.all = frames.map((_, i) => new Still(frames, i, 1).frames[0]);
    this.shown = 1;
  }

  get frames() {
    return this.all.slice(0, this.shown);
  }

  next(viewer) {
    return viewer.played < this.shown ? this.all[viewer.played++] : null;
  }
}

const { values } = parseArgs({
  options: {
    size: { type: "string", default: "560x330" },
    into: { type: "string", default: join(ROOT, "build", "clip") },
  },
});
const [width, height] = values.size.split("x").map(Number);
if (!(width > 0 && height > 0)) throw new Error(`--size: found ${values.size}, expected e.g. 560x330`);
const into = resolve(values.into);
mkdirSync(into, { recursive: true });
const recording = new Turned(
  recordScene("dam-break", into, { first: FIRST, frames: PICTURES, every: EVERY }),
);
const browser = await launch();
if (browser === null) throw new Error("there is no Chromium (CHROMIUM names one)");
const { world, end } = await World.make(browser);
const files = [];
try {
  const query = "quality=high&panel=0&tools=0&readout=0&help=0&distance=0.82";
  const page = await showScene(world, "dam-break", recording, { query, size: { width, height } });
  for (; recording.shown <= PICTURES; recording.shown++) {
    await drawUntil(page, { framesDecoded: recording.shown });
    const file = join(into, `${String(recording.shown).padStart(3, "0")}.png`);
    writeFileSync(file, await takeCanvas(page));
    files.push(file);
  }
} finally {
  await end();
  await browser.close();
}
const clip = join(WEB, "docs", "tank.webp");
const delay = String(Math.round((1000 * EVERY) / 60));
execFileSync("img2webp", [
  "-loop",
  "0",
  "-lossy",
  "-q",
  String(QUALITY),
  "-m",
  "6",
  "-d",
  delay,
  ...files,
  "-o",
  clip,
]);
console.log(`web-client/docs/tank.webp: ${statSync(clip).size} bytes`);
