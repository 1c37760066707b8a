import { assert, assertEqual, settled, sleep, test, until } from "../harness.mjs";
import { drag } from "../world.mjs";
import { SMALL_DYE, SMALL_POOL, SMALL_SMOKE } from "./stream.mjs";

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

/** As large as a push gets in the small tanks, m: an eighth of the small pool is little water. */
const RADIUS_M = 0.25;

for (const [what, way, scene, from, to, direction] of [
  ["water", "right", SMALL_POOL, [0.3, 0.2, 0.25], [0.75, 0.2, 0.25], [1, 0, 0]],
  ["water", "left", SMALL_POOL, [0.75, 0.2, 0.4], [0.3, 0.2, 0.4], [-1, 0, 0]],
  ["smoke", "right", SMALL_SMOKE, [0.3, 0.2, 0.25], [0.75, 0.2, 0.25], [1, 0, 0]],
  ["dye", "right", SMALL_DYE, [0.3, 0.2, 0.25], [0.75, 0.2, 0.25], [1, 0, 0]],
]) {
  test(`a drag to the ${way} moves the ${what} there within 3 frames of containing it`, {
    core: what === "water" && way === "right",
  }, async (world) => {
    const server = await world.tank({ scene });
    const page = await world.watch(`${server.url}?radius=${RADIUS_M}`);
    const still = (await page.evaluate(() => window.tarn.nextFrames(8))).map((frame) =>
      dot(frame.meanVelocity, direction),
    );
    const before = still.at(-1);
    const byItself = Math.max(...still.map((one) => Math.abs(one - before)));
    await page.evaluate(() => {
      const watch = async () => {
        const frames = [];
        // The press is input 1; the first move is what has a direction.
        const first = () => frames.findIndex((frame) => frame.ownSequence >= 2);
        while (first() < 0 || frames.length < first() + 3) frames.push(...(await window.tarn.nextFrames(1)));
        return frames.slice(first());
      };
      void window.tarn.nextFrames(1e9); // frames are looked at from now on, and none is missed
      window.watched = watch();
    });
    const steps = 6; // a quick hand, if the machine is: what it gives in 3 frames is far above what the tank does by itself
    await drag(page, from, to, steps);
    const frames = await page.evaluate(() => window.watched);
    const gains = frames.slice(0, 3).map((frame) => dot(frame.meanVelocity, direction) - before);
    assert(
      Math.max(...gains) > 0.01 + 4 * byItself,
      `momentum gained within 3 frames: ${gains.map((x) => x.toFixed(4))} m/s, by itself ${byItself.toFixed(4)}`,
    );
  });
}

test("the wheel zooms and a drag beside the water turns, without a word to the server", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(`http://127.0.0.1:${server.port}/`);
  const corner = () => page.evaluate(() => window.tarn.project([0, 0, 0]));
  const before = await corner();
  const corners = [0, 2].flatMap((x) => [0, 1].flatMap((y) => [0, 1].map((z) => [x, y, z])));
  const places = await page.evaluate((points) => points.map((point) => window.tarn.project(point)), corners);
  const beside = Math.min(...places.map(([x]) => x)) - 8;
  assert(beside > 2, `there is no room beside the tank: ${beside}`);
  await page.mouse.move(beside, 135);
  await page.mouse.down();
  await page.mouse.move(beside + 40, 135);
  await page.mouse.up();
  await until(async () => Math.abs((await corner())[0] - before[0]) > 3, "the view turns");
  const turned = await settled(corner, "the view stands still");
  await page.mouse.wheel(0, 300);
  await until(async () => Math.hypot(...(await corner()).map((x, i) => x - turned[i])) > 3, "the view zooms");
  assert(!server.received.some((message) => message.t === "input"), "looking around was sent as input");
});

test("one finger pushes, two fingers look around", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(`http://127.0.0.1:${server.port}/`, { context: { hasTouch: true } });
  const touch = await page.context().newCDPSession(page);
  const send = (type, points) =>
    touch.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
  const [x, y] = await page.evaluate(() => window.tarn.project([1, 0.3, 0.5]));
  const phases = () => server.received.filter((m) => m.t === "input").map((m) => m.phase);

  await send("touchStart", [[x, y]]);
  await send("touchMove", [[x + 20, y]]);
  await until(() => phases().includes("move"), "a finger's move is sent");
  await send("touchEnd", []);
  await until(() => phases().at(-1) === "up", "the finger's release is sent");
  const pushes = phases().length;

  await send("touchStart", [[x, y]]);
  await send("touchStart", [
    [x, y],
    [x + 40, y],
  ]);
  await until(() => phases().at(-1) === "up" && phases().length > pushes, "the second finger ends the push");
  const ended = phases().length;
  await send("touchMove", [
    [x - 30, y],
    [x + 70, y],
  ]);
  await send("touchEnd", []);
  await sleep(300);
  assertEqual(phases().length, ended, "inputs after the second finger");
});

test("inputs are numbered without gaps and moves are sent once per picture at most", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(`http://127.0.0.1:${server.port}/`);
  await drag(page, [0.6, 0.3, 0.5], [1.4, 0.3, 0.5]);
  await until(() => server.received.some((m) => m.phase === "up"), "the release is sent");
  const inputs = server.received.filter((m) => m.t === "input");
  assertEqual(
    inputs.map((m) => m.seq),
    inputs.map((_, i) => i + 1),
    "sequence numbers",
  );
  assertEqual([inputs[0].phase, inputs.at(-1).phase], ["down", "up"], "first and last");
  assert(inputs.length <= 14, `${inputs.length} inputs for 12 moves`);
  for (const { direction } of inputs) {
    assert(Math.abs(Math.hypot(...direction) - 1) < 1e-6, "a direction isn't of unit length");
  }
});
