// Starts `tarn kinect` with its page, on a made recording of somebody who waves, and ends it again.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Skip, until } from "./harness.mjs";
import { ROOT } from "./places.mjs";

/** Somebody is there for the last half of them. */
const FRAMES = 90;

const build = process.env.TARN_BUILD ?? join(ROOT, "build", "release");

/** The recording's folder, made once for all cases. */
let recorded = null;

function recording() {
  const program = join(build, "tests/kinect/make_depth");
  if (!existsSync(program)) throw new Skip(`${program} isn't built`);
  if (recorded === null) {
    const folder = mkdtempSync(join(tmpdir(), "tarn-recorded-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    // Without the sensor's noise: what moves is somebody.
    execFileSync(program, [join(folder, "wave"), "wave", String(FRAMES), "1", "2.4", "0"]);
    recorded = join(folder, "wave");
  }
  return recorded;
}

export class CameraBridge {
  /** @param calibration  the name of a file in its folder; null: none. @returns the bridge, with url, folder, log */
  static async start(calibration = null) {
    const tool = join(build, "bin/tarn");
    if (!existsSync(tool)) throw new Skip(`${tool} isn't built`);
    const frames = recording();
    const folder = mkdtempSync(join(tmpdir(), "tarn-bridge-"));
    const bridge = new CameraBridge();
    bridge.folder = folder;
    bridge.log = [];
    try {
      const args = ["kinect", "--frames", frames, "--loop", "--show=0", "--url", "127.0.0.1:1"];
      if (calibration !== null) args.push("--calibration", join(folder, calibration));
      bridge.child = spawn(tool, args, { stdio: ["ignore", "ignore", "pipe"] });
      bridge.child.stderr.on("data", (data) => bridge.log.push(String(data)));
      bridge.url = await until(
        () => /http:\/\/127\.0\.0\.1:\d+\//.exec(bridge.log.join(""))?.[0],
        "the bridge says its address",
      );
    } catch (error) {
      await bridge.stop();
      throw error;
    }
    return bridge;
  }

  async stop() {
    if (this.child && this.child.exitCode === null && this.child.signalCode === null) {
      const gone = new Promise((resolve) => this.child.once("exit", resolve));
      this.child.kill("SIGINT");
      await gone;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
