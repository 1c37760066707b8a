// What people take home: recordings, which play again, pictures and clips.
import { readFileSync } from "node:fs";
import { assert, assertEqual, settled, test, until } from "../harness.mjs";
import { readPng } from "../png.mjs";
import { Recording } from "../recording.mjs";
import { cheap, drawn, hasSaid, look, said } from "../world.mjs";
import { enter, plugIn, pressPanel } from "../worn.mjs";
import { SMALL_POOL } from "./stream.mjs";

/** Wide enough for the panel to be open. */
const WIDE = { context: { viewport: { width: 660, height: 220 } } };
const TANK = () => ({ recording: new Recording("small-splash"), cells: [16, 8, 8], cellM: 0.0625 });
const button = (page, name) => page.locator("#panel").getByRole("button", { name });
const nameOf = ({ epoch, step }) => `${epoch}/${step}`;

/** Presses a button of the panel that ends in a file. */
async function download(page, name) {
  const [saved] = await Promise.all([page.waitForEvent("download"), button(page, name).click()]);
  return { name: saved.suggestedFilename(), bytes: readFileSync(await saved.path()) };
}

/** Opens a recording and waits until it plays. */
async function play(page, file) {
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    button(page, "Open a recording").click(),
  ]);
  await chooser.setFiles({ name: file.name, mimeType: "application/octet-stream", buffer: file.bytes });
  await until(async () => (await look(page, "connection")).connection === "playing", "it plays");
}

/** Watches a page, records, and gives the file and the fingerprints of the frames meanwhile. */
async function record(page, frames = 50) {
  await page.getByRole("button", { name: "Keep" }).click();
  await button(page, "Record the tank").click();
  await button(page, "Stop the recording").waitFor();
  // It begins with a key frame: the stream has one in twenty.
  const seen = await page.evaluate((count) => window.tarn.nextFrames(count), frames);
  const file = await download(page, "Stop the recording");
  return { file, hashes: new Map(seen.map((frame) => [nameOf(frame), frame.hash])) };
}

let recorded = null;

/** A recording; one for all cases. */
async function recordingOf(world, url) {
  recorded ??= (await record(await world.watch(url, WIDE))).file;
  return recorded;
}

/** Moves the slider, waits until its moment is shown. */
async function scrub(page, seconds) {
  await page.locator("#scrub input").evaluate((slider, ms) => {
    slider.value = String(ms);
    slider.dispatchEvent(new Event("input"));
  }, 1000 * seconds);
  await until(async () => !(await look(page, "seeking")).seeking, "the moment is reached");
}

test("a recording plays the frames that were seen, without a server, and is scrubbed through", async (world) => {
  const server = await world.fake(TANK());
  const page = await world.watch(`http://127.0.0.1:${server.port}/?readout=1`, WIDE);
  const { file, hashes } = await record(page);
  recorded = file;
  assert(/^tarn-dam-break-\d{4}(-\d\d){5}\.tarn$/.test(file.name), `the file is called ${file.name}`);
  assertEqual(file.bytes.toString("latin1", 0, 4), "TRNR", "the file begins with");

  await play(page, file);
  const heard = await settled(() => server.received.length, "what the live page sent last is there");
  const bar = page.locator("#scrub");
  await until(() => bar.getByRole("button", { name: "Play" }).isVisible(), "it comes to its end");
  // Once more: until the file was read, frames were those of the live tank.
  await page.evaluate(() => {
    window.watched = window.tarn.nextFrames(4);
  });
  await bar.getByRole("button", { name: "Play" }).click();
  const played = await page.evaluate(() => window.watched);
  const common = played.filter((frame) => hashes.has(nameOf(frame)));
  assert(common.length >= 3, `only ${common.length} of the frames were seen before`);
  for (const frame of common) assertEqual(frame.hash, hashes.get(nameOf(frame)), `bytes of ${nameOf(frame)}`);

  // A short recording may have come to its end by itself.
  await bar
    .getByRole("button", { name: "Pause" })
    .click({ timeout: 2000 })
    .catch(() => {});
  await until(() => bar.getByRole("button", { name: "Play" }).isVisible(), "it stands still");
  const isShown = async (name) => [name, await page.getByRole("button", { name }).first().isVisible()];
  const shown = [];
  for (const name of ["Share", "Measure", "Pause (P)", "Reset (R)", "People", "Centre the view"])
    shown.push(await isShown(name));
  assertEqual(
    shown.filter(([, is]) => is).map(([name]) => name),
    ["Centre the view"],
    "buttons of the live tank",
  );
  assertEqual(
    await page.locator("#title h1, #subtitle").allTextContents(),
    ["Dam break", "Recording"],
    "the header",
  );
  const [readout, scrubBar] = await Promise.all(
    ["#readout", "#scrub"].map((id) => page.locator(id).boundingBox()),
  );
  assert(readout.y + readout.height <= scrubBar.y, "the bar covers the measurements");
  await scrub(page, 0.2);
  const middle = await look(page, "epoch", "step", "particles");
  await scrub(page, 0);
  const first = await look(page, "epoch", "step", "kind");
  assertEqual(first.kind, "key", "the first frame");
  assert(nameOf(first) !== nameOf(middle), "another moment is another frame");
  await scrub(page, 0.2);
  assertEqual(await look(page, "epoch", "step", "particles"), middle, "the same moment");
  assertEqual(server.received.length, heard, "what the server hears meanwhile");

  await page.locator("#scrub").getByRole("button", { name: "Close" }).click();
  await until(async () => (await look(page, "connections")).connections === 2, "the live tank is back");
  assertEqual(await isShown("Reset (R)"), ["Reset (R)", true], "a button of the live tank");
});

