// What particles are coloured by: chosen in the address or the panel, and told by a legend.
import { drawByHand, drawUntil, takeCanvas } from "../by-hand.mjs";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { readPng } from "../png.mjs";
import { legendOf, look } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

const CHANNELS = [
  { name: "colour", label: "Own colour" },
  { name: "speed", label: "Speed", unit: "m/s" },
  { name: "height", label: "Height", unit: "m" },
  { name: "vorticity", label: "Vorticity", unit: "1/s" },
];
/** Wide enough for the panel to be open. */
const WIDE = { context: { viewport: { width: 720, height: 405 } } };

/** A column from the floor to the lid, and what stands still. */
const COLUMN = {
  cells: [16, 16, 16],
  cellM: 0.0625,
  seeds: Array.from({ length: 4000 }, (_, i) => [
    (i % 10) / 10,
    Math.floor(i / 100) / 40,
    (Math.floor(i / 10) % 10) / 10,
  ]),
  path: ([u, v, w]) => ({
    at: [0.35 + 0.3 * u, v, 0.35 + 0.3 * w],
    velocity: [0, 0, 0],
  }),
  model: { model: "liquid", tools: [], channels: CHANNELS },
};

async function pictureOf(page) {
  const picture = readPng(await takeCanvas(page));
  const [low, high] = await page.evaluate(() => [0.08, 0.75].map((y) => window.tarn.project([0.5, y, 0.5])));
  return [low, high].map(([x, y]) => picture.at(Math.round(x), Math.round(y)));
}

for (const quality of ["points", "spheres", "low", "high"]) {
  test(`height colours the particles, drawn as ${quality}`, async (world) => {
    const server = await world.fake(COLUMN);
    const page = await world.open(
      `http://127.0.0.1:${server.port}/?detail=full&quality=${quality}&channel=height`,
      {
        context: { viewport: { width: 320, height: 180 } },
        prepare: drawByHand,
      },
    );
    await drawUntil(page, { connection: "connected" });
    await until(async () => (await page.evaluate(() => window.tarn.framesDecoded)) > 0, "a frame is decoded");
    const [[r0, g0, b0], [r1, g1, b1]] = await pictureOf(page);
    const seen = `low ${[r0, g0, b0]}, high ${[r1, g1, b1]}`;
    assert(b0 > r0 + 20 && b0 > g0 + 10, `blue below: ${seen}`);
    assert(g1 > b1 + 20 && r1 - b1 > r0 - b0 + 25, `yellow above: ${seen}`);
  });
}

test("the panel chooses a channel, the legend and the address tell it", async (world) => {
  const server = await world.fake(COLUMN);
  const page = await world.watch(`http://127.0.0.1:${server.port}/?quality=points`, WIDE);
  assertEqual(await legendOf(page), null, "the legend of the particles' own look");
  const choice = page.getByLabel("Colours", { exact: true });
  assertEqual(
    await choice.locator("option").allTextContents(),
    ["Own colour", "Speed, m/s", "Height, m", "Vorticity, 1/s"],
    "choices",
  );
  await choice.selectOption({ label: "Height, m" });
  assertEqual(await legendOf(page), ["Height, m", "0", "1"], "the legend of height");
  await until(() => new URL(page.url()).searchParams.get("channel") === "height", "the address has it");
  await choice.selectOption({ label: "Vorticity, 1/s" });
  await until(async () => (await legendOf(page))?.[2] === "8.17", "the vorticity's range comes with a frame");
  await choice.selectOption({ label: "Own colour" });
  await until(() => new URL(page.url()).searchParams.get("channel") === null, "the address forgets it");
  assertEqual(await legendOf(page), null, "the legend of their own look again");
});

test("frames carry the pressure for a page that asks, and the legend has its range", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(`${server.url}?quality=points&channel=pressure`, WIDE);
  await until(async () => /^[\d,]+$/.test((await legendOf(page))?.[2] ?? ""), "the range comes with a frame");
  const [title, low, high] = await legendOf(page);
  assertEqual([title, low], ["Pressure, Pa", "0"], "the legend");
  assert(Number(high.replace(",", "")) > 1000, `the tank's water weighs more than ${high} Pa`);
  const choice = page.getByLabel("Colours", { exact: true });
  await choice.selectOption({ label: "Density, kg/m³" });
  await until(
    async () => (await legendOf(page))?.join() === "Density, kg/m³,1,000,1,000",
    "the density comes",
  );
});

test("a paused tank shows what frames before lacked", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(`${server.url}?quality=points`, WIDE);
  await page.keyboard.press("p");
  await until(async () => (await look(page, "paused")).paused, "it is paused");
  const choice = page.getByLabel("Colours", { exact: true });
  for (const label of ["Vorticity, 1/s", "Pressure, Pa", "Vorticity, 1/s"]) {
    await choice.selectOption({ label });
    await until(async () => /^[\d,.]+$/.test((await legendOf(page))?.[2] ?? ""), `${label}: the range comes`);
    assertEqual((await legendOf(page))?.[0], label, "the legend");
  }
});

