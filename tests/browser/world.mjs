// What a case works with: pages that are watched for console errors and foreign requests, and servers that end with it.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "./engines.mjs";
import { startFakeServer } from "./fake-server.mjs";
import { patience, sleep, until } from "./harness.mjs";
import { webRequire } from "./places.mjs";
import { readPng } from "./png.mjs";
import { TankServer } from "./tank-server.mjs";

/** Small: the pictures are drawn without a graphics card. */
export const VIEWPORT = { width: 480, height: 270 };
/** A page draws as often as the display asks it to. So often is enough to see what it does, and leaves time to others. */
const PICTURE_MS = 100;
/** What playwright waits for a part of a page. */
const ACTION_MS = 30_000;

/** In a page, before its scripts: the display asks for pictures so seldom, and for the next one as soon as `hurry` is called. */
function slowDisplay(everyMs) {
  const ask = window.requestAnimationFrame.bind(window);
  const takeBack = window.cancelAnimationFrame.bind(window);
  /** By id: callbacks, until the display is asked; then its own ids. */
  const waiting = new Map();
  const asked = new Map();
  let last = 0;
  let shownMs = -everyMs;
  let timer = null;
  const show = () => {
    clearTimeout(timer);
    timer = null;
    for (const [id, callback] of waiting) {
      const own = ask((time) => {
        asked.delete(id);
        shownMs = performance.now();
        callback(time);
      });
      asked.set(id, own);
    }
    waiting.clear();
  };
  window.requestAnimationFrame = (callback) => {
    waiting.set(++last, callback);
    timer ??= setTimeout(show, Math.max(0, shownMs + everyMs - performance.now()));
    return last;
  };
  window.cancelAnimationFrame = (id) => {
    waiting.delete(id);
    if (asked.has(id)) takeBack(asked.get(id));
    asked.delete(id);
  };
  window.hurry = () => {
    if (timer !== null) show();
  };
}

/** In a page, before its scripts: keeps what it says to people, however short. */
function keepSayings() {
  window.sayings = [];
  const keepAll = () => {
    for (const part of document.querySelectorAll("#status, #notice")) {
      const keep = () => window.sayings.push(part.textContent);
      new MutationObserver(keep).observe(part, { childList: true, characterData: true, subtree: true });
      keep();
    }
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", keepAll);
  else keepAll();
}

export class World {
  constructor(browser, engine) {
    this.browser = browser;
    this.engine = engine;
    this.servers = [];
    this.contexts = [];
    this.pages = [];
    this.folders = [];
    /** Started for this case alone. */
    this.browsers = [];
    this.complaints = [];
    /** Complaints of the browser that the case provokes on purpose. */
    this.expected = [...engine.noise];
  }

  static async make(browser, engine = chromium) {
    const world = new World(browser, engine);
    return {
      world,
      check: () => world.check(),
      details: () => world.details(),
      end: () => world.end(),
    };
  }

  async tank(options) {
    const server = await TankServer.start({ client: this.engine.client, ...options });
    this.servers.push(server);
    return server;
  }

  /** Makes a folder that goes when the servers have ended. */
  folder() {
    const folder = mkdtempSync(join(tmpdir(), "tarn-browser-"));
    this.folders.push(folder);
    return folder;
  }

  /** Opens this case's pages in a browser of its own, of which it wants something: engines.mjs says what there is. */
  async useBrowser(wants = {}) {
    this.browser = await this.engine.launch(wants);
    this.browsers.push(this.browser);
  }

  async fake(options) {
    const server = await startFakeServer({ particles: 2000, client: this.engine.client, ...options });
    this.servers.push({ stop: () => server.close(), log: [] });
    return server;
  }

  /**
   * Opens a page; `prepare` may change it before it loads. An address without a session opens the server's first
   * tank, with `lobby` the start page.
   */
  async open(url, { lobby = false, context: options = {}, prepare = async () => {} } = {}) {
    const context = await this.browser.newContext({ viewport: VIEWPORT, ...options });
    this.contexts.push(context);
    context.setDefaultTimeout?.(patience() * ACTION_MS);
    const page = await context.newPage();
    this.pages.push(page);
    await page.addInitScript(slowDisplay, PICTURE_MS);
    await page.addInitScript(keepSayings);
    const own = new URL(url).host;
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.complain(message.text());
    });
    page.on("pageerror", (error) => this.complain(`uncaught: ${error.message}`));
    page.on("request", (request) => {
      const target = new URL(request.url());
      if (/^(https?|wss?):$/.test(target.protocol) && target.host !== own)
        this.complain(`asked ${request.url()}`);
    });
    page.on("websocket", (socket) => {
      if (new URL(socket.url()).host !== own) this.complain(`connected to ${socket.url()}`);
    });
    await prepare(page);
    await page.goto(lobby ? url : tankAddress(url));
    return page;
  }

  /** Opens a page and waits until it shows a frame. */
  async watch(url, options) {
    const page = await this.open(url, options);
    await until(
      () => page.evaluate(() => (window.tarn?.framesDecoded ?? 0) > 1),
      "frames are decoded",
      30_000,
    );
    await drawn(page);
    return page;
  }

  async pixels(page) {
    return readPng(await page.screenshot());
  }

  complain(text) {
    if (!this.expected.some((pattern) => pattern.test(text))) this.complaints.push(text);
  }

  async check() {
    // Some engines tell what a page complained of with an answer only.
    for (const page of this.pages) await page.evaluate(() => {}).catch(() => {});
    // What the tests put into the environment is none of the server's.
    for (const { log } of this.servers)
      for (const [found] of log.join("").matchAll(/found the variable \S+/g))
        this.complain(`tarnd: ${found}`);
    const complaints = this.complaints.filter((text) => !this.expected.some((pattern) => pattern.test(text)));
    if (complaints.length > 0) throw new Error(`the page complained:\n${complaints.join("\n")}`);
  }

  details() {
    const logs = this.servers.flatMap((server) => server.log).join("");
    const complaints = this.complaints.map((text) => `\n     page: ${text}`).join("");
    const tail = logs.trim().split("\n").slice(-8).join("\n     ");
    return complaints + (tail === "" ? "" : `\n     server: ${tail}`);
  }

  async end() {
    const quietly = (ends) => Promise.all(ends.map((end) => end.catch(() => {})));
    await quietly(this.contexts.map((context) => context.close()));
    await quietly(this.browsers.map((browser) => browser.close()));
    await quietly(this.servers.map(async (server) => server.stop()));
    for (const folder of this.folders) rmSync(folder, { recursive: true, force: true });
  }
}

