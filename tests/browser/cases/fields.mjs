// A field of the tank's cells: chosen in the address or the panel, drawn in a plane of the tank, told by the legend.
import { drawByHand, drawUntil, takeCanvas } from "../by-hand.mjs";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { readPng } from "../png.mjs";
import { legendOf } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

const CELLS = [16, 8, 8]; // of the pool

/** Colours of two cells in the plane that halves the tank, one near the floor and one below the lid: at their middles. */
async function coloursOf(page) {
  const picture = readPng(await takeCanvas(page));
  const places = await page.evaluate(
    (cells) =>
      [1, 7].map((row) =>
        window.tarn.project(
          [6, row, cells[2] / 2].map((cell, axis) => ((cell + 0.5) / cells[axis]) * window.tarn.sizeM[axis]),
        ),
      ),
    CELLS,
  );
  return places.map(([x, y]) => picture.at(Math.round(x), Math.round(y)));
}

async function watch(world, url) {
  const page = await world.open(url, {
    context: { viewport: { width: 320, height: 180 } },
    prepare: drawByHand,
  });
  await drawUntil(page, { connection: "connected" });
  await until(async () => {
    await takeCanvas(page);
    return !["…", undefined].includes((await legendOf(page))?.[1]);
  }, "frames have the field");
  return page;
}

test("the pressure is drawn in the tank's middle plane", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await watch(world, `${server.url}?detail=full&quality=points&field=pressure`);
  assertEqual((await legendOf(page))[0], "Pressure, Pa", "the legend");
  const [low, high] = await coloursOf(page);
  assert(low[1] > low[0] + 40, `pressed below: ${low}`);
  assert(high[0] > high[1] + 10 && high[2] > high[1] + 40, `none above: ${high}`);
});

test("cells are drawn by what they are", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await watch(world, `${server.url}?detail=full&quality=points&field=cells`);
  assertEqual(await legendOf(page), ["Cells", "air, liquid", "solid"], "the legend");
  let [low, high] = [];
  await until(async () => {
    // its first slice comes after the legend
    [low, high] = await coloursOf(page);
    return low[2] > low[0] + 80 && low[2] > 150;
  }, "liquid below");
  assert(high[2] < 110 && high[2] > high[0], `air above: ${high}`);
});

test("the panel chooses a field and where it is cut", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(`${server.url}?quality=points`, {
    context: { viewport: { width: 720, height: 405 } },
  });
  const choice = page.locator("#panel select").filter({ hasText: "Cells" });
  assertEqual(
    await choice.locator("option").allTextContents(),
    ["None", "Pressure, Pa", "Cells", "Speed, m/s"],
    "choices",
  );
  const slice = page.locator("#panel .lil-controller").filter({ hasText: "Slice" });
  assert(!(await slice.isVisible()), "nothing is cut");
  await choice.selectOption({ label: "Speed, m/s" });
  await until(async () => /^[\d.]+$/.test((await legendOf(page))?.[2] ?? ""), "its range comes");
  await until(() => new URL(page.url()).searchParams.get("field") === "speed", "the address has it");
  assert(await slice.isVisible(), "it is cut");
  assertEqual(await slice.locator("input").inputValue(), "0.5", "in the middle");
  await slice.locator("input").fill("0.75");
  await until(() => new URL(page.url()).searchParams.get("slice") === "0.75", "the address has that, too");
  await choice.selectOption({ label: "None" });
  await until(async () => (await legendOf(page)) === null, "the legend goes");
  await until(() => new URL(page.url()).searchParams.get("field") === null, "the address forgets it");
});

test("the panel's slider stands where the address cuts", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(`${server.url}?quality=points&field=speed&slice=0.2`, {
    context: { viewport: { width: 720, height: 405 } },
  });
  const slice = page.locator("#panel .lil-controller").filter({ hasText: "Slice" });
  await until(() => slice.isVisible(), "it is cut");
  assertEqual(await slice.locator("input").inputValue(), "0.2", "the slider");
});
