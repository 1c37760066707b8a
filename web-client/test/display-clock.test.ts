import { expect, test } from "vitest";
import { type ClockFrame, DisplayClock, LEAD_MAX_S } from "../src/state/display-clock.js";

function frame(step: number, change: Partial<ClockFrame> = {}): ClockFrame {
  return { epoch: 1, simTimeS: step / 60, realtimeFactor: 1, paused: false, ...change };
}

/** A small generator with a fixed seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test("follows an even stream at its pace", () => {
  const clock = new DisplayClock();
  let before = 0;
  for (let ms = 0, step = 0; ms < 3000; ms += 4) {
    if (ms >= (step * 1000) / 60) clock.onFrame(frame(step++), ms);
    clock.tick(ms);
    if (ms > 1000) expect(clock.shownS - before).toBeCloseTo(0.004, 3);
    before = clock.shownS;
  }
  expect(clock.shownS).toBeCloseTo(3, 1);
});

test("a recording is shown at its speed, and stands where it is stopped", () => {
  const clock = new DisplayClock();
  clock.speed = 2;
  for (let ms = 0, step = 0; ms < 1000; ms += 4) {
    if (ms >= (step * 1000) / 120) clock.onFrame(frame(step++), ms);
    clock.tick(ms);
  }
  expect(clock.shownS).toBeCloseTo(2, 1);
  clock.speed = 0;
  clock.tick(1000);
  const stopped = clock.shownS;
  for (let ms = 1000; ms < 2000; ms += 4) clock.tick(ms);
  expect(clock.shownS).toBe(stopped);
});

test("never goes backwards and stays near, however unevenly frames arrive", () => {
  const clock = new DisplayClock();
  const next = random(7);
  let step = 0;
  let arrival = 0;
  let before = 0;
  for (let ms = 0; ms < 5000; ms += 7) {
    while (arrival <= ms) {
      clock.onFrame(frame(step++), arrival);
      arrival = (step * 1000) / 60 + 40 * next();
    }
    const lead = clock.tick(ms);
    expect(Math.abs(lead)).toBeLessThanOrEqual(LEAD_MAX_S);
    expect(clock.shownS).toBeGreaterThanOrEqual(before);
    before = clock.shownS;
  }
  expect(Math.abs(clock.shownS - step / 60)).toBeLessThan(0.08);
});

test("stands still soon when no more frames come", () => {
  const clock = new DisplayClock();
  clock.onFrame(frame(0), 0);
  for (let ms = 0; ms <= 3000; ms += 16) clock.tick(ms);
  const stood = clock.shownS;
  expect(stood).toBeLessThanOrEqual(LEAD_MAX_S + 1e-3);
  clock.tick(4000);
  expect(clock.shownS).toBeCloseTo(stood, 3);
});

test("a paused tank is drawn exactly where its frame has it", () => {
  const clock = new DisplayClock();
  clock.onFrame(frame(10), 0);
  clock.tick(20);
  clock.onFrame(frame(11, { paused: true }), 30);
  expect(clock.tick(40)).toBe(0);
  expect(clock.tick(900)).toBe(0);
});

test("a slow tank is shown at its own pace", () => {
  const clock = new DisplayClock();
  for (let step = 0, ms = 0; ms < 4000; ms += 5) {
    if (ms >= (step * 1000) / 30) clock.onFrame(frame(step++, { realtimeFactor: 0.5 }), ms);
    clock.tick(ms);
  }
  expect(clock.shownS).toBeCloseTo(2, 1);
});

test("a new epoch starts the clock afresh", () => {
  const clock = new DisplayClock();
  clock.onFrame(frame(600), 0);
  clock.tick(16);
  clock.onFrame(frame(0, { epoch: 2 }), 20);
  clock.tick(20);
  expect(clock.shownS).toBeCloseTo(0, 6);
});

test("after a gap the clock jumps forward instead of racing", () => {
  const clock = new DisplayClock();
  clock.onFrame(frame(0), 0);
  clock.tick(10);
  clock.onFrame(frame(600), 10_000);
  clock.tick(10_000);
  expect(clock.shownS).toBeCloseTo(10, 2);
});

test("shows a stream of ten frames a second evenly, changing between them where both agree", () => {
  const clock = new DisplayClock();
  const [delayMs, gapMs, pictureMs] = [300, 100, 8];
  const even = 9.81 * (pictureMs / 1000) ** 2;
  let [frameS, shown, step] = [0, Number.NaN, Number.NaN];
  for (let ms = 0, next = 0; ms < 6000; ms += pictureMs) {
    if (ms >= next + delayMs) {
      frameS = next / 1000;
      clock.onFrame(frame(60 * frameS), next + delayMs);
      next += gapMs;
    }
    const lead = clock.tick(ms);
    // What falls is drawn at its place in the frame, moved on by its velocity there.
    const place = 0.5 * 9.81 * frameS ** 2 + 9.81 * frameS * lead;
    const change = place - shown - step;
    if (ms > 4000) expect(Math.abs(change)).toBeLessThan(20 * even);
    [step, shown] = [place - shown, place];
  }
  expect(clock.shownS).toBeGreaterThan(6 - 0.3 - 0.12);
});

/**
 * A tank in slow motion, of which a frame of each step arrives up to a few hundredths of a second late; what falls in it.
 * @return by how much what is shown moves in each picture, over what it would move by evenly: least and most
 */
