import { expect, test } from "vitest";
import type { FrameInfo } from "../src/codec/frame-info.js";
import { LineBuffer } from "../src/state/flow-lines.js";
import { PATHS_MAX, ParticlePaths } from "../src/state/particle-paths.js";
import { Rake } from "../src/state/rake.js";
import type { Ray } from "../src/state/ray.js";
import { flowOf, rotation, shear, UNIT_BITS } from "./flow-analytic.js";

const SIZE = [1, 1, 1];
const CELL_M = 0.05;
const UNITS_PER_M = 2 ** UNIT_BITS / CELL_M;
const AHEAD: Ray = { origin: [0.7, 0.5, 2], direction: [0, 0, -1] };

/** A frame of these particles, metres, in an order that says nothing. */
function frameOf(places: readonly (readonly number[])[]) {
  const mixed = [...places].sort(
    (a, b) => Math.sin(1e3 * (a[0] as number)) - Math.sin(1e3 * (b[0] as number)),
  );
  return {
    info: { particleCount: places.length, cellM: CELL_M, unitBits: UNIT_BITS } as unknown as FrameInfo,
    views: {
      positions: new Uint16Array(mixed.flatMap((p) => [...p.map((m) => Math.floor(m * UNITS_PER_M)), 0])),
    },
  };
}

test("a ray chooses the foremost particle within its reach", () => {
  const paths = new ParticlePaths();
  const { info, views } = frameOf([
    [0.7, 0.5, 0.2],
    [0.71, 0.5, 0.6],
    [0.7, 0.58, 0.9],
  ]);
  expect(paths.choose(AHEAD, 0.02, info, views, 0)).toBe(true);
  expect(paths.paths[0]?.at[2]).toBeCloseTo(0.6, 1);
  expect(paths.choose({ ...AHEAD, origin: [0.2, 0.2, 2] }, 0.02, info, views, 0)).toBe(false);
  for (let i = 0; i < 2 * PATHS_MAX; i++) paths.choose(AHEAD, 0.02, info, views, 0);
  expect(paths.paths.length).toBe(PATHS_MAX);
});

test("a particle is found again among others that cross its way, whatever their order", () => {
  const omega = 2;
  const others = Array.from({ length: 300 }, (_, i) => [
    0.5 + 0.1 * Math.cos(i) + 0.15 * Math.sin(7 * i),
    0.5 + 0.2 * Math.sin(i),
    0.1 + 0.8 * ((i * 0.618) % 1),
  ]);
  /** What turns as one, after a time. */
  const turned = (timeS: number) =>
    [[0.7, 0.5, 0.95], ...others].map(([x = 0, y = 0, z = 0]) => [
      0.5 + (x - 0.5) * Math.cos(omega * timeS) - (y - 0.5) * Math.sin(omega * timeS),
      0.5 + (x - 0.5) * Math.sin(omega * timeS) + (y - 0.5) * Math.cos(omega * timeS),
      z,
    ]);
  // A tenth too slow, as the mean of what is around one may be.
  const flow = flowOf(rotation(0.9 * omega));
  const flows = { before: flow, after: flow, voxelM: CELL_M };
  const paths = new ParticlePaths();
  const first = frameOf(turned(0));
  paths.choose(AHEAD, 0.02, first.info, first.views, 0);
  const dt = 1 / 30;
  for (let i = 1; i <= 60; i++) {
    const { info, views } = frameOf(turned(i * dt));
    paths.follow(flows, info, views, i * dt, dt, SIZE);
  }
  const [x, y, z] = paths.paths[0]?.at ?? [];
  expect(x).toBeCloseTo(0.5 + 0.2 * Math.cos(omega * 2), 2);
  expect(y).toBeCloseTo(0.5 + 0.2 * Math.sin(omega * 2), 2);
  expect(z).toBeCloseTo(0.95, 2);
  const lines = new LineBuffer(200);
  paths.write(lines);
  expect(lines.count).toBe(62);
  // Within a unit of its circle all the way: it was never another one.
  for (let i = 0; i < 61; i++) {
    const [px = 0, py = 0] = lines.points.subarray(5 * i);
    expect(Math.abs(Math.hypot(px - 0.5, py - 0.5) - 0.2)).toBeLessThan(1.5 / UNITS_PER_M);
  }
});

test("a way is forgotten after five seconds, and all of it once its particle has left the fluid", () => {
  const paths = new ParticlePaths();
  const flow = flowOf(shear(0.05));
  const { info, views } = frameOf([[0.2, 0.5, 0.5]]);
  paths.choose({ origin: [0.2, 0.5, 2], direction: [0, 0, -1] }, 0.02, info, views, 0);
  const none = { ...info, particleCount: 0 };
  const dt = 0.1;
  for (let i = 1; i <= 80; i++)
    paths.follow({ before: flow, after: flow, voxelM: CELL_M }, none, views, i * dt, dt, SIZE);
  expect((paths.paths[0]?.points.length ?? 0) / 5).toBe(51);
  const air = flowOf(shear(0.05), () => false);
  for (let i = 81; i <= 140; i++)
    paths.follow({ before: air, after: air, voxelM: CELL_M }, none, views, i * dt, dt, SIZE);
  expect(paths.paths.length).toBe(0);
});

test("a rake stays in its tank, and in proportion in another one", () => {
  const rake = new Rake();
  rake.fit([2, 1, 1]);
  expect(rake.from[0]).toBe(0.5);
  expect(rake.from[1]).toBeLessThan(rake.to[1]);
  rake.move("middle", [9, 0.5, 0.5]);
  expect(rake.from[0]).toBe(2);
  rake.move("to", [1, 7, -1]);
  expect(rake.to).toEqual([1, 1, 0]);
  const seeds = rake.seeds(5);
  expect(seeds.length).toBe(5);
  expect(seeds[0]).toEqual(rake.from);
  expect(seeds[4]).toEqual(rake.to);
  rake.fit([4, 1, 1]);
  expect(rake.from[0]).toBe(4);
  rake.lie("z");
  expect(rake.from[0]).toBe(rake.to[0]);
  expect(rake.to[2]).toBeGreaterThan(0.9);
});

test("a rake that lies in air comes down into the fluid, and stays where it is in it", () => {
  const rake = new Rake();
  rake.fit([2, 1, 1]);
  const shallow = (_: number, y: number) => y >= 0 && y < 0.2;
  rake.lie("z");
  rake.settle(shallow);
  expect(rake.from[1]).toBe(rake.to[1]);
  expect(rake.from[1]).toBeGreaterThan(0.05);
  expect(rake.from[1]).toBeLessThan(0.15);
  const { from } = rake;
  rake.settle(shallow);
  expect(rake.from).toEqual(from);
  rake.settle(() => false);
  expect(rake.from).toEqual(from);
});
