import { expect, test } from "vitest";
import type { ViewerInfo } from "../src/protocol/messages.js";
import {
  changesTold,
  FREE,
  mayAct,
  maySetParameters,
  mayUse,
  moderationsOf,
  type Standing,
} from "../src/protocol/standing.js";

const PLAYS: Standing = { role: "play", muted: false, locked: [], openParameters: false };
const person = (viewerId: number, role: ViewerInfo["role"], more: Partial<ViewerInfo> = {}): ViewerInfo => ({
  viewerId,
  name: `v${viewerId}`,
  colour: 0,
  role,
  muted: false,
  given: false,
  ...more,
});

test("locks bind players, muting and watching bind whoever it is", () => {
  expect(mayUse({ ...PLAYS, locked: ["dye"] }, "dye")).toBe(false);
  expect(mayUse({ ...PLAYS, locked: ["dye"] }, "push")).toBe(true);
  expect(mayUse({ ...FREE, locked: ["dye"] }, "dye")).toBe(true);
  expect(mayUse({ ...FREE, muted: true }, "push")).toBe(false);
  expect(mayAct({ ...PLAYS, role: "watch" })).toBe(false);
  expect(maySetParameters(PLAYS)).toBe(false);
  expect(maySetParameters({ ...PLAYS, openParameters: true })).toBe(true);
  expect(maySetParameters({ ...PLAYS, role: "watch", openParameters: true })).toBe(false);
  expect(maySetParameters(FREE)).toBe(true);
});

test("an owner is offered what the server would do", () => {
  const me = person(1, "own");
  expect(moderationsOf(undefined, person(2, "play"), 1)).toEqual([]);
  expect(moderationsOf(person(1, "play"), person(2, "play"), 1)).toEqual([]);
  expect(moderationsOf(me, person(2, "play"), 1)).toEqual(["mute", "own", "watch", "remove"]);
  expect(moderationsOf(me, person(2, "watch", { muted: true }), 1)).toEqual([
    "unmute",
    "own",
    "play",
    "remove",
  ]);
  expect(moderationsOf(me, person(2, "own"), 2)).toEqual([]);
  expect(moderationsOf(me, person(2, "own", { given: true }), 2)).toEqual([
    "mute",
    "play",
    "watch",
    "remove",
  ]);
  expect(moderationsOf(me, me, 1)).toEqual([]);
  expect(moderationsOf(me, me, 2)).toEqual(["play", "watch"]);
});

test("whoever is affected is told what has changed, and nothing else", () => {
  expect(changesTold(PLAYS, { ...PLAYS })).toEqual([]);
  expect(changesTold(PLAYS, { ...PLAYS, muted: true })).toEqual([
    "An owner has muted you: what you do here has no effect.",
  ]);
  expect(changesTold({ ...PLAYS, muted: true }, PLAYS)).toEqual(["You are no longer muted."]);
  expect(changesTold(PLAYS, { ...PLAYS, locked: ["dye", "tilt", "camera"] })).toEqual([
    "The owners have locked dyeing, tilting the tank and moving it by camera for now.",
  ]);
  expect(changesTold({ ...PLAYS, locked: ["dye"] }, { ...PLAYS, openParameters: true })).toEqual([
    "The owners have unlocked dyeing.",
    "You may set this tank's parameters now.",
  ]);
  expect(changesTold({ ...PLAYS, openParameters: true }, PLAYS)).toEqual([
    "Parameters are the owners' again.",
  ]);
  // Locks are nothing to owners and to those who watch.
  expect(changesTold(FREE, { ...FREE, locked: ["dye"] })).toEqual([]);
  expect(changesTold(PLAYS, { ...PLAYS, role: "own" })[0]).toMatch(/own this tank/);
  expect(changesTold(FREE, { ...FREE, role: "watch" })[0]).toMatch(/only watch/);
  expect(changesTold({ ...PLAYS, role: "watch" }, PLAYS)[0]).toMatch(/may play/);
});
