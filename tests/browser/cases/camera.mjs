import { join } from "node:path";
import { FILM, WINDOW, writeFilm } from "../camera-film.mjs";
import { assert, assertEqual, sleep, test, until } from "../harness.mjs";
import { median } from "../measure/print.mjs";
import { readMotion } from "../motion-code.mjs";
import { cheap, said } from "../world.mjs";
import { SMALL_POOL, SMALL_SMOKE } from "./stream.mjs";

const address = (server) => `http://127.0.0.1:${server.port}/`;
const motions = (server) => server.received.filter((m) => m.k === "motion");
/** What a camera sees is a film in real time, which a page of another case would make late. */
const ALONE = { alone: true };
/** The page's own thread may spend so much on a picture, ms. */
const OWN_MS_MAX = 2;

/** A browser whose camera shows a film. @param step  pixels from picture to picture, right and down */
async function useFilm(world, step) {
  const film = join(world.folder(), "film.y4m");
  writeFilm(film, step);
  await world.useBrowser({ camera: film });
}

async function start(page) {
  const controls = page.getByRole("button", { name: "Controls" });
  await controls.click();
  await page.getByRole("button", { name: "Move it with your camera" }).click();
  // On a small screen the open panel has the view's place.
  await controls.click();
}

const stopButton = (page) => page.locator("#camera").getByRole("button", { name: "Stop the camera" });

/** Of a fake server that answers itself. */
const STATE = {
  scene: "dam-break",
  paused: false,
  worker_ready: true,
  size_m: [2, 1, 1],
  cell_m: 0.03125,
  dt_s: 1 / 60,
  parameters: [],
};

/**
 * How far from the middle of the film's window a cell of a motion is: below 1 inside.
 * @param aspect  of the tank's front: the film is as wide as it, or as high, and in its middle
 */
function placeOf(cell, { columns, rows }, aspect) {
  const used = [Math.min(FILM.width, FILM.height * aspect), Math.min(FILM.height, FILM.width / aspect)];
  const across = (((cell % columns) + 0.5) / columns - 0.5) * used[0];
  const up = ((Math.floor(cell / columns) + 0.5) / rows - 0.5) * used[1];
  const [x, y] = [FILM.width / 2 - across, FILM.height / 2 - up];
  return Math.hypot((x - WINDOW.x) / WINDOW.half[0], (y - WINDOW.y) / WINDOW.half[1]);
}

/** Of a motion: the share of the window's cells that go a way within 20 degrees, of those beside it that go; the speed. */
function judge(motion, direction, aspect) {
  const counts = { window: 0, right: 0, beside: 0, wrong: 0 };
  const speeds = [];
  for (const [i, { presence, along, up }] of readMotion(motion).entries()) {
    const place = placeOf(i, motion, aspect);
    const speed = Math.hypot(along, up);
    const cos = (along * direction[0] + up * direction[1]) / speed / Math.hypot(...direction);
    if (place < 0.85) {
      counts.window++;
      if (presence > 0.5 && cos > Math.cos(Math.PI / 9)) {
        counts.right++;
        speeds.push(speed);
      }
    } else if (place > 1.3) {
      counts.beside++;
      if (presence > 0.5) counts.wrong++;
    }
  }
  const { window, right, beside, wrong } = counts;
  return { right: right / window, wrong: wrong / beside, speed: speeds.length > 0 ? median(speeds) : 0 };
}

/** Leaves the browser without what hands it a stream of pictures, as others are. */
const oneByOne = (page) => page.addInitScript(() => delete window.MediaStreamTrackProcessor);

/** Leaves it without what says of a video that there is another picture, too. */
async function byTimer(page) {
  await oneByOne(page);
  await page.addInitScript(() => delete window.HTMLVideoElement.prototype.requestVideoFrameCallback);
}

