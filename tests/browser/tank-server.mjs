// Starts a real tarnd on a free port of this machine and ends it again.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { ROOT, WEB } from "./places.mjs";

const START_MS = 15_000;
const STOP_MS = 8000;
const CLIENT = join(WEB, "dist");

function program() {
  const build = process.env.TARN_TEST_BUILD ?? join(ROOT, "build", "release");
  const found = ["bin/tarnd", "tarnd", "server/gateway/tarnd", "server/tarnd"].find((path) =>
    existsSync(join(build, path)),
  );
  if (found === undefined)
    throw new Error(`there is no tarnd in ${build}; TARN_TEST_BUILD names another build`);
  return join(build, found);
}

/** A port of this machine that nobody has. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export class TankServer {
  constructor(child, port, log) {
    this.child = child;
    this.port = port;
    this.log = log;
    this.pid = child.pid;
  }

  /** @param options.scene  a scene's name or file; options.port  0 for a free one; options.client  the built page */
  static async start({ scene = "dam-break", port = 0, args = [], client = CLIENT } = {}) {
    const list = ["--port", String(port), "--scene", scene, "--client", client, ...args];
    const child = spawn(program(), list, { stdio: ["ignore", "pipe", "pipe"] });
    const log = [];
    const address = await new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`tarnd printed no address:\n${log.join("")}`)),
        START_MS,
      );
      const read = (data) => {
        log.push(String(data));
        const match = /https?:\/\/[^\s:/]+:(\d+)/.exec(log.join(""));
        if (match === null) return;
        clearTimeout(timer);
        resolve(Number(match[1]));
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
      child.on("error", reject);
      child.on("exit", (code) => {
        clearTimeout(timer);
        reject(new Error(`tarnd ended with ${code}:\n${log.join("")}`));
      });
    }).catch((error) => {
      child.kill("SIGKILL");
      throw error;
    });
    return new TankServer(child, address, log);
  }

  get url() {
    return `http://127.0.0.1:${this.port}/`;
  }

  /** Process ids of the workers that this server started. */
  workers() {
    const path = `/proc/${this.pid}/task/${this.pid}/children`;
    return readFileSync(path, "utf8").trim().split(/\s+/).filter(Boolean).map(Number);
  }

  async kill(signal) {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill(signal);
    await gone;
  }

  async stop() {
    const timer = setTimeout(() => this.child.kill("SIGKILL"), STOP_MS);
    await this.kill("SIGTERM");
    clearTimeout(timer);
  }
}
