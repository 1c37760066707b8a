// A moment of a live tank that stands still, for pictures in documents.
import { until } from "./harness.mjs";
import { drawn } from "./world.mjs";

export const SCREENSHOT_MS = 180_000;

/** Until the tank stands: without a graphics card the moment would be over before it is seen in a large one. */
export const SMALL = { width: 320, height: 180 };

/** Lets a page's tank start afresh, stops it at a moment, and has that drawn in a size, without what says that it stands. */
export async function standAt(page, momentS, size) {
  const early = await page.evaluate(() => window.tarn.epoch);
  await page.keyboard.press("r");
  await until(() => page.evaluate((epoch) => window.tarn.epoch !== epoch, early), "the tank starts afresh");
  await until(() => page.evaluate((s) => window.tarn.simTimeS >= s, momentS), "the moment comes", 120_000);
  await page.keyboard.press("p");
  await until(() => page.evaluate(() => window.tarn.paused), "it is paused");
  await page.setViewportSize(size);
  await page.waitForTimeout(1500);
  await drawn(page);
  await page.evaluate(() => {
    document.getElementById("status").hidden = true;
  });
}
