// Takes the pictures of a wall's looks for web-client/README.md, and prints what one of each costs: the water wall is stirred
// by a page that draws hardly anything, and what came to that page is shown to one for each look, whose time passes by hand.
// What came stays in build/browser and is used again: removed, it is recorded anew.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { servedScene } from "./gallery.mjs";
import { until } from "./harness.mjs";
import { median, table } from "./measure/print.mjs";
import { ROOT, WEB } from "./places.mjs";
import { framesOf } from "./recorded-layers.mjs";
import { timeByHand } from "./time-by-hand.mjs";
import { cheap, drag, World } from "./world.mjs";

const SCENE = "water-wall";
const LOOKS = ["water", "ink", "lava", "smoke", "aurora"];
const SIZE = { width: 480, height: 360 };
const WEBP_QUALITY = 0.82;
/** The ink flows for so long before it is stirred, and while it is, simulated seconds. */
const CALM_S = 5;
const STIRRED_S = 7;
/** Shares of the wall: from where to where it is stirred, in turn. */
const STROKES = [
  [0.12, 0.2, 0.5, 0.5],
  [0.85, 0.28, 0.45, 0.55],
  [0.85, 0.82, 0.5, 0.45],
  [0.15, 0.78, 0.55, 0.55],
  [0.5, 0.1, 0.5, 0.8],
];
/** Of what was recorded: pictures end here, amid the strokes. */
const STIRRED_SHARE = 0.9;
const PICTURES = 20;
const FRAMES_PER_PICTURE = 3;
const FRAME_MS = 1000 / 60;
const FRAME_WAIT_MS = 30_000;
const [MAGIC, KIND_AT, KEY] = [0x54, 12, 0];

/** @returns all frames that came to a page which stirred the wall */
async function recordStir(browser) {
  const { world, end } = await World.make(browser);
  const frames = [];
  const listen = async (page) =>
    page.on("websocket", (socket) =>
      socket.on("framereceived", ({ payload }) => {
        if (typeof payload !== "string" && payload[0] === MAGIC) frames.push(Buffer.from(payload));
      }),
    );
  try {
    const server = await world.tank({ scene: SCENE });
    const page = await world.open(
      `${cheap(server.url)}&look=particles&panel=0&tools=0&readout=0&radius=0.22`,
      {
        context: { viewport: { width: 240, height: 180 } },
        prepare: listen,
      },
    );
    const isAt = (s) => page.evaluate((s) => (window.tarn?.simTimeS ?? 0) > s, s);
    await until(() => isAt(CALM_S), "the ink flows", 300_000);
    const [x, y] = await page.evaluate(() => window.tarn.sizeM);
    for (let i = 0; !(await isAt(CALM_S + STIRRED_S)); i++) {
      const [ax, ay, bx, by] = STROKES[i % STROKES.length];
      await drag(page, [ax * x, ay * y, 0], [bx * x, by * y, 0], 24);
    }
  } finally {
    await end();
  }
  return frames;
}

/** @returns the frames, from a key frame on, of which pictures are made */
async function stirred(browser) {
  const file = join(ROOT, "build", "browser", "stirred-wall.bin");
  if (!existsSync(file)) {
    mkdirSync(join(ROOT, "build", "browser"), { recursive: true });
    const sized = (frame) => {
      const size = Buffer.alloc(4);
      size.writeUInt32LE(frame.length);
      return [size, frame];
    };
    writeFileSync(file, Buffer.concat((await recordStir(browser)).flatMap(sized)));
  }
  const frames = framesOf(readFileSync(file));
  let first = Math.max(0, Math.floor(STIRRED_SHARE * frames.length) - PICTURES * FRAMES_PER_PICTURE);
  while (first > 0 && frames[first][KIND_AT] !== KEY) first--;
  return frames.slice(first, first + PICTURES * FRAMES_PER_PICTURE);
}

/** Shows frames as a look. @returns the last picture, as a WebP, and what each took, ms */
async function play(browser, frames, query) {
  const { world, check, end } = await World.make(browser);
  try {
    let at = 0;
    const { solids: _, ...served } = servedScene(SCENE);
    const recording = { next: () => frames[at++] ?? null };
    const server = await world.fake({ recording, byHand: true, ...served });
    const page = await world.open(`http://127.0.0.1:${server.port}/?display=1&detail=full&${query}`, {
      context: { viewport: SIZE },
      prepare: (opened) => opened.addInitScript(timeByHand),
    });
    await until(() => page.evaluate(() => window.tarn?.connection === "connected"), "it is connected");
    await page.evaluate(() => window.takeTime());
    const taken = [];
    for (let shown = 0; shown + FRAMES_PER_PICTURE <= frames.length; shown += FRAMES_PER_PICTURE) {
      for (let i = 1; i <= FRAMES_PER_PICTURE; i++) {
        server.show(0);
        const isThere = () => page.evaluate((n) => window.tarn.framesDecoded >= n, shown + i);
        await until(isThere, "the frame is decoded", FRAME_WAIT_MS);
        await page.evaluate((ms) => window.pass(ms), FRAME_MS);
      }
      taken.push(
        await page.evaluate(() => {
          const gl = document.getElementById("tank").getContext("webgl2");
          const began = window.ownNow();
          window.picture(0);
          gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
          return window.ownNow() - began;
        }),
      );
    }
    const url = await page.evaluate((quality) => {
      window.picture(0);
      return document.getElementById("tank").toDataURL("image/webp", quality);
    }, WEBP_QUALITY);
    check();
    return { picture: Buffer.from(url.slice(url.indexOf(",") + 1), "base64"), taken };
  } finally {
    await end();
  }
}

export async function takeWallPictures(browser, quality = "low") {
  const frames = await stirred(browser);
  const folder = join(WEB, "docs");
  mkdirSync(folder, { recursive: true });
  const rows = [];
  for (const look of ["particles", ...LOOKS]) {
    const { picture, taken } = await play(browser, frames, `look=${look}&quality=${quality}`);
    if (look !== "particles") writeFileSync(join(folder, `wall-${look}.webp`), picture);
    rows.push([
      look,
      median(taken.slice(2)).toFixed(0),
      Math.min(...taken).toFixed(0),
      String(picture.length),
    ]);
    console.log(`${look}: ${rows.at(-1)[1]} ms`);
  }
  console.log(`a picture of a wall, ${SIZE.width} x ${SIZE.height}, ${quality}`);
  table(["look", "median, ms", "least, ms", "bytes"], rows);
}
