// Starts `tarn kinect` on a made recording, and ends it again.
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Skip, until } from "./harness.mjs";
import { ROOT } from "./places.mjs";

const build = process.env.TARN_TEST_BUILD ?? join(ROOT, "build", "release");

/** Folders of recordings, each made once for all cases. */
const recorded = new Map();

/** Without the sensor's noise: what moves is somebody, who is there after a second and a half. */
async function recording(act, frames) {
  const program = join(build, "tests/kinect/make_depth");
  if (!existsSync(program)) throw new Skip(`${program} isn't built`);
  const name = `${act}-${frames}`;
  if (!recorded.has(name)) {
    const folder = mkdtempSync(join(tmpdir(), "tarn-recorded-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    await promisify(execFile)(program, [join(folder, name), act, String(frames), "1", "2.4", "0"]);
    recorded.set(name, join(folder, name));
  }
  return recorded.get(name);
}

export class CameraBridge {
  /**
   * With its page, and the recording again and again.
   * @param calibration  the name of a file in its folder; null: none
   * @returns the bridge, with url, folder, log
   */
  static async start(calibration = null) {
    const bridge = await CameraBridge.open("wave", 90, (folder) => {
      const file = calibration === null ? [] : ["--calibration", join(folder, calibration)];
      return ["--loop", "--show=0", "--url", "127.0.0.1:1", ...file];
    });
    try {
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

  /** @param optionsIn  more options, of its folder */
  static async open(act, frames, optionsIn) {
    return new CameraBridge(await recording(act, frames), optionsIn);
  }

  constructor(frames, optionsIn) {
    const tool = join(build, "bin/tarn");
    if (!existsSync(tool)) throw new Skip(`${tool} isn't built`);
    const args = ["kinect", "--frames", frames];
    this.folder = mkdtempSync(join(tmpdir(), "tarn-bridge-"));
    this.log = [];
    this.child = spawn(tool, [...args, ...optionsIn(this.folder)], { stdio: ["ignore", "ignore", "pipe"] });
    this.child.stderr.on("data", (data) => this.log.push(String(data)));
    /** Its exit status, once it ends. */
    this.ended = new Promise((resolve) => this.child.once("exit", resolve));
  }

  async stop() {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill("SIGINT");
    await this.ended;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
