// The browsers that cases run in: how each is started, what it can't be asked for, and why it isn't there.
//
//     engine.missing()        why it can't run here, or null
//     engine.launch(wants)    a browser as playwright has it, with what a case wants of it
//     engine.host             a name of this machine that isn't its own
//     engine.cameraMoves      whether anything moves in its camera's picture
//     engine.noise            complaints that come from the driver, not from the page
//     engine.client           a folder with the built page as this engine takes it; undefined: as it was built
//
// `wants` may have
//     camera    "fake": a moving picture of the browser's own; "denied"; or a film's file, which engines without films replace by their own
//     scheme    "dark": what the system prefers; else light
//     trusted   a certificate that is trusted, and no other; the other engines than Chromium then trust every one
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Missing } from "./missing.mjs";
import { HERE, webRequire } from "./places.mjs";
import { launchWebKit, pageForWebKit } from "./webkit.mjs";

const { chromium: playwrightChromium, firefox: playwrightFirefox } = webRequire("playwright-core");

const isProgram = (path) => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** Where a program lies of those that the path leads to, or null. */
const onPath = (name) =>
  (process.env.PATH ?? "")
    .split(":")
    .map((folder) => join(folder, name))
    .find(isProgram) ?? null;

/** A browser whose contexts have more options. */
const withContexts = (browser, more) => ({
  newContext: (options) => browser.newContext({ ...more, ...options }),
  close: () => browser.close(),
});

// ---- Chromium ----

const CHROMIUM_FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader",
  // Without a graphics card Skia's own way to draw what stands around the canvas is the faster one.
  "--disable-gpu-rasterization",
];

function chromiumCamera(camera) {
  if (camera === undefined) return [];
  const answer = camera === "denied" ? "=deny" : "";
  const flags = ["--use-fake-device-for-media-stream", `--use-fake-ui-for-media-stream${answer}`];
  return ["fake", "denied"].includes(camera)
    ? flags
    : [...flags, `--use-file-for-fake-video-capture=${camera}`];
}

function chromiumTrust(certificate) {
  if (certificate === undefined) return [];
  const key = certificate.publicKey.export({ type: "spki", format: "der" });
  return [`--ignore-certificate-errors-spki-list=${createHash("sha256").update(key).digest("base64")}`];
}

const chromiumPath = () => process.env.CHROMIUM ?? "/usr/bin/chromium";

export const chromium = {
  name: "chromium",
  /** A name of this machine that no browser takes for its own. */
  host: "tank.example",
  cameraMoves: true,
  noise: [],
  missing: () => (existsSync(chromiumPath()) ? null : "there is no Chromium (CHROMIUM names one)"),
  async launch({ camera, scheme, trusted } = {}) {
    if (this.missing() !== null) throw new Missing(this.missing());
    const browser = await playwrightChromium.launch({
      executablePath: join(HERE, "chromium"),
      args: [
        ...CHROMIUM_FLAGS,
        `--host-resolver-rules=MAP ${this.host} 127.0.0.1`,
        ...chromiumCamera(camera),
        ...chromiumTrust(trusted),
      ],
      env: { ...process.env, CHROMIUM: chromiumPath() },
    });
    return scheme === undefined ? browser : withContexts(browser, { colorScheme: scheme });
  },
};

// ---- a display without a screen ----

let display = null;

/** Firefox and WebKitGTK draw with WebGL on a display only. @returns what a program's environment needs to find it */
async function displayed() {
  display ??= startDisplay();
  const env = { ...process.env, DISPLAY: (await display).name, LIBGL_ALWAYS_SOFTWARE: "1" };
  delete env.WAYLAND_DISPLAY; // empty it would leave Firefox without WebGL
  return env;
}

