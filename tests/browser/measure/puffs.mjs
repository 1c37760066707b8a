// What a picture of smoke costs beside one of water: the same frame of the dam break as both. Where software draws, the
// ratio is what counts.
import { drawByHand, drawUntil } from "../by-hand.mjs";
import { Still, sectionsOf } from "../recorded-layers.mjs";
import { World } from "../world.mjs";
import { median, table } from "./print.mjs";
import { recordDam } from "./recorded-dam.mjs";

const TIERS = ["points", "spheres", "low", "high"];
const PARTICLES = 102_400;
const PICTURES = 3;
const SIZE = { width: 480, height: 270 };
/** Of the dam break, half a second after it broke: a key frame. */
const DAM_FRAME = 0;

/** In the page: milliseconds of one picture, until it is there. */
function pictureMs() {
  const gl = document.getElementById("tank").getContext("webgl2");
  const pixel = new Uint8Array(4);
  const began = performance.now();
  window.drawOnce();
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
  return performance.now() - began;
}

async function cost(browser, served, query, framesDecoded) {
  const { world, end } = await World.make(browser);
  try {
    const server = await world.fake(served);
    const page = await world.open(`http://127.0.0.1:${server.port}/?detail=full&${query}`, {
      context: { viewport: SIZE },
      prepare: drawByHand,
    });
    await drawUntil(page, { connection: "connected" });
    await drawUntil(page, { framesDecoded });
    const taken = [];
    for (let i = 0; i < 1 + PICTURES; i++) taken.push(await page.evaluate(pictureMs));
    return median(taken.slice(1));
  } finally {
    await end();
  }
}

export async function puffs(browser) {
  const { frames, cells, cellM } = recordDam();
  const still = () => new Still(frames, DAM_FRAME, sectionsOf(frames[DAM_FRAME]).layers.length);
  const wanted = TIERS.filter((tier) => process.argv.includes(tier));
  const rows = [];
  for (const tier of wanted.length > 0 ? wanted : TIERS) {
    const dam = async (drawing) => {
      const recording = still();
      const query = `quality=${tier}&draw=${drawing}`;
      return cost(browser, { recording, cells, cellM }, query, recording.frames.length);
    };
    const [water, smoke] = [await dam("water"), await dam("smoke")];
    rows.push([tier, water.toFixed(0), smoke.toFixed(0), (smoke / water).toFixed(2)]);
  }
  console.log(`a picture of ${PARTICLES} particles at ${SIZE.width} x ${SIZE.height}; medians, ms`);
  table(["tier", "water", "smoke", "ratio"], rows);
}