test("a tank of vortons offers its vorticity as arrows, along the axis and in the scale's colours", async (world) => {
  const server = await world.fake({
    ...COLUMN,
    model: { model: "vortons", tools: [], channels: CHANNELS },
  });
  const page = await world.watch(`http://127.0.0.1:${server.port}/?quality=points`, WIDE);
  const choice = page.locator("#panel select").filter({ hasText: "arrows" });
  assertEqual(await choice.locator("option").allTextContents(), ["Dye", "Vorticity, as arrows"], "choices");
  await choice.selectOption({ label: "Vorticity, as arrows" });
  assertEqual((await look(page, "drawing")).drawing, "arrows", "the drawing");
  await until(() => new URL(page.url()).searchParams.get("draw") === "arrows", "the address has it");
  await until(
    async () => (await legendOf(page))?.[0] === "Vorticity, 1/s",
    "the legend tells what they stand for",
  );
  await choice.selectOption({ label: "Dye" });
  await until(() => new URL(page.url()).searchParams.get("draw") === null, "the address forgets it");
  assertEqual(await legendOf(page), null, "the legend of dye");
});

/** How far what is drawn of a thin slab that shears reaches above it, pixels; its shadow lies below it. */
async function reachOf(world, axis) {
  const velocityOf = { y: (w) => [8 * w, 0, 0], x: (w) => [0, -8 * w, 0] }[axis];
  const path = ([u, v, w]) => ({
    at: [u, 0.45 + 0.1 * v, w],
    velocity: velocityOf(w - 0.5),
  });
  const model = { model: "vortons", channels: CHANNELS };
  const server = await world.fake({ ...COLUMN, path, byHand: true, model });
  const page = await world.open(
    `http://127.0.0.1:${server.port}/?detail=full&quality=points&draw=arrows&pitch=0&yaw=0`,
    { context: { viewport: { width: 640, height: 360 } }, prepare: drawByHand },
  );
  await drawUntil(page, { connection: "connected" });
  const empty = readPng(await takeCanvas(page));
  server.show(0);
  await drawUntil(page, { framesDecoded: 1 });
  const picture = readPng(await takeCanvas(page));
  const [, top] = await page.evaluate(() => window.tarn.project([0.5, 0.55, 0]));
  const rows = [];
  for (let y = 0; y < picture.height; y++)
    for (let x = 0; x < picture.width; x++)
      if (Math.abs(picture.at(x, y)[1] - empty.at(x, y)[1]) > 40) rows.push(y);
  assert(rows.length > 200, `${rows.length} pixels show arrows`);
  return top - Math.min(...rows);
}

test("arrows lie along the axis that what flows turns about", async (world) => {
  const [upright, level] = [await reachOf(world, "y"), await reachOf(world, "x")];
  assert(upright > 6 && level < 4, `about y they stick out by ${upright} pixels, about x by ${level}`);
});

test("nothing but vortons is drawn as arrows", async (world) => {
  const server = await world.fake(COLUMN);
  const page = await world.watch(`http://127.0.0.1:${server.port}/?quality=points&draw=arrows`, WIDE);
  assertEqual((await look(page, "drawing")).drawing, "water", "the drawing of a liquid");
  assertEqual(await page.locator("#panel select").filter({ hasText: "arrows" }).count(), 0, "choices");
});

test("smoke is coloured by its heat, with a legend in kelvin", async (world) => {
  const scene = new URL("../scenes/small-smoke.json", import.meta.url).pathname;
  const server = await world.tank({ scene });
  const page = await world.watch(`${server.url}?quality=points&channel=heat`, WIDE);
  await until(async () => /^[\d.]+$/.test((await legendOf(page))?.[2] ?? ""), "the range comes with a frame");
  assertEqual((await legendOf(page))[0], "Heat, K", "the legend");
  const choice = page.getByLabel("Colours", { exact: true });
  assertEqual(
    await choice.locator("option").allTextContents(),
    ["Own colour", "Speed, m/s", "Height, m", "Vorticity, 1/s", "Heat, K", "Smoke", "Pressure, Pa"],
    "choices",
  );
  await choice.selectOption({ label: "Pressure, Pa" });
  await until(async () => Number((await legendOf(page))?.[2]) > 0.1, "the pressure's range comes");
  const [, low, high] = await legendOf(page);
  assertEqual(Number(low), -Number(high), "pressure may be below that of air at rest");
});

test("vortons tell their density and how they turn", async (world) => {
  const scene = new URL("../scenes/small-dye.json", import.meta.url).pathname;
  const server = await world.tank({ scene });
  const page = await world.watch(`${server.url}?quality=points&channel=spin`, WIDE);
  await until(async () => Number((await legendOf(page))?.[2]) > 0, "the range comes with a frame");
  assertEqual((await legendOf(page))[0], "Vortons' own vorticity, 1/s", "the legend");
  const choice = page.getByLabel("Colours", { exact: true });
  await choice.selectOption({ label: "Density deviation" });
  await until(async () => Number((await legendOf(page))?.[2]) > 0, "the deviation's range comes");
});
