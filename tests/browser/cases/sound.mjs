// The sound of the water: none until somebody asks for it, then of what splashes, and none again.
import { assert, assertEqual, sleep, test, until } from "../harness.mjs";
import { cheap } from "../world.mjs";
import { SMALL_POOL, SMALL_SMOKE } from "./stream.mjs";

/** Wide enough for the panel to be open. */
const WIDE = { context: { viewport: { width: 660, height: 400 } } };

/** Counts what a page makes to be heard, and what of its scripts it asks for. */
async function watch(world, url) {
  const asked = [];
  const page = await world.watch(cheap(url), {
    ...WIDE,
    prepare: async (prepared) => {
      prepared.on("request", (request) => asked.push(request.url()));
      await prepared.addInitScript(() => {
        const { AudioContext } = window;
        window.heard = [];
        window.AudioContext = class extends AudioContext {
          constructor(...options) {
            super(...options);
            window.heard.push(this);
          }
        };
      });
    },
  });
  return { page, hasAsked: () => asked.some((one) => /water-sound|splashes/.test(one)) };
}

const level = (page) => page.evaluate(() => window.tarn.soundLevel);
const button = (page, name) => page.locator("#panel button", { hasText: name });

/** Drags through the water, there and back. */
async function stir(page) {
  for (const x of [0.2, 0.8, 0.2, 0.8, 0.5]) {
    const [px, py] = await page.evaluate((at) => window.tarn.project(at), [x, 0.2, 0.25]);
    await page.mouse.move(px, py, { steps: 4 });
    if (x === 0.2) await page.mouse.down();
  }
  await page.mouse.up();
}

test("the water is silent until somebody asks, then heard where it splashes, and silent again", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const { page, hasAsked } = await watch(world, server.url);
  await stir(page);
  assertEqual(await page.evaluate(() => window.heard.length), 0, "what was made to be heard");
  assertEqual(await level(page), null, "the level");
  assert(!hasAsked(), "nothing of it was fetched");

  await button(page, "Sound of the water").click();
  await until(async () => (await level(page)) !== null, "the sound is on");
  assertEqual(await page.evaluate(() => window.heard[0].state), "running", "the context");
  assert(hasAsked(), "it is fetched then");
  let loudest = 0;
  await until(async () => {
    await stir(page);
    for (let i = 0; i < 10; i++) loudest = Math.max(loudest, await level(page));
    return loudest > 1e-3;
  }, "a splash is heard");

  await button(page, "Silence").click();
  await until(async () => (await level(page)) === null, "the sound is off");
  await until(
    async () => (await page.evaluate(() => window.heard.map((one) => one.state))).join() === "closed",
    "nothing is left of it",
  );
});

test("calm water and smoke are not heard", async (world) => {
  for (const scene of ["still-pool", SMALL_SMOKE]) {
    const server = await world.tank({ scene });
    const { page } = await watch(world, server.url);
    await button(page, "Sound of the water").click();
    await until(async () => (await level(page)) !== null, "the sound is on");
    for (let i = 0; i < 10; i++) {
      assertEqual(await level(page), 0, `the level in ${scene}`);
      await sleep(100);
    }
  }
});