test("a recording of smoke plays as smoke, coloured as is asked", async (world) => {
  const scene = new URL("../scenes/small-smoke.json", import.meta.url).pathname;
  const server = await world.tank({ scene });
  const page = await world.watch(`${server.url}?channel=heat`, WIDE);
  const isScaled = () =>
    page.evaluate(() =>
      /^[\d.]+$/.test(document.querySelector("#legend p span:last-child")?.textContent ?? ""),
    );
  await until(isScaled, "frames carry the heat");
  const { file } = await record(page, 70);
  await play(page, file);
  await server.stop();
  assertEqual((await look(page, "drawing")).drawing, "smoke", "the drawing");
  await until(isScaled, "its frames have the heat, too");
  assertEqual(await page.locator("#legend figcaption").textContent(), "Heat, K", "the legend");
});

test("a recording has what probes measured, panel or none: values, plots and a table up to the moment that is shown", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const context = { viewport: { width: 1000, height: 640 }, acceptDownloads: true };
  const page = await world.watch(cheap(server.url), { context });
  const panel = page.locator("#probes");
  await page.locator("#measure").click();
  await panel.getByRole("button", { name: "Rod" }).click();
  await panel.getByRole("button", { name: "Place it in the middle" }).click();
  await panel.locator("li h3", { hasText: "gauge" }).waitFor();
  await page.keyboard.press("Escape");
  const { file } = await record(page, 60);
  await play(page, file);
  await server.stop();
  await until(() => page.locator("#scrub").getByRole("button", { name: "Play" }).isVisible(), "its end");

  await page.locator("#measure").click();
  await panel.locator('details[data-column="depth_m"] canvas').waitFor();
  const value = panel.locator('dd[data-column="depth_m"]');
  await until(async () => Math.abs(Number.parseFloat(await value.textContent()) - 0.25) < 0.03, "the depth");
  assert(await panel.getByRole("button", { name: "Point" }).isDisabled(), "nobody places a probe there");
  assertEqual(await panel.getByRole("button", { name: /^(Place|Remove)/ }).count(), 0, "or changes one");
  const table = async () => {
    const saving = page.waitForEvent("download");
    await panel.getByRole("button", { name: /CSV/ }).click();
    const lines = readFileSync(await (await saving).path(), "utf8")
      .trim()
      .split("\n");
    return { head: lines[0], times: lines.slice(1).map((line) => Number(line.split(",")[0])) };
  };
  const whole = await table();
  assert(/^time_s,gauge_\d+_depth_m,gauge_\d+_surface_m$/.test(whole.head), `head: ${whole.head}`);
  assert(whole.times.length > 30, `${whole.times.length} rows`);
  const { simTimeS: endS } = await look(page, "simTimeS");
  assert(
    Math.abs(whole.times.at(-1) - endS) < 0.2,
    `the last row is of ${whole.times.at(-1)}, not ${endS} s`,
  );
  await scrub(page, 0.3);
  await until(async () => {
    const [part, { simTimeS }] = [await table(), await look(page, "simTimeS")];
    return part.times.length < whole.times.length / 2 && part.times.at(-1) < simTimeS + 0.2;
  }, "an earlier moment has what was measured until then");
  await page.keyboard.press("Escape");
  await scrub(page, (await page.locator("#scrub input").evaluate((slider) => Number(slider.max))) / 1000);
  assertEqual((await look(page, "probes")).probes.length, 1, "probes that are shown in the tank");
});

