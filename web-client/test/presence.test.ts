import { expect, test } from "vitest";
import type { Presence, PresencePoint } from "../src/protocol/messages.js";
import { GLIDE_MS, PresenceSender, PresenceTracks, SEND_EVERY_MS } from "../src/state/presence.js";

const cursor = (x: number, pressed = false): PresencePoint[] => [
  { part: "cursor", position_m: [x, 0.5, 0.25], pressed, tool: "push" },
];

function recorder(takes = true): { sent: PresencePoint[][]; sender: PresenceSender } {
  const sent: PresencePoint[][] = [];
  const sender = new PresenceSender((points) => {
    if (takes) sent.push([...points]);
    return takes;
  });
  return { sent, sender };
}

test("a cursor is sent when it moves, and no more often than the server passes on", () => {
  const { sent, sender } = recorder();
  for (let ms = 0; ms < 1000; ms += 10) sender.tick(cursor(ms / 1000), ms);
  expect(sent.length).toBe(1000 / SEND_EVERY_MS);
  const before = sent.length;
  for (let ms = 1000; ms < 2000; ms += 10) sender.tick(cursor(0.99), ms);
  expect(sent.length).toBe(before + 1); // the last move, once
  sender.tick(cursor(0.99, true), 2000);
  expect(sent.at(-1)?.[0]?.pressed).toBe(true);
  sender.tick([], 2100);
  expect(sent.at(-1)).toEqual([]);
});

test("a point that changes afterwards was sent as it was", () => {
  const { sent, sender } = recorder();
  const at = [0.1, 0.2, 0.3];
  sender.tick([{ part: "cursor", position_m: at }], 0);
  at[0] = 0.9;
  sender.tick([{ part: "cursor", position_m: at }], 100);
  expect(sent.map((points) => points[0]?.position_m[0])).toEqual([0.1, 0.9]);
});

test("a head that turns is news, one that holds still isn't", () => {
  const { sent, sender } = recorder();
  const head = (turn: number): PresencePoint[] => [
    { part: "head", position_m: [0, 1, 0], orientation: [0, Math.sin(turn), 0, Math.cos(turn)] },
  ];
  sender.tick(head(0), 0);
  sender.tick(head(0), 100);
  expect(sent.length).toBe(1);
  sender.tick(head(0.1), 200);
  expect(sent.length).toBe(2);
});

test("what couldn't be sent is tried again", () => {
  const refused = recorder(false);
  refused.sender.tick(cursor(1), 0);
  let calls = 0;
  const sender = new PresenceSender(() => ++calls > 1);
  for (let ms = 0; ms < 40; ms += 10) sender.tick(cursor(1), ms);
  expect(calls).toBe(2);
});

const said = (viewerId: number, x: number): Presence => ({
  viewerId,
  part: "cursor",
  positionM: [x, 0, 0],
  orientation: [0, 0, 0, 0],
  pressed: false,
  tool: "push",
});

test("others glide to where they are said to be, and one's own points aren't shown", () => {
  const tracks = new PresenceTracks();
  tracks.take([said(1, 0), said(2, 5)], 2, 0);
  tracks.take([said(1, 1), said(2, 5)], 2, 100);
  const at = (nowMs: number, calm = false): number[] =>
    [...tracks.tick(nowMs, calm)].map((track) => track.at[0]);
  expect(at(100)).toEqual([0]);
  expect(at(100 + GLIDE_MS / 2)[0]).toBeCloseTo(0.5);
  expect(at(100 + GLIDE_MS)).toEqual([1]);
  tracks.take([said(1, 3)], 2, 1000);
  expect(at(1000, true)).toEqual([3]); // who asked for less motion sees none
});

test("others turn the short way to how they are said to be turned", () => {
  const tracks = new PresenceTracks();
  const turned = (...orientation: number[]): Presence[] => [{ ...said(1, 0), orientation }];
  tracks.take(turned(0, 0, 0, 0), 2, 0);
  expect([...tracks.tick(0, false)][0]?.turn).toEqual([0, 0, 0, 1]);
  const [sine, cosine] = [Math.sin(0.4), Math.cos(0.4)];
  tracks.take(turned(0, -sine, 0, -cosine), 2, 100); // the same as sine and cosine
  const [half] = [...tracks.tick(100 + GLIDE_MS / 2, false)];
  expect(Math.abs(half?.turn[1] as number)).toBeCloseTo(Math.sin(0.2), 3);
  expect(Math.abs(half?.turn[3] as number)).toBeCloseTo(Math.cos(0.2), 3);
  const [done] = [...tracks.tick(100 + GLIDE_MS, false)];
  expect(Math.abs(done?.turn[1] as number)).toBeCloseTo(sine, 6);
});

test("whoever is no longer named, or gone, is no longer shown", () => {
  const tracks = new PresenceTracks();
  tracks.take([said(1, 0), said(3, 0)], 2, 0);
  tracks.take([said(3, 0)], 2, 50);
  expect([...tracks.tick(60, false)].map((track) => track.viewerId)).toEqual([3]);
  tracks.keep(new Set([2]));
  expect([...tracks.tick(60, false)]).toEqual([]);
});
