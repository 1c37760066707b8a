import { assert, assertEqual, test, until } from "../harness.mjs";
import { look, said } from "../world.mjs";

const address = (server) => `http://127.0.0.1:${server.port}/`;

test("a server without a common version: the page says that versions disagree and stops", async (world) => {
  const server = await world.fake({
    behave: (message, socket, send) => {
      if (message.t !== "hello") return false;
      send({ t: "error", code: 2, text: "this server speaks version 7" });
      socket.close(4002, "this server speaks version 7");
      return true;
    },
  });
  const page = await world.open(address(server));
  const text = await until(
    async () => /Versions disagree/.test(await said(page)) && said(page),
    "the page says so",
  );
  assert(/This server speaks version 7\./.test(text), `it says: ${text}`);
  await page.waitForTimeout(1500);
  assertEqual(server.received.length, 1, "hellos"); // it doesn't try again
});

test("a welcome with a version that wasn't offered ends the same way", async (world) => {
  const server = await world.fake({
    behave: (message, _socket, send) => {
      if (message.t !== "hello") return false;
      send({ t: "welcome", version: 2, server: "later", device: "any", scenes: [] });
      return true;
    },
  });
  const page = await world.open(address(server));
  await until(async () => /Versions disagree/.test(await said(page)), "the page says so");
});

test("a full session is tried again", async (world) => {
  let tries = 0;
  const server = await world.fake({
    particles: 500,
    behave: (message, socket, send) => {
      if (message.t !== "join" || ++tries > 1) return false;
      send({ t: "error", code: 6, text: "the session is full" });
      socket.close(4006, "the session is full");
      return true;
    },
  });
  const page = await world.watch(address(server));
  assertEqual(tries, 2, "joins");
  assertEqual((await look(page, "connection")).connection, "connected", "connection");
});

test("messages of unknown kinds, with unknown fields and broken ones are survived", async (world) => {
  const server = await world.fake({
    particles: 500,
    behave: (message, socket, send) => {
      if (message.t !== "ping") return false;
      send({ t: "weather", rain: true });
      send({ t: "error", code: 77, text: "an error of a later version", colour: "red" });
      socket.send(Buffer.from([0xc1, 0xff]));
      socket.send("text");
      return true;
    },
  });
  const page = await world.watch(address(server));
  await until(async () => /later version|can't be read/.test(await said(page)), "the page shows it");
  const { framesDecoded } = await look(page, "framesDecoded");
  await until(
    async () => (await look(page, "framesDecoded")).framesDecoded > framesDecoded + 3,
    "frames go on",
  );
});

test("without WebGL2 the page says what is missing", async (world) => {
  const server = await world.fake({ particles: 500 });
  const page = await world.open(address(server), {
    prepare: (blank) =>
      blank.addInitScript(() => {
        const real = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
          return kind === "webgl2" ? null : real.call(this, kind, ...rest);
        };
      }),
  });
  await until(async () => /WebGL 2/.test(await said(page)), "the page says so");
  // The connection was begun before the page knew.
  await until(() => server.viewers() === 0, "it leaves the server");
  const more = server.received.map(({ t }) => t).filter((t) => t !== "hello" && t !== "join");
  assertEqual(more.length, 0, "other messages to the server");
});
