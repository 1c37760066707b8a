import { expect, test } from "vitest";
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS, Backoff } from "../src/net/backoff.js";

test("waits double up to the cap and start again after a success", () => {
  const backoff = new Backoff(() => 1);
  expect([1, 2, 3, 4, 5, 6, 7].map(() => backoff.next())).toEqual([
    500, 1000, 2000, 4000, 8000, 10000, 10000,
  ]);
  backoff.reset();
  expect(backoff.next()).toBe(BACKOFF_FIRST_MS);
});

test("jitter spreads a wait over its whole range", () => {
  expect(new Backoff(() => 0).next()).toBe(0);
  const half = new Backoff(() => 0.5);
  for (let i = 0; i < 100; i++) half.next();
  expect(half.next()).toBe(BACKOFF_MAX_MS / 2);
});
