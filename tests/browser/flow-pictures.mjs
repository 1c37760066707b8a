// Takes the pictures of what the page finds in a flow for web-client/README.md, from real runs.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SCREENSHOT_MS, standAt } from "./moment.mjs";
import { WEB } from "./places.mjs";
import { World } from "./world.mjs";

/** Until the tank stands: so large that the panel can be used. */
const SMALL = { width: 640, height: 400 };
const LARGE = { width: 1120, height: 640 };
const WEBP_QUALITY = 0.82;

const PICTURES = [
  {
    name: "flow-lines",
    scene: "dam-break",
    query: { yaw: -28, pitch: 15 },
    momentS: 1.1,
    async choose(panel) {
      await panel.getByLabel("Streamlines").check();
      await panel.getByRole("button", { name: "Along z" }).click();
      await panel.getByText(/^Rake: drag/).click();
      for (const end of ["from", "to"]) {
        const height = panel.getByLabel(`Rake ${end} y, m`);
        await height.fill("0.06");
        await height.press("Enter");
      }
      await panel.getByLabel(/^A row every/).check();
    },
  },
  {
    name: "flow-pressure",
    scene: "oil-and-water",
    query: { yaw: 18, pitch: 10 },
    momentS: 1.5,
    async choose(panel) {
      await panel.getByLabel("Colours of the plane").selectOption({ label: "Pressure, Pa" });
    },
  },
];

async function take(browser, { name, scene, query, momentS, choose }) {
  const { world, end } = await World.make(browser);
  try {
    const server = await world.tank({ scene });
    const address = new URL(server.url);
    const asked = { ...query, quality: "spheres", detail: "full", panel: 0, tools: 0, readout: 0, help: 0 };
    for (const [key, value] of Object.entries(asked)) address.searchParams.set(key, value);
    const page = await world.watch(address.href, { context: { viewport: SMALL } });
    await page.locator("#insight-button").click();
    await choose(page.locator("#insight"));
    await page.keyboard.press("Escape");
    await standAt(page, momentS, LARGE);
    const png = (await page.screenshot({ timeout: SCREENSHOT_MS })).toString("base64");
    const webp = await page.evaluate(
      async ([base64, quality]) => {
        // Not by an address: the page's policy refuses such of data.
        const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        canvas.getContext("2d").drawImage(image, 0, 0);
        return canvas.toDataURL("image/webp", quality).split(",")[1];
      },
      [png, WEBP_QUALITY],
    );
    writeFileSync(join(WEB, "docs", `${name}.webp`), Buffer.from(webp, "base64"));
    console.log(`${name}.webp: ${JSON.stringify(await page.evaluate(() => window.tarn.simTimeS))} s`);
  } finally {
    await end();
  }
}

export async function takeFlowPictures(browser) {
  for (const picture of PICTURES) await take(browser, picture);
}
