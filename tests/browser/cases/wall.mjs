// A flat tank as a wall of fluid: its looks, what moves on it, the part of it that a window shows.

import { join } from "node:path";
import { drawByHand, drawUntil, takeCanvas } from "../by-hand.mjs";
import { CameraViewer } from "../camera-viewer.mjs";
import { brightness } from "../compare.mjs";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { HERE } from "../places.mjs";
import { readPng } from "../png.mjs";
import { timeByHand } from "../time-by-hand.mjs";
import { drag, hasSaid, look } from "../world.mjs";

const LOOKS = ["water", "ink", "lava", "smoke", "aurora"];
const SIZE = { width: 240, height: 180 };
const SMALL = { context: { viewport: SIZE } };
const FLAT = { cells: [64, 48, 1], cellM: 1 / 32 };
const SMALL_WALL = join(HERE, "scenes", "small-wall.json");

/** Blobs of dye that lie still at both sides, one red, one blue. */
const blobAt = ([u, v, w], _, [sx, sy, sz]) => {
  const angle = 2 * Math.PI * v;
  const away = 0.14 * sy * Math.sqrt((2 * u) % 1);
  const middle = u < 0.5 ? 0.25 : 0.75;
  return {
    at: [middle * sx + away * Math.cos(angle), 0.5 * sy + away * Math.sin(angle), w * sz],
    velocity: [0, 0, 0],
  };
};
const RED = 0b11100000;
const BLUE = 0b00000011;
const colourOf = ([u]) => (u < 0.5 ? RED : BLUE);

const fakeWall = (world, options = {}) =>
  world.fake({
    ...FLAT,
    particles: 1500,
    path: blobAt,
    colour: colourOf,
    byHand: true,
    model: { model: "smoke" },
    ...options,
  });

