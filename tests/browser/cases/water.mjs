// Water drawn as water: recorded frames of a small pool and of a splash, seen with the finest tier.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { drawByHand, drawUntil, takeCanvas } from "../by-hand.mjs";
import { brightness, compare, waterIn } from "../compare.mjs";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { HERE } from "../places.mjs";
import { readPng } from "../png.mjs";
import { framesOf, Still } from "../recorded-layers.mjs";
import { look, said } from "../world.mjs";

const SMALL = { context: { viewport: { width: 320, height: 180 } } };
const NOTHING = { frames: [], next: () => null };
/** How far a picture may be from the reference: another browser rounds otherwise, a missing pass is much farther. */
const DIFFERENCE_MAX = 3;
const SIMILARITY_MIN = 0.9;

/** Solids that need no frames to be where they are, and are opaque. */
const still = (size, at, colour) => ({
  shape: { box: { size_m: size } },
  motion: "keyframes",
  keyframes: [{ time_s: 0, position_m: at }],
  colour,
});
/** A red post that stands in the pool, to the right, and a board before the tank. */
const POST = [0.8, 0.25, 0.25];
const BOARD = [0.25, 0.15, 0.6];
const SOLIDS = [still([0.05, 0.5, 0.05], POST, "#ff3010"), still([0.2, 0.2, 0.02], BOARD, "#ffe0c0")];
/** Straight onto the front pane, from near. */
const FROM_THE_FRONT = { query: "quality=high&yaw=0&pitch=8&distance=0.6" };

function recorded(name, index, layers) {
  return new Still(framesOf(readFileSync(join(HERE, "streams", `${name}.bin`))), index, layers);
}

/**
 * The page's picture of a tank that stands still. It stands in the dark: what is judged are the colours of water before
 * that, and the edges of what is bent by it.
 * @returns the picture, its file, and places of points of the tank
 */
async function see(world, recording, { query = "quality=high", solids = [] } = {}) {
  const files = { "dam-break.json": JSON.stringify({ solids }) };
  const server = await world.fake({ recording, files, cells: [16, 8, 8], cellM: 0.0625 });
  const page = await world.open(`http://127.0.0.1:${server.port}/?detail=full&light=night&${query}`, {
    ...SMALL,
    prepare: drawByHand,
  });
  const frames = recording.frames.length;
  await drawUntil(page, { connection: "connected", framesDecoded: frames, solids: solids.length });
  const { tier } = await look(page, "tier");
  const file = await takeCanvas(page);
  const places = await page.evaluate(
    (points) => points.map((point) => window.tarn.project(point)),
    [POST, BOARD, [POST[0], 0.45, POST[2]], [POST[0], 0.12, POST[2]]],
  );
  await page.context().close();
  return { picture: readPng(file), file, tier, places };
}

let emptyTank = null;

/** The picture of a tank without water: the same for all cases. */
async function seeEmpty(world) {
  emptyTank ??= (await see(world, NOTHING)).picture;
  return emptyTank;
}

/** Mean difference of the channels of two pictures at a pixel. */
function differenceAt(a, b, x, y) {
  const [ca, cb] = [a.at(x, y), b.at(x, y)];
  return ca.reduce((sum, value, i) => sum + Math.abs(value - cb[i]) / 3, 0);
}

/** Where the middle of what two pictures don't share is in a row, from an x; null where nothing is. */
function middleOf(a, b, x, y, reach = 20) {
  let [sum, moment] = [0, 0];
  for (let i = -reach; i <= reach; i++) {
    const weight = Math.max(0, differenceAt(a, b, x + i, y) - 8);
    sum += weight;
    moment += weight * i;
  }
  return sum < 30 ? null : moment / sum;
}

test("the finest tier draws a splash as it should look", async (world) => {
  const seen = await see(world, recorded("small-splash", 14, 3));
  assertEqual(seen.tier, "water", "tier");
  const file = join(HERE, "pictures", "water-splash.png");
  if (process.env.TARN_TEST_RENEW_PICTURES === "1") writeFileSync(file, seen.file);
  assert(existsSync(file), `there is no ${file} to compare with: TARN_TEST_RENEW_PICTURES=1 takes it`);
  const empty = brightness(await seeEmpty(world));
  const wanted = brightness(readPng(readFileSync(file)));
  const found = brightness(seen.picture);
  const water = waterIn(wanted, empty);
  const share = water.reduce((a, b) => a + b, 0) / water.length;
  assert(share > 0.08, `the reference shows water on ${(100 * share).toFixed(1)} % only`);
  const { difference, similarity } = compare(found, wanted, water);
  assert(
    difference < DIFFERENCE_MAX && similarity > SIMILARITY_MIN,
    `differs by ${difference.toFixed(2)}, similarity ${similarity.toFixed(3)}`,
  );
});

