// Measures the built page in a real headless Chromium. Prints tables; nothing here is a test.
//
//     node tests/browser/measure.mjs first-picture [FOLDER OF A BUILT PAGE ...]
//     node tests/browser/measure.mjs pictures [TIER ...] [--where]
//     node tests/browser/measure.mjs puffs [TIER ...]
//     node tests/browser/measure.mjs decode
//
// TARN_TEST_BUILD   a build with tarnd and, for all but the first, the tests' record_stream (default: build/release)
// CHROMIUM     the browser (default: /usr/bin/chromium)

import { chromium } from "./engines.mjs";
import { decode } from "./measure/decode.mjs";
import { firstPicture } from "./measure/first-picture.mjs";
import { pictures } from "./measure/pictures.mjs";
import { puffs } from "./measure/puffs.mjs";
import { runProgram } from "./missing.mjs";

const USAGE =
  "usage: node tests/browser/measure.mjs first-picture [FOLDER ...] | pictures [TIER ...] [--where] | puffs [TIER ...] | decode";

async function inBrowser(run) {
  const browser = await chromium.launch();
  try {
    await run(browser);
    return 0;
  } finally {
    await browser.close();
  }
}

async function main([what, ...rest]) {
  switch (what) {
    case "first-picture":
      return inBrowser((browser) => firstPicture(browser, rest.length > 0 ? rest : [undefined]));
    case "pictures":
      return inBrowser(pictures);
    case "puffs":
      return inBrowser(puffs);
    case "decode":
      await decode();
      return 0;
    default:
      console.error(USAGE);
      return what === "--help" ? 0 : 2;
  }
}

await runProgram(() => main(process.argv.slice(2)));
