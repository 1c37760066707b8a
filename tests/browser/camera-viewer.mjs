// A viewer with a camera and nothing else, as the server sees one: no page, no cursor, only grids of motion.
import { sleep } from "./harness.mjs";
import { webRequire } from "./places.mjs";

const { WebSocket } = webRequire("ws");
const { decode, encode } = webRequire("@msgpack/msgpack");

const EVERY_MS = 100;
/** To and fro, so that nothing is carried far. */
const TURNS_EVERY = 4;
const [COLUMNS, ROWS] = [8, 6];
const THERE = 255;

/** Presence and velocity, as one plane each; the middle is somebody who moves. */
function cellsOf(along) {
  const planes = new Uint8Array(4 * COLUMNS * ROWS);
  for (let row = 1; row < ROWS - 1; row++)
    for (let column = 1; column < COLUMNS - 1; column++) {
      planes[row * COLUMNS + column] = THERE;
      planes[COLUMNS * ROWS + row * COLUMNS + column] = along & 255;
    }
  const code = [];
  for (let at = 0; at < planes.length; at += 128) {
    const part = planes.subarray(at, at + 128);
    code.push(part.length - 1, ...part);
  }
  return Uint8Array.from(code);
}

export class CameraViewer {
  /** @param port  of the server. @returns it once it has joined */
  static async join(port) {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, "tarn.v1");
    const say = (message) => socket.send(encode(message));
    await new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.on("close", () => reject(new Error("the server closed a camera's connection")));
      socket.on("open", () => say({ t: "hello", versions: [1], client: "camera" }));
      socket.on("message", (data) => {
        if (data[0] === 0x54) return;
        const { t } = decode(data);
        if (t === "welcome") say({ t: "join", session: "", viewer: "camera" });
        if (t === "joined") resolve();
      });
    });
    say({ t: "view", hidden: true });
    return new CameraViewer(socket, say);
  }

  constructor(socket, say) {
    this.socket = socket;
    this.say = say;
    this.log = [];
    this.stirring = false;
  }

  /** Moves what is between two corners, until it stops. */
  async stir([x0, y0], [x1, y1], speed_m_s) {
    this.stirring = true;
    for (let seq = 1; this.stirring; seq++) {
      const way = Math.floor(seq / TURNS_EVERY) % 2 === 0 ? 127 : -127;
      const grid = { source: 0, columns: COLUMNS, rows: ROWS, depth_m: 0, speed_m_s, strength: 1 };
      const place = { corner_m: [x0, y0, 0], across_m: [x1 - x0, 0, 0], up_m: [0, y1 - y0, 0] };
      this.say({ t: "input", seq, k: "motion", ...grid, ...place, cells: cellsOf(way) });
      await sleep(EVERY_MS);
    }
  }

  async stop() {
    this.stirring = false;
    this.socket.removeAllListeners("close");
    this.socket.close();
  }
}