test("a link to a moment of a recording shows that moment", async (world) => {
  const files = {};
  const server = await world.fake({ ...TANK(), files });
  const url = `http://127.0.0.1:${server.port}/`;
  const file = await recordingOf(world, url);
  files["splash.tarn"] = file.bytes;
  const page = await world.open(`${url}?recording=scenes/splash.tarn&t=0.2`);
  await until(() => page.evaluate(() => window.tarn?.framesDecoded > 0), "it is opened", 30_000);
  await until(async () => !(await look(page, "seeking")).seeking, "the moment is reached");
  assertEqual((await look(page, "momentS")).momentS, 0.2, "the moment");
  await scrub(page, (await page.locator("#scrub input").evaluate((slider) => Number(slider.max))) / 1000);
  const last = nameOf(await look(page, "epoch", "step"));
  await scrub(page, 0);
  await until(() => new URL(page.url()).searchParams.get("t") === "0", "the address has the new moment");
  assert(nameOf(await look(page, "epoch", "step")) !== last, "another moment is another frame");
  await page.locator("#insight-button").click();
  await page.locator("#insight").getByLabel("Slice", { exact: true }).check();
  await until(async () => (await look(page, "insight")).insight.fluid > 0.02, "its flow is looked into");

  world.expected.push(/404/);
  await page.goto(`${url}?recording=scenes/none.tarn`);
  await until(async () => /can't be opened: the server answers 404/.test(await said(page)), "it says why");
  await page.goto(`${url}?recording=https://example.invalid/x.tarn`);
  await until(async () => /another server/.test(await said(page)), "it asks no other server");
});

test("a recording plays in a headset, and the wrist panel plays it again", async (world) => {
  const files = {};
  const server = await world.fake({ ...TANK(), files });
  const url = `http://127.0.0.1:${server.port}/`;
  const live = await world.watch(url, WIDE);
  files["splash.tarn"] = (await record(live, 80)).file.bytes;
  await live.context().close();
  const page = await world.open(`${url}?recording=scenes/splash.tarn&quality=points`, {
    prepare: plugIn,
    context: { viewport: { width: 660, height: 220 } },
  });
  await until(() => page.evaluate(() => window.tarn?.framesDecoded > 0), "it is opened", 30_000);
  await enter(page);
  const isAtItsEnd = () => page.locator("#scrub").getByRole("button", { name: "Play" }).isVisible();
  await until(isAtItsEnd, "it has been played");
  const { momentS: lastS } = await look(page, "momentS");
  await page.evaluate(() => {
    window.moments = new Set();
    window.steps = new Set();
    setInterval(() => {
      window.moments.add(window.tarn.momentS);
      window.steps.add(window.tarn.drawnStep);
    }, 5);
  });
  await pressPanel(page, "pause");
  await until(isAtItsEnd, "it has been played again");
  const moments = await page.evaluate(() => [...window.moments]);
  const between = moments.filter((s) => s < lastS);
  assert(between.length >= 3, `of ${lastS} s it showed ${moments}`);
  const drawn = await page.evaluate(() => window.steps.size);
  assert(drawn >= 3, `the eyes saw ${drawn} of its frames`);
  await page.evaluate(() => window.device.activeSession.end());
  await until(() => page.evaluate(() => window.tarn.headset === null), "the page is back");
  assertEqual((await look(page, "connection")).connection, "playing", "the recording");
});

test("a file that breaks off is played up to there, one that is none leaves the tank", async (world) => {
  const server = await world.fake(TANK());
  const url = `http://127.0.0.1:${server.port}/`;
  const file = await recordingOf(world, url);
  const page = await world.watch(url);
  const drop = (bytes) =>
    page.evaluate(
      (content) => {
        const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(content)], "dropped.tarn"));
        window.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
      },
      [...bytes],
    );
  await drop(Buffer.from("something else"));
  await until(
    async () => /dropped.tarn can't be opened: it is no recording/.test(await said(page)),
    "it says so",
  );
  assertEqual((await look(page, "connection")).connection, "connected", "the tank");
  await drop(file.bytes.subarray(0, Math.floor(file.bytes.length * 0.7)));
  await until(
    async () => /damaged after .* s: it ends early/.test(await said(page)),
    "it says where it ends",
  );
  await until(async () => (await look(page, "momentS")).momentS > 0.1, "it plays");
});

