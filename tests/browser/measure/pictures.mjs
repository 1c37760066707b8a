// What a picture costs the page itself, at 100 000 particles: time of its own thread, and memory. Decoding is another
// thread's. The graphics are told nothing while the clock runs: each function of WebGL that only tells is empty.
import { HeapWatch } from "../heap.mjs";
import { World } from "../world.mjs";
import { median, table } from "./print.mjs";
import { Played, recordDam } from "./recorded-dam.mjs";

const TIERS = ["points", "spheres", "low", "high"];
const FRAMES = 30;
/** The display draws 60 pictures a second, the stream has 30 frames. */
const PICTURES_EACH = 2;
const PICTURE_MS = 1000 / 60;
const SHOWN = 12;

/** In the page: makes what only tells the graphics something empty; what was made before stays. */
function tellNothing() {
  const tells =
    /^(active|bind|blend|buffer|clear|color|copy|cull|depth|disable|draw|enable|front|invalidate|pixelStore|polygon|sample|scissor|stencil|tex|uniform|useProgram|vertexAttrib|viewport)/;
  const prototype = WebGL2RenderingContext.prototype;
  for (const name of Object.getOwnPropertyNames(prototype)) {
    const { value } = Object.getOwnPropertyDescriptor(prototype, name);
    if (typeof value === "function" && tells.test(name)) prototype[name] = () => {};
  }
}

/** Milliseconds of each picture: those with a new frame, and those without. */
async function times(heap) {
  const [fresh, same] = [[], []];
  for (let i = 0; i < FRAMES; i++) {
    await heap.run(1, 0);
    const taken = await heap.page.evaluate(
      ([count, ms]) =>
        Array.from({ length: count }, () => {
          const began = window.ownNow();
          window.picture(ms);
          return window.ownNow() - began;
        }),
      [PICTURES_EACH, PICTURE_MS],
    );
    fresh.push(taken[0]);
    same.push(...taken.slice(1));
  }
  return { fresh: median(fresh), same: median(same) };
}

export async function pictures(browser) {
  const { frames, cells, cellM } = recordDam();
  const rows = [];
  const wanted = TIERS.filter((tier) => process.argv.includes(tier));
  for (const tier of wanted.length > 0 ? wanted : TIERS) {
    const { world, end } = await World.make(browser);
    try {
      const server = await world.fake({ recording: new Played(frames), cells, cellM, byHand: true });
      const context = { viewport: { width: 480, height: 270 } };
      const heap = await HeapWatch.open(world, server, `quality=${tier}&detail=full`, { context });
      const told = await times(heap);
      await heap.page.evaluate(tellNothing);
      const own = await times(heap);
      const before = await heap.heldBytes();
      await heap.run(10, 100);
      const kept = ((await heap.heldBytes()) - before) / 1000;
      const asked = await heap.allocations(2, 100);
      const sum = asked.reduce((total, { bytes }) => total + bytes, 0) / 200;
      rows.push([
        tier,
        ...[own.same, own.fresh, told.same, told.fresh].map((ms) => ms.toFixed(2)),
        kept.toFixed(0),
        sum.toFixed(0),
      ]);
      if (process.argv.includes("--where"))
        for (const { bytes, path } of asked.slice(0, SHOWN))
          console.log(
            `${(bytes / 200).toFixed(0).padStart(8)} bytes a picture  ${path.slice(-5).join(" > ")}`,
          );
    } finally {
      await end();
    }
  }
  console.log("a picture of the dam break's 102 400 particles at 480 x 270; medians, milliseconds and bytes");
  table(
    ["tier", "own", "with a frame", "and telling WebGL", "with a frame", "kept of 1000", "asked for"],
    rows,
  );
}
