import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { assert, assertEqual, settled, test, until } from "../harness.mjs";
import { HERE } from "../places.mjs";
import { bare, cheap, look } from "../world.mjs";

export const SMALL_POOL = join(HERE, "scenes", "small-pool.json");
export const SMALL_SMOKE = join(HERE, "scenes", "small-smoke.json");
export const SMALL_DYE = join(HERE, "scenes", "small-dye.json");
/** Of all that is there when water is seen first, packed as servers pack it, bytes. */
const FIRST_LOAD_MAX = 250_000;
/** 16 x 4 x 8 cells of water with 8 particles each. */
const SMALL_POOL_PARTICLES = 4096;

test("the page connects and decodes every particle of a scene", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(server.url);
  await until(
    async () => (await look(page, "particles")).particles === SMALL_POOL_PARTICLES,
    "all of a frame's layers",
  );
  const seen = await look(page, "connection", "particles", "framesRefused", "connections", "sizeM");
  assertEqual(
    seen,
    {
      connection: "connected",
      particles: SMALL_POOL_PARTICLES,
      framesRefused: 0,
      connections: 1,
      sizeM: [1, 0.5, 0.5],
    },
    "what the page knows",
  );
});

test("a first visit loads less than 250 kB", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const loads = [];
  await world.watch(server.url, {
    prepare: async (page) => {
      page.on("response", (response) => {
        const { pathname } = new URL(response.url());
        // What others' scenes are called waits for the first picture.
        if (pathname.startsWith("/scenes/")) return;
        const sized = (body) => `${pathname} ${gzipSync(body).length}`;
        loads.push(response.body().then(sized, () => "gone 0"));
      });
    },
  });
  const files = await Promise.all(loads);
  const bytes = files.reduce((sum, file) => sum + Number(file.split(" ")[1]), 0);
  const listed = `${bytes} bytes: ${files.join(", ")}`;
  assert(files.some((file) => file.includes(".wasm")) && bytes > FIRST_LOAD_MAX / 2, listed);
  assert(bytes < FIRST_LOAD_MAX, listed);
});

test("the water is drawn: its pixels differ from those of an empty tank", async (world) => {
  const empty = await world.fake({ particles: 0, cells: [16, 8, 8], cellM: 0.0625 });
  const nothing = await world.watch(`http://127.0.0.1:${empty.port}/`);
  await bare(nothing);
  const before = await world.pixels(nothing);
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(server.url);
  await bare(page);
  const at = await page.evaluate(() => window.tarn.project([0.5, 0.2, 0.25]));
  const after = await world.pixels(page);
  let changed = 0;
  for (let y = 0; y < after.height; y++) {
    for (let x = 0; x < after.width; x++) {
      const [now, then] = [after.at(x, y), before.at(x, y)];
      if (now.reduce((sum, value, i) => sum + Math.abs(value - then[i]), 0) > 60) changed++;
    }
  }
  const share = changed / (after.width * after.height);
  assert(share > 0.05, `only ${(100 * share).toFixed(1)} % of the pixels changed`);
  const middle = after.at(Math.round(at[0]), Math.round(at[1]));
  const [red, , blue] = middle;
  assert(blue > red + 30, `the middle of the water isn't blue: ${middle}`);
});

test("the default scene runs: steps rise and the water moves", async (world) => {
  const server = await world.tank();
  const page = await world.watch(server.url);
  const frames = await page.evaluate(() => window.tarn.nextFrames(6));
  for (let i = 1; i < frames.length; i++) {
    assert(
      frames[i].epoch !== frames[i - 1].epoch || frames[i].step > frames[i - 1].step,
      "a step didn't rise",
    );
  }
  assert(new Set(frames.map((frame) => frame.hash)).size === frames.length, "frames repeat");
  const fastest = Math.max(...frames.map((frame) => Math.hypot(...frame.meanVelocity)));
  assert(fastest > 0.02, `the water doesn't move: ${fastest} m/s`);
  await until(async () => (await look(page, "particles")).particles > 50_000, "all particles");
});

for (const [word, scene] of [
  ["water", SMALL_POOL],
  ["smoke", SMALL_SMOKE],
  ["dye", SMALL_DYE],
]) {
  test(`a second page on the same session sees the same steps and the same bytes of ${word}`, async (world) => {
    const server = await world.tank({ scene });
    const pages = [await world.watch(cheap(server.url)), await world.watch(cheap(server.url))];
    // A page that is late gets fewer layers of a frame, and the server chooses frames for each.
    const name = ({ epoch, step, particles }) => `${epoch}/${step} with ${particles} particles`;
    const seen = pages.map(() => new Map());
    const common = await until(
      async () => {
        const frames = await Promise.all(
          pages.map((page) => page.evaluate(() => window.tarn.nextFrames(24))),
        );
        frames.forEach((of, i) => {
          for (const frame of of) seen[i].set(name(frame), frame.hash);
        });
        const both = [...seen[0].keys()].filter((one) => seen[1].has(one));
        return both.length >= 3 && both;
      },
      "steps that both saw",
      60_000,
    );
    for (const one of common) assertEqual(seen[1].get(one), seen[0].get(one), `bytes of ${one}`);
    const viewers = () => pages[0].locator("#panel .viewers li").count();
    await until(async () => (await viewers()) === 2, "both viewers are in the list");
  });
}

test("a page that is served under a path connects beside it", async (world) => {
  const server = await world.fake({ base: "/far/away/", particles: 500 });
  const page = await world.watch(`http://127.0.0.1:${server.port}/far/away/`);
  await until(async () => (await look(page, "framesDecoded")).framesDecoded > 5, "frames go on");
});

test("a hidden page asks for no frames, and goes on where the tank is once it is seen again", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(`http://127.0.0.1:${server.port}/`, {
    prepare: (blank) =>
      blank.addInitScript(() => {
        window.isHidden = false;
        Object.defineProperty(document, "hidden", { get: () => window.isHidden });
      }),
  });
  const show = (shown) =>
    page.evaluate((hidden) => {
      window.isHidden = hidden;
      document.dispatchEvent(new Event("visibilitychange"));
    }, !shown);
  await show(false);
  const acks = () => server.received.filter((message) => message.t === "ack").length;
  const views = () => server.received.filter((message) => message.t === "view").map(({ hidden }) => hidden);
  await until(() => views().at(-1) === true, "the server is told");
  const before = await settled(acks, "what was under way is acknowledged", 400);
  const { step } = await look(page, "step");
  await page.waitForTimeout(800);
  assertEqual(acks(), before, "acknowledgements while hidden");
  await show(true);
  await until(async () => (await look(page, "step")).step > step + 40, "it shows the present");
  assert(acks() > before, "frames are acknowledged again");
  assertEqual(views().at(-1), false, "what the server was told last");
});

test("every frame is acknowledged, and a frame that can't be decoded as well", async (world) => {
  let spoiled = 0;
  const server = await world.fake({
    particles: 500,
    spoil: (bytes) => {
      if (++spoiled % 7 === 0) bytes[12] = 3; // a kind that there isn't
    },
  });
  const page = await world.watch(`http://127.0.0.1:${server.port}/`);
  await until(
    async () => (await look(page, "framesRefused")).framesRefused > 3,
    "frames are refused and others follow",
  );
  const { framesDecoded } = await look(page, "framesDecoded");
  assert(framesDecoded > 6, "the stream stopped at a refused frame");
  assert(server.received.filter((message) => message.t === "ack").length > 6, "frames were not acknowledged");
});
