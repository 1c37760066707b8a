// What a page's pictures leave in memory and what they ask for, as the browser itself counts it.
import { until } from "./harness.mjs";
import { timeByHand } from "./time-by-hand.mjs";
import { look } from "./world.mjs";

const PICTURE_MS = 1000 / 60;
/** In which a frame is decoded, however busy the machine. */
const FRAME_MS = 40_000;
/** Frames and pictures after each before anything is counted: functions are optimised, buffers have grown. */
const WARM = [8, 60];

/** In the page: the graphics are told nothing more than which arrays there are. */
function withoutDrawing() {
  for (const name of ["drawArrays", "drawElements", "drawArraysInstanced", "drawElementsInstanced"])
    WebGL2RenderingContext.prototype[name] = () => {};
}

export class HeapWatch {
  constructor(page, server, session) {
    Object.assign(this, { page, server, session });
  }

  /** Opens a page whose time goes on by hand; frames come when the server shows them. */
  static async open(world, server, query, { context, drawing = false } = {}) {
    const page = await world.open(`http://127.0.0.1:${server.port}/?${query}`, {
      context,
      prepare: (blank) => blank.addInitScript(timeByHand),
    });
    await until(
      () => page.evaluate(() => window.tarn?.connection === "connected"),
      "it is connected",
      30_000,
    );
    await page.evaluate(() => window.takeTime());
    const session = await page.context().newCDPSession(page);
    await session.send("HeapProfiler.enable");
    const watch = new HeapWatch(page, server, session);
    await watch.run(2, 1);
    if (!drawing) await page.evaluate(withoutDrawing);
    await watch.run(...WARM);
    return watch;
  }

  /** Shows frames, and after each of them so many pictures. */
  async run(frames, pictures) {
    for (let i = 0; i < frames; i++) {
      const { framesDecoded } = await look(this.page, "framesDecoded");
      this.server.show(0);
      await until(
        async () => (await look(this.page, "framesDecoded")).framesDecoded > framesDecoded,
        "a frame",
        FRAME_MS,
      );
      await this.page.evaluate(
        ([count, ms]) => {
          for (let k = 0; k < count; k++) window.picture(ms);
        },
        [pictures, PICTURE_MS],
      );
    }
  }

  /** Bytes that the page's own thread holds, of the language's heap and of array buffers, after a collection. */
  async heldBytes() {
    for (let i = 0; i < 2; i++) await this.session.send("HeapProfiler.collectGarbage");
    const { usedSize, backingStorageSize = 0 } = await this.session.send("Runtime.getHeapUsage");
    return usedSize + backingStorageSize;
  }

  /** Runs and counts what is asked for meanwhile. @returns [{bytes, name, line}], the most first */
  async allocations(frames, pictures) {
    await this.session.send("HeapProfiler.startSampling", {
      samplingInterval: 512,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await this.run(frames, pictures);
    const { profile } = await this.session.send("HeapProfiler.stopSampling");
    const found = [];
    const visit = ({ callFrame, selfSize, children }, path) => {
      const name = callFrame.functionName || "(anonymous)";
      const own = [...path, name];
      if (selfSize > 0) found.push({ bytes: selfSize, path: own, url: callFrame.url });
      for (const child of children) visit(child, own);
    };
    visit(profile.head, []);
    return found.sort((a, b) => b.bytes - a.bytes);
  }
}
