// The lights that a tank stands in: how bright a page is in each, what shows beside the tank, and who chooses.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { drawByHand, drawUntil, takeCanvas } from "../by-hand.mjs";
import { brightness } from "../compare.mjs";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { HERE } from "../places.mjs";
import { readPng } from "../png.mjs";
import { framesOf, Still } from "../recorded-layers.mjs";
import { cheap } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

/** Wide enough for an open panel. */
const WIDE = { context: { viewport: { width: 700, height: 450 } } };
const SMALL = { context: { viewport: { width: 320, height: 180 } } };
/** Of a page that shows through, and of nothing that is drawn. */
const PAGE_COLOUR = [200, 30, 60];

/** A pool, still. @returns a page that is drawn by hand, with nothing on it but the picture, and its mean brightness */
async function pool(world, query) {
  const frames = framesOf(readFileSync(join(HERE, "streams", "small-pool.bin")));
  const server = await world.fake({ recording: new Still(frames, 0, 1), cells: [16, 8, 8], cellM: 0.0625 });
  const page = await world.open(`http://127.0.0.1:${server.port}/?detail=full&${query}`, {
    ...SMALL,
    prepare: drawByHand,
  });
  await drawUntil(page, { connection: "connected", framesDecoded: 1 });
  await page.evaluate(() => {
    for (const part of document.body.children) if (part.id !== "tank") part.style.display = "none";
  });
  await paint(page, PAGE_COLOUR);
  const { values } = brightness(readPng(await takeCanvas(page)));
  return { page, mean: values.reduce((sum, value) => sum + value, 0) / values.length };
}

/** Gives the page behind the picture a colour. */
function paint(page, colour) {
  return page.evaluate((colour) => {
    for (const part of [document.body, document.documentElement]) part.style.background = `rgb(${colour})`;
  }, colour);
}

/** How many pixels of a page depend on what is behind its picture. */
async function seenThrough(world, page) {
  const one = await world.pixels(page);
  await paint(page, [0, 255, 0]);
  const other = await world.pixels(page);
  await paint(page, PAGE_COLOUR);
  return count(one, (pixel, x, y) => pixel.some((value, i) => Math.abs(value - other.at(x, y)[i]) > 2));
}

/** What is seen in a page's upper corners. */
async function corners(world, page) {
  const picture = await world.pixels(page);
  return [picture.at(1, 1), picture.at(picture.width - 2, 1)];
}

function count(picture, has) {
  let found = 0;
  for (let y = 0; y < picture.height; y++)
    for (let x = 0; x < picture.width; x++) if (has(picture.at(x, y), x, y)) found++;
  return found;
}

for (const quality of ["high", "spheres"])
  test(`day and studio are bright, night is dark, and nothing of the page shows through: ${quality}`, async (world) => {
    const means = {};
    for (const light of ["day", "night", "studio"]) {
      const { page, mean } = await pool(world, `quality=${quality}&light=${light}`);
      means[light] = mean;
      assertEqual(await seenThrough(world, page), 0, `${light}: pixels that the page shows through`);
    }
    const { day, night, studio } = means;
    assert(day > 3 * night && studio > 3 * night, `brightness of the pages: ${JSON.stringify(means)}`);
    const { page } = await pool(world, `quality=${quality}&light=clear`);
    assertEqual(
      await corners(world, page),
      [PAGE_COLOUR, PAGE_COLOUR],
      "corners where the page shows through",
    );
    assert((await seenThrough(world, page)) > 20_000, "the page shows through the water and the glass, too");
    const shows = (pixel) => pixel.every((value, i) => Math.abs(value - PAGE_COLOUR[i]) <= 8);
    const tank = count(await world.pixels(page), (pixel) => !shows(pixel));
    assert(tank > 8000, `${tank} pixels show a tank`);
  });

test("a light is chosen in the panel, stands in the address, and stays with the browser", {
  core: true,
}, async (world) => {
  const server = await world.fake();
  const address = cheap(`http://127.0.0.1:${server.port}/`);
  const page = await world.watch(address, WIDE);
  const shown = (page) => page.evaluate(() => document.body.dataset.light);
  const choice = page.getByLabel("Light", { exact: true });
  assertEqual(await shown(page), "day", "the light that nobody chose");
  await choice.selectOption({ label: "Night" });
  assertEqual(await shown(page), "night", "the light that was chosen");
  await until(
    () => page.evaluate(() => new URLSearchParams(location.search).get("light") === "night"),
    "the address says so",
  );
  const another = async (query) => {
    const url = new URL(address);
    for (const [name, value] of Object.entries({ session: "main", ...query }))
      url.searchParams.set(name, value);
    await page.goto(url.href);
    await until(() => page.evaluate(() => (window.tarn?.framesDecoded ?? 0) > 0), "frames are decoded");
    return shown(page);
  };
  assertEqual(await another({}), "night", "the light that the browser kept");
  assertEqual(await another({ light: "studio" }), "studio", "the light that the address says");
  // What is allowed is said for some seconds, from before the first frame.
  const [dusk] = await Promise.all([
    another({ light: "dusk" }),
    page.getByText(/light=dusk; allowed are auto, day/).waitFor(),
  ]);
  assertEqual(dusk, "night", "the light of a wrong address");
});

test("who has a dark system gets a dark start page, everybody else a bright one", {
  core: true,
}, async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const look = async () => {
    const page = await world.open(server.url, { lobby: true });
    await page.getByRole("heading", { name: "Running tanks" }).waitFor();
    const picture = await world.pixels(page);
    const [paper, ink] = await page.evaluate(() =>
      ["backgroundColor", "color"].map((name) => getComputedStyle(document.body)[name]),
    );
    await page.context().close();
    return { corner: picture.at(1, picture.height - 2).reduce((a, b) => a + b), paper, ink };
  };
  const bright = await look();
  await world.useBrowser({ scheme: "dark" });
  const dark = await look();
  assert(bright.corner > 2 * 255 && dark.corner < 255, `${JSON.stringify(bright)}, ${JSON.stringify(dark)}`);
  assert(bright.ink !== dark.ink, `both write in ${dark.ink}`);
});
