// The programs beside the cases: what they say where something is missing.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert, assertEqual, test } from "../harness.mjs";
import { HERE } from "../places.mjs";

function run(name, args, environment = {}) {
  const options = { env: { ...process.env, ...environment } };
  return new Promise((resolve) => {
    execFile(process.execPath, [join(HERE, name), ...args], options, (error, stdout, stderr) =>
      resolve({ status: error?.code ?? 0, said: stderr.trim(), printed: stdout.trim().split("\n") }),
    );
  });
}

test("words that no case's name has are said, and no pass", async () => {
  const { status, said } = await run("run.mjs", ["no such", "case"]);
  assertEqual([status, said], [2, `no case's name contains "no such case"`], "status and text");
});

test("an engine that isn't known is refused, one that isn't there is skipped with its reason", async () => {
  const { status, said } = await run("run.mjs", ["--in", "firefox,netscape"]);
  assertEqual(
    [status, said],
    [2, 'found "--in netscape", allowed are chromium, firefox, webkit'],
    "status and text",
  );
  for (const [name, variable] of [
    ["firefox", "FIREFOX"],
    ["webkit", "MINIBROWSER"],
  ]) {
    const { status, printed } = await run("run.mjs", ["--in", name], { [variable]: "/nowhere" });
    assertEqual(
      [status, printed.at(-1)],
      [0, "0 passed, 0 failed, 1 skipped"],
      `status and counts of ${name}`,
    );
    assert(new RegExp(`^skip ${name}: \\d+ cases: there is no `).test(printed[0]), `it says: ${printed[0]}`);
  }
});

test("without record_stream a program says how to get it", async () => {
  const into = mkdtempSync(join(tmpdir(), "tarn-programs-"));
  try {
    const { status, said } = await run("gallery.mjs", ["maze", "--into", into], { TARN_TEST_BUILD: into });
    assertEqual([status, said.split("\n").length], [1, 1], `status and lines of ${said}`);
    assert(said.includes("cmake --preset release -DTARN_TESTS=ON"), `it says: ${said}`);
  } finally {
    rmSync(into, { recursive: true });
  }
});
