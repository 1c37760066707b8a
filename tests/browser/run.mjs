// Drives the built page in real browsers against a real tarnd, and against a fake server for answers that a healthy one
// never gives.
//
//     node tests/browser/run.mjs [WORDS OF A CASE'S NAME] [--core | --picture | --clip | --layers | --walls | --flow]
//     node tests/browser/run.mjs --in firefox,webkit [--all] [WORDS OF A CASE'S NAME]
//
// TARN_TEST_BUILD   the build with tarnd (default: build/release)
// CHROMIUM, FIREFOX, MINIBROWSER   the browsers (default: Debian's)
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { takeClip } from "./clip.mjs";
import { chromium, ENGINES, endDisplay } from "./engines.mjs";
import { takeFlowPictures } from "./flow-pictures.mjs";
import { casesOf, runCases, setPatience } from "./harness.mjs";
import { takeLayerPictures } from "./layer-pictures.mjs";
import { runProgram } from "./missing.mjs";
import { takePicture } from "./picture.mjs";
import { WEB } from "./places.mjs";
import { takeWallPictures } from "./wall-pictures.mjs";
import { World } from "./world.mjs";
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
import "./cases/layout.mjs";
import "./cases/page.mjs";
import "./cases/probes.mjs";
import "./cases/insight.mjs";
import "./cases/tls.mjs";

const USAGE = `usage: node tests/browser/run.mjs [WORDS OF A CASE'S NAME] [--core | --picture | --clip | --layers | --walls | --flow]
       node tests/browser/run.mjs --in ENGINE[,ENGINE] [--all] [WORDS OF A CASE'S NAME]

--core  runs those that every engine must pass
--in  runs these, with --all every case, in ${Object.keys(ENGINES).join(", ")}: a lane for each`;

/** Cases beside each other. More of them would make each other late. */
const LANES = Math.min(2, availableParallelism());
/** Firefox and WebKitGTK draw without a graphics card and without Chromium's haste. */
const PATIENCE = 3;

const PICTURES = {
  picture: (browser) => takePicture(browser),
  clip: (browser) => takeClip(browser),
  layers: (browser) => takeLayerPictures(browser),
  flow: (browser) => takeFlowPictures(browser),
  walls: (browser, words) => takeWallPictures(browser, words || "low"),
};

async function takePictures(take, words) {
  const browser = await chromium.launch();
  try {
    await take(browser, words);
    return 0;
  } finally {
    await browser.close();
  }
}

/**
 * @param lanes  how many run beside each other; each has a browser, which has one thread that draws
 * @returns how many cases passed, failed and were skipped
 */
async function runIn(engine, cases, lanes, where) {
  const why = engine.missing();
  if (why !== null) {
    console.log(`skip ${where}${cases.length} cases: ${why}`);
    return { passed: 0, failed: 0, skipped: 1 };
  }
  const browsers = [];
  try {
    while (browsers.length < lanes) browsers.push(await engine.launch());
    const makers = browsers.map((one) => () => World.make(one, engine));
    return await runCases(cases, makers, where);
  } finally {
    for (const one of browsers) await one.close();
  }
}

async function runEverywhere(engines, cases) {
  if (engines.length === 1 && engines[0] === chromium) return [await runIn(chromium, cases, LANES, "")];
  setPatience(PATIENCE);
  // What the engines have started ends with this program, also when that is told to.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
  try {
    return await Promise.all(engines.map((engine) => runIn(engine, cases, 1, `${engine.name}: `)));
  } finally {
    await endDisplay();
  }
}

/** @returns what the command line says, or null where it can't be taken, which is said then */
function readArguments() {
  const flags = ["help", "all", "core", ...Object.keys(PICTURES)].map((name) => [name, { type: "boolean" }]);
  const options = { ...Object.fromEntries(flags), in: { type: "string", default: "chromium" } };
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const names = values.in.split(",");
    const unknown = names.find((name) => !Object.hasOwn(ENGINES, name));
    if (unknown === undefined) return { values, words: positionals.join(" "), names };
    console.error(`found "--in ${unknown}", allowed are ${Object.keys(ENGINES).join(", ")}`);
  } catch (error) {
    console.error(error.message);
  }
  return null;
}

async function main() {
  const found = readArguments();
  if (found === null) return 2;
  const { values, words, names } = found;
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const picture = Object.keys(PICTURES).find((name) => values[name]);
  const cases = casesOf(words, values.core || (values.in !== "chromium" && !values.all));
  if (picture !== "walls" && cases.length === 0) {
    console.error(`no case's name contains "${words}"`);
    return 2;
  }
  if (!existsSync(join(WEB, "dist", "index.html"))) {
    console.error('the page is not built: run "npm run build" in web-client first');
    return 1;
  }
  if (picture !== undefined) return takePictures(PICTURES[picture], words);
  const all = await runEverywhere(
    names.map((name) => ENGINES[name]),
    cases,
  );
  const [passed, failed, skipped] = ["passed", "failed", "skipped"].map((key) =>
    all.reduce((sum, counts) => sum + counts[key], 0),
  );
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return failed === 0 ? 0 : 1;
}

await runProgram(main);
