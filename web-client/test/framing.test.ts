import { expect, test } from "vitest";
import {
  distanceOf,
  type Framing,
  framingOf,
  homeOf,
  isHigh,
  withLesson,
  withPane,
} from "../src/state/framing.js";

const TANGENT = Math.tan((17 * Math.PI) / 180);
const COVERS = { rightPx: 280, bottomPx: 68 };

/** Of the free part of the canvas, which share a flat tank's front takes. */
function filled(size: readonly number[], width: number, height: number): [number, number] {
  const framing = framingOf(width, height, COVERS, true, true);
  const front = distanceOf(size, framing, TANGENT, true) - 0.5 * (size[2] as number);
  const heightM = 2 * TANGENT * front; // that the canvas shows
  return [
    (size[0] as number) / heightM / framing.freeWidth,
    (size[1] as number) / heightM / framing.freeHeight,
  ];
}

test.each([
  [[2, 1, 0.02], 1280, 800],
  [[1, 2, 0.02], 1280, 800],
  [[1, 1, 0.02], 390, 840],
  [[4, 1, 0.02], 480, 270],
])("a flat tank of %j fills %i x %i, and all of it is seen", (size, width, height) => {
  const [across, up] = filled(size, width, height);
  expect(Math.max(across, up)).toBeCloseTo(1 / 1.05, 5);
  expect(Math.min(across, up)).toBeGreaterThan(0);
});

test.each([
  ["flat", [2, 1, 0.02], true],
  ["tall", [1.5, 2.5, 1], false],
])("a tank that is %s ends below the header and above the line over the bar", (_, size, flat) => {
  const covers = { ...COVERS, headPx: 84, hintPx: 26 };
  const framing = framingOf(1280, 800, covers, flat, isHigh(size, flat));
  expect(framing.freeHeight).toBeCloseTo((800 - 84 - 68 - 26) / 800, 5);
  expect(framing.upPx).toBeCloseTo(0.5 * (68 + 26 - 84), 5);
  // One that is neither has room at its sides for what is written there.
  expect(isHigh([2, 1, 1], false)).toBe(false);
  expect(framingOf(1280, 800, covers, false, false)).toEqual(framingOf(1280, 800, COVERS, false, false));
});

test("a flat tank stands in the middle of what is free, seen from the front", () => {
  expect(framingOf(1280, 800, COVERS, true, true)).toMatchObject({ leftPx: 140, upPx: 34 });
  expect(framingOf(480, 270, COVERS, true, true)).toMatchObject({ leftPx: 0, upPx: 0 });
  expect(homeOf(true)).toEqual([0, 0]);
});

test("beside what covers the left a tank stands in the middle of the rest, all of it, unless there is no room", () => {
  const covers = { leftPx: 346, ...COVERS };
  for (const flat of [false, true]) {
    expect(framingOf(1180, 660, covers, flat, flat)).toMatchObject({
      leftPx: -33,
      freeWidth: (1180 - 626) / 660,
    });
    expect(framingOf(800, 660, covers, flat, flat)).toEqual(framingOf(800, 660, COVERS, flat, flat));
  }
  const [beside, alone] = [covers, COVERS].map((c) => framingOf(1180, 660, c, false, false));
  const distances = [beside, alone].map((f) => distanceOf([2, 1, 1], f as Framing, TANGENT, false));
  expect(distances[0]).toBeGreaterThan(distances[1] as number);
});

test("on a phone a tank stands between the header and the sheet in which one measures, or beside the pane", () => {
  const phone = { rightPx: 0, bottomPx: 68 };
  const tall = framingOf(390, 844, withPane(390, 844, phone), false, false);
  const sheetPx = 134 + 0.4 * 844;
  expect(tall.upPx).toBeCloseTo(0.5 * (sheetPx - 112));
  expect(tall.freeHeight).toBeCloseTo((844 - sheetPx - 112) / 844);
  expect(framingOf(844, 390, withPane(844, 390, phone), false, false)).toMatchObject({
    leftPx: -182,
    upPx: 0,
  });
  // A smaller one has a narrower pane.
  expect(framingOf(568, 320, withPane(568, 320, phone), false, false).leftPx).toBeCloseTo(
    -0.5 * (64 + 0.45 * 568),
  );
  expect(withPane(1180, 660, COVERS)).toEqual({ leftPx: 346, ...COVERS });
  // Below a lesson.
  expect(
    framingOf(
      1180,
      660,
      withPane(1180, 660, { ...COVERS, lessonRightPx: 700, lessonBottomPx: 250 }),
      false,
      false,
    ).freeHeight,
  ).toBeCloseTo((660 - 68 - 250) / 660);
});

