import { expect, test } from "vitest";
import { LIGHT_VALUES, LIGHT_VOXELS_MAX, slotBytes, slotViews } from "../src/codec/frame-info.js";
import { LightVolume } from "../src/codec/light-volume.js";

type Place = readonly [x: number, y: number, z: number];

/** Eight particles in each cell of a box of water from (0,0,0) to `filled` cells. */
function water(filled: Place): Uint16Array {
  const values: number[] = [];
  for (let z = 0; z < filled[2] * 2; z++)
    for (let y = 0; y < filled[1] * 2; y++)
      for (let x = 0; x < filled[0] * 2; x++) values.push(x * 16 + 8, y * 16 + 8, z * 16 + 8, 0);
  return new Uint16Array(values);
}

/** @param layerOf  of each particle; those of a negative one weren't sent */
function compute(
  positions: Uint16Array,
  cells: Place,
  { unitBits = 5, layerOf = (_: number): number => 0 } = {},
): { volume: LightVolume; light: Uint8Array } {
  const particlesTotal = positions.length / 4;
  const views = slotViews(new ArrayBuffer(slotBytes(particlesTotal)));
  let particleCount = 0;
  for (let i = 0; i < particlesTotal; i++) {
    const layer = layerOf(i);
    if (layer < 0) continue;
    views.positions.set(positions.subarray(4 * i, 4 * i + 4), 4 * particleCount);
    views.velocities[4 * particleCount + 3] = layer;
    particleCount++;
  }
  const volume = new LightVolume();
  volume.compute({ particleCount, particlesTotal, unitBits, cells: [...cells] }, views);
  return { volume, light: views.light };
}

/** A byte of a voxel's light: 0 daylight, 1 density, 2 nearness, 3 presence. */
function at({ volume, light }: ReturnType<typeof compute>, [x, y, z]: Place, byte: number): number {
  const [nx, ny] = volume.dims;
  return light[LIGHT_VALUES * (x + nx * (y + ny * z)) + byte] as number;
}

/** The same number below `end` for a particle each time. */
const draw = (i: number, end: number): number =>
  Math.floor(((Math.imul(i + 1, 0x9e3779b1) >>> 8) / 2 ** 24) * end);

test("light falls from above: it only weakens with depth", () => {
  const lit = compute(water([8, 8, 8]), [8, 16, 8]);
  expect(lit.volume.dims).toEqual([4, 8, 4]);
  const column = Array.from({ length: 8 }, (_, y) => at(lit, [1, y, 1], 0));
  expect(column.slice(4)).toEqual([255, 255, 255, 255]);
  for (let y = 1; y < 4; y++) expect(column[y]).toBeGreaterThan(column[y - 1] as number);
});

test("calm water has the middle density, air none", () => {
  const lit = compute(water([8, 8, 8]), [8, 16, 8]);
  expect(at(lit, [0, 0, 0], 1)).toBe(127);
  expect(at(lit, [0, 7, 0], 1)).toBe(0);
});

test("the average particle has as many beside it in its cell as the water was given", () => {
  expect(compute(water([8, 8, 8]), [8, 16, 8]).volume.crowding).toBe(8);
  expect(compute(water([8, 8, 1]), [8, 16, 1]).volume.crowding).toBe(8);
});

test("what positions are counted in makes no difference", () => {
  const coarse = compute(water([8, 8, 8]), [8, 16, 8]);
  const fine = compute(
    water([8, 8, 8]).map((x) => x << 3),
    [8, 16, 8],
    { unitBits: 8 },
  );
  expect(Buffer.compare(fine.light, coarse.light)).toBe(0);
});

test("a particle beyond the tank, where the last tile reaches, is counted at the edge", () => {
  const lit = compute(new Uint16Array([500, 500, 500, 0]), [10, 10, 10]);
  const [nx, ny, nz] = lit.volume.dims;
  expect(at(lit, [nx - 1, ny - 1, nz - 1], 1)).toBe(127);
});

