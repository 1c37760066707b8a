import { expect, test } from "vitest";
import { Player } from "../src/state/player.js";
import type { RecordedFrame, Recording } from "../src/state/recording.js";

/** K: key frame, b: base, e: extra; one each 100 ms. */
function recordingOf(kinds: string): Recording {
  const frames: RecordedFrame[] = [...kinds].map((kind, i) => ({
    atMs: 100 * i,
    isKey: kind === "K",
    isExtra: kind === "e",
    offset: i,
    byteCount: 1,
  }));
  return {
    frames,
    states: [],
    measured: [],
    durationMs: 100 * (kinds.length - 1),
    startedUnixMs: 0,
    problem: "",
    bytesOf: ({ offset }) => new Uint8Array([offset]).buffer,
  };
}

function playerOf(kinds: string): { player: Player; pushed: number[]; restarts: () => number; run(): void } {
  const pushed: number[] = [];
  let restarts = 0;
  const player = new Player(recordingOf(kinds), {
    push: (bytes) => void pushed.push(new Uint8Array(bytes)[0] as number),
    restart: () => {
      restarts++;
    },
  });
  const run = (): void => {
    let before: number;
    do {
      before = pushed.length;
      player.settled();
    } while (pushed.length > before);
  };
  return { player, pushed, restarts: () => restarts, run };
}

test("frames are given out in their time, one at a time", () => {
  const { player, pushed } = playerOf("Kbebb");
  player.tick(1000);
  player.tick(1010);
  expect(pushed).toEqual([0]);
  player.settled();
  for (let now = 1010; now <= 1250; now += 20) player.tick(now);
  expect(pushed).toEqual([0, 1]);
  player.settled();
  expect(pushed).toEqual([0, 1, 2]);
});

test("at twice the speed twice as much is shown, and the end stops it", () => {
  const { player, pushed, run } = playerOf("Kbbbb");
  player.speed = 2;
  for (let now = 0; now <= 400; now += 50) {
    player.tick(now);
    run();
  }
  expect(pushed).toEqual([0, 1, 2, 3, 4]);
  expect([player.playing, player.positionMs]).toEqual([false, 400]);
  player.toggle();
  expect([player.playing, player.positionMs]).toEqual([true, 0]);
});

test("a moment is reached from the key frame before it, without extra frames", () => {
  const { player, pushed, restarts, run } = playerOf("KbbKebebeb");
  player.playing = false;
  player.seek(750);
  expect(player.catchingUp).toBe(true);
  player.tick(0);
  run();
  expect(pushed).toEqual([3, 5, 7]);
  expect(player.catchingUp).toBe(false);
  player.seek(150);
  player.tick(10);
  run();
  expect(pushed.slice(3)).toEqual([0, 1]);
  expect(restarts()).toBe(2);
});

test("a moment is reached once its frame is decoded, not while it is on its way", () => {
  const { player, pushed } = playerOf("KbbK");
  player.playing = false;
  player.tick(0);
  player.settled();
  expect(player.catchingUp).toBe(false);
  player.seek(100);
  player.tick(10);
  expect([pushed, player.catchingUp]).toEqual([[0, 1], true]);
  player.seek(110); // the same frame
  expect(player.catchingUp).toBe(true);
  player.settled();
  expect([pushed, player.catchingUp]).toEqual([[0, 1], false]);
});

test("a little ahead goes on from where it is; an extra frame may be where it ends", () => {
  const { player, pushed, restarts, run } = playerOf("Kbebebb");
  player.playing = false;
  player.tick(0);
  run();
  player.seek(450);
  player.tick(10);
  run();
  expect(pushed).toEqual([0, 1, 3, 4]);
  expect(restarts()).toBe(0);
});

test("whatever is asked for lies in the recording", () => {
  const { player } = playerOf("Kbb");
  for (const [asked, got] of [
    [-5, 0],
    [1e9, 200],
    [Number.NaN, 0],
  ] as const) {
    player.seek(asked);
    expect(player.positionMs).toBe(got);
  }
});
