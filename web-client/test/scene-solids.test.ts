import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readSolids, type Solid } from "../src/state/scene-solids.js";

function one(solid: object): Solid {
  const solids = readSolids({ solids: [solid] });
  expect(solids).toHaveLength(1);
  return solids[0] as Solid;
}

test("every shape is read with its size", () => {
  const shape = (value: object) => one({ shape: value }).shape;
  expect(shape({ box: { size_m: [1, 2, 3] } })).toEqual({ kind: "box", size: [1, 2, 3] });
  expect(shape({ sphere: { radius_m: 0.5 } })).toEqual({ kind: "sphere", radius: 0.5 });
  expect(shape({ capsule: { radius_m: 0.5, length_m: 2 } })).toEqual({
    kind: "capsule",
    radius: 0.5,
    length: 2,
  });
  expect(shape({ cylinder: { radius_m: 0.5, height_m: 2 } })).toEqual({
    kind: "cylinder",
    radius: 0.5,
    height: 2,
  });
  expect(shape({ mesh: { file: "a/duck.obj" } })).toEqual({ kind: "mesh", file: "a/duck.obj", scale: 1 });
  expect(
    shape({
      heightfield: {
        spacing_m: 0.25,
        heights_m: [
          [0, 1],
          [-1, 2],
        ],
      },
    }),
  ).toEqual({
    kind: "heights",
    spacing: 0.25,
    rows: [
      [0, 1],
      [-1, 2],
    ],
  });
  expect(shape({ heightfield: { spacing_m: 0.25, file: "hills.pgm", height_m: 3 } })).toEqual({
    kind: "picture",
    spacing: 0.25,
    file: "hills.pgm",
    white: 3,
  });
});

test("what a solid leaves out has the schema's defaults", () => {
  expect(one({ shape: { sphere: { radius_m: 1 } } })).toEqual({
    index: 0,
    shape: { kind: "sphere", radius: 1 },
    inverted: false,
    position: [0, 0, 0],
    rotation: [0, 0, 0, 1],
    moves: false,
    colour: 0x9ea2a8,
  });
});

test("degrees turn about x, then y, then z", () => {
  const half = Math.SQRT1_2;
  const turned = (value: object) => one({ shape: { sphere: { radius_m: 1 } }, ...value }).rotation;
  const close = (found: number[], expected: number[]) =>
    expected.forEach((part, i) => {
      expect(found[i]).toBeCloseTo(part, 12);
    });
  close(turned({ rotation_deg: [90, 0, 0] }), [half, 0, 0, half]);
  close(turned({ rotation_deg: [0, 0, -90] }), [0, 0, -half, half]);
  // z * x: turning x to y first leaves the second turn about the tank's own z.
  close(turned({ rotation_deg: [90, 0, 90] }), [0.5, 0.5, 0.5, 0.5]);
  close(turned({ rotation: [0, 0, 2, 0] }), [0, 0, 1, 0]);
});

test("what moves begins where its motion does", () => {
  const paddle = one({
    shape: { box: { size_m: [1, 1, 1] } },
    motion: "keyframes",
    keyframes: [{ time_s: 0, position_m: [1, 2, 3], rotation: [1, 0, 0, 0] }],
  });
  expect(paddle).toMatchObject({ moves: true, position: [1, 2, 3], rotation: [1, 0, 0, 0] });
  const duck = one({
    shape: { sphere: { radius_m: 1 } },
    motion: "free",
    position_m: [1, 0, 0],
    colour: "#F2c230",
  });
  expect(duck).toMatchObject({ moves: true, position: [1, 0, 0], colour: 0xf2c230 });
});

test("what can't be understood is left out, and the others keep their index", () => {
  const solids = readSolids({
    solids: [
      null,
      { shape: { torus: {} } },
      { shape: { sphere: { radius_m: -1 } } },
      { shape: { box: { size_m: [1, 1] } } },
      { shape: { box: { size_m: [1, 1, Number.NaN] } } },
      { shape: { heightfield: { spacing_m: 1, heights_m: [[0, 1], [0]] } } },
      { shape: { mesh: { file: "../secret.obj" } } },
      { shape: { mesh: { file: "http://elsewhere/duck.obj" } } },
      { shape: { mesh: { file: "/etc/duck.obj" } } },
      { shape: { sphere: { radius_m: 1 } } },
    ],
  });
  expect(solids.map((solid) => solid.index)).toEqual([9]);
  for (const nothing of [null, 7, [], {}, { solids: {} }]) expect(readSolids(nothing)).toEqual([]);
});

test("the scenes that are shipped have no solid that can't be understood", () => {
  const folder = new URL("../../server/scenes/", import.meta.url);
  for (const name of ["dam-break", "still-pool"]) {
    const scene = JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8"));
    expect(readSolids(scene)).toHaveLength((scene.solids ?? []).length);
  }
});
