// A body before a depth camera, from its frames through `tarn kinect` and a server to what a page has decoded.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert, assertEqual, test } from "../harness.mjs";
import { HERE, ROOT } from "../places.mjs";
import { cheap } from "../world.mjs";

const build = () => process.env.TARN_BUILD ?? join(ROOT, "build", "release");
const SCENE = join(HERE, "scenes", "still-ink.json");
/** Made frames: after a second and a half somebody is there in the middle, rises and then sinks. */
const ACT = { name: "bow", frames: 125 };
/** Inside of them, and corners where nobody is and what they drive hardly comes; metres of the wall. */
const MIDDLE = [
  [1.75, 0.9, 0],
  [2.25, 2, 1],
];
const ASIDE = [
  [
    [0, 2.6, 0],
    [0.4, 3, 1],
  ],
  [
    [3.6, 2.6, 0],
    [4, 3, 1],
  ],
];
const STIRRED_M_S = 0.08;

const exit = (child) => new Promise((resolve) => child.once("exit", resolve));

/** Lets a made body move before the wall. @return what `tarn kinect` printed, once all frames were played */
async function playBody(world, server) {
  const folder = mkdtempSync(join(tmpdir(), "tarn-depth-"));
  const made = spawn(join(build(), "tests/kinect/make_depth"), [folder, ACT.name, String(ACT.frames), "1"], {
    stdio: "inherit",
  });
  assertEqual(await exit(made), 0, "make_depth ends");
  const bridge = spawn(
    join(build(), "bin/tarn"),
    ["kinect", "--frames", folder, "--quiet", "--url", `127.0.0.1:${server.port}`],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const log = [];
  for (const stream of [bridge.stdout, bridge.stderr]) stream.on("data", (data) => log.push(String(data)));
  const ended = exit(bridge);
  world.servers.push({
    stop: async () => {
      if (bridge.exitCode === null && bridge.signalCode === null) bridge.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true });
    },
    log,
  });
  return { ended, log };
}

test("the wall goes where a body before the depth camera goes, and where nobody is it stays", async (world) => {
  const server = await world.tank({ scene: SCENE });
  const page = await world.watch(cheap(server.url));
  await page.evaluate(
    ([middle, aside]) => {
      window.seen = [];
      const look = () => {
        const [, up] = window.tarn.velocityIn(...middle) ?? [0, 0];
        const beside = aside.map((box) => Math.hypot(...(window.tarn.velocityIn(...box) ?? [0])));
        window.seen.push([up, ...beside]);
        window.looking = requestAnimationFrame(look);
      };
      look();
    },
    [MIDDLE, ASIDE],
  );
  const { ended, log } = await playBody(world, server);
  assertEqual(await ended, 0, `tarn kinect ends: ${log.join("")}`);
  const seen = await page.evaluate(() => window.seen);
  const ways = seen.map(([up]) => (Math.abs(up) > STIRRED_M_S ? Math.sign(up) : 0)).filter(Boolean);
  const turns = ways.filter((way, i) => way !== ways[i - 1]);
  assertEqual(turns.slice(0, 2), [1, -1], "up, then down");
  // Before what was stirred has come there by itself.
  const first = seen.slice(
    0,
    seen.findIndex(([up]) => up < -STIRRED_M_S),
  );
  const rms = (k) => Math.sqrt(first.reduce((sum, row) => sum + row[k] ** 2, 0) / first.length);
  for (const k of [1, 2]) {
    assert(rms(k) < 0.25 * rms(0), `where nobody is it goes at ${rms(k)} m/s, in the middle at ${rms(0)}`);
  }
});
