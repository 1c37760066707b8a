// Serves the built page and a fake tank: for working on the page, and for answers that a healthy server never gives.
//
//     node tests/browser/fake-server.mjs [--port N] [--particles N | --recording NAME]
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { encodeFrame, seeds, waterAt } from "./fake-tank.mjs";
import { Recording } from "./recording.mjs";

const web = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "web-client");
const require = createRequire(join(web, "package.json"));
const { WebSocketServer } = require("ws");
const { decode, encode } = require("@msgpack/msgpack");

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};
export const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'";

/**
 * @param options.behave  may answer a client's message itself: (message, socket, send) => true where it did
 * @param options.spoil   may change a frame's bytes before they are sent
 * @param options.recording  frames that are sent instead of the tank's: a Recording; its null is none for now
 * @param options.files   what lies in the scenes' folder besides the scenes: text or bytes by name; a scene that isn't there is empty
 * @param options.bodies  the bodies at a time, as encodeFrame takes them
 * @param options.colour  a particle's colour by its seed
 * @param options.orientation  of the tank in the room
 * @param options.seeds   of the particles, instead of a number of them
 * @param options.path    a particle's place and velocity by its seed, the time in seconds and the tank's size
 * @param options.model   what the state says of the tank's model
 * @param options.client  the folder with the built page
 * @param options.byHand  frames go out when `show` says so, whatever is acknowledged
 * @returns {Promise<{port: number, close(): Promise<void>, received: object[], viewers(): number,
 *          show(timeS: number): void, still(): boolean}>}
 *          show(timeS): sends everybody the frame of a time
 *          still: whether the tank is paused and everybody has acknowledged its last frame
 */
