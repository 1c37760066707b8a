// Takes the clip of the README: the dam break as the simulation has it, each picture drawn by the page as finely as it can.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { drawByHand, drawUntil, takeCanvas } from "./by-hand.mjs";
import { recordScene, servedScene } from "./gallery.mjs";
import { WEB } from "./places.mjs";
import { FLAG_PAUSED, FLAGS_AT } from "./recorded-layers.mjs";
import { World } from "./world.mjs";

const SCENE = "dam-break";
const STEPS_PER_S = 60;
const STEPS = { first: 8, frames: 54, every: 4 };
const SIZE = { width: 720, height: 405 };
const QUALITY = 75;
const SHOWN = join(WEB, "docs", `${SCENE}-clip.webp`);

export async function takeClip(browser) {
  const folder = mkdtempSync(join(tmpdir(), "tarn-clip-"));
  const { world, check, end } = await World.make(browser);
  try {
    const frames = recordScene(SCENE, folder, STEPS);
    // Nothing moves on by itself while a picture is drawn.
    for (const frame of frames) frame.writeUInt32LE(frame.readUInt32LE(FLAGS_AT) | FLAG_PAUSED, FLAGS_AT);
    const recording = { next: (viewer) => frames[viewer.played++] ?? null };
    const server = await world.fake({ recording, byHand: true, ...servedScene(SCENE) });
    const page = await world.open(`http://127.0.0.1:${server.port}/?detail=full&quality=high&readout=0`, {
      context: { viewport: SIZE },
      prepare: drawByHand,
    });
    await drawUntil(page, { connection: "connected" });
    const pictures = [];
    for (let i = 0; i < frames.length; i++) {
      server.show();
      await drawUntil(page, { framesDecoded: i + 1 });
      const file = join(folder, `${String(i).padStart(3, "0")}.png`);
      writeFileSync(file, await takeCanvas(page));
      pictures.push(file);
    }
    check();
    mkdirSync(join(WEB, "docs"), { recursive: true });
    const delay = Math.round((1000 * STEPS.every) / STEPS_PER_S);
    execFileSync(
      "img2webp",
      ["-loop", "0", "-lossy", "-q", QUALITY, "-d", delay, ...pictures, "-o", SHOWN].map(String),
    );
    console.log(`web-client/docs/${SCENE}-clip.webp: ${frames.length} pictures`);
  } finally {
    rmSync(folder, { recursive: true });
    await end();
  }
}
