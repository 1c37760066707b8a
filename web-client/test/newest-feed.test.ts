import { expect, test } from "vitest";
import { NewestFeed } from "../src/state/newest-feed.js";

interface Item {
  of: number;
  copied: boolean;
}

function feed(): { made: NewestFeed<Item>; copies: number[]; left: () => number } {
  const copies: number[] = [];
  let left = 0;
  const made = new NewestFeed<Item>(
    (item) => {
      copies.push(item.of);
      return { ...item, copied: true };
    },
    () => left++,
  );
  return { made, copies, left: () => left };
}

const item = (of: number): Item => ({ of, copied: false });

test("several questions at once are answered one after the other", async () => {
  const { made } = feed();
  const answers = Promise.all([made.next(), made.next(), made.next()]);
  made.give(item(1));
  made.give(item(2));
  made.end();
  expect((await answers).map(({ value }) => value?.of)).toEqual([1, 2, undefined]);
});

test("only what is asked for is copied; what is newer takes its place", async () => {
  const { made, copies } = feed();
  for (const of of [1, 2, 3]) made.give(item(of));
  expect(copies).toEqual([]);
  expect((await made.next()).value).toEqual({ of: 3, copied: true });
  const later = made.next();
  made.give(item(4));
  expect((await later).value).toEqual({ of: 4, copied: true });
  expect(copies).toEqual([3, 4]);
});

test("after the end the kept one can be had, after leaving nothing", async () => {
  const { made, left } = feed();
  made.give(item(1));
  made.end();
  expect((await made.next()).value.of).toBe(1);
  expect((await made.next()).done).toBe(true);
  const { made: other, left: otherLeft } = feed();
  other.give(item(1));
  await other.return();
  expect((await other.next()).done).toBe(true);
  expect([left(), otherLeft()]).toEqual([0, 1]);
});
