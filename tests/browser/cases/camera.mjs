// The viewer's own camera: a film that moves a known way, through a real browser's camera into what is sent.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FILM, WINDOW, writeFilm } from "../camera-film.mjs";
import { assert, assertEqual, sleep, test, until } from "../harness.mjs";
import { median } from "../measure/print.mjs";
import { readMotion } from "../motion-code.mjs";
import { cheap, said } from "../world.mjs";

const address = (server) => `http://127.0.0.1:${server.port}/`;
const FAKE_CAMERA = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];
const motions = (server) => server.received.filter((m) => m.k === "motion");
/** The page's own thread may spend so much on a picture, ms. */
const OWN_MS_MAX = 2;

/** A browser whose camera shows a film. @param step  pixels from picture to picture, right and down */
async function useFilm(world, step) {
  const folder = mkdtempSync(join(tmpdir(), "tarn-film-"));
  const film = join(folder, "film.y4m");
  writeFilm(film, step);
  world.servers.push({ stop: async () => rmSync(folder, { recursive: true }), log: [] });
  await world.useFlags(...FAKE_CAMERA, `--use-file-for-fake-video-capture=${film}`);
}

async function start(page) {
  await page.getByRole("button", { name: "Controls" }).click();
  await page.getByRole("button", { name: "Move it with your camera" }).click({ timeout: 5000 });
}

const stopButton = (page) => page.locator("#camera").getByRole("button", { name: "Stop the camera" });

/** Whether a cell of a motion lies in the film's window, or beside it, by its middle. @param aspect  of the tank's front */
function placeOf(cell, { columns, rows }, aspect) {
  // The picture is as wide as the tank, or as high; the film's window is in its middle, so that a mirror moves it nowhere.
  const used = [Math.min(FILM.width, FILM.height * aspect), Math.min(FILM.height, FILM.width / aspect)];
  const across = ((cell % columns) + 0.5) / columns - 0.5;
  const up = (Math.floor(cell / columns) + 0.5) / rows - 0.5;
  return Math.hypot((across * used[0]) / WINDOW.half[0], (up * used[1]) / WINDOW.half[1]);
}

/** Shares over some motions: of the window's cells that go a way within 20 degrees, of those beside it that go at all. */
function judge(sent, direction, aspect) {
  const counts = { window: 0, right: 0, beside: 0, wrong: 0 };
  const speeds = [];
  for (const motion of sent) {
    for (const [i, { presence, along, up }] of readMotion(motion).entries()) {
      const place = placeOf(i, motion, aspect);
      const speed = Math.hypot(along, up);
      const cos = (along * direction[0] + up * direction[1]) / speed / Math.hypot(...direction);
      if (place < 0.9) {
        counts.window++;
        if (presence > 0.5 && cos > Math.cos(Math.PI / 9)) {
          counts.right++;
          speeds.push(speed);
        }
      } else if (place > 1.15) {
        counts.beside++;
        if (presence > 0.5) counts.wrong++;
      }
    }
  }
  return {
    right: counts.right / counts.window,
    wrong: counts.wrong / counts.beside,
    speed: median(speeds),
  };
}

/** Leaves the browser without what hands it a stream of pictures, as others are. */
const oneByOne = (page) => page.addInitScript(() => delete window.MediaStreamTrackProcessor);

for (const [what, step, direction, prepare] of [
  ["to the left, in a stream of pictures,", [-4, 0], [1, 0], async () => {}],
  ["up, in pictures one by one,", [0, -3], [0, 1], oneByOne],
]) {
  test(`what moves before the camera ${what} is sent as in a mirror`, async (world) => {
    await useFilm(world, step);
    const server = await world.fake({ particles: 500 });
    const page = await world.watch(cheap(address(server)), { prepare });
    await start(page);
    await until(() => motions(server).length > 40, "motions are sent");
    const sent = motions(server).slice(-20);
    const [{ corner_m, across_m, up_m, depth_m, strength, source }] = sent;
    assertEqual(
      [source, corner_m, across_m, up_m, depth_m, strength],
      [0, [0, 0, 1], [2, 0, 0], [0, 1, 0], 0, 1],
      "the grid lies on the tank's front",
    );
    const { right, wrong, speed } = judge(sent, direction, 2);
    console.log(right, wrong, speed, sent.map((m) => [m.columns, m.cells.length]).join(" "));
    assert(right > 0.9, `${right} of what moves goes its way`);
    assert(wrong < 0.005, `${wrong} of what stays goes`);
    // The picture is as wide as the tank: 2 m.
    const expected = (Math.hypot(...step) * FILM.framesPerSecond * 2) / FILM.width;
    assert(Math.abs(speed / expected - 1) < 0.2, `it goes at ${speed} m/s, of ${expected}`);
    for (const { cells } of sent) assert(cells.length <= 4096, `${cells.length} bytes of cells`);
    const { ownMs } = await page.evaluate(() => window.tarn.camera);
    console.log(median(ownMs), Math.max(...ownMs), await page.evaluate(() => window.tarn.camera.workMs));
    assert(median(ownMs) < OWN_MS_MAX, `a picture takes the page ${median(ownMs)} ms`);
  });
}
