import { expect, test } from "vitest";
import { FlowGrid } from "../src/codec/flow-grid.js";
import type { SlotViews } from "../src/codec/frame-info.js";
import { Drift } from "../src/state/drift.js";
import { LineBuffer, POINT_VALUES, Streamlines } from "../src/state/flow-lines.js";
import { DOT_VALUES, MarkerDots } from "../src/state/marker-dots.js";
import { flowOf, frameOf, rotation, shear } from "./flow-analytic.js";

const SIZE = [1, 1, 1];
const LIMITS = { stepM: 0.02, stepsMax: 200, speedMin: 1e-3, sizeM: SIZE };
const MIDDLE = 0.5;

/** x, y, z, speed, seconds of each point, without ends of lines. */
function pointsOf(lines: LineBuffer): number[][] {
  return Array.from({ length: lines.count }, (_, i) => [
    ...lines.points.subarray(i * POINT_VALUES, (i + 1) * POINT_VALUES),
  ]).filter(([, , , speed = -1]) => speed >= 0);
}

const radius = ([x = 0, y = 0]: readonly number[]): number => Math.hypot(x - MIDDLE, y - MIDDLE);

test("a streamline of solid rotation is a circle, as far as the fourth order lets it, and ends where it began", () => {
  const errors = [0.04, 0.02].map((stepM) => {
    const lines = new LineBuffer(1000);
    expect(new Streamlines().trace(flowOf(rotation(2)), [0.8, 0.5, 0.3], { ...LIMITS, stepM }, lines)).toBe(
      true,
    );
    const points = pointsOf(lines);
    const turn = (2 * Math.PI * 0.3) / stepM;
    expect(points.length).toBeGreaterThan(turn - 1);
    expect(points.length).toBeLessThan(turn + 3);
    for (const [, , z, speed] of points) {
      expect(z).toBeCloseTo(0.3, 6);
      expect(speed).toBeCloseTo(0.6, 3);
    }
    return Math.max(...points.map((point) => Math.abs(radius(point) - 0.3)));
  });
  expect(errors[1]).toBeLessThan(2e-6); // floats of 32 bits have 6e-8
  expect(errors[0]).toBeLessThan(2e-5);
});

test("a streamline tells when the fluid was where: a circle takes a turn's time", () => {
  const lines = new LineBuffer(1000);
  new Streamlines().trace(flowOf(rotation(2)), [0.8, 0.5, 0.3], LIMITS, lines);
  const times = pointsOf(lines).map(([, , , , timeS = 0]) => timeS);
  expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(0.97 * Math.PI);
  expect(Math.max(...times) - Math.min(...times)).toBeLessThan(1.03 * Math.PI);
  expect([...times].sort((a, b) => a - b)).toEqual(times);
});

test("streamlines of a shear are straight, and end at walls and in air", () => {
  const lines = new LineBuffer(1000);
  const flow = flowOf(shear(1), (x) => x < 0.7);
  new Streamlines().trace(flow, [0.4, 0.5, 0.5], LIMITS, lines);
  const points = pointsOf(lines);
  for (const [, y, z, speed] of points) {
    expect(y).toBeCloseTo(0.5, 6);
    expect(z).toBeCloseTo(0.5, 6);
    expect(speed).toBeCloseTo(0.5, 6);
  }
  const across = points.map(([x = 0]) => x);
  expect(Math.min(...across)).toBeGreaterThanOrEqual(0);
  expect(Math.min(...across)).toBeLessThan(0.03);
  expect(Math.max(...across)).toBeLessThan(0.7);
  expect(Math.max(...across)).toBeGreaterThan(0.66);
});

test("where fluid stands, where there is air and where there is no more room there is no line", () => {
  const lines = new LineBuffer(8);
  const tracer = new Streamlines();
  expect(tracer.trace(flowOf(shear(1)), [0.5, 0, 0.5], LIMITS, lines)).toBe(false);
  expect(
    tracer.trace(
      flowOf(shear(1), () => false),
      [0.5, 0.5, 0.5],
      LIMITS,
      lines,
    ),
  ).toBe(false);
  expect(lines.count).toBe(0);
  tracer.trace(flowOf(shear(1)), [0.5, 0.5, 0.5], LIMITS, lines);
  expect(lines.count).toBeLessThanOrEqual(8);
  expect(lines.points[POINT_VALUES * (lines.count - 1) + 3]).toBe(-1);
});

