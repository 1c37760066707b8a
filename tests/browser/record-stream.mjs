// Records a scene's frames with `record_stream` of the tests' build.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Missing } from "./missing.mjs";
import { ROOT } from "./places.mjs";

/** The program and its arguments. @param options  of the program: {"--frames": 30, ...} */
export function streamCommand(scene, into, options) {
  const build = process.env.TARN_TEST_BUILD ?? join(ROOT, "build", "release");
  const program = join(build, "tests", "stream", "record_stream");
  if (!existsSync(program))
    throw new Missing(
      `there is no record_stream in ${build}: cmake --preset release -DTARN_TESTS=ON && cmake --build --preset release`,
    );
  return [program, [scene, into, ...Object.entries(options).flat().map(String)]];
}

/** @param command  streamCommand's */
export function recordStream(...command) {
  execFileSync(...streamCommand(...command));
}