/** What a page shows of still dye. */
async function see(world, query, options) {
  const server = await fakeWall(world, options);
  const page = await world.open(
    `http://127.0.0.1:${server.port}/?detail=full&panel=0&tools=0&help=0&readout=0&${query}`,
    {
      ...SMALL,
      prepare: drawByHand,
    },
  );
  await drawUntil(page, { connection: "connected" });
  server.show(0);
  await drawUntil(page, { framesDecoded: 1 });
  const picture = readPng(await takeCanvas(page));
  return { page, picture };
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const difference = (a, b) => mean(a.values.map((value, i) => Math.abs(value - b.values[i])));

test("each look of a wall draws something of its own", async (world) => {
  const seen = {};
  for (const name of LOOKS) {
    const { page, picture } = await see(world, `display=1&look=${name}`);
    seen[name] = brightness(picture);
    const { values } = seen[name];
    const middle = mean(values);
    const spread = Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
    assert(spread > 6, `${name}: brightness spreads by ${spread.toFixed(1)} around ${middle.toFixed(0)}`);
    assertEqual(await look(page, "tier", "look"), { tier: "spheres", look: name }, "tier and look");
    await page.close();
  }
  for (const [i, a] of LOOKS.entries())
    for (const b of LOOKS.slice(i + 1)) {
      const apart = difference(seen[a], seen[b]);
      assert(apart > 8, `${a} and ${b} differ by ${apart.toFixed(1)}`);
    }
});

test("a flat tank is no wall, but its particles, unless its scene or the address names a look", async (world) => {
  const plain = await see(world, "");
  assertEqual(await look(plain.page, "look", "drawing"), { look: "", drawing: "smoke" }, "without a look");
  const files = { "dam-break.json": JSON.stringify({ look: "ink" }) };
  const named = await see(world, "", { files });
  await drawUntil(named.page, { look: "ink" });
  const other = await see(world, "look=particles", { files });
  assertEqual((await look(other.page, "look")).look, "", "particles are asked for");
  const points = await see(world, "look=ink&quality=points");
  assertEqual(await look(points.page, "tier"), { tier: "points" }, "points are asked for");
});

/** Where the middle of what differs from paper is, in a part of the wall, in widths of the picture. */
function middleOf(picture, from, to) {
  let [sum, across] = [0, 0];
  for (let y = Math.round(from * picture.height); y < to * picture.height; y++)
    for (let x = 0; x < picture.width; x++) {
      const [r, g, b] = picture.at(x, y);
      // Paper is warm and hardly coloured.
      const colour = Math.max(0, Math.max(r, g, b) - Math.min(r, g, b) - 50);
      sum += colour;
      across += colour * x;
    }
  assert(sum > 1000, `there is dye: ${sum}`);
  return across / sum / picture.width;
}

test("dye on a wall stays until somebody drags it to the right, and goes as its particles do", async (world) => {
  const server = await world.tank({ scene: SMALL_WALL });
  const page = await world.watch(
    `${server.url}?look=ink&detail=full&panel=0&tools=0&help=0&readout=0&radius=0.2`,
    SMALL,
  );
  const canvas = async () => {
    const url = await page.evaluate(
      () =>
        new Promise((resolve) =>
          requestAnimationFrame(() =>
            requestAnimationFrame(() => resolve(document.getElementById("tank").toDataURL())),
          ),
        ),
    );
    return readPng(Buffer.from(url.slice(url.indexOf(",") + 1), "base64"));
  };
  await until(async () => (await look(page, "look")).look === "ink", "it is drawn");
  /** The same of the particles below a height, or above it. */
  const particles = (isIn) =>
    page.evaluate((above) => {
      const points = window.tarn.samplePoints(10_000);
      const across = [];
      for (let i = 0; i < points.length; i += 3)
        if (points[i + 1] > 0.6 === above) across.push(points[i] / 2);
      return across.reduce((sum, x) => sum + x, 0) / across.length;
    }, isIn);
  const first = await canvas();
  await page.evaluate(() => window.tarn.nextFrames(30));
  const before = await canvas();
  for (const [from, to] of [
    [0, 0.55],
    [0.68, 1],
  ]) {
    const shift = middleOf(before, from, to) - middleOf(first, from, to);
    assert(Math.abs(shift) < 0.01, `dye goes by ${shift.toFixed(3)} while nobody acts`);
  }
  const below = await particles(false);
  await drag(page, [0.3, 1.1, 0.015], [1.2, 1.1, 0.015], 16);
  const above = middleOf(before, 0, 0.55);
  await until(
    async () => middleOf(await canvas(), 0, 0.55) > above + 0.06,
    "the dye goes to the right",
    40_000,
  );
  // What is dragged comes back elsewhere. A wall that is paused comes to be what its frame says.
  await page.keyboard.press("p");
  await until(async () => (await look(page, "paused")).paused, "it is paused");
  const own = (await particles(false)) - below;
  const shift = async () => middleOf(await canvas(), 0.68, 1) - middleOf(before, 0.68, 1);
  await until(
    async () => Math.abs((await shift()) - own) < 0.03,
    `below it goes by ${own.toFixed(3)}, as its particles do`,
  );
});

/** How red and how blue a picture is. */
function tints(picture) {
  let [red, blue] = [0, 0];
  for (let y = 0; y < picture.height; y++)
    for (let x = 0; x < picture.width; x++) {
      const [r, , b] = picture.at(x, y);
      if (r > b + 70) red++;
      if (b > r + 70) blue++;
    }
  return [red, blue];
}

test("two displays show two halves of one wall, each of them filling its window", async (world) => {
  const left = await see(world, "display=1&look=ink&view=0,0,0.49,1");
  const right = await see(world, "display=1&look=ink&view=0.51,0,1,1");
  const [a, b] = [tints(left.picture), tints(right.picture)];
  assert(a[0] > 1000 && a[1] === 0, `the left half has ${a} red and blue pixels`);
  assert(b[1] > 1000 && b[0] === 0, `the right half has ${b} red and blue pixels`);
  const codes = await Promise.all([left, right].map(({ page }) => page.locator("#display").isVisible()));
  assertEqual(codes, [false, true], "the code to scan stands in the corner of the whole");
  const ends = (page, x0, x1) =>
    page.evaluate(
      ([x0, x1]) =>
        [window.tarn.project([2 * x0, 0, 0]), window.tarn.project([2 * x1, 1.5, 0])].flat().map(Math.round),
      [x0, x1],
    );
  assertEqual(await ends(left.page, 0, 0.49), [0, SIZE.height, SIZE.width, 0], "corners of the left half");
  assertEqual(await ends(right.page, 0.51, 1), [0, SIZE.height, SIZE.width, 0], "corners of the right half");
});

for (const [query, sentence, options] of [
  ["look=mud", /look=mud; allowed are auto, particles, water/, {}],
  ["view=0.6,0,0.4,1", /view=0\.6,0,0\.4,1; allowed is x0,y0,x1,y1/, {}],
  ["view=0,0,0.5,1", /view, which is for flat tanks/, { cells: [32, 32, 32] }],
  ["look=lava", /look=lava, which is for flat tanks that are full/, { model: { model: "liquid" } }],
]) {
  test(`a wall's address with a wrong ${query} is said in a sentence`, async (world) => {
    const { page } = await see(world, query, options);
    await hasSaid(page, sentence);
    assertEqual((await look(page, "look")).look, "", "look");
  });
}

const CLEAR_WALL = join(HERE, "scenes", "clear-wall.json");
/** Of that one, whose dye is in a corner: where a camera stirs it, and what is looked at of that. Metres. */
const CLEAR = [
  [1.1, 0.7],
  [1.8, 1.3],
];
const SEEN = [
  [1.3, 0.8],
  [1.6, 1.2],
];
/** Nothing but clear fluid. */
const BARE = [
  [0.8, 0.4, 0],
  [2, 1.5, 1],
];

/** What a page shows of that, in levels of its pixels. */
async function clearPart(page) {
  const { url, corners } = await page.evaluate(
    ([low, high]) =>
      new Promise((resolve) =>
        requestAnimationFrame(() =>
          requestAnimationFrame(() =>
            resolve({
              url: document.getElementById("tank").toDataURL(),
              corners: [low, high].map(([x, y]) => window.tarn.project([x, y, 0]).map(Math.round)),
            }),
          ),
        ),
      ),
    SEEN,
  );
  const picture = readPng(Buffer.from(url.slice(url.indexOf(",") + 1), "base64"));
  const [[left, bottom], [right, top]] = corners;
  const values = [];
  for (let y = top; y < bottom; y++) for (let x = left; x < right; x++) values.push(...picture.at(x, y));
  return { values };
}

for (const name of ["smoke", "ink"])
  test(`clear fluid that a camera stirs is seen to move on a wall of ${name}, and only then`, async (world) => {
    const server = await world.tank({ scene: CLEAR_WALL });
    const page = await world.watch(
      `${server.url}?look=${name}&detail=full&panel=0&tools=0&help=0&readout=0`,
      SMALL,
    );
    await until(async () => (await look(page, "look")).look === name, "it is drawn");
    await page.evaluate(() => window.tarn.nextFrames(20));
    const still = await clearPart(page);
    await page.evaluate(() => window.tarn.nextFrames(20));
    const before = difference(still, await clearPart(page));
    assert(before < 0.7, `while nobody acts it changes by ${before.toFixed(2)} levels`);
    const camera = await CameraViewer.join(server.port);
    world.servers.push(camera);
    const stirred = camera.stir(...CLEAR, 0.8);
    await until(
      async () => difference(still, await clearPart(page)) > 4,
      "what a camera stirs looks otherwise",
      40_000,
    );
    const inside = await page.evaluate((corners) => window.tarn.velocityIn(...corners), BARE);
    assertEqual(inside, null, "particles where it was stirred");
    camera.stop();
    await stirred;
  });

test("a wall on a display that nobody touches stirs by itself, and stops when somebody acts", async (world) => {
  const server = await fakeWall(world);
  const page = await world.open(`http://127.0.0.1:${server.port}/?display=1&look=ink&detail=full`, {
    ...SMALL,
    prepare: (opened) => opened.addInitScript(timeByHand),
  });
  await until(() => page.evaluate(() => window.tarn?.connection === "connected"), "it is connected");
  server.show(0);
  await until(async () => (await look(page, "framesDecoded")).framesDecoded === 1, "the frame is decoded");
  await page.evaluate(() => window.takeTime());
  const idle = () => page.evaluate(() => window.tarn.idleStir);
  const pictures = (count, ms) =>
    page.evaluate(([n, ms]) => void window.pictures(n, ms, () => 0), [count, ms]);
  const before = server.received.length;
  await pictures(4, 100);
  assertEqual(await idle(), 0, "somebody has just come");
  await page.evaluate(() => window.pass(40_000));
  await pictures(20, 100);
  const stirred = await idle();
  assert(stirred > 0.2, `nobody acts: ${stirred}`);
  await page.mouse.click(120, 90);
  await pictures(10, 100);
  assertEqual(await idle(), 0, "a second after somebody acted");
  await page.evaluate(() => window.pass(40_000));
  await pictures(20, 100);
  await page.mouse.move(60, 60);
  await page.mouse.move(90, 90);
  await pictures(10, 100);
  assertEqual(await idle(), 0, "a second after the mouse moved over it");
  const inputs = server.received.slice(before).filter(({ t, k }) => t === "input" && k !== "pointer");
  assertEqual(inputs, [], "what was sent of it");
});
