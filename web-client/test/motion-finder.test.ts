import { expect, test } from "vitest";
import { MotionFinder } from "../src/camera/motion-finder.js";
import { createRandom, createTexture, insideOf, type Made, makePicture } from "./made-pictures.js";

const [WIDTH, HEIGHT] = [160, 120];
const PICTURES = 8;
/** The first two have no earlier ones, or only one to know the noise from. */
const SETTLED = 2;
/** Pixels around the body in which a cell is neither its nor the room's: cells have two, and sums are over neighbours. */
const EDGE = 4;

function make(step: readonly [number, number], noise: number, contrast = 30): Made {
  return {
    width: WIDTH,
    height: HEIGHT,
    at: [80 - 3.5 * step[0], 60 - 3.5 * step[1]],
    step,
    half: [24, 34],
    body: createTexture(1, contrast),
    room: createTexture(2, contrast),
    noise,
    random: createRandom(5),
  };
}

/** Shares: of the body's cells that move its way within 20 degrees, of the room's that move. */
function judge(made: Made, light: (picture: number) => number = () => 1): { right: number; wrong: number } {
  const finder = new MotionFinder(WIDTH, HEIGHT, { halfLifeS: 1e-9 });
  const counts = { body: 0, right: 0, room: 0, wrong: 0 };
  for (let p = 0; p < PICTURES; p++) {
    finder.next({ width: WIDTH, height: HEIGHT, values: makePicture(made, p, light(p)) }, p / 30);
    if (p < SETTLED) continue;
    for (let i = 0; i < finder.presence.length; i++) {
      const [x, y] = [2 * (i % finder.columns) + 0.5, 2 * Math.floor(i / finder.columns) + 0.5];
      const radii = [p - 1, p].map((picture) => insideOf(made, picture, x, y));
      const edge = EDGE / Math.min(...made.half);
      const moves = (finder.presence[i] as number) > 0.5;
      if (Math.max(...radii) < 1 - edge / 2) {
        counts.body++;
        if (moves && turn(finder, i, made.step) < 20) counts.right++;
      } else if (Math.min(...radii) > 1 + edge) {
        counts.room++;
        if (moves) counts.wrong++;
      }
    }
  }
  expect(Math.min(counts.body, counts.room)).toBeGreaterThan(1000);
  return { right: counts.right / counts.body, wrong: counts.wrong / counts.room };
}

/** Degrees between a cell's velocity and a step. */
function turn(finder: MotionFinder, cell: number, [stepX, stepY]: readonly [number, number]): number {
  const [x, y] = [(finder.along[cell] as number) * WIDTH, -(finder.up[cell] as number) * HEIGHT];
  const found = Math.atan2(y, x) - Math.atan2(stepY, stepX);
  return (Math.abs(Math.atan2(Math.sin(found), Math.cos(found))) * 180) / Math.PI;
}

for (const step of [
  [1, 0],
  [3, 0],
  [0, -2],
  [2, 2],
  [-6, 3],
  [-9, 0],
] as const) {
  test(`a body that moves by ${step} pixels is found, the room behind it stays`, () => {
    for (const noise of [0, 2, 4]) {
      const { right, wrong } = judge(make(step, noise));
      expect(right, `noise ${noise}`).toBeGreaterThan(0.9);
      expect(wrong, `noise ${noise}`).toBeLessThan(0.005);
    }
  });
}

test("a body with little texture is found all the same", () => {
  const { right, wrong } = judge(make([3, 0], 2, 12));
  expect(right).toBeGreaterThan(0.9);
  expect(wrong).toBeLessThan(0.005);
});

test("the speed is that of the body", () => {
  const finder = new MotionFinder(WIDTH, HEIGHT);
  const made = make([3, -2], 2);
  for (let p = 0; p < PICTURES; p++)
    finder.next({ width: WIDTH, height: HEIGHT, values: makePicture(made, p) }, p / 30);
  const middle = 30 * finder.columns + 40;
  expect(finder.along[middle]).toBeGreaterThan(((3 * 30) / WIDTH) * 0.85);
  expect(finder.along[middle]).toBeLessThan(((3 * 30) / WIDTH) * 1.15);
  expect(finder.up[middle]).toBeGreaterThan(((2 * 30) / HEIGHT) * 0.85);
  expect(finder.up[middle]).toBeLessThan(((2 * 30) / HEIGHT) * 1.15);
});

test("noise alone moves nothing", () => {
  for (const noise of [1, 4, 8]) expect(judge(make([0, 0], noise)).wrong).toBeLessThan(0.005);
});

test("light that flickers moves nothing, and hides little of what moves", () => {
  const flicker = (picture: number): number => (picture % 2 === 0 ? 1 : 1.08);
  expect(judge(make([0, 0], 2), flicker).wrong).toBeLessThan(0.005);
  const { right, wrong } = judge(make([3, 0], 2), flicker);
  expect(right).toBeGreaterThan(0.85);
  expect(wrong).toBeLessThan(0.005);
});

test("a wall without texture that is all there is moves nothing", () => {
  const flat = { ...make([3, 0], 3), body: () => 120, room: () => 120 };
  const finder = new MotionFinder(WIDTH, HEIGHT);
  for (let p = 0; p < PICTURES; p++)
    finder.next({ width: WIDTH, height: HEIGHT, values: makePicture(flat, p) }, p / 30);
  expect(finder.presence.filter((share) => share > 0.5).length).toBeLessThan(0.005 * finder.presence.length);
});

test("when all of the picture moves, all of it is found", () => {
  const texture = createTexture(3, 30);
  const made = { ...make([4, 0], 2), at: [80, 60] as const, half: [900, 900] as const, body: texture };
  const { columns, rows, presence, along } = (() => {
    const finder = new MotionFinder(WIDTH, HEIGHT);
    for (let p = 0; p < PICTURES; p++)
      finder.next({ width: WIDTH, height: HEIGHT, values: makePicture(made, p) }, p / 30);
    return finder;
  })();
  let found = 0;
  for (let i = 0; i < columns * rows; i++) if (presence[i] === 1 && (along[i] as number) > 0) found++;
  expect(found).toBeGreaterThan(0.85 * columns * rows);
});

test("what has stopped is half gone after the half-life, and gone in the end", () => {
  const finder = new MotionFinder(WIDTH, HEIGHT, { halfLifeS: 0.1 });
  const made = make([4, 0], 0);
  for (let p = 0; p < 5; p++)
    finder.next({ width: WIDTH, height: HEIGHT, values: makePicture(made, p) }, p / 30);
  const last = makePicture(made, 4);
  const middle = 30 * finder.columns + 40;
  expect(finder.presence[middle]).toBe(1);
  let any = true;
  for (let p = 1; p <= 3; p++)
    any = finder.next({ width: WIDTH, height: HEIGHT, values: last }, 4 / 30 + p / 30);
  expect(finder.presence[middle]).toBeCloseTo(0.5, 5);
  expect(any).toBe(true);
  for (let p = 4; p <= 30; p++)
    any = finder.next({ width: WIDTH, height: HEIGHT, values: last }, 4 / 30 + p / 30);
  expect(any).toBe(false);
});

test("after a gap the picture is the first one again", () => {
  const finder = new MotionFinder(WIDTH, HEIGHT);
  const made = make([4, 0], 0);
  const take = (p: number, timeS: number): boolean =>
    finder.next({ width: WIDTH, height: HEIGHT, values: makePicture(made, p) }, timeS);
  take(0, 0);
  expect(take(1, 0.033)).toBe(true);
  expect(take(5, 2)).toBe(false);
  expect(take(6, 2.033)).toBe(true);
});
