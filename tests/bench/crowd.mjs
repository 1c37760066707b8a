// Many tanks on one machine, with and without a hand in each: what share of real time they get, and how evenly. A hand
// must not slow a tank that is late, or one slow tank makes all others slower.
// Usage: node tests/bench/crowd.mjs [--scene NAME] [--seconds N] [TANKS...]     (dam-break, 12, 1 2 4 6 8)
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../browser/places.mjs";
import { TankServer } from "../browser/tank-server.mjs";

const TANKS_MAX = 16;
const SECONDS_MAX = 600;
const tool = join(process.env.TARN_TEST_BUILD ?? join(ROOT, "build", "release"), "bin/tarn");

function wholeNumber(text, most, what) {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= most) return number;
  console.error(`crowd: ${what}: found "${text}", allowed are 1 to ${most}`);
  process.exit(2);
}

const { values, positionals } = parseArgs({
  options: {
    scene: { type: "string", default: "dam-break" },
    seconds: { type: "string", default: "12" },
  },
  allowPositionals: true,
});
const seconds = wholeNumber(values.seconds, SECONDS_MAX, "--seconds");
const counts = (positionals.length > 0 ? positionals : ["1", "2", "4", "6", "8"]).map((text) =>
  wholeNumber(text, TANKS_MAX, "tanks"),
);

async function answer(url, options) {
  const response = await fetch(url, options);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** One viewer in each of `count` fresh tanks; with hands each drags a pointer, too. Returns the tanks' real-time factors. */
async function factors(count, hands) {
  const server = await TankServer.start({
    scene: values.scene,
    args: ["--sessions-max", String(count), "--log", "error"],
  });
  try {
    const names = ["main"];
    while (names.length < count) {
      const body = JSON.stringify({ scene: values.scene });
      const headers = { "Content-Type": "application/json" };
      names.push((await answer(`${server.url}sessions`, { method: "POST", headers, body })).session);
    }
    const viewers = names.map((name) => {
      const options = `--quiet --json --check 0 --viewers 1 --pushers ${hands ? 1 : 0} --inputs 60 --seconds ${seconds}`;
      const args = ["load", ...options.split(" "), "--session", name, `127.0.0.1:${server.port}`];
      return spawn(tool, args, { stdio: ["ignore", "ignore", "inherit"] });
    });
    const ends = Promise.all(viewers.map((viewer) => once(viewer, "exit")));
    const sums = new Map(names.map((name) => [name, 0]));
    let samples = 0;
    let running = true;
    ends.then(() => {
      running = false;
    });
    for (let second = 0; running && second < seconds; second += 1) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      if (second < 2) continue; // the factors of a server's first seconds are those of its start
      const { sessions } = await answer(`${server.url}sessions`);
      for (const { session, realtime_factor } of sessions) {
        sums.set(session, sums.get(session) + realtime_factor);
      }
      samples += 1;
    }
    await ends;
    return names.map((name) => sums.get(name) / samples);
  } finally {
    await server.stop();
  }
}

const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
const row = (list) =>
  `${mean(list).toFixed(3)} (${Math.min(...list).toFixed(3)} to ${Math.max(...list).toFixed(3)})`;

console.log(`${values.scene}, ${seconds} s a row: times real time, mean (least to most) of the tanks`);
console.log("tanks  without hands            with a hand in each      with / without");
for (const count of counts) {
  const without = await factors(count, false);
  const withHands = await factors(count, true);
  const ratio = (mean(withHands) / mean(without)).toFixed(3);
  console.log(
    `${String(count).padStart(5)}  ${row(without).padEnd(24)} ${row(withHands).padEnd(24)} ${ratio}`,
  );
}
