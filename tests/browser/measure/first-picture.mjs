// When a page that is opened shows water, and what it did until then: milliseconds since the page was asked for.
import { World } from "../world.mjs";
import { median, table } from "./print.mjs";

const STAGES = [
  ["script", "the page's first script runs"],
  ["socket", "the connection is begun"],
  ["open", "it is open"],
  ["joined", "the tank lets the page in"],
  ["frame", "the first frame is here"],
  ["decoded", "it is decoded"],
  ["app", "what draws is there"],
  ["drawn", "the first picture of water is told to the graphics"],
  ["picture", "it is there"],
];

/** In the page: notes when its stages are reached. */
function watch() {
  const stages = {};
  window.stages = stages;
  const reach = (name) => {
    stages[name] ??= performance.now();
  };
  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...options) {
      super(...options);
      reach("socket");
      this.addEventListener("open", () => reach("open"));
      // The first message is the welcome; a frame begins with "TRNF".
      this.addEventListener("message", ({ data }) => {
        const isFrame = new Uint8Array(data)[0] === 0x54;
        if (isFrame) reach("frame");
        else reach(stages.welcome === undefined ? "welcome" : "joined");
      });
    }
  };
  const Decoder = window.Worker;
  window.Worker = class extends Decoder {
    constructor(...options) {
      super(...options);
      this.addEventListener("message", ({ data }) => {
        if (data.kind === "decoded") reach("decoded");
      });
    }
  };
  const { getContext } = HTMLCanvasElement.prototype;
  HTMLCanvasElement.prototype.getContext = function (...options) {
    reach("script");
    const context = getContext.apply(this, options);
    if (this.id === "tank") reach("app");
    return context;
  };
  const { drawArrays } = WebGL2RenderingContext.prototype;
  WebGL2RenderingContext.prototype.drawArrays = function (mode, first, count) {
    drawArrays.call(this, mode, first, count);
    if (mode !== this.POINTS || count < 1000 || stages.drawn !== undefined) return;
    reach("drawn");
    // The next callback comes when the browser has taken the picture over, the one after that when it is drawn.
    requestAnimationFrame(() => requestAnimationFrame(() => reach("picture")));
  };
}

async function once(browser, client) {
  const { world, end } = await World.make(browser);
  try {
    const server = await world.tank({ client });
    const page = await world.open(server.url, { prepare: (blank) => blank.addInitScript(watch) });
    await page.waitForFunction(() => window.stages.picture !== undefined, null, { timeout: 60_000 });
    return await page.evaluate(() => window.stages);
  } finally {
    await end();
  }
}

/**
 * Opens the default scene, again and again.
 * @param clients  folders of built pages, which are opened in turn
 */
export async function firstPicture(browser, clients, rounds = 5) {
  await once(browser, clients[0]); // the browser starts its own parts with the first page
  const seen = clients.map(() => []);
  for (let round = 0; round < rounds; round++)
    for (const [i, client] of clients.entries()) seen[i].push(await once(browser, client));
  console.log(`first picture of water, ms since the page was asked for; median of ${rounds}`);
  table(
    ["stage", ...clients.map((client) => client ?? "built")],
    STAGES.map(([name, text]) => [
      text,
      ...seen.map((runs) => median(runs.map((stages) => stages[name] ?? Number.NaN)).toFixed(0)),
    ]),
  );
  for (const runs of seen)
    console.log(`all, the last stage: ${runs.map(({ picture }) => picture.toFixed(0)).join(" ")}`);
}
