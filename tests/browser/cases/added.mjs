// What people put into a tank: walls that part the water, and bodies that float.
import { test, until } from "../harness.mjs";
import { drag, look } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

/** How many of the pool's columns, an eighth of its depth wide, have none of its particles. */
async function emptyColumns(page) {
  const places = await page.evaluate(() => window.tarn.samplePoints(4096));
  const columns = new Set();
  for (let i = 0; i < places.length; i += 3)
    columns.add(Math.floor(places[i] * 16) * 8 + Math.floor(places[i + 2] * 16));
  return 16 * 8 - columns.size;
}

test("a wall that is drawn parts the water, and erased it is gone", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(server.url);
  await until(async () => (await emptyColumns(page)) === 0, "the pool at rest has no empty column");
  await page.keyboard.press("8");
  await drag(page, [0.2, 0.25, 0.25], [0.7, 0.25, 0.25]);
  await until(async () => (await look(page, "solids")).solids >= 2, "pieces of wall are drawn");
  await until(async () => (await emptyColumns(page)) >= 4, "there is no water where the wall is");
  await page.keyboard.press("9");
  await drag(page, [0.1, 0.25, 0.25], [0.8, 0.25, 0.25]);
  await until(async () => (await look(page, "solids")).solids === 0, "the wall is erased");
  await until(async () => (await emptyColumns(page)) === 0, "the water comes back");
});

test("a body that is thrown in is drawn where it floats, until a reset", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(server.url);
  await page.keyboard.press("7");
  await drag(page, [0.4, 0.3, 0.25], [0.6, 0.3, 0.25]);
  await until(async () => (await look(page, "solids")).solids === 1, "the ball is drawn");
  await until(async () => {
    const at = await page.evaluate(() => window.tarn.bodyAt(64));
    return at !== null && at[1] > 0.2 && at[1] < 0.4;
  }, "it is in the water's surface");
  await page.keyboard.press("r");
  await until(async () => (await look(page, "solids")).solids === 0, "after a reset it is gone");
});