/** The server chooses a number that is free, and says it. */
function startDisplay() {
  const args = ["-displayfd", "3", "-screen", "0", "1600x1200x24", "-nolisten", "tcp"];
  const server = spawn("Xvfb", args, { stdio: ["ignore", "ignore", "pipe", "pipe"] });
  const end = () => server.kill();
  process.once("exit", end);
  return new Promise((resolve, reject) => {
    let said = "";
    server.stderr.on("data", (data) => {
      said += data;
    });
    server.once("error", reject);
    server.once("exit", (code) => reject(new Error(`Xvfb ended with ${code}: ${said.trim()}`)));
    server.stdio[3].once("data", (data) => resolve({ name: `:${String(data).trim()}`, end }));
  });
}

/** Ends what the engines share. */
export async function endDisplay() {
  if (display !== null) (await display).end();
  display = null;
}

const missingDisplay = () => (onPath("Xvfb") === null ? "there is no Xvfb (Debian's xvfb)" : null);

// ---- Firefox ----

const firefoxPath = () => process.env.FIREFOX ?? "/usr/bin/firefox-esr";

function firefoxCamera(camera) {
  if (camera === undefined) return {};
  return { "media.navigator.streams.fake": true, "media.navigator.permission.disabled": true };
}

const firefox = {
  name: "firefox",
  host: "tank.example",
  /** Its picture is a plain one that changes its colour. */
  cameraMoves: false,
  /** Playwright puts the style "body {}" into a page before it takes a picture; this is its hash. */
  noise: [/sha256-YjaKGiklmzC6wjXA513HAMmzus8VE61XCOT\+SmwNZWA=/],
  missing: () =>
    missingDisplay() ??
    (existsSync(firefoxPath()) ? null : "there is no Firefox (Debian's firefox-esr; FIREFOX names one)"),
  async launch({ camera, scheme, trusted } = {}) {
    const browser = await playwrightFirefox.launch({
      // Playwright's own Firefox speaks a protocol of its own; this one speaks WebDriver BiDi.
      channel: "moz-firefox",
      executablePath: firefoxPath(),
      headless: false,
      env: await displayed(),
      firefoxUserPrefs: {
        "network.dns.localDomains": this.host,
        ...firefoxCamera(camera),
        // 0 is dark. Playwright's own option changes nothing here.
        ...(scheme === "dark" && { "layout.css.prefers-color-scheme.content-override": 0 }),
      },
    });
    return trusted === undefined ? browser : withContexts(browser, { ignoreHTTPSErrors: true });
  },
};

// ---- WebKitGTK ----

/** Debian has it beside the library, in a folder that is named after the library's version. */
function miniBrowserPath() {
  const { MINIBROWSER: own } = process.env;
  if (own !== undefined) return isProgram(own) ? own : null;
  const lib = "/usr/lib";
  const folders = readdirSync(lib).filter((name) => name.endsWith("-linux-gnu"));
  const versions = ["webkit2gtk-4.1", "webkitgtk-6.0", "webkit2gtk-4.0"];
  const paths = folders.flatMap((folder) =>
    versions.map((version) => join(lib, folder, version, "MiniBrowser")),
  );
  return paths.find(isProgram) ?? null;
}

const webkit = {
  name: "webkit",
  /** It has no way to call this machine by another name; this one leads there by itself. */
  host: "tank.localhost",
  cameraMoves: true,
  noise: [],
  get client() {
    return pageForWebKit();
  },
  missing: () =>
    missingDisplay() ??
    (onPath("WebKitWebDriver") === null || miniBrowserPath() === null
      ? "there is no WebKitGTK (Debian's webkit2gtk-driver; MINIBROWSER names its browser)"
      : null),
  async launch({ camera, scheme, trusted } = {}) {
    return launchWebKit({
      driver: onPath("WebKitWebDriver"),
      browser: miniBrowserPath(),
      args: camera === undefined ? [] : ["--enable-mock-capture-devices=true"],
      trustsAll: trusted !== undefined,
      // Where a language isn't known the page's navigator has "C" for one.
      env: {
        ...(await displayed()),
        LANG: "en_US.UTF-8",
        GTK_THEME: scheme === "dark" ? "Adwaita:dark" : "Adwaita",
      },
    });
  },
};

export const ENGINES = { chromium, firefox, webkit };
