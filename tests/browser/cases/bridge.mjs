// A body before a depth camera, from its frames through `tarn kinect` and a server to what a page has decoded.
import { join } from "node:path";
import { CameraBridge } from "../camera-bridge.mjs";
import { assert, assertEqual, test } from "../harness.mjs";
import { HERE } from "../places.mjs";
import { cheap } from "../world.mjs";

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

test("the wall goes where a body before the depth camera goes, and where nobody is it stays", {
  alone: true,
}, async (world) => {
  const server = await world.tank({ scene: SCENE });
  const page = await world.watch(cheap(server.url));
  await page.evaluate(
    ([middle, aside]) => {
      window.seen = [];
      const look = () => {
        const [, up] = window.tarn.velocityIn(...middle) ?? [0, 0];
        const beside = aside.map((box) => Math.hypot(...(window.tarn.velocityIn(...box) ?? [0])));
        window.seen.push([up, ...beside]);
        setTimeout(look, 20);
      };
      look();
    },
    [MIDDLE, ASIDE],
  );
  const bridge = await CameraBridge.open(ACT.name, ACT.frames, () => [
    "--quiet",
    "--url",
    `127.0.0.1:${server.port}`,
  ]);
  world.servers.push(bridge);
  assertEqual(await bridge.ended, 0, `tarn kinect ends: ${bridge.log.join("")}`);
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
