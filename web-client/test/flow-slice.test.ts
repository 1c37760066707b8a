import { expect, test } from "vitest";
import { FlowGrid } from "../src/codec/flow-grid.js";
import type { SlotViews } from "../src/codec/frame-info.js";
import { AutoRange, niceAbove } from "../src/state/auto-range.js";
import { AIR } from "../src/state/flow-lines.js";
import { ARROW_VALUES, FlowSlice } from "../src/state/flow-slice.js";
import { BUDGETS, fieldOf, firstChoices, quantitiesOf } from "../src/state/insight-choices.js";
import { flowOf, frameOf, rotation, shear } from "./flow-analytic.js";

const SIZE = [1, 1, 1];

/** The values of texels with fluid, with where their middles are, shares of the plane. */
function texels(slice: FlowSlice): { value: number; right: number; up: number }[] {
  const { columns, rows, values, presence } = slice;
  return [...values.subarray(0, columns * rows)].flatMap((value, i) =>
    (presence[i] as number) < AIR
      ? []
      : [{ value, right: ((i % columns) + 0.5) / columns, up: (Math.floor(i / columns) + 0.5) / rows }],
  );
}

test("a plane across solid rotation has its speed, and twice its rate as vorticity", () => {
  const slice = new FlowSlice();
  slice.divide(2, SIZE, 0.02, 400);
  expect([slice.columns, slice.rows]).toEqual([50, 50]);
  slice.compute(flowOf(rotation(3)), "speed", 2, 0.5, SIZE, 0.05);
  for (const { value, right, up } of texels(slice))
    expect(value).toBeCloseTo(3 * Math.hypot(right - 0.5, up - 0.5), 5);
  slice.compute(flowOf(rotation(3)), "vorticity", 2, 0.5, SIZE, 0.05);
  for (const { value } of texels(slice)) expect(value).toBeCloseTo(6, 4);
  slice.compute(flowOf(rotation(3)), "vorticity", 0, 0.5, SIZE, 0.05);
  for (const { value } of texels(slice)) expect(value).toBeCloseTo(0, 5);
});

test("a plane's axes are those that are said: its columns go along z across x, along x across z", () => {
  const slice = new FlowSlice();
  const flow = flowOf((x, y, z) => [x, 10 * y, 100 * z]);
  for (const [axis, along] of [
    [0, (right: number) => right * 3],
    [2, (right: number) => right],
  ] as const) {
    slice.divide(axis, [1, 2, 3], 0.05, 100);
    slice.compute(flow, "along", axis, 0.25, [1, 2, 3], 0.05);
    for (const { value } of texels(slice)) expect(value).toBeCloseTo(axis === 0 ? 0.25 : 25, 4);
    slice.compute(
      flowOf((x, _, z) => [axis === 0 ? z : x, 0, 0]),
      "speed",
      axis,
      0.25,
      [1, 2, 3],
      0.05,
    );
    for (const { value, right } of texels(slice)) expect(value).toBeCloseTo(along(right), 4);
  }
});

test("vorticity at the surface is told from the fluid alone", () => {
  const slice = new FlowSlice();
  slice.divide(2, SIZE, 0.05, 400);
  slice.compute(
    flowOf(shear(2), (_, y) => y < 0.5),
    "vorticity",
    2,
    0.5,
    SIZE,
    0.05,
  );
  const there = texels(slice);
  expect(there.length).toBe(20 * 10);
  for (const { value } of there) expect(value).toBeCloseTo(-2, 4);
});

