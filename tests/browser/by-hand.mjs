// A page whose pictures are drawn when they are asked for only: without a graphics card each takes long, and most of
// those that a page draws by itself nobody looks at.
import { until } from "./harness.mjs";

const DRAWN_MS = 180_000;
const DRAW_EVERY_MS = 1500;

/** For World.open's `prepare`. */
export function drawByHand(page) {
  return page.addInitScript(() => {
    let waiting = [];
    window.requestAnimationFrame = (callback) => waiting.push(callback);
    window.cancelAnimationFrame = () => {};
    window.drawOnce = () => {
      const callbacks = waiting;
      waiting = [];
      for (const callback of callbacks) callback(performance.now());
    };
  });
}

/** Waits until window.tarn has the values asked for; draws now and then, what a page does may wait for a picture. */
export async function drawUntil(page, wanted) {
  let drawn = Date.now();
  const isSo = () =>
    page.evaluate(
      (wanted) => Object.entries(wanted).every(([name, value]) => window.tarn?.[name] === value),
      wanted,
    );
  const look = async () => {
    if (await isSo()) return true;
    if (Date.now() - drawn < DRAW_EVERY_MS) return false;
    await page.evaluate(() => window.drawOnce());
    drawn = Date.now();
    return false;
  };
  await until(look, JSON.stringify(wanted), DRAWN_MS);
}

/** Draws what the page knows, once it has all that draws it. @returns the canvas as a PNG, or as another type with a quality of 0 to 1 */
export async function takeCanvas(page, type = "image/png", quality = 1) {
  await until(() => page.evaluate(() => window.tarn?.isWhole ?? true), "what draws is there", DRAWN_MS);
  const url = await page.evaluate(
    ([type, quality]) => {
      window.drawOnce();
      window.drawOnce();
      return document.getElementById("tank").toDataURL(type, quality);
    },
    [type, quality],
  );
  return Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
}
