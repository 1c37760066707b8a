// Spray, foam and bubbles: where there are some, that they are drawn, and that they aren't all that is seen.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { drawByHand, drawUntil, takeCanvas } from "../by-hand.mjs";
import { assert, assertEqual, Skip, test } from "../harness.mjs";
import { Missing } from "../missing.mjs";
import { HERE, ROOT } from "../places.mjs";
import { readPng } from "../png.mjs";
import { streamCommand } from "../record-stream.mjs";
import { framesOf, Still } from "../recorded-layers.mjs";
import { look } from "../world.mjs";

const SMALL = { context: { viewport: { width: 320, height: 180 } } };
/** The least of its channels, of a pixel that is whitish in the dark. */
const WHITISH = 110;
const WHITE = 130;
/** A burst has so many pixels that are: 149 where its foam isn't drawn, 917 as it is now. */
const BURST_WHITISH_MIN = 400;
/** Share of the picture that was white where thin fast water was painted so: 0.087. As it is now: 0.003. */
const FALLING_WHITE_MAX = 0.02;

const recorded = (name) => framesOf(readFileSync(join(HERE, "streams", `${name}.bin`)));

/** What a page shows, in the dark, when it has seen all frames. @returns how many there are, and the picture */
async function see(world, frames, { cells, cellM, query = "quality=high" }) {
  const files = { "dam-break.json": JSON.stringify({ solids: [] }) };
  const recording = new Still(frames, frames.length - 1, 1, 0);
  const server = await world.fake({ recording, files, cells, cellM });
  const address = `http://127.0.0.1:${server.port}/?detail=full&light=night&panel=0&readout=0&${query}`;
  const page = await world.open(address, { ...SMALL, prepare: drawByHand });
  await drawUntil(page, { connection: "connected", framesDecoded: frames.length });
  const picture = readPng(await takeCanvas(page));
  const { secondary } = await look(page, "secondary");
  await page.context().close();
  return { secondary, picture };
}

/** How many pixels have all channels above a value. */
function brighter({ width, height, at }, least) {
  let found = 0;
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) found += Math.min(...at(x, y)) > least ? 1 : 0;
  return found;
}

test("a still pool has no foam, a block of water that bursts has some", async (world) => {
  const pool = await see(world, recorded("small-pool"), { cells: [16, 8, 8], cellM: 0.0625 });
  assertEqual(pool.secondary, 0, "particles of foam on a still pool");
  const block = { cells: [24, 20, 24], cellM: 0.03125 };
  const burst = await see(world, recorded("small-block"), block);
  assert(burst.secondary > 1000, `${burst.secondary} particles of foam in a splash`);
  const white = brighter(burst.picture, WHITISH);
  assert(white > BURST_WHITISH_MIN, `${white} pixels of a splash are whitish`);
});

test("how much foam there is follows how the water is drawn", async (world) => {
  const block = { cells: [24, 20, 24], cellM: 0.03125 };
  const found = {};
  for (const quality of ["points", "spheres"]) {
    const query = `quality=${quality}`;
    found[quality] = (await see(world, recorded("small-block"), { ...block, query })).secondary;
  }
  assertEqual(found.points, 0, "particles of foam beside points");
  assert(found.spheres > 500, `${found.spheres} particles of foam beside spheres`);
});

test("a block of water that falls apart is no wall of white", async (world) => {
  const folder = mkdtempSync(join(tmpdir(), "tarn-foam-"));
  try {
    const file = join(folder, "falling-block.bin");
    const options = { "--frames": 20, "--first": 2, "--every": 2, "--key": 20, "--base": 1, "--layers": 1 };
    const scene = join(ROOT, "server", "scenes", "falling-block.json");
    await promisify(execFile)(...streamCommand(scene, file, options));
    const { picture } = await see(world, framesOf(readFileSync(file)), {
      cells: [48, 40, 48],
      cellM: 0.03125,
    });
    const share = brighter(picture, WHITE) / (picture.width * picture.height);
    assert(share < FALLING_WHITE_MAX, `${(100 * share).toFixed(1)} % of the picture is white`);
  } catch (error) {
    if (error instanceof Missing) throw new Skip(error.message);
    throw error;
  } finally {
    rmSync(folder, { recursive: true });
  }
});
