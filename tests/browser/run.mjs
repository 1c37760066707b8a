// Drives the built page in a real headless Chromium against a real tarnd, and against a fake server for answers that
// a healthy one never gives.
//
//     node tests/browser/run.mjs [WORDS OF A CASE'S NAME] [--picture | --clip | --layers | --walls]
//
// TARN_BUILD   the build with tarnd (default: build/release)
// CHROMIUM     the browser (default: /usr/bin/chromium)
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { takeClip } from "./clip.mjs";
import { hasCase, runCases } from "./harness.mjs";
import { takeLayerPictures } from "./layer-pictures.mjs";
import { runProgram } from "./missing.mjs";
import { takePicture } from "./picture.mjs";
import { WEB } from "./places.mjs";
import { takeWallPictures } from "./wall-pictures.mjs";
import { launch, World } from "./world.mjs";
import "./cases/stream.mjs";
import "./cases/streams.mjs";
import "./cases/input.mjs";
import "./cases/controls.mjs";
import "./cases/camera.mjs";
import "./cases/bridge.mjs";
import "./cases/camera-setup.mjs";
import "./cases/channels.mjs";
import "./cases/fields.mjs";
import "./cases/faults.mjs";
import "./cases/refusals.mjs";
import "./cases/solids.mjs";
import "./cases/added.mjs";
import "./cases/hand-tools.mjs";
import "./cases/keep.mjs";
import "./cases/time.mjs";
import "./cases/embed-page.mjs";
import "./cases/memory.mjs";
import "./cases/programs.mjs";
import "./cases/motion.mjs";
import "./cases/water.mjs";
import "./cases/foam.mjs";
import "./cases/gas.mjs";
import "./cases/light.mjs";
import "./cases/wall.mjs";
import "./cases/xr.mjs";
import "./cases/eyes.mjs";
import "./cases/together.mjs";
import "./cases/owners.mjs";
import "./cases/scenes.mjs";
import "./cases/sound.mjs";
import "./cases/lessons.mjs";
import "./cases/probes.mjs";
import "./cases/tls.mjs";

if (process.argv.includes("--help")) {
  console.log(
    "usage: node tests/browser/run.mjs [WORDS OF A CASE'S NAME] [--picture | --clip | --layers | --walls]",
  );
  process.exit(0);
}
const words = process.argv
  .slice(2)
  .filter((word) => !word.startsWith("--"))
  .join(" ");

/** Cases beside each other. More of them would make each other late. */
const LANES = Math.min(2, availableParallelism());

async function main() {
  if (!process.argv.includes("--walls") && !hasCase(words)) {
    console.error(`no case's name contains "${words}"`);
    return 2;
  }
  if (!existsSync(join(WEB, "dist", "index.html"))) {
    console.error('the page is not built: run "npm run build" in web-client first');
    return 1;
  }
  const browser = await launch();
  if (browser === null) {
    console.log("skip the browser tests: no Chromium (CHROMIUM names one)");
    console.log("0 passed, 0 failed, 1 skipped");
    return 0;
  }
  const browsers = [browser];
  try {
    if (process.argv.includes("--picture")) {
      await takePicture(browser);
      return 0;
    }
    if (process.argv.includes("--clip")) {
      await takeClip(browser);
      return 0;
    }
    if (process.argv.includes("--layers")) {
      await takeLayerPictures(browser);
      return 0;
    }
    if (process.argv.includes("--walls")) {
      await takeWallPictures(browser, words || "low");
      return 0;
    }
    // A browser for each lane: each has one thread that draws.
    while (browsers.length < LANES) browsers.push(await launch());
    const makers = browsers.map((one) => () => World.make(one));
    const counts = await runCases(words, makers);
    console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    return counts.failed === 0 ? 0 : 1;
  } finally {
    for (const one of browsers) await one.close();
  }
}

await runProgram(main);