test("water mirrors the room's light", async (world) => {
  const pool = recorded("small-pool", 0, 1);
  const empty = await seeEmpty(world);
  const { picture: dark } = await see(world, recorded("small-pool", 0, 1), {
    query: "quality=high&sky=000000",
  });
  const { picture: red } = await see(world, pool, { query: "quality=high&sky=ff0000" });
  let [water, redder, outside, changed] = [0, 0, 0, 0];
  for (let y = 0; y < empty.height; y++) {
    for (let x = 0; x < empty.width; x++) {
      const isWater = differenceAt(dark, empty, x, y) > 4;
      const [[r0, g0, b0], [r1, g1, b1]] = [dark.at(x, y), red.at(x, y)];
      if (isWater) {
        water++;
        if (r1 > r0 + 8 && g1 < g0 + 5 && b1 < b0 + 5) redder++;
      } else if (differenceAt(dark, red, x, y) > 0) {
        changed++;
      }
      outside += isWater ? 0 : 1;
    }
  }
  assert(water > 2000, `only ${water} pixels of water`);
  assert(redder > 0.25 * water, `of ${water} pixels of water ${redder} mirror the red light`);
  assert(changed < 0.02 * outside, `${changed} of ${outside} pixels without water changed, too`);
});

test("what stands in the water is seen bent, what is before it hides it", async (world) => {
  const pool = recorded("small-pool", 0, 1);
  const { picture: wet, places } = await see(world, pool, { ...FROM_THE_FRONT, solids: SOLIDS });
  const { picture: dry } = await see(world, NOTHING, { ...FROM_THE_FRONT, solids: SOLIDS });
  const { picture: bare } = await see(world, NOTHING, FROM_THE_FRONT);
  const { picture: free } = await see(world, recorded("small-pool", 0, 1), FROM_THE_FRONT);
  const [, board, above, below] = places.map((place) => place.map(Math.round));

  assert(
    differenceAt(wet, dry, ...board) < 2,
    `the board is ${wet.at(...board)}, without water ${dry.at(...board)}`,
  );
  assert(differenceAt(wet, free, ...board) > 20, "the board doesn't hide the water");
  assert(differenceAt(wet, dry, ...above) < 3, "the post above the water changed");

  // In the water the post is seen, but not as it is, and where a thing is seen that is nearer: farther out.
  let [seen, shifted] = [0, 0];
  for (let y = below[1] - 6; y <= below[1] + 6; y++) {
    const [there, here] = [middleOf(dry, bare, below[0], y), middleOf(wet, free, below[0], y)];
    assert(there !== null, `without water the post isn't seen in row ${y}`);
    if (here === null) continue;
    seen++;
    shifted += here - there;
  }
  assert(seen >= 8, `the post is seen in ${seen} of 13 rows of the water`);
  assert(shifted / seen > 1.8, `the post is bent outwards by ${(shifted / seen).toFixed(2)} pixels only`);
  assert(differenceAt(wet, dry, ...below) > 8, "the post in the water has no colour of the water");
});

test("a tier is drawn as asked: points, spheres, low", async (world) => {
  const empty = await seeEmpty(world);
  const tiers = [];
  for (const quality of ["points", "spheres", "low"]) {
    const { picture, tier } = await see(world, recorded("small-pool", 0, 1), { query: `quality=${quality}` });
    tiers.push(tier);
    let water = 0;
    for (let y = 0; y < empty.height; y++)
      for (let x = 0; x < empty.width; x++) water += differenceAt(picture, empty, x, y) > 4 ? 1 : 0;
    assert(water > 2000, `${quality}: only ${water} pixels of water`);
  }
  assertEqual(tiers, ["points", "spheres", "water-low"], "tiers");
});

test("where water can't be drawn the page says so, and shows spheres", async (world) => {
  const server = await world.fake({
    recording: recorded("small-pool", 0, 1),
    cells: [16, 8, 8],
    cellM: 0.0625,
  });
  const page = await world.open(`http://127.0.0.1:${server.port}/?quality=high`, {
    ...SMALL,
    prepare: (page) =>
      page.addInitScript(() => {
        const { getExtension } = WebGL2RenderingContext.prototype;
        WebGL2RenderingContext.prototype.getExtension = function (name) {
          return name === "EXT_color_buffer_float" ? null : getExtension.call(this, name);
        };
      }),
  });
  await until(async () => (await said(page)).includes("can't draw water"), "it says so");
  assertEqual(await look(page, "tier"), { tier: "spheres" }, "tier");
});