test("above the sheet in which one measures, and below a lesson, a tank keeps a third of a high window", () => {
  for (const [width, height, headPx] of [
    [390, 844, 100],
    [768, 1024, 107],
  ] as const)
    for (const lesson of [
      {},
      { lessonBottomPx: headPx + 49 },
      { lessonRightPx: 296, lessonBottomPx: headPx + (height > 1000 ? 204 : 161) },
    ]) {
      const covers = withPane(width, height, { ...COVERS, headPx, ...lesson });
      expect(covers.leftPx).toBeUndefined();
      expect(framingOf(width, height, covers, false, false).freeHeight).toBeGreaterThan(1 / 3);
    }
});

test("a tank stands beside a lesson, where there is no room below it, and over the time line", () => {
  const lesson = { lessonRightPx: 296, lessonBottomPx: 384 };
  const free = (width: number, height: number, more: object): Framing =>
    framingOf(width, height, withLesson(width, height, { ...COVERS, ...lesson, ...more }), false, false);
  expect(free(1280, 800, {})).toMatchObject({
    freeWidth: (1280 - 280 - 306) / 800,
    leftPx: 0.5 * (280 - 306),
  });
  expect(free(390, 844, {})).toMatchObject({ freeHeight: (844 - 68 - 384) / 844, upPx: 0.5 * (68 - 384) });
  expect(free(1280, 800, { timePx: 198 }).freeHeight).toBeCloseTo((800 - 198) / 800);
  // Where hardly anything is left below the lesson it is the lesson that is covered.
  expect(free(390, 844, { timePx: 353 }).freeHeight).toBeCloseTo((844 - 353) / 844);
  // A low window has its bar at the left, but the time line at its bottom.
  expect(free(844, 390, { timePx: 130, lessonRightPx: 0 }).freeHeight).toBeCloseTo((390 - 130) / 390);
});

test("a deep tank moves aside no farther than it has to, and its distance fits all of it from every side", () => {
  expect(framingOf(1280, 800, COVERS, false, false)).toMatchObject({ leftPx: 96, upPx: 34 });
  expect(framingOf(1000, 800, COVERS, false, false).leftPx).toBe(140);
  const framing = framingOf(1280, 800, COVERS, false, false);
  for (const size of [
    [4, 1, 1],
    [3, 0.5, 2],
    [1, 1, 1],
    [0.4, 0.6, 0.4],
    [1.5, 2.5, 1],
  ]) {
    const distance = distanceOf(size, framing, TANGENT, false);
    for (let yaw = 0; yaw < 2 * Math.PI; yaw += 0.1) expect(highest(size, distance, yaw)).toBeLessThan(1.001);
    const round = (0.5 * Math.hypot(...size)) / TANGENT / framing.freeHeight;
    expect(distance).toBeLessThan(1.08 * round);
  }

  /** Of a corner from the middle of what is free, in halves of it. */
  function highest([x, y, z]: readonly number[], distance: number, yaw: number): number {
    const pitch = homeOf(false)[1];
    const [sin, cos] = [Math.sin(pitch), Math.cos(pitch)];
    const corners = [-1, 1].flatMap((i) => [-1, 1].flatMap((j) => [-1, 1].map((k) => [i, j, k] as const)));
    return Math.max(
      ...corners.map(([i, j, k]) => {
        const near = 0.5 * (i * (x as number) * Math.sin(yaw) + k * (z as number) * Math.cos(yaw));
        const up = 0.5 * j * (y as number);
        const depth = distance - near * cos - up * sin;
        return Math.abs(up * cos - near * sin) / depth / TANGENT / framing.freeHeight;
      }),
    );
  }
});
