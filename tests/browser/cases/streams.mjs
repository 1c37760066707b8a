import { brightness, compare, waterIn } from "../compare.mjs";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { Still } from "../recorded-layers.mjs";
import { Recording } from "../recording.mjs";
import { bare, drawn, look, said } from "../world.mjs";

/** Of the scene that was recorded. */
const TANK = { cells: [16, 8, 8], cellM: 0.0625 };
/** The recording's key frames are 0 and 20, its base frames the other even ones. */
const LOST_BASE = 6;
/** Of the water that there is, with an eighth of its particles: more than twice as much where these stay small. */
const HOLES_MAX = 0.16;

const play = (world, isLost) => world.fake({ ...TANK, recording: new Recording("small-splash", isLost) });
const address = (server) => `http://127.0.0.1:${server.port}/`;

function differing(one, other) {
  let count = 0;
  for (let y = 0; y < one.height; y++) {
    for (let x = 0; x < one.width; x++) {
      const [a, b] = [one.at(x, y), other.at(x, y)];
      if (a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) > 60) count++;
    }
  }
  return count / (one.width * one.height);
}

test("key, base and extra frames are decoded in order and the water is drawn", async (world) => {
  const empty = await world.fake({ particles: 0, ...TANK });
  const before = await world.pixels(await world.watch(address(empty)));
  const server = await play(world);
  const page = await world.watch(address(server));
  const frames = await page.evaluate(() => window.tarn.nextFrames(60));
  for (let i = 1; i < frames.length; i++) {
    const [last, next] = [frames[i - 1], frames[i]];
    const rises = next.epoch === last.epoch ? next.step > last.step : next.epoch > last.epoch;
    assert(rises, `${last.epoch}/${last.step} is followed by ${next.epoch}/${next.step}`);
  }
  assert(new Set(frames.map((frame) => frame.hash)).size === frames.length, "frames repeat");
  for (const kind of ["key", "base"]) {
    assert(
      frames.some((frame) => frame.kind === kind),
      `no ${kind} frame was decoded`,
    );
  }
  assert(new Set(frames.map((frame) => frame.particles)).size > 5, "particles don't come and go");
  const fastest = Math.max(...frames.map((frame) => Math.hypot(...frame.meanVelocity)));
  assert(fastest > 0.1 && fastest < 5, `the water moves at ${fastest} m/s`);
  const seen = await look(
    page,
    "framesRefused",
    "framesUnreferenced",
    "layersPresent",
    "layersTotal",
    "coloured",
  );
  assertEqual(
    seen,
    { framesRefused: 0, framesUnreferenced: 0, layersPresent: 3, layersTotal: 3, coloured: true },
    "what the page knows",
  );
  await drawn(page);
  const share = differing(await world.pixels(page), before);
  assert(share > 0.05, `only ${(100 * share).toFixed(1)} % of the pixels changed`);
});

test("a lost base frame costs what refers to it, until the next key frame", async (world) => {
  const server = await play(world, (index) => index === LOST_BASE);
  const page = await world.watch(address(server));
  const acks = () => server.received.filter((message) => message.t === "ack").length;
  const keysAsked = () => server.received.filter((message) => message.t === "ack" && message.key).length;
  await until(
    async () => (await look(page, "framesUnreferenced")).framesUnreferenced > 0,
    "a frame comes without its reference",
  );
  const [first] = await Promise.all([look(page, "epoch", "framesDecoded", "particles"), drawn(page)]);
  assert(first.particles > 0, "the last picture is gone");
  assert(keysAsked() > 0, "no key frame was asked for");
  const acked = acks();
  await until(async () => (await look(page, "epoch")).epoch > first.epoch + 1, "the stream goes on", 30_000);
  const then = await look(page, "framesDecoded", "framesRefused", "connections", "connection");
  assert(then.framesDecoded > first.framesDecoded + 20, "too few frames were decoded afterwards");
  assert(acks() > acked + 20, "frames were not acknowledged");
  assertEqual(
    [then.framesRefused, then.connections, then.connection],
    [0, 1, "connected"],
    "what the page knows",
  );
  assertEqual(await said(page), "", "what the page says");
  const readout = await page.locator("#readout").textContent();
  assert(/(key|base|extra) 3\/3 · [\d.]+ bits/.test(readout), `the readout says: ${readout}`);
  assert(/\d+ unreferenced/.test(readout), `the readout says: ${readout}`);
});

/** A picture of the tank that stands still at a recorded frame, of which the first layers came. */
async function pictureOf(world, layers) {
  const still = new Still(new Recording("small-splash").frames, LOST_BASE, layers);
  const server = await world.fake({ ...TANK, recording: still });
  const page = await world.watch(`${address(server)}?detail=full`);
  const has = () => look(page, "framesDecoded", "layersPresent");
  await until(async () => (await has()).framesDecoded === still.frames.length, "the page has the frame");
  assertEqual((await has()).layersPresent, layers, "layers that came");
  await bare(page);
  return brightness(await world.pixels(page));
}

test("the first layer alone closes the water", async (world) => {
  const nothing = await world.watch(address(await world.fake({ particles: 0, ...TANK })));
  await bare(nothing);
  const whole = await pictureOf(world, 3);
  const water = waterIn(whole, brightness(await world.pixels(nothing)));
  const { holes } = compare(await pictureOf(world, 1), whole, water);
  assert(holes < HOLES_MAX, `${(100 * holes).toFixed(1)} % of the water are holes`);
});
