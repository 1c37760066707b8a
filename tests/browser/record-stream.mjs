// Records a scene's frames with `record_stream` of the tests' build.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Missing } from "./missing.mjs";
import { ROOT } from "./places.mjs";

/** @param options  of the program: {"--frames": 30, ...} */
export function recordStream(scene, into, options) {
  const build = process.env.TARN_BUILD ?? join(ROOT, "build", "release");
  const program = join(build, "tests", "stream", "record_stream");
  if (!existsSync(program))
    throw new Missing(
      `there is no record_stream in ${build}: cmake --preset release -DTARN_TESTS=ON && cmake --build --preset release`,
    );
  execFileSync(program, [scene, into, ...Object.entries(options).flat().map(String)]);
}
