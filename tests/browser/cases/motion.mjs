// What moves on the page between the frames that come: one particle, followed from picture to picture. The page's time
// goes on by hand, so that a busy machine is no slower than any other.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { linePlot } from "../line-plot.mjs";
import { ROOT } from "../places.mjs";
import { timeByHand } from "../time-by-hand.mjs";
import { look } from "../world.mjs";

const TANK = { cells: [32, 16, 16], cellM: 0.0625 };
const SIZE = TANK.cells.map((n) => n * TANK.cellM);
const MARKED = 0xe0;
const FRAME_S = 0.1;
const DELAY_S = 0.3;
/** Frames are late by so much more, one after the other. */
const JITTER_S = [0, 0.012, 0.004, 0.02, 0.008];
const PICTURE_S = 1 / 60;
const FRAMES = 40;
/** Before that the page finds out how the frames come. */
const SETTLED = 15;
/** Of the swing: metres, and radians a second. */
const REACH_M = 0.5;
const OMEGA = 2;
const SPEED_MAX = REACH_M * OMEGA;
/** Of the way between two frames at full speed: how far the particle may be from an even swing. */
const OFF_MAX = 0.12;
/** Of the way between two pictures at full speed: by how much two steps in a row may differ. */
const UNEVEN_MAX = 0.5;

const swing = (t) => 0.5 * SIZE[0] + REACH_M * Math.sin(OMEGA * t);

/** One particle in the middle of each tile, which only says how all of the water moves. */
function carriers() {
  const cells = [];
  for (let x = 4; x < TANK.cells[0]; x += 8)
    for (let y = 4; y < TANK.cells[1]; y += 8)
      for (let z = 4; z < TANK.cells[2]; z += 8) cells.push([x, y, z]);
  return cells;
}

/** Seeds are a carrier's cell, or null: the marked particle, which swings. */
const path = (cell, t) => ({
  at: cell === null ? [swing(t), 0.4, 0.5] : cell.map((n) => (n + 0.25) * TANK.cellM),
  velocity: [REACH_M * OMEGA * Math.cos(OMEGA * t), 0, 0],
});

/** Shows frames as they would come, draws pictures meanwhile. @returns time and place, x, of the particle in each */
async function follow(server, page) {
  await page.evaluate(() => window.takeTime());
  const seen = [];
  let nowS = 0;
  let pictureS = 0;
  for (let i = 0; i < FRAMES; i++) {
    const arrivalS = i * FRAME_S + DELAY_S + JITTER_S[i % JITTER_S.length];
    const count = Math.max(0, Math.floor((arrivalS - pictureS) / PICTURE_S));
    const drawn = await page.evaluate(
      ([pictures, beforeMs, ms, colour]) => {
        window.pass(beforeMs);
        // By the display's time, whenever it was the page's turn.
        return window.pictures(pictures, ms, () => [performance.now(), window.tarn.drawnAt(colour)?.[1]]);
      },
      [count, 1000 * (pictureS - nowS), 1000 * PICTURE_S, MARKED],
    );
    pictureS += count * PICTURE_S;
    nowS = arrivalS;
    if (i > SETTLED) seen.push(...drawn.map(([ms, x]) => [ms / 1000, x]));
    await page.evaluate((ms) => window.pass(ms), 1000 * (nowS - pictureS));
    const { framesDecoded } = await look(page, "framesDecoded");
    server.show(i * FRAME_S);
    await until(
      async () => (await look(page, "framesDecoded")).framesDecoded > framesDecoded,
      "it is decoded",
    );
  }
  return seen;
}

/** The even swing that fits best. @returns how much later it is shown than it is, s, and how far it is off, m */
function fit(seen) {
  const offAt = (shift) => Math.max(...seen.map(([t, x]) => Math.abs(x - swing(t + shift))));
  let shift = 0;
  for (let width = (2 * Math.PI) / OMEGA; width > 1e-4; width /= 50) {
    const middle = shift;
    for (let i = -100; i <= 100; i++)
      if (offAt(middle + (width * i) / 200) < offAt(shift)) shift = middle + (width * i) / 200;
  }
  return { shift, off: offAt(shift) };
}

function plot(seen, shift) {
  const folder = join(ROOT, "build", "browser");
  mkdirSync(folder, { recursive: true });
  const began = seen[0][0];
  writeFileSync(
    join(folder, "motion.svg"),
    linePlot("A particle's place, m, by seconds: as drawn (blue), even (grey); 10 frames/s, 300 ms late", [
      { colour: "#999999", points: seen.map(([t]) => [t - began, swing(t + shift)]) },
      { colour: "#1060c0", points: seen.map(([t, x]) => [t - began, x]), dots: true },
    ]),
  );
}

test("with ten frames a second, late by 300 ms, a particle moves without steps", async (world) => {
  const colour = (cell) => (cell === null ? MARKED : 0);
  const server = await world.fake({ ...TANK, seeds: [null, ...carriers()], path, colour, byHand: true });
  const page = await world.open(`http://127.0.0.1:${server.port}/?quality=points`, {
    context: { viewport: { width: 160, height: 90 } },
    prepare: (blank) => blank.addInitScript(timeByHand),
  });
  await until(() => page.evaluate(() => window.tarn?.connection === "connected"), "it is connected", 30_000);
  const seen = await follow(server, page);
  const { shift, off } = fit(seen);
  plot(seen, shift);

  const places = new Set(seen.map(([, x]) => x)).size;
  assertEqual(places, seen.length, "pictures that show the particle elsewhere than those before");
  const steps = seen.slice(1).map(([, x], i) => x - seen[i][1]);
  const uneven = Math.max(...steps.slice(1).map((step, i) => Math.abs(step - steps[i])));
  const [offShare, unevenShare] = [off / (SPEED_MAX * FRAME_S), uneven / (SPEED_MAX * PICTURE_S)];
  assert(offShare < OFF_MAX, `it is off by ${offShare.toFixed(2)} of the way between two frames`);
  assert(
    unevenShare < UNEVEN_MAX,
    `two steps differ by ${unevenShare.toFixed(2)} of the way between two pictures`,
  );
});
