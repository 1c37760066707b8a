import { expect, test } from "vitest";
import type { FrameInfo } from "../src/codec/frame-info.js";
import { isMixed, LiquidSums, matterOf, SUM_COLUMNS } from "../src/state/liquid-sums.js";
import { frameOf, rotation, SCALE, shear } from "./flow-analytic.js";

const WATER = { densities: [1000], perAxis: 2, reseeds: false };

function newest(sums: LiquidSums): Record<(typeof SUM_COLUMNS)[number], number> {
  const { rows } = sums;
  return Object.fromEntries(
    SUM_COLUMNS.map((column, i) => [column, rows.valueAt(rows.count - 1, i)]),
  ) as Record<(typeof SUM_COLUMNS)[number], number>;
}

test("water at rest has its volume, its weight's potential energy and no other", () => {
  const { info, views } = frameOf(() => [0, 0, 0], [20, 20, 20], 10);
  const sums = new LiquidSums();
  sums.take(info, views, WATER, false);
  const { kinetic_j, potential_j, total_j, volume_m3, momentum_x_kg_m_s } = newest(sums);
  expect(volume_m3).toBeCloseTo(0.5, 6);
  expect(kinetic_j).toBe(0);
  // 500 kg, whose middle is 0.25 m above the floor.
  expect(potential_j).toBeCloseTo(500 * 9.81 * 0.25, 0);
  expect(total_j).toBe(potential_j);
  expect(momentum_x_kg_m_s).toBe(0);
});

test("solid rotation has half of its moment of inertia times the square of its rate", () => {
  const { info, views } = frameOf(rotation(1));
  const sums = new LiquidSums();
  sums.take(info, views, WATER, false);
  const exact = 0.5 * (1000 / 6); // of a cube of 1 m edges, about its axis
  const { kinetic_j, momentum_x_kg_m_s, momentum_z_kg_m_s } = newest(sums);
  // Rounded to 1 cm/s: at most that adds.
  expect(sums.roundingJ).toBeCloseTo((1000 * SCALE * SCALE) / 8, 6);
  expect(Math.abs(kinetic_j - exact)).toBeLessThan(0.01 * exact);
  expect(Math.abs(momentum_x_kg_m_s)).toBeLessThan(6); // rounding upwards of halves: 5 mm/s of a tonne at most
  expect(momentum_z_kg_m_s).toBe(0);
});

test("what rounding adds in the mean is what is said: noise in the place of a flow", () => {
  let seed = 1;
  const random = (): number => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  // Speeds far above a unit, of any fraction of one.
  let squares = 0;
  let count = 0;
  const { info, views } = frameOf(() => {
    const v: [number, number, number] = [0.4 * random(), 0.4 * random(), 0.4 * random()];
    squares += v[0] ** 2 + v[1] ** 2 + v[2] ** 2;
    count++;
    return v;
  });
  const sums = new LiquidSums();
  sums.take(info, views, WATER, false);
  const exact = (0.5 * 1000 * squares) / count;
  expect(Math.abs(newest(sums).kinetic_j - exact - sums.roundingJ)).toBeLessThan(
    0.5 * sums.roundingJ + 0.002 * exact,
  );
  expect(newest(sums).kinetic_j).toBeGreaterThan(exact - 0.002 * exact);
});

test("momentum points where the flow goes, and tilted gravity counts from the lowest corner", () => {
  const { info, views } = frameOf(shear(1));
  const sums = new LiquidSums();
  sums.take({ ...info, gravity: [9.81, 0, 0] } as FrameInfo, views, WATER, false);
  const { potential_j, momentum_x_kg_m_s, momentum_y_kg_m_s } = newest(sums);
  expect(Math.abs(momentum_x_kg_m_s - 500)).toBeLessThan(6);
  expect(momentum_y_kg_m_s).toBe(0);
  expect(potential_j).toBeCloseTo(1000 * 9.81 * 0.5, 0);
});

test("of a part of the layers the first one stands for all", () => {
  const { info, views } = frameOf(shear(1));
  for (let i = 0; i < info.particleCount; i++) views.velocities[4 * i + 3] = i % 4 === 0 ? 0 : 1;
  const all = new LiquidSums();
  all.take(info, views, WATER, false);
  const part = new LiquidSums();
  const total = info.particleCount;
  part.take(
    { ...info, layersPresent: 2, layersTotal: 3, particlesTotal: total } as FrameInfo,
    views,
    WATER,
    false,
  );
  expect(part.share).toBeCloseTo(0.25, 3);
  expect(newest(part).volume_m3).toBeCloseTo(1, 6);
  expect(newest(part).kinetic_j).toBeGreaterThan(0.9 * newest(all).kinetic_j);
  expect(newest(part).kinetic_j).toBeLessThan(1.1 * newest(all).kinetic_j);
});

test("of liquids that differ each particle has the density that its level stands for", () => {
  const { info, views } = frameOf(() => [0, 0, 0]);
  for (let i = 0; i < info.particleCount; i++) views.positions[4 * i + 3] = (i % 2 === 0 ? 255 : 0) << 8;
  const sums = new LiquidSums();
  sums.take({ ...info, channelLow: 800, channelHigh: 1000 } as FrameInfo, views, WATER, true);
  expect(newest(sums).potential_j / (900 * 9.81 * 0.5)).toBeCloseTo(1, 1);
});

test("a table has a row for each frame; another past or tank begins it anew", () => {
  const { info, views } = frameOf(() => [0, 0, 0], [4, 4, 4]);
  const sums = new LiquidSums();
  for (const simTimeS of [0.1, 0.2, 0.2, 0.3])
    sums.take({ ...info, simTimeS } as FrameInfo, views, WATER, false);
  const lines = sums.csv().trim().split("\n");
  expect(lines[0]).toBe(["time_s", ...SUM_COLUMNS].join());
  expect(lines.slice(1).map((line) => line.split(",")[0])).toEqual(["0.1", "0.2", "0.3"]);
  sums.take({ ...info, simTimeS: 0.15 } as FrameInfo, views, WATER, false);
  expect(sums.rows.count).toBe(1);
  sums.take({ ...info, epoch: 2, simTimeS: 0.5 } as FrameInfo, views, WATER, false);
  expect(sums.rows.count).toBe(1);
});

test("what a scene's file says of its liquid", () => {
  expect(matterOf({ size_m: [1, 1, 1] })).toEqual(WATER);
  expect(matterOf({ model: "smoke" })).toBeNull();
  expect(matterOf(null)).toBeNull();
  const oil = matterOf({
    liquids: [{ density_kg_m3: 1000 }, { density_kg_m3: 850 }],
    particles_per_axis: 3,
    solver: { reseed: true },
  });
  expect(oil).toEqual({ densities: [1000, 850], perAxis: 3, reseeds: true });
  expect(oil !== null && isMixed(oil)).toBe(true);
  expect(isMixed(WATER)).toBe(false);
});