for (const [what, step, direction, prepare] of [
  ["to the left, in a stream of pictures,", [-4, 0], [1, 0], async () => {}],
  ["up, in pictures one by one,", [0, -3], [0, 1], oneByOne],
  ["down, in pictures that a timer takes,", [0, 3], [0, -1], byTimer],
]) {
  test(`what moves before the camera ${what} is sent as in a mirror`, ALONE, async (world) => {
    await useFilm(world, step);
    const server = await world.fake({ particles: 500 });
    const page = await world.watch(cheap(address(server)), { prepare });
    if (prepare === byTimer) {
      const isThere = await page.evaluate(
        () =>
          "requestVideoFrameCallback" in document.createElement("video") ||
          "MediaStreamTrackProcessor" in window,
      );
      assert(!isThere, "the browser has what it is to be without");
    }
    await start(page);
    await until(() => motions(server).length > 40, "motions are sent");
    const sent = motions(server).slice(-20);
    const [{ corner_m, across_m, up_m, depth_m, strength, source }] = sent;
    assertEqual(
      [source, corner_m, across_m, up_m, depth_m, strength],
      [0, [0, 0, 1], [2, 0, 0], [0, 1, 0], 0, 1],
      "the grid lies on the tank's front",
    );
    // A machine that is busy loses pictures: each motion is judged by itself.
    const judged = sent.filter(({ cells }) => cells.length > 0).map((motion) => judge(motion, direction, 2));
    const [right, wrong, speed] = ["right", "wrong", "speed"].map((name) =>
      median(judged.map((one) => one[name])),
    );
    assert(right > 0.9, `${right} of what moves goes its way`);
    assert(wrong < 0.005, `${wrong} of what stays goes`);
    // The picture is as wide as the tank: 2 m.
    const expected = (Math.hypot(...step) * FILM.framesPerSecond * 2) / FILM.width;
    assert(Math.abs(speed / expected - 1) < 0.2, `it goes at ${speed} m/s, of ${expected}`);
    for (const { cells } of sent) assert(cells.length <= 4096, `${cells.length} bytes of cells`);
    const { ownMs } = await page.evaluate(() => window.tarn.camera);
    assert(median(ownMs) < OWN_MS_MAX, `a picture takes the page ${median(ownMs)} ms`);
  });
}

/**
 * Keeps what the page gets from the browser, so that a case can see whether it is still used, or take it away. Where
 * nothing moves before the browser's camera, the page gets a film from here in its place.
 */
const watchCamera = (page, world) =>
  page.addInitScript((ownMoves) => {
    /** Squares that go to the left, 4 pixels in each of 30 pictures a second. */
    const film = () => {
      const [width, height, square] = [320, 240, 8];
      const canvas = Object.assign(document.createElement("canvas"), { width, height });
      const context = canvas.getContext("2d");
      const stream = canvas.captureStream();
      const [track] = stream.getVideoTracks();
      let went = 0;
      const timer = setInterval(() => {
        if (track.readyState === "ended") clearInterval(timer);
        went += 4;
        for (let y = 0; y < height / square; y++)
          for (let x = 0; x <= width / square; x++) {
            const seed = Math.sin((x + Math.floor(went / square)) * 12.9898 + y * 78.233) * 43758.5453;
            context.fillStyle = `hsl(0 0% ${Math.round(100 * (seed - Math.floor(seed)))}%)`;
            context.fillRect(x * square - (went % square), y * square, square, square);
          }
      }, 1000 / 30);
      return stream;
    };
    // An empty page has none; and WebKit forgets what is put on the object itself.
    const devices = window.MediaDevices?.prototype ?? {};
    const ask = devices.getUserMedia;
    devices.getUserMedia = async function (wanted) {
      window.wanted = wanted;
      const own = await ask.call(this, wanted);
      if (!ownMoves) for (const track of own.getTracks()) track.stop();
      const stream = ownMoves ? own : film();
      window.track = stream.getVideoTracks()[0];
      // What a script dispatches at a track Firefox tells nobody.
      const listen = window.track.addEventListener;
      window.track.addEventListener = function (type, listener, options) {
        if (type === "ended") window.unplugged = listener;
        listen.call(this, type, listener, options);
      };
      return stream;
    };
  }, world.engine.cameraMoves);

const trackState = (page) => page.evaluate(() => window.track.readyState);

/** The camera is off, and the tank knows that its source is gone. */
async function assertOff(page, server, why) {
  await until(() => motions(server).at(-1).cells.length === 0, `the source is gone: ${why}`);
  assertEqual(await trackState(page), "ended", `the camera's track: ${why}`);
  assert(!(await page.locator("#camera").isVisible()), `the view is still there: ${why}`);
  await page.getByRole("button", { name: "Move it with your camera" }).waitFor();
  const before = motions(server).length;
  await sleep(300);
  assertEqual(motions(server).length, before, `motions after the end: ${why}`);
}

