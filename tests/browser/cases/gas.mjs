// Smoke and dye: a plume that the fake tank writes down, drawn by what the state says of the tank's model.
import { drawByHand, drawUntil, takeCanvas } from "../by-hand.mjs";
import { brightness } from "../compare.mjs";
import { assert, assertEqual, test } from "../harness.mjs";
import { plumeAt } from "../plume.mjs";
import { readPng } from "../png.mjs";
import { look } from "../world.mjs";

const SMALL = { context: { viewport: { width: 240, height: 160 } } };
const CUBE = { cells: [32, 32, 32], cellM: 1 / 32 };
const FLAT = { cells: [48, 32, 1], cellM: 1 / 32 };

/**
 * What a page shows of a plume after three seconds; without particles of an empty tank. It stands in the dark: how bright
 * smoke is before that, and from where it is lit there, is what is judged.
 */
async function see(world, { model, particles = 0, query = "quality=low", tank = CUBE, sinks = false }) {
  const path = (seed, _, size) => plumeAt(seed, 3, size, sinks);
  const server = await world.fake({ ...tank, particles, path, byHand: true, model: { model } });
  const page = await world.open(`http://127.0.0.1:${server.port}/?detail=full&light=night&${query}`, {
    ...SMALL,
    prepare: drawByHand,
  });
  await drawUntil(page, { connection: "connected" });
  server.show(0);
  await drawUntil(page, { framesDecoded: 1 });
  const picture = readPng(await takeCanvas(page));
  const { tier, drawing } = await look(page, "tier", "drawing");
  const project = (points) => page.evaluate((all) => all.map((point) => window.tarn.project(point)), points);
  return { picture, tier, drawing, project };
}

const PARTICLES = 6000;

/** Brightness of a picture less that of an empty tank, pixel by pixel. */
function change(picture, empty) {
  const [a, b] = [brightness(picture), brightness(empty)];
  return { ...a, values: a.values.map((value, i) => value - b.values[i]) };
}

/** The steepest step between neighbours in a row as a share of its highest value, in the mean over some rows. */
function steepness({ width, values }, from, to) {
  let sum = 0;
  for (let y = from; y < to; y++) {
    const row = values.slice(y * width, (y + 1) * width);
    const steps = row.slice(1).map((value, x) => Math.abs(value - row[x]));
    sum += Math.max(...steps) / Math.max(...row) / (to - from);
  }
  return sum;
}

/** How much brighter the left half of what has changed is than the right one, in the mean over some rows. */
function leaning({ width, values }, from, to) {
  const sums = [0, 0];
  for (let y = from; y < to; y++) {
    const row = values.slice(y * width, (y + 1) * width);
    const seen = row.filter((value) => value > 0.4 * Math.max(...row));
    const half = Math.floor(seen.length / 2);
    for (let i = 0; i < half; i++) {
      sums[0] += seen[i];
      sums[1] += seen[seen.length - 1 - i];
    }
  }
  return sums[0] / sums[1];
}

/** Mean change around a place. */
function around({ width, values }, [x, y], reach = 3) {
  let sum = 0;
  for (let dy = -reach; dy <= reach; dy++)
    for (let dx = -reach; dx <= reach; dx++) sum += values[(Math.round(y) + dy) * width + Math.round(x) + dx];
  return sum / (2 * reach + 1) ** 2;
}

test("smoke is drawn as smoke: soft, bright where the sun is, its shadow on the floor", async (world) => {
  const beside = { model: "smoke", query: "quality=low&yaw=45&pitch=25" };
  const empty = await see(world, beside);
  const seen = await see(world, { ...beside, particles: PARTICLES });
  assertEqual([seen.tier, seen.drawing], ["water-low", "smoke"], "tier and drawing");
  const smoke = change(seen.picture, empty.picture);
  const [top] = smoke.values.toSorted((a, b) => b - a);
  assert(top > 80, `it is brighter by ${top.toFixed(0)} at most`);
  const query = "quality=spheres&draw=water&yaw=45&pitch=25";
  const balls = await see(world, { model: "smoke", particles: PARTICLES, query });
  assertEqual([balls.tier, balls.drawing], ["spheres", "water"], "tier and drawing, as asked");
  const rows = (await seen.project([0.45, 0.15].map((y) => [0.5, y, 0.5]))).map((at) => Math.round(at[1]));
  const [soft, hard] = [smoke, change(balls.picture, empty.picture)].map((one) => steepness(one, ...rows));
  assert(soft < 0.6 * hard, `the steepest edges are ${soft.toFixed(2)}, of spheres ${hard.toFixed(2)}`);

  const leans = leaning(smoke, ...rows);
  assert(
    leans > 1.15,
    `its left side, towards the sun, is ${leans.toFixed(2)} times as bright as its right one`,
  );

  // Away from the sun, at the foot of what is above it; and towards the sun, where nothing is above.
  const [shadow, sunny] = await seen.project([
    [0.71, 0, 0.28],
    [0.15, 0, 0.85],
  ]);
  const [dark, light] = [around(smoke, shadow), around(smoke, sunny)];
  assert(dark < -4 && Math.abs(light) < 1, `the floor changes by ${dark.toFixed(1)} and ${light.toFixed(1)}`);
});

test("dye takes its colour's complement from the light behind it", async (world) => {
  const empty = await see(world, { model: "vortons" });
  const seen = await see(world, { model: "vortons", particles: PARTICLES, sinks: true });
  assertEqual([seen.tier, seen.drawing], ["water-low", "dye"], "tier and drawing");
  const behind = brightness(empty.picture);
  const middle = behind.values[(behind.height / 2) * behind.width + behind.width / 2];
  assert(middle > 150, `behind the dye it is ${middle.toFixed(0)} bright`);
  let [dark, blue] = [0, 0];
  for (let y = 0; y < behind.height; y++)
    for (let x = 0; x < behind.width; x++) {
      const [a, b] = [seen.picture.at(x, y), empty.picture.at(x, y)];
      if (b[0] - a[0] < 60) continue;
      dark++;
      if (b[0] - a[0] > 1.5 * (b[2] - a[2])) blue++;
    }
  assert(dark > 300 && blue > 0.95 * dark, `${dark} pixels lose red, ${blue} of them less blue`);
});

test("a flat tank fills the view from the front, its smoke drawn at a quarter of the pixels", async (world) => {
  const query = "quality=spheres";
  const empty = await see(world, { model: "smoke", tank: FLAT, query });
  const seen = await see(world, { model: "smoke", tank: FLAT, query, particles: 2000 });
  assertEqual([seen.tier, seen.drawing], ["spheres", "smoke"], "tier and drawing");
  const [low, high] = await seen.project([
    [0, 0, 0.5 / 32],
    [1.5, 1, 0.5 / 32],
  ]);
  const [across, up] = [(high[0] - low[0]) / 240, (low[1] - high[1]) / 160];
  assert(across <= 1 && up <= 1 && Math.max(across, up) > 0.93, `it takes ${across} x ${up} of the view`);
  const [top] = change(seen.picture, empty.picture).values.toSorted((a, b) => b - a);
  assert(top > 40, `the smoke is brighter by ${top.toFixed(0)} at most`);
});
