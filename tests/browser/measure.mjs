// Measures the built page in a real headless Chromium. Prints tables; nothing here is a test.
//
//     node tests/browser/measure.mjs first-picture [FOLDER OF A BUILT PAGE ...]
import { firstPicture } from "./measure/first-picture.mjs";
import { launch } from "./world.mjs";

const [what, ...rest] = process.argv.slice(2);
const browser = await launch();
try {
  if (what === "first-picture") await firstPicture(browser, rest.length > 0 ? rest : [undefined]);
} finally {
  await browser.close();
}
