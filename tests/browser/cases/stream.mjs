import { connect, createServer } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { assert, assertEqual, settled, test, until } from "../harness.mjs";
import { HERE } from "../places.mjs";
import { bare, cheap, look } from "../world.mjs";

export const SMALL_POOL = join(HERE, "scenes", "small-pool.json");
export const SMALL_SMOKE = join(HERE, "scenes", "small-smoke.json");
export const SMALL_DYE = join(HERE, "scenes", "small-dye.json");
/** Of all that a server has sent when water is seen first, heads of answers and frames included, bytes. */
const FIRST_VISIT_MAX = 300_000;
/** Of the files alone that a first picture needs, by gzip. */
const FIRST_LOAD_MAX = 250_000;
/** 16 x 4 x 8 cells of water with 8 particles each. */
const SMALL_POOL_PARTICLES = 4096;

test("the page connects and decodes every particle of a scene", { core: true }, async (world) => {
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

test("the first picture needs less than 250 kB of files, and the panel comes later", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const loads = [];
  const page = await world.watch(server.url, {
    prepare: async (blank) => {
      blank.on("response", (response) => {
        const size = response.body().then(
          (body) => gzipSync(body).length,
          () => 0,
        );
        loads.push({ url: response.url(), size });
      });
    },
  });
  await page.locator("#panel .lil-gui").first().waitFor({ state: "attached" });
  // Of the page's own time: what was asked for before its first picture.
  const early = await page.evaluate(() => {
    const [{ startTime }] = performance.getEntriesByName("tarn first picture");
    const entries = [
      ...performance.getEntriesByType("resource"),
      ...performance.getEntriesByType("navigation"),
    ];
    return entries.filter((entry) => entry.startTime < startTime).map(({ name }) => name);
  });
  const files = await Promise.all(
    loads
      .filter(({ url }) => early.includes(url) || /decode-worker|\.wasm/.test(url)) // a worker's are its own
      .map(async ({ url, size }) => [new URL(url).pathname, await size]),
  );
  const bytes = files.reduce((sum, [, size]) => sum + size, 0);
  const listed = `${bytes} bytes: ${files.map((file) => file.join(" ")).join(", ")}`;
  for (const part of [".wasm", "/assets/main", "decode-worker"])
    assert(
      files.some(([path]) => path.includes(part)),
      `no ${part}: ${listed}`,
    );
  assert(!files.some(([path]) => /panel|camera|headset/.test(path)), listed);
  assert(bytes < FIRST_LOAD_MAX, listed);
  console.log(`     ${listed}`);
});

/** Passes on what comes to a port of its own, and counts what a server sends until water is seen. */
async function counted(to) {
  const [sent, open] = [{ http: 0, stream: 0 }, new Set()];
  let counts = true;
  const passer = createServer((from) => {
    const server = connect(to, "127.0.0.1");
    let kind = "http";
    from.on("data", (bytes) => {
      const text = bytes.toString("latin1");
      if (/^upgrade: websocket/im.test(text)) kind = "stream";
      // What others' scenes are called waits for the first picture.
      counts &&= !text.startsWith("GET /scenes/");
    });
    server.on("data", (bytes) => {
      if (counts) sent[kind] += bytes.length;
    });
    for (const [one, other] of [
      [from, server],
      [server, from],
    ]) {
      open.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => open.delete(one));
    }
  });
  await new Promise((resolve) => passer.listen(0, "127.0.0.1", resolve));
  return {
    port: passer.address().port,
    sent,
    end: () => {
      passer.close();
      for (const socket of open) socket.destroy();
    },
  };
}

// By http from elsewhere browsers take gzip, by https or on this machine brotli, which is smaller.
for (const coding of ["gzip", "br"]) {
  test(`a first visit takes less than 300 kB on the wire until water is seen, by ${coding}`, async (world) => {
    const server = await world.tank({ scene: SMALL_POOL });
    const wire = await counted(server.port);
    const codings = new Set();
    let page;
    try {
      page = await world.watch(`http://127.0.0.1:${wire.port}/`, {
        context: { extraHTTPHeaders: { "Accept-Encoding": coding } },
        prepare: async (opened) => {
          opened.on("response", (response) => {
            const { "content-encoding": encoding, "content-length": bytes } = response.headers();
            // Less than a packet comes as it is.
            if (
              /\.(js|css|wasm)$/.test(new URL(response.url()).pathname) &&
              (encoding || !(Number(bytes) < 1024))
            )
              codings.add(encoding);
          });
        },
      });
      const { http, stream } = wire.sent;
      assertEqual([...codings], [coding], "how scripts, styles and the decoder come");
      const told = `${http} bytes of files and ${stream} of the stream`;
      assert(http > FIRST_VISIT_MAX / 3 && stream > 1000, told);
      assert(http + stream < FIRST_VISIT_MAX, told);
      console.log(`     ${told}, by ${coding}`);
    } finally {
      await page?.close(); // or it would complain that nobody is there
      wire.end();
    }
  });
}

test("the water is drawn: its pixels differ from those of an empty tank", { core: true }, async (world) => {
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
