// Takes the picture of the README from a real run: the default scene, a second and a half after its start.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { SCREENSHOT_MS, SMALL, standAt } from "./moment.mjs";
import { WEB } from "./places.mjs";
import { World } from "./world.mjs";

const MOMENT_S = 1.3;
const LARGE = { width: 1280, height: 720 };

export async function takePicture(browser) {
  const { world, end } = await World.make(browser);
  try {
    const server = await world.tank();
    const page = await world.watch(`${server.url}?detail=full&quality=high`, {
      context: { viewport: SMALL },
    });
    await standAt(page, MOMENT_S, LARGE);
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