test("a picture has every pixel, and water, however coarsely the machine draws", async (world) => {
  const server = await world.fake(TANK());
  const page = await world.watch(`http://127.0.0.1:${server.port}/`, {
    ...WIDE,
    // So few pictures a second make the page draw fewer pixels.
    prepare: (blank) =>
      blank.addInitScript(() => {
        window.requestAnimationFrame = (callback) => setTimeout(() => callback(performance.now()), 120);
        const { toBlob } = HTMLCanvasElement.prototype;
        HTMLCanvasElement.prototype.toBlob = function (...how) {
          window.takenAs = window.tarn.tier;
          toBlob.apply(this, how);
        };
      }),
  });
  const sizes = () =>
    page.evaluate(() => {
      const { width, height, clientWidth, clientHeight } = document.getElementById("tank");
      return { drawn: [width, height], whole: [clientWidth, clientHeight] };
    });
  await until(async () => {
    const { drawn, whole } = await sizes();
    return drawn[0] < whole[0];
  }, "the page draws fewer pixels");
  await page.getByRole("button", { name: "Keep" }).click();
  const { name, bytes } = await download(page, "Take a picture");
  assert(/^tarn-dam-break-.*\.png$/.test(name), `the file is called ${name}`);
  const picture = readPng(bytes);
  const { drawn, whole } = await sizes();
  assertEqual([picture.width, picture.height], whole, "its size");
  assertEqual(await page.evaluate(() => window.takenAs), "water", "how the particles were drawn for it");
  assertEqual((await look(page, "tier")).tier, "spheres", "how they are drawn otherwise");
  assert(drawn[0] < whole[0], "the page goes on with fewer pixels");
  const colours = new Set();
  for (let x = 0; x < picture.width; x += 7)
    for (let y = 0; y < picture.height; y += 7) colours.add(String(picture.at(x, y)));
  assert(colours.size > 50, `it has ${colours.size} colours`);
});

/** In a page: keeps what it next gives people to save, whether the browser's driver tells of downloads or not. */
function keepSaved() {
  const [{ createObjectURL }, { click }] = [URL, HTMLAnchorElement.prototype];
  const blobs = new Map();
  URL.createObjectURL = (blob) => {
    const url = createObjectURL(blob);
    blobs.set(url, blob);
    return url;
  };
  window.saved = null;
  HTMLAnchorElement.prototype.click = function () {
    if (!blobs.has(this.href)) return click.call(this);
    const reader = new FileReader();
    reader.onload = () => {
      window.saved = { name: this.download, url: reader.result };
    };
    reader.readAsDataURL(blobs.get(this.href));
  };
}

test("a clip is a film, in WebM or in MP4", { core: true }, async (world) => {
  const server = await world.fake(TANK());
  const page = await world.watch(`http://127.0.0.1:${server.port}/`, WIDE);
  const films = await page.evaluate(() =>
    ["webm", "mp4"].filter((type) => window.MediaRecorder?.isTypeSupported(`video/${type}`)),
  );
  await page.evaluate(keepSaved);
  await page.getByRole("button", { name: "Keep" }).click();
  await button(page, "Film a clip").click();
  if (films.length === 0) {
    await hasSaid(page, "can't film");
    return;
  }
  await button(page, "Stop the clip").waitFor();
  await page.evaluate(() => window.tarn.nextFrames(15).then(() => {}));
  await drawn(page);
  await button(page, "Stop the clip").click();
  const { name, url } = await until(() => page.evaluate(() => window.saved), "it is saved");
  const [, ending] = /^tarn-dam-break-.*\.(webm|mp4)$/.exec(name) ?? [];
  assertEqual(ending, films[0], `the ending of ${name}`);
  const bytes = Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
  const starts = { webm: [0, "1a45dfa3"], mp4: [4, Buffer.from("ftyp").toString("hex")] };
  const [at, hex] = starts[ending];
  assertEqual(bytes.toString("hex", at, at + 4), hex, "how the file begins");
  assert(bytes.length > 1000, `it has ${bytes.length} bytes`);
});

test("where a browser films in nothing but MP4, as Safari, a clip is one", async (world) => {
  const server = await world.fake(TANK());
  const page = await world.watch(`http://127.0.0.1:${server.port}/`, {
    ...WIDE,
    prepare: (blank) =>
      blank.addInitScript(() => {
        window.MediaRecorder = class {
          static isTypeSupported = (type) => type.startsWith("video/mp4");
          constructor(_stream, { mimeType }) {
            window.filmedIn = mimeType;
            this.state = "inactive";
          }
          start() {
            this.state = "recording";
          }
          stop() {
            this.state = "inactive";
            this.ondataavailable({ data: new Blob(["a film"]) });
            this.onstop();
          }
        };
      }),
  });
  await page.getByRole("button", { name: "Keep" }).click();
  await button(page, "Film a clip").click();
  await button(page, "Stop the clip").waitFor();
  const { name } = await download(page, "Stop the clip");
  assert(/^tarn-dam-break-.*\.mp4$/.test(name), `the file is called ${name}`);
  assertEqual(await page.evaluate(() => window.filmedIn), "video/mp4;codecs=avc1", "what it is filmed in");
});