export async function startFakeServer(options = {}) {
  const { port = 0, particles = 20000, base = "/", behave = () => false, spoil = () => {} } = options;
  const { cells = [64, 32, 32], cellM = 0.03125, recording = null } = options;
  const { files = {}, bodies = () => [], colour = () => undefined, path = waterAt, byHand = false } = options;
  const { model = {}, client = process.env.TARN_TEST_PAGE ?? join(web, "dist") } = options;
  const tank = {
    orientation: options.orientation,
    bodies,
    colour,
    path,
    paused: false,
    step: 0,
    epoch: 1,
    members: options.seeds ?? seeds(particles),
    gravity: 9.81,
    model,
    cells,
    cellM,
  };
  const received = [];
  const http = createServer((request, response) => servePage({ base, files, client }, request, response));
  const sockets = new WebSocketServer({ server: http, path: `${base}ws`, handleProtocols: () => "tarn.v1" });
  let viewers = 0;
  sockets.on("connection", (socket) => {
    const viewer = { id: ++viewers, sequence: 0, unacked: 0, joined: false, sent: "", played: 0 };
    const send = (message) => socket.send(encode(message));
    socket.tarn = viewer;
    socket.on("error", () => {});
    socket.on("message", (data) => {
      const message = decode(data);
      received.push(message);
      if (!behave(message, socket, send)) answer(tank, viewer, message, send);
    });
  });
  const clock = setInterval(() => {
    if (byHand) return;
    if (!tank.paused) tank.step++;
    if (recording !== null) {
      if (!tank.paused && tank.step % 2 === 0) playFrame(recording, [...sockets.clients]);
    } else if (tank.paused || tank.step % 2 === 0) sendFrame(tank, [...sockets.clients], spoil);
  }, 1000 / 60);
  await new Promise((resolve) => http.listen(port, "127.0.0.1", resolve));
  return {
    port: http.address().port,
    received,
    viewers: () => sockets.clients.size,
    /** Its viewers come back by themselves. */
    drop: () => {
      for (const socket of sockets.clients) socket.close(1001);
    },
    show: (timeS) => show(tank, recording, [...sockets.clients], timeS),
    still: () =>
      tank.paused && [...sockets.clients].every(({ tarn }) => tarn.unacked === 0 && hasNewest(tank, tarn)),
    close: async () => {
      clearInterval(clock);
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

function servePage({ base, files, client }, request, response) {
  const path = new URL(request.url, "http://x").pathname;
  const inside = path.startsWith(base) ? path.slice(base.length) : "missing";
  const scenes = /^(scenes|sessions\/[^/]+\/scene)\//.exec(inside);
  if (scenes !== null) {
    const file = files[inside.slice(scenes[0].length)] ?? (inside.endsWith(".json") ? "{}" : null);
    response.writeHead(file === null ? 404 : 200, { "content-type": "text/plain" }).end(file ?? "");
    return;
  }
  try {
    const file = join(client, normalize(`/${inside === "" ? "index.html" : inside}`));
    const body = readFileSync(file);
    response.writeHead(200, {
      "content-type": TYPES[extname(file)] ?? "application/octet-stream",
      "content-security-policy": POLICY,
    });
    response.end(body);
  } catch {
    response.writeHead(404).end();
  }
}

const nameOf = (tank) => `${tank.epoch}/${tank.step}/${tank.paused}`;
const hasNewest = (tank, viewer) => viewer.sent === nameOf(tank);

/** Sends everybody who has room the next frame of theirs. */
function playFrame(recording, sockets) {
  for (const socket of sockets) {
    if (!socket.tarn.joined || socket.tarn.unacked >= 2 || socket.readyState !== 1) continue;
    const frame = recording.next(socket.tarn);
    if (frame === null) continue;
    socket.tarn.unacked++;
    socket.send(frame);
  }
}

/** Sends the tank's frame to everybody who doesn't have it and has room for it. */
function sendFrame(tank, sockets, spoil) {
  const name = nameOf(tank);
  const takers = sockets.filter(
    ({ tarn, readyState }) => tarn.joined && tarn.unacked < 2 && !hasNewest(tank, tarn) && readyState === 1,
  );
  if (takers.length === 0) return;
  const bytes = frameOf(
    tank,
    sockets.map((socket) => socket.tarn),
  );
  spoil(bytes);
  for (const socket of takers) {
    socket.tarn.unacked++;
    socket.tarn.sent = name;
    socket.send(bytes);
  }
}

/** Sends everybody the tank's frame of a time, or the next one of a recording. */
function show(tank, recording, sockets, timeS) {
  if (recording !== null) {
    for (const socket of sockets) socket.tarn.unacked = 0;
    playFrame(recording, sockets);
    return;
  }
  Object.assign(tank, { timeS, step: Math.round(60 * timeS) });
  const bytes = frameOf(tank, []);
  for (const socket of sockets) if (socket.tarn.joined && socket.readyState === 1) socket.send(bytes);
}

function frameOf(tank, viewers) {
  const t = tank.timeS ?? tank.step / 60;
  const size = tank.cells.map((n) => n * tank.cellM);
  const particles = tank.members.map((seed) => ({ ...tank.path(seed, t, size), colour: tank.colour(seed) }));
  const inputs = viewers.filter((v) => v.joined).map((v) => [v.id, v.sequence]);
  const head = {
    cells: tank.cells,
    cellM: tank.cellM,
    step: tank.step,
    epoch: tank.epoch,
    simTimeS: t,
    paused: tank.paused,
    inputs,
    bodies: tank.bodies(t),
    orientation: tank.orientation,
  };
  return encodeFrame(particles, head);
}

function stateOf(tank) {
  return {
    scene: "dam-break",
    paused: tank.paused,
    worker_ready: true,
    size_m: tank.cells.map((n) => n * tank.cellM),
    cell_m: tank.cellM,
    dt_s: 1 / 60,
    parameters: [
      { name: "gravity_m_s2", value: tank.gravity, min: 0, max: 50 },
      { name: "flip_ratio", value: 0.97, min: 0, max: 1 },
    ],
    ...tank.model,
  };
}

function answer(tank, viewer, message, send) {
  switch (message.t) {
    case "hello":
      return send({
        t: "welcome",
        version: 1,
        server: "fake 0",
        device: "fake tank",
        scenes: ["dam-break", "still-pool"],
      });
    case "join":
      viewer.joined = true;
      send({
        t: "joined",
        session: message.session || "default",
        viewer_id: viewer.id,
        viewer: message.viewer || `viewer ${viewer.id}`,
        state: stateOf(tank),
      });
      return send({
        t: "viewers",
        viewers: [{ viewer_id: viewer.id, name: message.viewer || `viewer ${viewer.id}` }],
      });
    case "ping":
      return send({
        t: "pong",
        id: message.id,
        client_time_ms: message.client_time_ms,
        server_time_us: Date.now() * 1000,
      });
    case "ack":
      viewer.unacked = Math.max(0, viewer.unacked - 1);
      return undefined;
    case "input":
      viewer.sequence = message.seq;
      if (message.k === "parameter") tank.gravity = message.value;
      return undefined;
    case "control":
      viewer.sequence = message.seq;
      if (message.action === "pause" || message.action === "resume") tank.paused = message.action === "pause";
      if (message.action === "step") tank.step++;
      if (message.action === "reset") Object.assign(tank, { step: 0, epoch: tank.epoch + 1 });
      return send({ t: "state", state: stateOf(tank) });
  }
  return undefined;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name, otherwise) => {
    const at = process.argv.indexOf(name);
    return at > 0 ? process.argv[at + 1] : otherwise;
  };
  const name = option("--recording", null);
  const server = await startFakeServer({
    port: Number(option("--port", 8090)),
    particles: Number(option("--particles", 60000)),
    ...(name !== null && { recording: new Recording(name), cells: [16, 8, 8], cellM: 0.0625 }),
  });
  console.log(`http://127.0.0.1:${server.port}/`);
}