test("the camera runs from a press of a key until the view's button, and ends with all that lets it run", {
  ...ALONE,
  core: true,
}, async (world) => {
  await useFilm(world, [-4, 0]);
  const server = await world.fake({ particles: 500 });
  const prepare = async (page) => {
    await watchCamera(page, world);
    await page.addInitScript(() =>
      Object.defineProperty(document, "hidden", { get: () => window.isHidden === true }),
    );
  };
  // Wide enough for the panel to be open, and high enough for the view beside it.
  const context = { viewport: { width: 660, height: 490 } };
  const page = await world.watch(cheap(address(server)), { prepare, context });
  const runs = async () => {
    const before = motions(server).length;
    await until(() => motions(server).length > before + 3, "motions are sent");
  };
  await page.getByRole("button", { name: "Move it with your camera" }).focus();
  await page.keyboard.press("Enter");
  await runs();
  assertEqual(await page.evaluate(() => window.wanted.audio), false, "the microphone is asked for");
  await stopButton(page).click();
  await assertOff(page, server, "the view's button");

  const again = () => page.getByRole("button", { name: "Move it with your camera" }).click();
  await again();
  await runs();
  await page.evaluate(() => {
    window.isHidden = true;
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await assertOff(page, server, "the page is hidden");
  await page.evaluate(() => {
    window.isHidden = false;
    document.dispatchEvent(new Event("visibilitychange"));
  });

  await again();
  await runs();
  await page.evaluate(() => window.unplugged());
  await assertOff(page, server, "it is unplugged");
  assert(/camera is gone/.test(await said(page)), `the page says: ${await said(page)}`);
});

test("the address starts the camera, once, and a display shows nothing of it", async (world) => {
  await useFilm(world, [-4, 0]);
  const server = await world.fake({ particles: 500 });
  const page = await world.watch(cheap(`${address(server)}?session=main&display=1&camera=1`));
  await until(() => motions(server).length > 3, "motions are sent");
  assert(!(await page.locator("#camera").isVisible()), "the camera's view covers the display");
  const played = await world.watch(cheap(`${address(server)}?session=main&camera=1`));
  await stopButton(played).click();
  server.drop();
  await until(() => played.evaluate(() => window.tarn.connections === 2), "the page is back", 30_000);
  await sleep(300);
  assert(!(await played.locator("#camera").isVisible()), "a camera that was stopped runs again");
});

test("whoever may only watch is offered no camera, and who loses the right to play loses it", async (world) => {
  await useFilm(world, [-4, 0]);
  let role = "play";
  let socket = null;
  const server = await world.fake({
    particles: 500,
    behave: (message, from, send) => {
      if (message.t !== "join") return false;
      socket = from;
      from.tarn.joined = true;
      send({ t: "joined", session: "main", viewer_id: 1, viewer: "Ada", role, state: STATE });
      return true;
    },
  });
  const page = await world.watch(cheap(address(server)), { prepare: (blank) => watchCamera(blank, world) });
  await start(page);
  await until(() => motions(server).length > 3, "motions are sent");
  role = "watch";
  socket.close(1001);
  await until(() => page.evaluate(() => document.body.dataset.role === "watch"), "the role is lost", 30_000);
  await until(async () => (await trackState(page)) === "ended", "the camera is off");
  assert(!(await page.locator("#camera").isVisible()), "the view is still there");
  assert(!(await page.getByRole("button", { name: "your camera" }).isVisible()), "a camera is offered");
  assert(/may only watch/.test(await said(page)), `the page says: ${await said(page)}`);
});

for (const [what, wants, sentence] of [
  ["isn't there", {}, /No camera was found/],
  ["is refused", { camera: "denied" }, /may not be used/],
]) {
  test(`a camera that ${what} is said in a sentence`, async (world) => {
    await world.useBrowser(wants);
    const server = await world.fake({ particles: 500 });
    const page = await world.watch(cheap(address(server)));
    await start(page);
    await until(async () => sentence.test(await said(page)), "the page says so");
    assertEqual(motions(server).length, 0, "motions sent");
    assert(!(await page.locator("#camera").isVisible()), "there is a view");
  });
}

/** Corners of what lies behind the film's window in a tank of 1 x 0.5 x 0.5 m, without its edge. */
const WINDOW_BOX = [
  [0.4, 0.1, 0],
  [0.75, 0.27, 0.5],
];

for (const [what, way, scene, step, direction] of [
  ["water", "left", SMALL_POOL, [2, 0], -1],
  ["smoke", "right", SMALL_SMOKE, [-2, 0], 1],
]) {
  test(`what moves before the camera moves the ${what} along, to the ${way}`, ALONE, async (world) => {
    await useFilm(world, step);
    const server = await world.tank({ scene });
    const page = await world.watch(cheap(server.url), { prepare: (blank) => watchCamera(blank, world) });
    // Around the window's middle: what goes there comes back elsewhere in the tank.
    const along = async () => {
      const found = await page.evaluate(([low, high]) => window.tarn.velocityIn(low, high), WINDOW_BOX);
      return found === null ? 0 : direction * found[0];
    };
    const still = await along();
    await start(page);
    await until(async () => (await along()) > still + 0.08, `the ${what} goes to the ${way}`);
    assertEqual(await said(page), "", "what the page says");
    await stopButton(page).click();
    await until(async () => (await trackState(page)) === "ended", "the camera is off");
  });
}
