// What the pictures take for themselves and don't give back.

import { assert, test } from "../harness.mjs";
import { HeapWatch } from "../heap.mjs";
import { Recording } from "../recording.mjs";

const PICTURES = 1000;
/** After each frame. */
const PICTURES_EACH = 100;
/** A picture that keeps the smallest of arrays keeps more than that, bytes. */
const KEPT_MAX = 48;

test("a thousand pictures leave nothing in memory", async (world) => {
  const server = await world.fake({
    recording: new Recording("small-splash"),
    cells: [16, 8, 8],
    cellM: 0.0625,
    byHand: true,
  });
  const heap = await HeapWatch.open(world, server, "quality=spheres", {
    context: { viewport: { width: 160, height: 90 } },
  });
  const before = await heap.heldBytes();
  await heap.run(PICTURES / PICTURES_EACH, PICTURES_EACH);
  const kept = ((await heap.heldBytes()) - before) / PICTURES;
  if (process.env.TARN_FIGURES) console.log(`     ${kept.toFixed(1)} bytes a picture`);
  assert(kept < KEPT_MAX, `a picture keeps ${kept.toFixed(0)} bytes`);
});
