// The library for other pages, on the example page, which lies on another server than the tank.
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { WEB } from "../places.mjs";
import { readPng } from "../png.mjs";
import { SMALL_POOL } from "./stream.mjs";

const EXAMPLE = readFileSync(join(WEB, "examples", "embed.html"), "utf8");

/** A hash by which a policy allows an element's text. */
function hashOf(element) {
  const text = new RegExp(`<${element}[^>]*>([^]*?)</${element}>`).exec(EXAMPLE)[1];
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** As strict a policy as embed/README.md allows, for a page that shows tanks of a server. */
function policyFor(server) {
  return [
    "default-src 'none'",
    `script-src 'self' 'wasm-unsafe-eval' ${hashOf("script")}`,
    `style-src ${hashOf("style")}`,
    "img-src data:",
    "worker-src blob:",
    `connect-src ${server.url} ${server.url.replace("http:", "ws:")}`,
  ].join("; ");
}

/** Serves the example and the library. `host.server`, once set, is the one that its policy lets it connect to. */
async function startHost(world) {
  const library = join(WEB, "dist", "embed", "tarn-tank.js");
  assert(existsSync(library), "the library is not built");
  const files = { "/embed.html": join(WEB, "examples", "embed.html"), "/tarn-tank.js": library };
  const host = { url: "", server: null };
  const http = createServer((request, response) => {
    const file = files[new URL(request.url, "http://x").pathname];
    const type = file?.endsWith(".js") ? "text/javascript" : "text/html";
    const policy = host.server === null ? {} : { "content-security-policy": policyFor(host.server) };
    response.writeHead(file === undefined ? 404 : 200, { "content-type": type, ...policy });
    response.end(file === undefined ? "" : readFileSync(file));
  });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  world.servers.push({ stop: () => new Promise((resolve) => http.close(resolve)), log: [] });
  host.url = `http://127.0.0.1:${http.address().port}`;
  return host;
}

function expectServer(world, server) {
  world.expected.push(new RegExp(`^connected to ws://127.0.0.1:${server.port}/ws$`));
  world.expected.push(new RegExp(`^asked ${server.url}scenes/[a-z./-]+$`));
}

test("two tanks in a page of another server show water, give frames, take inputs and go", async (world) => {
  const host = await startHost(world);
  const server = await world.tank({ scene: SMALL_POOL, args: ["--origin", host.url] });
  host.server = server;
  expectServer(world, server);
  const page = await world.open(`${host.url}/embed.html?server=${encodeURIComponent(server.url)}`);
  const ready = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("tarn-tank")].every(
        (one) => one.tank?.latest?.info.particleCount === 4096,
      ),
    );
  await until(ready, "both have all of a frame", 30_000);
  const scenes = await page.locator("figcaption").allTextContents();
  assertEqual(new Set(scenes).size, 1, "scenes that the captions name");

  const frames = await page.evaluate(async () => {
    const found = [];
    for await (const frame of document.querySelector("tarn-tank").tank.frames()) {
      const heights = frame.positions.filter((_, i) => i % 4 === 1);
      const metres = frame.info.cellM / 2 ** frame.info.unitBits;
      found.push({ step: frame.info.step, count: heights.length, top: Math.max(...heights) * metres });
      if (found.length === 3) break;
    }
    return found;
  });
  assert(frames[2].step > frames[0].step, "steps rise");
  for (const { count, top } of frames) {
    assertEqual(count, 4096, "particles");
    assert(top > 0.2 && top < 0.5, `the water reaches up to ${top} m`);
  }

  const { x, y, width, height } = await page.locator("tarn-tank").first().boundingBox();
  await page.mouse.move(x + width / 2, y + height * 0.55);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.7, y + height * 0.55, { steps: 5 });
  const contained = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("tarn-tank")].map((one) => one.tank.latest.info.ownSequence),
    );
  await until(async () => (await contained())[0] >= 2, "a frame contains the drag");
  await page.mouse.up();
  assertEqual((await contained())[1], 0, "inputs of the other tank");

  const closed = await page.evaluate(() => {
    const element = document.querySelector("tarn-tank");
    const { tank } = element;
    element.remove();
    return [element.tank, tank.connected, tank.send({})];
  });
  assertEqual(closed, [null, false, 0], "what is left of a tank that was removed");
  assert(await ready(), "the other one stays");
});