/** Drags the mouse from one point of the tank to another, in steps that each reach a picture. */
export async function drag(page, from, to, steps = 12) {
  const [a, b] = await page.evaluate(
    (points) => points.map((point) => window.tarn.project(point)),
    [from, to],
  );
  await page.mouse.move(a[0], a[1]);
  await page.mouse.down();
  for (let i = 1; i <= steps; i++) {
    await page.mouse.move(a[0] + ((b[0] - a[0]) * i) / steps, a[1] + ((b[1] - a[1]) * i) / steps);
    await sleep(25);
  }
  await page.mouse.up();
}

/** The address of a page that needn't draw much: several of them share the processor. */
export function cheap(address) {
  const url = new URL(address);
  url.searchParams.set("quality", "points");
  return url.href;
}

/** An address that opens a tank: the server's first one where it names none. */
function tankAddress(address) {
  const url = new URL(address);
  if (!["session", "recording", "display"].some((name) => url.searchParams.has(name)))
    url.searchParams.set("session", "main");
  return url.href;
}

/** What window.tarn says, for the fields asked. */
export function look(page, ...fields) {
  return page.evaluate((names) => Object.fromEntries(names.map((name) => [name, window.tarn[name]])), fields);
}

/** The legend's title and the texts of its scale; null: none is shown. */
export function legendOf(page) {
  return page.evaluate(() => {
    const legend = document.getElementById("legend");
    return legend.hidden
      ? null
      : [...legend.querySelectorAll("figcaption, span")].map((part) => part.textContent);
  });
}

/**
 * Waits until the page's picture shows what it knew when this was called: a frame is decoded long before it is drawn
 * where there is no graphics card.
 */
export function drawn(page) {
  // The page asked for its next picture before; the second one begins when the first is done.
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        const picture = (then) => {
          requestAnimationFrame(then);
          window.hurry?.();
        };
        picture(() => picture(resolve));
      }),
  );
}

/** Leaves nothing on the page but the picture, once it shows what the page knows. */
export async function bare(page) {
  await page.evaluate(() => {
    for (const part of document.body.children) if (part.id !== "tank") part.style.display = "none";
  });
  await drawn(page);
}

/** Pauses a fake server's tank and waits until the page shows exactly the frame that it stands still at. */
export async function pause(page, server) {
  await page.keyboard.press("p");
  await until(() => server.still(), "the page has the frame of the paused tank");
  await drawn(page);
}

/** The text of what the page says to people: the line, or the notice. */
export function said(page) {
  return page.evaluate(() => {
    const visible = (id) => {
      const element = document.getElementById(id);
      return element.hidden ? "" : element.textContent;
    };
    return `${visible("status")}\n${visible("notice")}`.trim();
  });
}

/** Waits until the page says, or has said, something to people. @param words  an expression, or a part of the text */
export function hasSaid(page, words, what = `it says ${words}`) {
  const source = words instanceof RegExp ? words.source : words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const look = () =>
    page.evaluate((text) => window.sayings.some((one) => new RegExp(text).test(one)), source);
  return until(look, what);
}

/** What axe finds wrong with parts of a page, a line for each fault. @param parts  selectors */
export async function faultsOf(page, parts) {
  await page.evaluate(readFileSync(webRequire.resolve("axe-core/axe.min.js"), "utf8"));
  const { violations } = await page.evaluate((context) => window.axe.run(context), parts);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