test("the volume stays within its bound for the largest tank", () => {
  const { volume } = compute(new Uint16Array(0), [2048, 2048, 2048]);
  const [nx, ny, nz] = volume.dims;
  expect(nx * ny * nz).toBeLessThanOrEqual(LIGHT_VOXELS_MAX);
  expect(nx * volume.voxelCells).toBeGreaterThanOrEqual(2048);
});

test("a long thin tank has voxels that are wider than it", () => {
  const { volume } = compute(new Uint16Array(0), [4, 1024, 1024]);
  expect(volume.dims[0]).toBe(1);
  expect(volume.dims[1] * volume.voxelCells).toBe(1024);
});

const TANK: Place = [24, 24, 24];
const POOL = water([24, 16, 24]);
/** Voxels well inside the pool of 12 x 8 x 12. */
const INSIDE: Place[] = [
  [3, 2, 3],
  [5, 4, 7],
  [8, 5, 4],
  [9, 3, 9],
];

test("where all particles are at hand none stands for others", () => {
  const { volume, light } = compute(POOL, TANK, { layerOf: (i) => i % 4 });
  const [nx, ny, nz] = volume.dims;
  for (let i = 0; i < nx * ny * nz; i++) expect(light[LIGHT_VALUES * i + 2]).toBe(255);
});

test("a fair sample says how much water is where, and how far apart its particles are", () => {
  const whole = compute(POOL, TANK);
  const sample = compute(POOL, TANK, { layerOf: (i) => (draw(i, 8) === 0 ? 0 : -1) });
  for (const place of INSIDE) {
    // Half as near along each axis: an eighth of the particles.
    expect(Math.abs(at(sample, place, 2) - 127)).toBeLessThan(3);
    expect(Math.abs(at(sample, place, 1) - at(whole, place, 1))).toBeLessThan(26);
    expect(Math.abs(at(sample, place, 0) - at(whole, place, 0))).toBeLessThan(20);
  }
  expect(at(sample, [5, 11, 5], 1)).toBe(0);
});

test("what a sample makes denser has no more particles for it", () => {
  // Above the pool's surface the smoothed density isn't zero; nobody takes hold of water there.
  const lit = compute(POOL, TANK, { layerOf: (i) => (draw(i, 8) === 0 ? 0 : -1) });
  expect(at(lit, [5, 8, 5], 1)).toBeGreaterThan(0);
  expect([7, 8].map((y) => at(lit, [5, y, 5], 3))).toEqual([255, 0]);
});

test("where more than the sample came particles are nearer, and the water is no denser", () => {
  const half = 24 / 2;
  const isLeft = (i: number): boolean => (POOL[4 * i] as number) < half * 32;
  // Left of the middle all of the second layer came, to the right of it none.
  const lit = compute(POOL, TANK, { layerOf: (i) => (draw(i, 8) === 0 ? 0 : isLeft(i) ? 1 : -1) });
  for (const [, y, z] of INSIDE) {
    expect(at(lit, [2, y, z], 2)).toBeGreaterThan(235);
    expect(at(lit, [9, y, z], 2)).toBeLessThan(150);
    expect(Math.abs(at(lit, [2, y, z], 1) - at(lit, [9, y, z], 1))).toBeLessThan(40);
  }
});

test("however few came, they are never taken to be farther apart than three times as far", () => {
  const lit = compute(POOL, TANK, { layerOf: (i) => (i % 4096 === 0 ? 0 : -1) });
  const [nx, ny, nz] = lit.volume.dims;
  for (let i = 0; i < nx * ny * nz; i++) expect(lit.light[LIGHT_VALUES * i + 2]).toBeGreaterThanOrEqual(85);
});

test("without any of the first layer the others are taken as they are", () => {
  const lit = compute(POOL, TANK, { layerOf: (i) => (i % 2 === 0 ? 1 : -1) });
  expect(at(lit, [5, 4, 7], 2)).toBe(255);
});
