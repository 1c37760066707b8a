// Probes by the page: with the mouse and with keys alone, what they measure as text, plot and table, and that others see
// them.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { cheap, drawn, faultsOf } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

export const SMALL_FLOAT = join(dirname(SMALL_POOL), "small-float.json");
/** Room for the panel beside the tank. */
const WIDE = { context: { viewport: { width: 900, height: 620 }, acceptDownloads: true } };
const G_PA_M = 9810;
const DEEP_M = 0.25;

const probes = (page) => page.evaluate(() => window.tarn.probes);
const readings = (page) => page.evaluate(() => window.tarn.readings);
const project = (page, point) => page.evaluate((at) => window.tarn.project(at), point);
const panel = (page) => page.locator("#probes");

async function open(world, url, options = WIDE) {
  const address = new URL(cheap(url));
  address.searchParams.set("panel", "0");
  return await world.watch(address.href, options);
}

async function press(page, point) {
  await drawn(page); // the camera has made room for what is beside the tank
  const [x, y] = await project(page, point);
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.up();
}

/** A value in the panel, in the unit without a prefix. */
async function columnValue(page, column) {
  const text = await panel(page).locator(`li dd[data-column="${column}"]`).first().textContent();
  const [number, unit = ""] = text.split(" ");
  return Number(number) * (unit.startsWith("k") ? 1000 : 1);
}

/** How much of a column's plot is drawn in a colour that axes don't have. */
const inked = (page, column) =>
  page.evaluate((name) => {
    const canvas = document.querySelector(`#probes details[data-column="${name}"] canvas`);
    if (canvas === null) return 0;
    const copy = Object.assign(document.createElement("canvas"), {
      width: canvas.width,
      height: canvas.height,
    });
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4)
      if (
        data[i + 3] > 120 &&
        Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 90
      )
        count++;
    return count;
  }, column);

test("a probe is placed, moved and removed with the mouse, and its plot shows what the water weighs", {
  core: true,
}, async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await open(world, server.url);
  const other = await open(world, server.url);
  await page.bringToFront();
  await page.locator("#measure").click();
  await panel(page).getByRole("button", { name: "Point" }).click();
  await press(page, [0.5, 0.1, 0.25]);
  const [placed] = await until(
    async () => ((await probes(page)).length === 1 ? probes(page) : null),
    "it is placed",
  );
  assertEqual(placed.kind, "point", "kind");
  await until(async () => (await probes(other)).length === 1, "the other page has it, too");
  await other.locator("#probe-names .probe").waitFor();
  assertEqual(await readings(other), 0, "rows that came to who didn't ask");
  await until(async () => (await readings(page)) > 20, "it measures");
  const weighs = (DEEP_M - placed.atM[1]) * G_PA_M;
  await until(
    async () => Math.abs((await columnValue(page, "pressure_pa")) - weighs) < 0.3 * 0.0625 * G_PA_M,
    `about ${weighs.toFixed(0)} Pa at ${placed.atM[1]} m`,
  );
  await until(async () => (await inked(page, "pressure_pa")) > 60, "the plot has a curve");

  // Dragged to the side it goes there, and the water isn't pushed.
  const before = await page.evaluate(() => window.tarn.sequence);
  const [x, y] = await project(page, placed.atM);
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 40, y, { steps: 5 });
  await page.mouse.up();
  await until(async () => ((await probes(page))[0]?.atM[0] ?? 0) > placed.atM[0] + 0.02, "it has moved");
  assertEqual(await page.evaluate(() => window.tarn.sequence), before, "inputs sent by dragging a probe");
  assert((await inked(page, "pressure_pa")) > 60, "what it measured before stays in the plot");
  await press(page, [0.9, 0.2, 0.25]);
  assert((await page.evaluate(() => window.tarn.sequence)) > before, "beside it the tool pushes the water");

  await panel(page)
    .getByRole("button", { name: /^Remove/ })
    .click();
  await until(async () => (await probes(other)).length === 0, "it is gone everywhere");
  await page.locator("#measure").click();
  assertEqual(await panel(page).count(), 0, "panels");
});