test("through the grid of a frame's particles solid rotation stays a circle", () => {
  const { info, views } = frameOf(rotation(1));
  const grid = new FlowGrid();
  grid.compute(info, views as SlotViews, Number.POSITIVE_INFINITY);
  const lines = new LineBuffer(1000);
  new Streamlines().trace(grid, [0.75, 0.5, 0.5], LIMITS, lines);
  const points = pointsOf(lines);
  expect(points.length).toBeGreaterThan(75);
  // Velocities are whole units of 1 cm/s, of eight particles a cell: 2 % of what they are here.
  for (const point of points) expect(Math.abs(radius(point) - 0.25)).toBeLessThan(0.005);
});

test("what drifts in solid rotation comes back after a turn", () => {
  const drift = new Drift();
  const flow = flowOf(rotation(2));
  const at: [number, number, number] = [0.8, 0.5, 0.3];
  const frames = 60;
  for (let i = 0; i < frames; i++)
    expect(drift.move(flow, flow, at, Math.PI / frames, 0.05, SIZE)).toBe(true);
  expect(Math.hypot(at[0] - 0.8, at[1] - 0.5)).toBeLessThan(1e-5);
});

test("between two frames the velocity goes from one to the other: what falls freely falls by half of g t²", () => {
  const drift = new Drift();
  const fallAt = (timeS: number) => flowOf(() => [0.5, -9.81 * timeS, 0]);
  const at: [number, number, number] = [0.1, 0.9, 0.5];
  const dt = 1 / 30;
  for (let i = 0; i < 9; i++) drift.move(fallAt(i * dt), fallAt((i + 1) * dt), at, dt, 0.05, SIZE);
  expect(at[0]).toBeCloseTo(0.1 + 0.5 * 0.3, 9);
  expect(at[1]).toBeCloseTo(0.9 - 0.5 * 9.81 * 0.09, 9);
});

test("what is in air doesn't drift, and what reaches the wall stays in the tank", () => {
  const drift = new Drift();
  const air = flowOf(shear(1), () => false);
  expect(drift.move(air, air, [0.5, 0.5, 0.5], 0.1, 0.05, SIZE)).toBe(false);
  const at: [number, number, number] = [0.95, 0.5, 0.5];
  const flow = flowOf(shear(4));
  expect(drift.move(flow, flow, at, 0.1, 0.05, SIZE)).toBe(true);
  expect(at).toEqual([1, 0.5, 0.5]);
});

test("a row of dots in a shear leans: each goes by its own height", () => {
  const dots = new MarkerDots();
  const flow = flowOf(shear(1));
  const heights = [0.2, 0.4, 0.6];
  dots.add(
    flow,
    heights.map((y) => [0.1, y, 0.5]),
    100,
  );
  for (let i = 0; i < 10; i++) dots.move(flow, flow, 0.05, 0.05, SIZE);
  expect(dots.count).toBe(3);
  for (const [i, y] of heights.entries()) {
    const [x, there, , vx, vy] = dots.dots.subarray(i * DOT_VALUES);
    expect(x).toBeCloseTo(0.1 + 0.5 * y, 5);
    expect(there).toBeCloseTo(y, 5);
    expect([vx, vy].map((v) => Number(v?.toFixed(5)))).toEqual([y, 0]);
  }
});

test("of dots that are too many the oldest go, and so do those that leave the fluid", () => {
  const dots = new MarkerDots();
  const flow = flowOf(shear(1), (x) => x < 0.5);
  const row = Array.from({ length: 6 }, (_, i) => [0.1, 0.1 * i, 0.5]);
  dots.add(flow, row, 10);
  dots.add(flow, row, 10);
  expect(dots.count).toBe(10);
  expect(dots.dots[6]).toBe(0);
  expect(dots.dots[4 * DOT_VALUES + 6]).toBe(1);
  for (let i = 0; i < 10; i++) dots.move(flow, flow, 0.1, 0.05, SIZE);
  expect(dots.count).toBeLessThan(10);
  for (let i = 0; i < dots.count; i++) expect(dots.dots[i * DOT_VALUES]).toBeLessThan(0.55);
});
