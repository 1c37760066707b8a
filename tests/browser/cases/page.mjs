// What the page does where the way to it, the browser or the machine is other than one would wish.
import { request as ask, createServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { cheap, drawn, hasSaid, look, said } from "../world.mjs";
import { SMALL_POOL } from "./stream.mjs";

/** Room for the panel. */
const WIDE = { viewport: { width: 900, height: 620 } };

/**
 * Stands before a server as a proxy that passes no upgrades on.
 * @param answer  of its own, to requests that are without a password; absent: it passes all of them on
 */
async function proxyBefore(world, port, answer = null) {
  const proxy = createServer((incoming, outgoing) => {
    if (answer !== null && incoming.url.startsWith("/ws")) {
      outgoing.writeHead(answer).end();
      return;
    }
    const headers = { ...incoming.headers };
    delete headers.upgrade;
    headers.connection = "close";
    const { method, url } = incoming;
    const pass = (tries) => {
      const passed = ask(
        { host: "127.0.0.1", port, method, path: url, headers, agent: false },
        (response) => {
          outgoing.writeHead(response.statusCode, response.headers);
          response.pipe(outgoing);
        },
      );
      passed.on("error", () => (tries > 1 ? pass(tries - 1) : outgoing.destroy()));
      passed.end();
    };
    pass(3);
  });
  proxy.on("upgrade", (incoming, socket) => {
    // Passed on as any other request, and the answer back.
    const server = connect(port, "127.0.0.1", () =>
      server.write(
        `GET ${incoming.url} HTTP/1.1\r\nHost: ${incoming.headers.host}\r\nConnection: close\r\n\r\n`,
      ),
    );
    if (answer !== null) socket.end(`HTTP/1.1 ${answer} No\r\nContent-Length: 0\r\n\r\n`);
    else server.pipe(socket);
    for (const one of [server, socket]) one.on("error", () => {});
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  world.servers.push({ stop: () => proxy.closeAllConnections() ?? proxy.close(), log: [] });
  return `http://127.0.0.1:${proxy.address().port}/`;
}

for (const [answer, words] of [
  [null, /a proxy before it lets no WebSocket through.*Upgrade and Connection/],
  [401, /behind a password.*Safari/],
  [502, /A proxy answers in the server's place \(status 502\)/],
])
  test(`a proxy that lets no WebSocket through is named: ${answer ?? "it takes the upgrade out"}`, async (world) => {
    world.expected.push(/WebSocket connection to .* failed/, /Failed to load resource.*(426|401|502)/);
    const server = await world.tank({ scene: SMALL_POOL });
    const page = await world.open(await proxyBefore(world, server.port, answer));
    await hasSaid(page, words);
  });

test("an address with a name and a password works, and shows the password nowhere", async (world) => {
  const server = await world.tank({ scene: "floating-ducks" });
  const page = await world.watch(cheap(server.url.replace("://", "://kiosk:secret@")), { context: WIDE });
  await until(async () => (await look(page, "solids")).solids > 0, "what stands in the tank has come");
  await page.locator("#share").click();
  const link = await page.getByLabel("Link", { exact: true }).inputValue();
  const shown = await page.evaluate(
    () =>
      `${document.body.innerHTML} ${window.sayings.join(" ")} ${[...document.querySelectorAll("a")].map(({ href }) => href)}`,
  );
  for (const text of [link, shown]) assert(!/secret|kiosk/.test(text), `it is shown: ${text}`);
  await page.close();
  const start = await world.open(server.url.replace("://", "://kiosk:secret@"), { lobby: true });
  await start.locator("#lobby .cards li a").first().waitFor();
  await until(
    () => start.evaluate(() => Number(document.querySelector("#lobby canvas")?.dataset.frames ?? 0) > 0),
    "the start page has a picture",
  );
  const linked = await start.evaluate(() =>
    [...document.querySelectorAll("a")].map(({ href }) => href).join(),
  );
  assert(!/secret/.test(linked), `links: ${linked}`);
});

test("a browser that can't run the decoder is told what it lacks, in words of ours", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.open(server.url, {
    prepare: (blank) =>
      blank.route(/codec-.*\.wasm$/, (route) =>
        // A module of a kind that this browser doesn't know, as SIMD is to old ones.
        route.fulfill({
          body: Buffer.from([0, 97, 115, 109, 1, 0, 0, 0, 10, 4, 1, 2, 0, 253]),
          contentType: "application/wasm",
        }),
      ),
  });
  await page.locator("#notice").getByText("WebAssembly with SIMD").waitFor();
  assert(!/CompileError|WebAssembly\.instantiate/.test(await said(page)), `it says: ${await said(page)}`);
});

test("a part that can't be loaded is said to be, and comes with another press", async (world) => {
  world.expected.push(/Failed to load resource/, /Failed to fetch dynamically/);
  const server = await world.tank({ scene: SMALL_POOL });
  let fails = true;
  let failed = 0;
  const page = await world.watch(cheap(server.url), {
    context: WIDE,
    prepare: async (blank) => {
      blank.on("console", (message) => {
        if (message.type() === "debug") failed++;
      });
      await blank.route(/assets\/(panel|probe-desk|share)-.*\.js$/, (route) =>
        fails ? route.abort() : route.continue(),
      );
    },
  });
  await page.getByRole("button", { name: "Load the controls again" }).waitFor();
  for (const id of ["measure", "share"]) {
    const before = failed;
    await page.locator(`#${id}`).click();
    await until(() => failed > before, `${id} could not be had`);
    await until(async () => /could not be loaded/.test(await said(page)), "it says so");
  }
  fails = false;
  await page.getByRole("button", { name: "Load the controls again" }).click();
  await page.locator("#panel").getByText("Reset (R)").waitFor();
  await page.locator("#measure").click();
  await page.locator("#probes").waitFor();
  await page.locator("#share").click();
  await page.locator("#share-dialog").waitFor();
});

/** What browsers say of errors, and parts of an address that are nobody's business. */
const RAW =
  /(Type|Range|Reference|Syntax|Network|Abort|NotFound|Security|DOM|Compile)\w*(Error|Exception)|Failed to|dynamically imported|importing a module|undefined|\[object|https?:|secret|kiosk/;

test("whatever part can't be had, also with a password in the address, the page says so in words of its own", async (world) => {
  world.expected.push(/Failed to load resource/, /Failed to fetch dynamically/);
  const args = ["--store", join(world.folder(), "store"), "--uploads", "64M"];
  const server = await world.tank({ scene: SMALL_POOL, args });
  let lacks = /^$/;
  let failed = 0;
  const made = await fetch(`${server.url}sessions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ scene: "small-pool" }),
  }).then((response) => response.json());
  const address = `${server.url.replace("://", "://kiosk:secret@")}?session=${made.session}`;
  const page = await world.watch(`${cheap(address)}#key=${made.keys.own}`, {
    context: WIDE,
    prepare: async (blank) => {
      // Where words that aren't for people go.
      blank.on("console", (message) => {
        if (message.type() === "debug") failed++;
      });
      await blank.route(/assets\/.*\.js$/, (route) =>
        lacks.test(route.request().url()) ? route.abort() : route.continue(),
      );
    },
  });
  const panel = page.locator("#panel");
  await panel.getByText("Reset (R)").waitFor();
  await panel.getByRole("button", { name: "Keep" }).click();
  const shown = () => page.evaluate(() => `${window.sayings.join("\n")}\n${document.body.textContent}`);
  /** Presses something that needs a part that isn't there. */
  const refused = async (button, name) => {
    const before = failed;
    await button.click();
    await until(() => failed > before, `${name} could not be had`);
    await until(async () => /could not be loaded|can't/.test(await said(page)), `${name}: it is said`);
    const raw = (await shown()).match(RAW);
    assertEqual(raw === null ? "" : raw[0], "", `${name}: words that aren't for people`);
  };
  lacks = /./;
  const header = page.locator("#title nav");
  for (const name of ["Share", "Time", "Own scenes", "End tank", "Measure", "Flow"])
    await refused(header.getByRole("button", { name, exact: true }), name);
  for (const name of ["Sound of the water", "Move it with your camera", "Take a picture (PNG)"])
    await refused(panel.getByRole("button", { name }), name);
  await refused(page.locator("#tools").getByRole("button", { name: /help/i }), "Help");
  // Parts of parts.
  lacks = /\/(probe-panel|insight-panel)-/;
  for (const name of ["Measure", "Flow"])
    await refused(header.getByRole("button", { name, exact: true }), `the pane of ${name}`);
  lacks = /\/sum-plots-/;
  await header.getByRole("button", { name: "Flow", exact: true }).click();
  await refused(page.locator("#insight summary", { hasText: "Energy" }), "plots of sums");
});

test("axes have whole labels, also where the browser's language is none", async (world) => {
  const server = await world.tank({ scene: "lesson-waves" });
  const page = await world.watch(cheap(server.url), {
    context: WIDE,
    prepare: (blank) =>
      blank.addInitScript(() => {
        Object.defineProperty(Navigator.prototype, "language", { get: () => "C" });
        window.labels = [];
        const { fillText } = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
          const { a, e } = this.getTransform();
          const width = this.measureText(text).width;
          const left =
            a * (x - (this.textAlign === "right" ? width : this.textAlign === "center" ? width / 2 : 0)) + e;
          if (this.canvas.closest("#probes") !== null && a === 1)
            window.labels.push({ text, left, right: left + width, width: this.canvas.width });
          fillText.call(this, text, x, y);
        };
      }),
  });
  await page.locator("#measure").click();
  await page.getByRole("button", { name: "Rectangle" }).click();
  await page.getByRole("button", { name: "Place it in the middle" }).click();
  const labels = await until(
    () => page.evaluate(() => window.labels.some(({ text }) => text.includes("m³/s")) && window.labels),
    "a plot of the flux",
    30_000,
  );
  const cut = labels.filter(({ left, right, width }) => left < 0 || right > width);
  assertEqual(cut, [], "labels that are cut");
});

test("a drawing surface that the browser takes and gives back is drawn on again", async (world) => {
  world.expected.push(/Context (Lost|Restored)/i, /CONTEXT_LOST/);
  const server = await world.tank({ scene: SMALL_POOL });
  const page = await world.watch(cheap(server.url));
  await page.evaluate(() => {
    window.isOld = true;
    window.losing = document.getElementById("tank").getContext("webgl2").getExtension("WEBGL_lose_context");
    window.losing.loseContext();
  });
  await page.locator("#notice").getByText("stopped drawing").waitFor();
  await page.evaluate(() => window.losing.restoreContext());
  await until(
    () =>
      page
        .evaluate(() => window.isOld === undefined && (window.tarn?.framesDecoded ?? 0) > 1)
        .catch(() => false),
    "the tank is drawn anew",
    30_000,
  );
  await drawn(page);
  assertEqual(await page.locator("#notice").isVisible(), false, "a notice");
});

test("whoever has no name gets one that can be said, the same on all pages", async (world) => {
  const server = await world.tank({ scene: SMALL_POOL });
  const [one] = await Promise.all([
    world.watch(cheap(server.url), { context: WIDE }),
    world.watch(cheap(server.url), { context: WIDE }),
  ]);
  const names = (page) =>
    page
      .locator("#panel .viewers li span")
      .evaluateAll((all) => all.map(({ textContent }) => textContent).sort());
  await until(async () => (await names(one)).length === 2, "both are listed");
  const list = await names(one);
  for (const name of list)
    assert(/^[a-z]+ [a-z]+/.test(name) && !/\d/.test(name), `somebody is called ${name}`);
  assert(list[0] !== list[1], `both are called ${list[0]}`);
});
