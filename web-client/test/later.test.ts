import { expect, test } from "vitest";
import { later } from "../src/app/later.js";

interface Events {
  onNumber(value: number): void;
  onPair(a: string, b: number): void;
}

function listener(log: unknown[][]): Events {
  return { onNumber: (value) => log.push([value]), onPair: (a, b) => log.push([a, b]) };
}

test("what happens before the listener comes is told in its order, what happens after that at once", () => {
  const log: unknown[][] = [];
  const { events, attach } = later<Events>(["onNumber", "onPair"]);
  events.onNumber(1);
  events.onPair("a", 2);
  events.onNumber(3);
  expect(log).toEqual([]);
  attach(listener(log));
  expect(log).toEqual([[1], ["a", 2], [3]]);
  events.onNumber(4);
  expect(log.at(-1)).toEqual([4]);
});

test("events that nobody ever takes don't pile up without end", () => {
  const log: unknown[][] = [];
  const { events, attach } = later<Events>(["onNumber", "onPair"]);
  for (let i = 0; i < 5000; i++) events.onNumber(i);
  attach(listener(log));
  expect(log).toHaveLength(1000);
});

test("of what says how things are only the newest of each kind is told, in the order of the newest", () => {
  const log: unknown[][] = [];
  const { events, attach } = later<Events>(["onNumber", "onPair"], true);
  events.onNumber(1);
  events.onPair("a", 2);
  events.onNumber(3);
  attach(listener(log));
  expect(log).toEqual([["a", 2], [3]]);
});
