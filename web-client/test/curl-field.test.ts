import { expect, test } from "vitest";
import type { FrameInfo } from "../src/codec/frame-info.js";
import { ARROW_VALUES, CurlField } from "../src/state/curl-field.js";

const CELLS: [number, number, number] = [24, 16, 20];
const UNIT_BITS = 4;
const SCALE = 0.01;

/** Two particles in each cell of a tank of 5 cm cells that are as fast as `flow` says, metres per second. */
function frameOf(
  flow: (at: readonly number[]) => readonly number[],
  cells = CELLS,
  keep = (_: number) => true,
) {
  const places: number[][] = [];
  for (let z = 0; z < cells[2]; z++)
    for (let y = 0; y < cells[1]; y++)
      for (let x = 0; x < cells[0]; x++)
        if (keep(x)) for (const q of [4, 11]) places.push([16 * x + q, 16 * y + q, 16 * z + q]);
  const positions = new Uint16Array(places.flatMap((place) => [...place, 0]));
  const metres = (place: readonly number[]) => place.map((q) => ((q + 0.5) / 16) * 0.05);
  const velocities = new Int8Array(
    places.flatMap((place) => [...flow(metres(place)).map((v) => Math.round(v / SCALE)), 0]),
  );
  const info = {
    cells,
    cellM: 0.05,
    unitBits: UNIT_BITS,
    velocityScale: SCALE,
    particleCount: places.length,
  };
  return { info: info as unknown as FrameInfo, views: { positions, velocities } };
}

function arrowsOf(field: CurlField): number[][] {
  return Array.from({ length: field.count }, (_, i) => [
    ...field.arrows.subarray(i * ARROW_VALUES, (i + 1) * ARROW_VALUES),
  ]);
}

test("what turns as one has twice its rate everywhere, along its axis", () => {
  const { info, views } = frameOf(([x = 0, , z = 0]) => [1.2 * (z - 0.5), 0, -1.2 * (x - 0.6)]);
  const field = new CurlField();
  field.compute(info, views);
  expect(field.count).toBe(12 * 8 * 10);
  for (const [, , , wx, wy, wz] of arrowsOf(field)) {
    expect(wx).toBeCloseTo(0, 3);
    expect(wy).toBeGreaterThan(2.2);
    expect(wy).toBeLessThan(2.6);
    expect(wz).toBeCloseTo(0, 3);
  }
});

test("there are arrows only where particles are, as many as can be told apart", () => {
  const { info, views } = frameOf(
    () => [1, 0, 0],
    [64, 32, 32],
    (x) => x < 16,
  );
  const field = new CurlField();
  field.compute(info, views);
  expect(field.edge).toBe(3);
  expect(field.count).toBe(6 * 11 * 11);
  for (const [x, , , ...curl] of arrowsOf(field)) {
    expect(x).toBeLessThan(0.8);
    expect(Math.hypot(...curl)).toBe(0);
  }
  field.compute({ ...info, particleCount: 0 }, views);
  expect(field.count).toBe(0);
});
