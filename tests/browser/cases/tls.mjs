// The page over TLS, under a name that isn't this machine's own: what browsers keep from pages without it is there.
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { assert, assertEqual, test, until } from "../harness.mjs";
import { freePort } from "../tank-server.mjs";
import { enter, plugIn } from "../worn.mjs";
import { SMALL_POOL } from "./stream.mjs";

const PHONE = { hasTouch: true, isMobile: true, viewport: { width: 320, height: 480 } };
/** Larger ones failed where HTTP/2 carried the WebSocket. */
const LARGE_BYTES = 30_000;

/** A server whose page is at a name, and a browser that trusts its certificate alone. */
async function serve(world, { scene, args = [], wants = {} }) {
  const folder = world.folder();
  const port = await freePort();
  const origin = `https://${world.engine.host}:${port}`;
  const own = ["--tls-self-signed", "--tls-dir", folder, "--origin", origin];
  const server = await world.tank({ scene, port, args: [...own, ...args] });
  const certificate = new X509Certificate(readFileSync(join(folder, "tarn-self-signed.crt")));
  await world.useBrowser({ ...wants, trusted: certificate });
  return { server, origin, fingerprint: certificate.fingerprint256 };
}

/** In a page, before its scripts: notes what its WebSockets get. Not every engine's driver tells. */
function listen() {
  const heard = { addresses: [], sizes: [], closed: 0 };
  window.heard = heard;
  window.WebSocket = class extends WebSocket {
    constructor(address, protocols) {
      super(address, protocols);
      heard.addresses.push(this.url);
      this.addEventListener("message", ({ data }) => heard.sizes.push(data.byteLength ?? data.size ?? 0));
      this.addEventListener("close", () => heard.closed++);
    }
  };
}

test("a page comes by TLS and large frames reach it", { core: true }, async (world) => {
  const { server, origin } = await serve(world, { scene: "double-dam-break" });
  const page = await world.watch(`${origin}/?quality=points`, {
    prepare: (blank) => blank.addInitScript(listen),
  });
  const heard = () => page.evaluate(() => window.heard);
  await until(
    async () => (await heard()).sizes.filter((bytes) => bytes > LARGE_BYTES).length >= 3,
    `three frames of more than ${LARGE_BYTES} bytes arrive`,
    30_000,
  );
  const { addresses, closed } = await heard();
  assertEqual(addresses, [`wss://${world.engine.host}:${server.port}/ws`], "WebSockets");
  assertEqual(closed, 0, "WebSockets that were closed");
  const decoded = () => page.evaluate(() => window.tarn.framesDecoded);
  const before = await decoded();
  await until(async () => (await decoded()) > before + 3, "frames go on");
});

test("over TLS a page may have a camera, a phone's tilt and a headset, and tells the certificate", async (world) => {
  const { server, origin, fingerprint } = await serve(world, {
    scene: SMALL_POOL,
    wants: { camera: "fake" },
  });
  assert(
    server.log.join("").includes(`SHA-256 fingerprint is ${fingerprint}\n`),
    `the server doesn't tell ${fingerprint}`,
  );
  const page = await world.watch(`${origin}/`, { context: PHONE, prepare: plugIn });
  assertEqual(await page.evaluate(() => window.isSecureContext), true, "a secure context");
  assertEqual(await page.locator("#headset button:visible").count(), 2, "buttons for a headset");

  await page.getByRole("button", { name: "Controls" }).click();
  await page.getByRole("button", { name: "Tilt the tank with the phone" }).waitFor();
  await page.getByRole("button", { name: "Move it with your camera" }).click();
  // On a small screen the open panel has the view's place.
  await page.getByRole("button", { name: "Controls" }).click();
  await page.locator("#camera").getByRole("button", { name: "Stop the camera" }).click();

  await page.getByRole("button", { name: "Share" }).click();
  await until(
    async () => (await page.locator("#share-dialog .certificate code").textContent()) === fingerprint,
    "the dialog tells the fingerprint",
  );
  const link = await page.getByLabel("Link", { exact: true }).inputValue();
  assert(link.startsWith(`${origin}/?session=`), `the link is ${link}`);
  await page.keyboard.press("Escape");
  await enter(page);
});

test("without TLS a page of the same name gets no camera", async (world) => {
  const port = await freePort();
  const origin = `http://${world.engine.host}:${port}`;
  await world.tank({ scene: SMALL_POOL, port, args: ["--origin", origin] });
  await world.useBrowser({ camera: "fake" });
  // The browser ignores headers that count over TLS only, and says so.
  world.expected.push(/Cross-Origin-(Opener|Embedder)-Policy/);
  const page = await world.watch(`${origin}/`, { context: PHONE });
  assertEqual(await page.evaluate(() => window.isSecureContext), false, "a secure context");
  await page.getByRole("button", { name: "Controls" }).click();
  await page.getByRole("button", { name: "Centre the view" }).waitFor();
  const offer = page.getByRole("button", { name: "Move it with your camera" });
  assertEqual(await offer.isDisabled(), true, "whether the camera can't be had");
  await page.locator("#camera-promise").getByText("only over https").waitFor(); // and why
});

test("who comes without TLS is sent on, and a certificate that nobody trusts is refused", async (world) => {
  const { server, origin } = await serve(world, { scene: SMALL_POOL, args: ["--redirect-port", "0"] });
  const redirecting = Number(/who comes to port (\d+)/.exec(server.log.join(""))[1]);
  const context = await world.browser.newContext();
  world.contexts.push(context);
  const page = await context.newPage();
  for (const port of [redirecting, server.port]) {
    await page.goto(`http://${world.engine.host}:${port}/?session=main&quality=points`);
    assertEqual(page.url().split("&")[0], `${origin}/?session=main`, `where port ${port} leads`);
    await until(
      () => page.evaluate(() => (window.tarn?.framesDecoded ?? 0) > 1),
      "frames are decoded",
      30_000,
    );
  }
  await world.useBrowser();
  const stranger = await world.browser.newContext();
  world.contexts.push(stranger);
  const refused = await (await stranger.newPage()).goto(origin).catch((error) => error.message);
  assert(/ERR_CERT_AUTHORITY_INVALID/.test(String(refused)), `a browser that trusts nobody: ${refused}`);
});
