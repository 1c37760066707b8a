// The library for other pages, on the example page, which lies on another server than the tank.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { WEB } from "../places.mjs";
import { SMALL_POOL } from "./stream.mjs";

/** Serves the example and the library. */
async function startHost(world) {
  const library = join(WEB, "dist", "embed", "tarn-tank.js");
  assert(existsSync(library), "the library is not built");
  const files = { "/embed.html": join(WEB, "examples", "embed.html"), "/tarn-tank.js": library };
  const http = createServer((request, response) => {
    const file = files[new URL(request.url, "http://x").pathname];
    const type = file?.endsWith(".js") ? "text/javascript" : "text/html";
    response.writeHead(file === undefined ? 404 : 200, { "content-type": type });
    response.end(file === undefined ? "" : readFileSync(file));
  });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  world.servers.push({ stop: () => new Promise((resolve) => http.close(resolve)), log: [] });
  return `http://127.0.0.1:${http.address().port}`;
}

test("two tanks in a page of another server show water, give frames, take inputs and go", async (world) => {
  const host = await startHost(world);
  const server = await world.tank({ scene: SMALL_POOL, args: ["--origin", host] });
  world.expected.push(new RegExp(`^connected to ws://127.0.0.1:${server.port}/ws$`));
  const page = await world.open(`${host}/embed.html?server=${encodeURIComponent(server.url)}`);
  const ready = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("tarn-tank")].every((one) => one.tank?.latest?.info.particleCount > 0),
    );
  await until(ready, "both have a frame", 30_000);
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
