import { expect, test } from "vitest";
import type { SessionState } from "../src/protocol/messages.js";
import { StateTrack } from "../src/state/state-track.js";

const track = (times: number[], reads = { count: 0 }): StateTrack =>
  new StateTrack(
    times.map((atMs) => ({
      get atMs() {
        reads.count++;
        return atMs;
      },
      state: { scene: `from ${atMs}` } as SessionState,
    })),
  );

test("the newest state at a moment, forwards and after a seek back", () => {
  const states = track([10, 20, 20, 30]);
  const scene = (ms: number): string | undefined => states.at(ms)?.scene;
  expect([0, 10, 19, 20, 29, 300].map(scene)).toEqual([
    "from 10",
    "from 10",
    "from 10",
    "from 20",
    "from 20",
    "from 30",
  ]);
  expect([25, 5, 30].map(scene)).toEqual(["from 20", "from 10", "from 30"]);
  expect(track([]).at(5)).toBe(null);
});

test("a moment after the last one isn't searched for among all", () => {
  const reads = { count: 0 };
  const states = track(
    Array.from({ length: 10_000 }, (_, i) => i),
    reads,
  );
  states.at(9000);
  reads.count = 0;
  for (let ms = 9000; ms < 9100; ms++) states.at(ms);
  expect(reads.count).toBeLessThan(400);
});