test("through a frame's particles: air is left out, and vorticity is that of the flow", () => {
  const { info, views } = frameOf(rotation(1), [20, 20, 20], 10);
  const grid = new FlowGrid();
  grid.compute(info, views as SlotViews, Number.POSITIVE_INFINITY);
  const slice = new FlowSlice();
  slice.divide(2, SIZE, 0.025, 400);
  slice.compute(grid, "vorticity", 2, 0.5, SIZE, grid.voxelM);
  const there = texels(slice);
  for (const { up } of there) expect(up).toBeLessThan(0.53);
  // Velocities are whole units of 1 cm/s, and differences are those across 10 cm, or 5 at a wall.
  for (const { value, right, up } of there)
    if (up < 0.42)
      expect(Math.abs(value - 2)).toBeLessThan(right > 0.1 && right < 0.9 && up > 0.1 ? 0.21 : 0.41);
  slice.point(grid, 2, 0.5, SIZE, 100);
  expect(slice.arrowCount).toBe(50);
  expect(slice.fastest).toBeGreaterThan(0.5);
  for (let i = 0; i < slice.arrowCount; i++) {
    const [x, y, z, vx, vy, vz] = slice.arrows.subarray(i * ARROW_VALUES) as unknown as number[];
    expect(z).toBe(0.5);
    expect(vz).toBe(0);
    expect(vx).toBeCloseTo(-((y as number) - 0.5), 1);
    expect(vy).toBeCloseTo((x as number) - 0.5, 1);
  }
});

test("two grids in turn remember how dense calm water is as one grid does", () => {
  const { info, views } = frameOf(rotation(0), [20, 20, 20], 10);
  const full = (grid: FlowGrid, crowding: number, before: FlowGrid | null): number => {
    if (before !== null) grid.remember(before);
    grid.compute({ ...info, crowding }, views as SlotViews, 1);
    return grid.full;
  };
  const one = new FlowGrid();
  const pair = [new FlowGrid(), new FlowGrid()] as const;
  // It splashes from the second frame on.
  for (const [frame, crowding] of [8, 3.2, 3.2, 3.2].entries()) {
    const [now, before] = frame % 2 === 0 ? pair : ([pair[1], pair[0]] as const);
    expect(full(now, crowding, frame === 0 ? null : before)).toBeCloseTo(full(one, crowding, null), 6);
  }
});

test("levels of a field become what they stand for", () => {
  const slice = new FlowSlice();
  slice.divideCells(1, [4, 9, 2]);
  expect([slice.columns, slice.rows]).toEqual([4, 2]);
  slice.take(new Uint8Array([0, 255, 51, 0, 0, 0, 0, 0]), 10, 20);
  expect([...slice.values.subarray(0, 3)]).toEqual([10, 20, 12]);
});

test("a scale's top is a round number, grows at once and shrinks after a while", () => {
  expect([0, 0.01, 0.011, 0.9, 1, 1.1, 4.2, 97, 1234].map(niceAbove)).toEqual([
    0.01, 0.01, 0.015, 1, 1, 1.5, 5, 100, 1500,
  ]);
  const range = new AutoRange();
  expect(range.see(0.7, 0.1)).toBe(0.8);
  expect(range.see(2.6, 0.1)).toBe(3);
  for (let i = 0; i < 19; i++) expect(range.see(0.1, 0.1)).toBe(3);
  for (let i = 0; i < 3; i++) range.see(0.1, 0.1);
  expect(range.top).toBe(0.1);
  range.held = true;
  expect(range.see(5, 1)).toBe(0.1);
});

test("what a plane can show: the particles' own first, of a liquid not the speed once more, no kinds", () => {
  const fields = [
    { name: "pressure", label: "Pressure", unit: "Pa" },
    { name: "cells", label: "Cells", unit: "", kinds: "air,liquid,solid" },
    { name: "speed", label: "Speed", unit: "m/s" },
  ];
  const names = (isLiquid: boolean) => quantitiesOf(0, fields, isLiquid).map(({ label }) => label);
  expect(names(true)).toEqual(["Speed", "Velocity along x", "Vorticity about x", "Pressure"]);
  expect(names(false)).toContain("Speed of all the fluid");
  const choices = firstChoices();
  expect(fieldOf({ ...choices, slice: true, quantity: "field pressure" })).toBe("pressure");
  expect(fieldOf({ ...choices, slice: false, quantity: "field pressure" })).toBe("");
  expect(fieldOf({ ...choices, slice: true })).toBe("");
});

test("a finer tier never has less to show", () => {
  const order = [BUDGETS.points, BUDGETS.spheres, BUDGETS["water-low"], BUDGETS.water];
  for (let i = 1; i < order.length; i++)
    for (const name of ["texels", "arrows", "seeds", "steps", "dots"] as const)
      expect(order[i]?.[name]).toBeGreaterThanOrEqual(order[i - 1]?.[name] as number);
});