function fallsSlowly(speed: number, fromMs: number, untilMs: number): { least: number; most: number } {
  const clock = new DisplayClock();
  const next = random(11);
  const pictureMs = 1000 / 72;
  clock.ask(speed);
  let [arrivalMs, frameS, place, step, least, most] = [0, 0, Number.NaN, 0, Infinity, -Infinity];
  for (let ms = 0; ms < untilMs; ms += pictureMs) {
    while (arrivalMs <= ms) {
      frameS = step / 60;
      clock.onFrame(frame(step++, { realtimeFactor: speed }), arrivalMs);
      arrivalMs = (step * 1000) / 60 / speed + 30 * next();
    }
    const lead = clock.tick(ms);
    expect(Math.abs(lead)).toBeLessThanOrEqual(LEAD_MAX_S);
    const now = 0.5 * 9.81 * frameS ** 2 + 9.81 * frameS * lead;
    const even = 9.81 * clock.shownS * (pictureMs / 1000) * speed;
    if (ms > fromMs) {
      least = Math.min(least, (now - place) / even);
      most = Math.max(most, (now - place) / even);
    }
    place = now;
  }
  return { least, most };
}

test.each([0.05, 0.1, 0.25, 0.5])("slow motion at %s is as even as the tank's own time", (speed) => {
  const { least, most } = fallsSlowly(speed, 3000, 20_000);
  expect(least).toBeGreaterThan(0.5);
  expect(most).toBeLessThan(1.5);
});

test("another speed is followed at once, and nothing goes back", () => {
  const clock = new DisplayClock();
  const pictureMs = 1000 / 72;
  let [nextMs, step, speed, before, changedMs] = [0, 0, 1, 0, 0];
  for (let ms = 0; ms < 20_000; ms += pictureMs) {
    const wanted = ms < 5000 ? 1 : ms < 12_000 ? 0.05 : ms < 16_000 ? 2 : 0.5;
    if (wanted !== speed) {
      nextMs = ms + ((nextMs - ms) * speed) / wanted;
      [speed, changedMs] = [wanted, ms];
      clock.ask(speed);
    }
    for (; nextMs <= ms; nextMs += 1000 / 60 / speed)
      clock.onFrame(frame(step++, { realtimeFactor: speed }), nextMs);
    clock.tick(ms);
    const moved = clock.shownS - before;
    before = clock.shownS;
    expect(moved).toBeGreaterThanOrEqual(0);
    const even = (pictureMs / 1000) * speed;
    expect(moved).toBeLessThan(1.6 * even + 1e-9);
    if (ms > changedMs + 1500) expect(moved).toBeGreaterThan(0.6 * even);
  }
});
