import { expect, test } from "vitest";
import { addBubble, dampingPerS, durationS, frequencyHz } from "../src/sound/bubbles.js";

const RATE = 48_000;

/** A bubble by itself. */
function ring(radiusM: number, { rise = 0, atS = 0, seconds = durationS(radiusM) } = {}): Float32Array {
  const samples = new Float32Array(Math.ceil(seconds * RATE));
  addBubble(samples, RATE, { radiusM, amplitude: 1, atS, rise });
  return samples;
}

/** Where the samples rise through zero, between samples, seconds. */
function risesThroughZero(samples: Float32Array): number[] {
  const found: number[] = [];
  for (let i = 1; i < samples.length; i++) {
    const [before, now] = [samples[i - 1] as number, samples[i] as number];
    if (before < 0 && now >= 0) found.push((i - now / (now - before)) / RATE);
  }
  return found;
}

test("a bubble of 3.26 mm rings at a kilohertz, as Minnaert found", () => {
  expect(frequencyHz(0.00326)).toBeGreaterThan(990);
  expect(frequencyHz(0.00326)).toBeLessThan(1010);
  for (const radiusM of [0.001, 0.003, 0.01]) {
    const times = risesThroughZero(ring(radiusM));
    const periods = times.length - 1;
    const found = periods / ((times[periods] as number) - (times[0] as number));
    expect(Math.abs(found / frequencyHz(radiusM) - 1), `${radiusM} m`).toBeLessThan(0.005);
  }
});

test("it fades by its damping: 87 a second at 3 mm, faster where it is smaller", () => {
  expect(dampingPerS(0.003)).toBeCloseTo(0.13 / 0.003 + 0.0072 / 0.003 ** 1.5, 9);
  expect(dampingPerS(0.003)).toBeGreaterThan(86);
  expect(dampingPerS(0.003)).toBeLessThan(88);
  for (const radiusM of [0.001, 0.003, 0.01]) {
    const samples = ring(radiusM);
    // Its energy in each of two spans of ten periods.
    const span = Math.round((10 / frequencyHz(radiusM)) * RATE);
    const energy = (from: number): number =>
      samples.subarray(from, from + span).reduce((sum, one) => sum + one * one, 0);
    const found = (Math.log(energy(0) / energy(span)) / 2 / span) * RATE;
    expect(Math.abs(found / dampingPerS(radiusM) - 1), `${radiusM} m`).toBeLessThan(0.03);
    expect(Math.abs(samples[samples.length - 1] as number)).toBeLessThan(0.0011);
  }
});

test("one at the surface rises in pitch", () => {
  const times = risesThroughZero(ring(0.003, { rise: 0.1 }));
  const periods = times.slice(1).map((time, i) => time - (times[i] as number));
  expect(periods.length).toBeGreaterThan(20);
  expect(periods[periods.length - 1] as number).toBeLessThan((periods[0] as number) * 0.75);
});

test("it begins when it is due, adds to what is there, and ends with the samples", () => {
  const late = ring(0.003, { atS: 0.01, seconds: 0.02 });
  expect(late.subarray(0, 0.01 * RATE).every((one) => one === 0)).toBe(true);
  expect(late.subarray(0.01 * RATE).some((one) => Math.abs(one) > 0.5)).toBe(true);
  const twice = ring(0.003, { seconds: 0.02 });
  addBubble(twice, RATE, { radiusM: 0.003, amplitude: 1, atS: 0, rise: 0 });
  expect(twice[20]).toBeCloseTo(2 * (ring(0.003)[20] as number), 5);
});
