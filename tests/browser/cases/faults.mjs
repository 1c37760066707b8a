import { assert, assertEqual, test, until } from "../harness.mjs";
import { look, said } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

/** What is promised; the browser's own share of it is small. */
const WATER_AGAIN_MS = 3000;
/** After what the page may still have had on its way. */
const STEPS_MORE = 60;
/** Behind the first picture a page asks for scenes' titles, which a server that is gone doesn't give either. */
const UNREACHABLE = [/WebSocket connection to .* failed/, /Failed to load resource: net::ERR_CONNECTION/];

test("kill -9 of the worker: the page stays connected and sees the same water again", {
  alone: true,
}, async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(server.url);
  const before = await look(page, "epoch", "step");
  const [worker] = server.workers();
  assert(worker !== undefined, "tarnd has no worker");
  process.kill(worker, "SIGKILL");
  await until(() => ![worker, undefined].includes(server.workers()[0]), "another worker", WATER_AGAIN_MS);
  await until(async () => {
    const { workerReady, step } = await look(page, "workerReady", "step");
    return workerReady && step > before.step + STEPS_MORE;
  }, "frames arrive again");
  await until(async () => (await look(page, "particles")).particles === 4096, "all of a frame's layers");
  const { connections, connection, particles, epoch } = await look(
    page,
    "connections",
    "connection",
    "particles",
    "epoch",
  );
  assertEqual(
    { connections, connection, particles, epoch },
    { connections: 1, connection: "connected", particles: 4096, epoch: before.epoch },
    "after the fault",
  );
});

test("kill -9 of the server: the page says so, comes back by itself and sees water", async (world) => {
  world.expected.push(...UNREACHABLE);
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(server.url);
  await server.kill("SIGKILL");
  const text = await until(
    async () => /Trying again/.test(await said(page)) && said(page),
    "the page says it lost",
  );
  // Whoever looks late finds what a first try to come back has found.
  assert(/lost|doesn't answer/i.test(text), `it says: ${text}`);
  await world.tank({ scene: SMALL_POOL, port: server.port });
  await until(async () => (await look(page, "connections")).connections === 2, "it joined again", 30_000);
  const decoded = (await look(page, "framesDecoded")).framesDecoded;
  await until(
    async () => (await look(page, "framesDecoded")).framesDecoded > decoded + 3,
    "frames arrive again",
  );
  await until(async () => !/Trying again/.test(await said(page)), "the line is gone");
});

test("a server that shuts down says goodbye", async (world) => {
  world.expected.push(...UNREACHABLE);
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(server.url);
  await server.kill("SIGTERM");
  await until(
    async () => /is shutting down|has shut down/.test(await said(page)),
    "the page says that the server shuts down",
  );
  assertEqual(server.child.exitCode, 0, "tarnd's exit status");
});

test("a server that drains sends the page away, which comes back by itself to the next one", async (world) => {
  world.expected.push(...UNREACHABLE);
  const server = await world.tank({ scene: SMALL_POOL, args: ["--drain", "2"] });
  const page = await world.watch(server.url);
  await server.kill("SIGTERM"); // meanwhile the page tries again, and is told the same
  assertEqual(server.child.exitCode, 0, "tarnd's exit status");
  await world.tank({ scene: SMALL_POOL, port: server.port });
  const decoded = (await look(page, "framesDecoded")).framesDecoded;
  await until(
    async () => (await look(page, "framesDecoded")).framesDecoded > decoded + 3,
    "frames arrive again",
    30_000,
  );
});
