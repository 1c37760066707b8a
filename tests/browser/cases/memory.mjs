// What the pictures take for themselves and don't give back.

import { assert, test } from "../harness.mjs";
import { HeapWatch } from "../heap.mjs";
import { Recording } from "../recording.mjs";

const PICTURES = 1000;
/** After each frame. */
const PICTURES_EACH = 50;
/** What is counted by itself: a picture that keeps something keeps it in each, a function is made fast in one. */
const PARTS = 4;
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
  const kept = [];
  for (let part = 0, before = await heap.heldBytes(); part < PARTS; part++) {
    await heap.run(PICTURES / PARTS / PICTURES_EACH, PICTURES_EACH);
    const now = await heap.heldBytes();
    kept.push(((now - before) * PARTS) / PICTURES);
    before = now;
  }
  assert(Math.min(...kept) < KEPT_MAX, `a picture keeps ${kept.map((bytes) => bytes.toFixed(0))} bytes`);
});