test("with keys alone probes are placed, moved and saved as a table", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await open(world, server.url);
  await page.keyboard.press("0");
  await panel(page).waitFor();
  for (const words of ["Rod", "Rectangle"]) {
    await panel(page).getByRole("button", { name: words }).focus();
    await page.keyboard.press("Enter");
    await panel(page).getByRole("button", { name: "Place it in the middle" }).focus();
    await page.keyboard.press("Enter");
    await panel(page)
      .locator("li h3", { hasText: words === "Rod" ? "gauge" : "flux" })
      .waitFor();
  }
  await panel(page)
    .getByLabel(/^Place of gauge/)
    .focus();
  await page.keyboard.press("Enter");
  const input = panel(page).getByLabel(/^gauge \d+: x, m$/);
  await input.focus();
  await input.fill("0.75");
  await page.keyboard.press("Enter");
  await until(
    async () => Math.abs((await probes(page))[0].atM[0] - 0.75) < 1e-6,
    "the rod's foot is elsewhere",
  );
  assertEqual((await probes(page))[0].toM[0], 0.5, "the rod's other end");
  const end = panel(page).getByLabel(/^gauge \d+: to x, m$/);
  await end.fill("0.75");
  await end.press("Enter");
  await until(async () => Math.abs((await probes(page))[0].toM[0] - 0.75) < 1e-6, "it stands upright again");
  await until(
    async () => Math.abs((await columnValue(page, "depth_m")) - DEEP_M) < 0.03,
    "it says how deep the water is",
  );
  const from = await readings(page);
  await until(async () => (await readings(page)) > from + 30, "rows come");
  const saving = page.waitForEvent("download");
  await panel(page).getByRole("button", { name: /CSV/ }).click();
  const table = readFileSync(await (await saving).path(), "utf8")
    .trim()
    .split("\n");
  assert(
    /^time_s,gauge_\d+_depth_m,gauge_\d+_surface_m,flux_\d+_flux_m3_s$/.test(table[0]),
    `head: ${table[0]}`,
  );
  assert(table.length > 30, `${table.length} lines`);
  const [time, depth] = table.at(-1).split(",").map(Number);
  assert(time > 0 && Math.abs(depth - DEEP_M) < 0.03, `the last line: ${table.at(-1)}`);
  await page.keyboard.press("Escape");
  assertEqual(await panel(page).count(), 0, "panels");
});

for (const colorScheme of ["dark", "light"])
  test(`the panel of probes has no fault that axe finds, ${colorScheme}`, async (world) => {
    const server = await world.tank({ scene: SMALL_POOL });
    const page = await open(world, server.url, { context: { ...WIDE.context, colorScheme } });
    await page.locator("#measure").click();
    await panel(page).getByRole("button", { name: "Point" }).click();
    await press(page, [0.5, 0.1, 0.25]);
    await panel(page).locator("li").waitFor();
    await until(async () => (await readings(page)) > 20, "it measures");
    assertEqual(await faultsOf(page, "#probes, #probe-names, #title"), [], "faults");
  });

test("who may only watch sees what is measured, and can't touch it", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL, args: ["--guests", "watch"] });
  const page = await open(world, server.url);
  await page.locator("#measure").click();
  await panel(page).waitFor();
  assert(await panel(page).getByRole("button", { name: "Point" }).isDisabled(), "the button is of no use");
});

test("what floats is borne by what it weighs, and the mark goes with it", async (world) => {
  const server = await world.tank({ scene: SMALL_FLOAT });
  const page = await open(world, server.url);
  await page.locator("#measure").click();
  for (const words of ["Solid", "Wall"]) {
    await panel(page).getByRole("button", { name: words }).click();
    await panel(page).getByRole("button", { name: "Place it in the middle" }).click();
    await panel(page)
      .locator("li h3", { hasText: words === "Solid" ? "force" : "wall" })
      .waitFor();
  }
  const [force, wall] = await probes(page);
  assertEqual([force.kind, force.solid, wall.kind], ["force", 0, "wall"], "kinds");
  const weighs = 500 * 9.81 * 0.25 * 0.125 * 0.25;
  await until(
    async () => Math.abs((await columnValue(page, "force_y_n")) - weighs) < 0.1 * weighs,
    `about ${weighs.toFixed(1)} N`,
  );
  await until(async () => (await inked(page, "force_y_n")) > 60, "the plot has a curve");
  // Its ball is the box's, wherever that goes.
  const body = await page.evaluate(() => window.tarn.bodyAt(0));
  const [x, y] = await project(page, body);
  const at = await page.locator("#probe-names .probe").first().boundingBox();
  assert(Math.hypot(at.x - x, at.y - y) < 60, `the name is at ${at.x}, ${at.y}, the box at ${x}, ${y}`);
});
