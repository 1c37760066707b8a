// Takes the picture of the README from a real run: the default scene, a second and a half after its start.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { until } from "./harness.mjs";
import { WEB } from "./places.mjs";
import { drawn, World } from "./world.mjs";

const MOMENT_S = 1.3;
/** Small until the water stands still: without a graphics card the moment would be over before it is seen. */
const SMALL = { width: 320, height: 180 };
const SCREENSHOT_MS = 180_000;
const LARGE = { width: 1280, height: 720 };

export async function takePicture(browser) {
  const { world, end } = await World.make(browser);
  try {
    const server = await world.tank();
    const page = await world.watch(`${server.url}?detail=full&quality=high`, {
      context: { viewport: SMALL },
    });
    await page.keyboard.press("r");
    const early = await page.evaluate(() => window.tarn.epoch);
    await until(() => page.evaluate((epoch) => window.tarn.epoch !== epoch, early), "the tank starts afresh");
    await until(() => page.evaluate((s) => window.tarn.simTimeS >= s, MOMENT_S), "the moment comes", 120_000);
    await page.keyboard.press("p");
    await until(() => page.evaluate(() => window.tarn.paused), "it is paused");
    await page.setViewportSize(LARGE);
    await page.waitForTimeout(1500);
    await drawn(page);
    // The water stands still for the picture only.
    await page.evaluate(() => {
      document.getElementById("status").hidden = true;
    });
    const file = join(WEB, "docs", "tank.png");
    mkdirSync(join(WEB, "docs"), { recursive: true });
    await page.screenshot({ path: file, timeout: SCREENSHOT_MS });
    const { step, simTimeS } = await page.evaluate(() => ({
      step: window.tarn.step,
      simTimeS: window.tarn.simTimeS,
    }));
    console.log(`web-client/docs/tank.png: step ${step}, ${simTimeS.toFixed(2)} s`);
  } finally {
    await end();
  }
}
