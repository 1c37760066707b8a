// The sound of the water: none until somebody asks for it, then of what splashes, and none again.
import { assert, assertEqual, sleep, test, until } from "../harness.mjs";
import { cheap, hasSaid } from "../world.mjs";
import { enter, inRoom, pictures, plugIn } from "../worn.mjs";
import { SMALL_POOL, SMALL_SMOKE } from "./stream.mjs";

/** Wide enough for the panel to be open. */
const WIDE = { context: { viewport: { width: 660, height: 400 } } };

/** Counts what a page makes to be heard, and what of its scripts it asks for. */
async function watch(world, url, plug = async () => {}) {
  const asked = [];
  const page = await world.watch(cheap(url), {
    ...WIDE,
    prepare: async (prepared) => {
      await plug(prepared);
      prepared.on("request", (request) => asked.push(request.url()));
      await prepared.addInitScript(() => {
        const { AudioContext, PannerNode } = window;
        window.heard = [];
        window.pieces = [];
        window.PannerNode = class extends PannerNode {
          constructor(context, options) {
            super(context, options);
            window.pieces.push(options);
          }
        };
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

test("calm water is not heard, and smoke has no sound to ask for", async (world) => {
  const server = await world.tank({ scene: "still-pool" });
  const { page } = await watch(world, server.url);
  await button(page, "Sound of the water").click();
  await until(async () => (await level(page)) !== null, "the sound is on");
  for (let i = 0; i < 10; i++) {
    assertEqual(await level(page), 0, "the level");
    await sleep(100);
  }
  const smoke = await world.tank({ scene: SMALL_SMOKE });
  const other = (await watch(world, smoke.url)).page;
  await button(other, "Reset").waitFor();
  assertEqual(await button(other, "Sound of the water").isVisible(), false, "a sound of smoke");
  await other.locator("#help").getByText("Drag the smoke to push it").waitFor({ state: "attached" });
});

test("where there is no audio device that is said, and one may try again", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const { page } = await watch(world, server.url, (prepared) =>
    prepared.addInitScript(() => {
      const { AudioContext } = window;
      // As Firefox does without a device: it neither begins nor says that it can't.
      window.AudioContext = class extends AudioContext {
        resume() {
          return new Promise(() => {});
        }
        get state() {
          return "suspended";
        }
      };
    }),
  );
  await button(page, "Sound of the water").click();
  await hasSaid(page, "no audio device");
  await until(() => page.evaluate(() => window.heard.length === 1), "one was asked for");
  await button(page, "Sound of the water").click();
  await until(() => page.evaluate(() => window.heard.length === 2), "another one is asked for");
});

/** Where the listener is, and which way they face. */
const listener = (page) =>
  page.evaluate(() => {
    const { listener: ears } = window.heard[0];
    const point = (name) => ["X", "Y", "Z"].map((axis) => ears[`${name}${axis}`].value);
    return { at: point("position"), forward: point("forward"), up: point("up") };
  });

const isNear = (a, b, most = 0.02) => a.every((value, i) => Math.abs(value - b[i]) < most);

/** Stirs until a piece of sound has come since; what it was made with. */
async function nextPiece(page, stirrer) {
  const before = await page.evaluate(() => window.pieces.length);
  return until(async () => {
    await stir(stirrer);
    return page.evaluate((count) => window.pieces[count], before);
  }, "a splash is heard");
}

test("in a headset the water is heard where it is, by the wearer's ears; after it by the page's again, until it is silenced", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const { page } = await watch(world, server.url, plugIn);
  const stirrer = await world.watch(cheap(server.url));
  await button(page, "Sound of the water").click();
  await until(async () => (await level(page)) !== null, "the sound is on");
  const flat = await nextPiece(page, stirrer);
  assertEqual(flat.panningModel, "equalpower", "how it is heard on the page");
  const before = await listener(page);

  await enter(page);
  const [eyesM, pitch] = await page.evaluate(() => {
    const { position, quaternion } = window.device;
    return [[position.x, position.y, position.z], 2 * Math.asin(quaternion.x)];
  });
  await until(async () => isNear((await listener(page)).at, eyesM, 0.05), `the ears are at ${eyesM}`);
  const { at, forward, up } = await listener(page);
  assert(isNear(forward, [0, Math.sin(pitch), -Math.cos(pitch)]), `they face ${forward}`);
  assert(isNear(up, [0, Math.cos(pitch), Math.sin(pitch)]), `up is ${up}`);
  const { positionX, positionY, positionZ, panningModel } = await nextPiece(page, stirrer);
  assertEqual(panningModel, "HRTF", "how it is heard in the headset");
  // The tank isn't turned about the vertical: its corners say between what it stands.
  const [low, high] = [await inRoom(page, [0, 0, 0]), await inRoom(page, [1, 0.5, 0.5])];
  const place = [positionX, positionY, positionZ];
  const isInside = place.every((metres, i) => {
    const [least, most] = [Math.min(low[i], high[i]), Math.max(low[i], high[i])];
    return metres > least - 0.01 && metres < most + 0.01;
  });
  assert(isInside, `a splash is heard at ${place}, the tank is from ${low} to ${high}`);
  await page.evaluate(() => {
    window.device.position.x += 0.3;
  });
  await pictures(page, 3);
  const moved = [at[0] + 0.3, at[1], at[2]];
  await until(async () => isNear((await listener(page)).at, moved), `the ears go to ${moved} with the head`);

  await page.evaluate(() => window.device.activeSession.end());
  await until(() => page.evaluate(() => window.tarn.headset === null), "the page is back");
  await until(async () => isNear((await listener(page)).at, before.at), "the ears are the page's again");
  assertEqual((await nextPiece(page, stirrer)).panningModel, "equalpower", "how it is heard then");
  await page.evaluate(() => {
    [...document.querySelectorAll("#panel button")].find((one) => one.textContent === "Silence").click();
  });
  await until(
    async () => (await page.evaluate(() => window.heard.map((one) => one.state))).join() === "closed",
    "nothing is left of it",
  );
  const count = await page.evaluate(() => window.pieces.length);
  await stir(stirrer);
  assertEqual(await page.evaluate(() => window.pieces.length), count, "pieces of sound after it");
});