test("a page of another server shows what stands in a tank, and plays by a key", async (world) => {
  const host = await startHost(world);
  const scene = new URL("../scenes/small-rock.json", import.meta.url).pathname;
  const store = world.folder();
  const server = await world.tank({
    scene,
    args: ["--origin", host.url, "--guests", "watch", "--store", store],
  });
  host.server = server;
  expectServer(world, server);
  await until(() => existsSync(join(store, "owner-link")), "the server keeps its owners' link");
  const address = readFileSync(join(store, "owner-link"), "utf8").trim();
  const files = [];
  const problems = [];
  const page = await world.open(`${host.url}/embed.html?server=${encodeURIComponent(address)}`, {
    prepare: async (page) => {
      page.on("response", (response) => {
        if (response.url().includes("/scenes/"))
          files.push([new URL(response.url()).pathname, response.status()]);
      });
      await page.exposeFunction("heardProblem", (text) => problems.push(text));
      await page.addInitScript(() =>
        document.addEventListener("tankproblem", (event) => window.heardProblem(event.detail), true),
      );
    },
  });
  const first = page.locator("tarn-tank").first();
  await until(() => first.evaluate((one) => one.tank?.latest?.info.particleCount > 0), "a frame", 30_000);
  await until(
    () => files.some(([path, status]) => path === "/scenes/small-rock.json" && status === 200),
    "the scene is read",
  );
  const send = () =>
    first.evaluate((one) =>
      one.tank.send({
        id: 0,
        phase: "down",
        tool: "push",
        origin_m: [0.5, 0.2, 2],
        direction: [0, 0, -1],
        radius_m: 0.1,
        strength: 1,
      }),
    );
  assertEqual(await send(), 1, "the number of an owner's input");
  assertEqual(problems, [], "problems");
});

for (const [name, drawing, channel] of [
  ["smoke", "smoke", "heat"],
  ["dye", "dye", "spin"],
])
  test(`a page of another server shows ${name} as it is, coloured by what its element asks for`, async (world) => {
    const host = await startHost(world);
    const scene = new URL(`../scenes/small-${name}.json`, import.meta.url).pathname;
    const server = await world.tank({ scene, args: ["--origin", host.url] });
    host.server = server;
    expectServer(world, server);
    const page = await world.open(`${host.url}/embed.html?server=${encodeURIComponent(server.url)}`);
    const first = page.locator("tarn-tank").first();
    await first.evaluate((one, channel) => one.setAttribute("channel", channel), channel);
    const shown = () => first.evaluate((one) => one.tank?.latest?.info);
    await until(async () => ((await shown())?.channel ?? 0) > 4, "frames carry what it asks for", 30_000);
    assertEqual(await first.evaluate((one) => one.drawing), drawing, "the drawing");
    const { channelLow, channelHigh } = await shown();
    assert(channelHigh > channelLow, `it ranges from ${channelLow} to ${channelHigh}`);
    if (name !== "dye") return;
    await first.evaluate((one) => one.setAttribute("draw", "arrows"));
    assertEqual(await first.evaluate((one) => one.drawing), "arrows", "the drawing that was asked for");
  });

test("a tank without a room lets the page of another server show through, until its element says otherwise", async (world) => {
  const host = await startHost(world);
  const server = await world.tank({ scene: SMALL_POOL, args: ["--origin", host.url] });
  host.server = server;
  expectServer(world, server);
  const page = await world.open(`${host.url}/embed.html?server=${encodeURIComponent(server.url)}`);
  const first = page.locator("tarn-tank").first();
  await first.evaluate((one) => {
    window.problems = [];
    one.addEventListener("tankproblem", ({ detail }) => window.problems.push(detail));
    document.body.style.background = "rgb(200 30 60)";
    one.setAttribute("quality", "points");
    one.setAttribute("light", "clear");
  });
  await until(() => first.evaluate((one) => one.tank?.latest?.info.particleCount > 0), "a frame", 30_000);
  const corner = async () => readPng(await first.screenshot()).at(3, 3);
  const colour = ([r, g, b]) => (r > 2 * g ? "page" : Math.max(r, g, b) < 60 ? "dark" : "bright");
  const shows = async (what) => until(async () => colour(await corner()) === what, `the corner is ${what}`);
  await shows("page");
  assertEqual(await corner(), [200, 30, 60], "the page's colour in the corner");
  await first.evaluate((one) => one.setAttribute("light", "night"));
  await shows("dark");
  await first.evaluate((one) => one.removeAttribute("light"));
  await shows("bright");
  assertEqual(await page.evaluate(() => window.problems), [], "problems");
  await first.evaluate((one) => one.setAttribute("light", "dusk"));
  const problems = await page.evaluate(() => window.problems);
  assert(/light=dusk; allowed are auto, day/.test(problems[0]), `problems: ${problems}`);
  await shows("bright");
});

test("a page that the server doesn't take learns by which option it would", async (world) => {
  const host = await startHost(world);
  const server = await world.tank({ scene: SMALL_POOL });
  host.server = server;
  expectServer(world, server);
  world.expected.push(/WebSocket connection to .* failed/, /CORS policy/, /Failed to load resource/);
  const page = await world.open(`${host.url}/embed.html?server=${encodeURIComponent(server.url)}`, {
    prepare: (blank) =>
      blank.addInitScript(() => {
        window.problems = [];
        document.addEventListener("tankproblem", ({ detail }) => window.problems.push(detail), true);
      }),
  });
  await until(
    () =>
      page.evaluate(
        (option) => window.problems.some((text) => text.includes(option)),
        `tarnd --origin ${host.url}`,
      ),
    "it is told",
  );
});
