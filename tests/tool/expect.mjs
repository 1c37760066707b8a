// What tests of files say when something isn't as it should be, and what they end with:
//
//     expect(), equal()  print "FAILED: ..." and count; skip() prints "skipped: ..."
//     exitCode()         1 behind a failure, 77 where something was skipped, else 0
//     scratch(NAME)      a folder that goes with the process
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

let failures = 0;
let skips = 0;

export function expect(right, what) {
  if (right) return;
  failures++;
  console.log(`FAILED: ${what}`);
}

/** Compares as JSON. */
export function equal(found, wanted, what) {
  const [foundText, wantedText] = [JSON.stringify(found), JSON.stringify(wanted)];
  expect(
    foundText === wantedText,
    `${what}: ${foundText?.slice(0, 200)} instead of ${wantedText?.slice(0, 200)}`,
  );
}

export function skip(why) {
  skips++;
  console.log(`skipped: ${why}`);
}

/** For the end of a test: set before that, it would also be what an exception ends the process with. */
export const exitCode = () => (failures > 0 ? 1 : skips > 0 ? 77 : 0);

/** @returns what gives the path of a name in the folder */
export function scratch(name) {
  const folder = mkdtempSync(join(tmpdir(), `tarn-${name}-`));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return (...names) => join(folder, ...names);
}

/** Largest difference of two arrays of tuples; `unitOf` gives what each value's is measured in. */
export function difference(a, b, unitOf = () => 1) {
  if (a?.length !== b?.length) return Number.POSITIVE_INFINITY;
  let most = 0;
  a.forEach((tuple, i) => {
    tuple.forEach((value, k) => {
      const off = Math.abs(value - b[i][k]) / unitOf(b[i][k]);
      most = Math.max(most, Number.isNaN(off) ? Number.POSITIVE_INFINITY : off);
    });
  });
  return most;
}
