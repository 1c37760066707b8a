import { expect, test } from "vitest";
import { LIGHT_BYTES_MAX, LIGHT_VOXELS_MAX } from "../src/codec/frame-info.js";
import { LightVolume } from "../src/codec/light-volume.js";

/** Eight particles in each cell of a box of water from (0,0,0) to `filled` cells. */
function water(filled: readonly [number, number, number]): Uint16Array {
  const values: number[] = [];
  for (let z = 0; z < filled[2] * 2; z++)
    for (let y = 0; y < filled[1] * 2; y++)
      for (let x = 0; x < filled[0] * 2; x++) values.push(x * 16 + 8, y * 16 + 8, z * 16 + 8, 0);
  return new Uint16Array(values);
}

function compute(
  positions: Uint16Array,
  cells: readonly number[],
  unitBits = 5,
): { volume: LightVolume; light: Uint8Array } {
  const volume = new LightVolume();
  const light = new Uint8Array(LIGHT_BYTES_MAX);
  volume.compute(positions, positions.length / 4, unitBits, cells, light);
  return { volume, light };
}

test("light falls from above: it only weakens with depth", () => {
  const { volume, light } = compute(water([8, 8, 8]), [8, 16, 8]);
  expect(volume.dims).toEqual([4, 8, 4]);
  const column = Array.from({ length: 8 }, (_, y) => light[2 * (1 + 4 * (y + 8 * 1))] as number);
  expect(column.slice(4)).toEqual([255, 255, 255, 255]);
  for (let y = 1; y < 4; y++) expect(column[y]).toBeGreaterThan(column[y - 1] as number);
});

test("calm water has the middle density, air none", () => {
  const { light } = compute(water([8, 8, 8]), [8, 16, 8]);
  expect(light[1]).toBe(127);
  expect(light[2 * (4 * 7) + 1]).toBe(0);
});

test("what positions are counted in makes no difference", () => {
  const coarse = compute(water([8, 8, 8]), [8, 16, 8]);
  const fine = compute(
    water([8, 8, 8]).map((x) => x << 3),
    [8, 16, 8],
    8,
  );
  expect(Buffer.compare(fine.light, coarse.light)).toBe(0);
});

test("a particle beyond the tank, where the last tile reaches, is counted at the edge", () => {
  const { volume, light } = compute(new Uint16Array([500, 500, 500, 0]), [10, 10, 10]);
  const [nx, ny, nz] = volume.dims;
  expect(light[2 * (nx * ny * nz - 1) + 1]).toBe(127);
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
