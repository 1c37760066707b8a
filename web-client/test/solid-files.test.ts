import { expect, test } from "vitest";
import { readObj } from "../src/state/mesh-files.js";
import { readPgm } from "../src/state/solid-files.js";

const bytes = (text: string) => new TextEncoder().encode(text);

test("an OBJ file's faces become triangles", () => {
  const text =
    "# a square\no thing\nv 0 0 0\nv 1 0 0\r\nv 1 1 0\nv 0 1 0.5\nvn 0 0 1\nf 1/1/1 2//1 3 4\nf -4 -2 -1\n";
  const { positions, indices } = readObj(bytes(text));
  expect([...positions]).toEqual([0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0.5]);
  expect([...indices]).toEqual([0, 1, 2, 0, 2, 3, 0, 2, 3]);
});

test("an OBJ file that names what it doesn't have is refused", () => {
  expect(() => readObj(bytes("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n"))).toThrow("corner 4 of 3");
  expect(() => readObj(bytes("v 0 0 0\nf 1 0 1\n"))).toThrow("corner 0");
  expect(() => readObj(bytes("v 0 0 0\nf 1 -2 1\n"))).toThrow("corner -2");
  expect(() => readObj(bytes("v 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"))).toThrow("three numbers");
  expect(() => readObj(bytes("v 0 0 0\n"))).toThrow("no faces");
  expect(() => readObj(bytes("<!doctype html>"))).toThrow("no faces");
});

test("a PGM picture becomes rows of heights", () => {
  const rows = [
    [0, 1],
    [2, 4],
    [3, 0],
  ];
  expect(readPgm(bytes("\ufeffP2\n2 3\n4\n0 1\n2 4\n3 0\n"), 4)).toEqual(rows);
  expect(readPgm(bytes("P2\n# hills\n2 3 # wide, high\n4\n0 1\n2 4\n3 0\n"), 4)).toEqual(rows);
  expect(readPgm(new Uint8Array([...bytes("P5 2 3 4\n"), 0, 1, 2, 4, 3, 0]), 4)).toEqual(rows);
  const wide = [0, 0, 1, 0, 2, 0, 4, 0, 3, 0, 0, 0];
  expect(readPgm(new Uint8Array([...bytes("P5 2 3 1024\n"), ...wide]), 4)).toEqual(rows);
});

test("a picture that isn't whole is refused", () => {
  expect(() => readPgm(bytes("P6 2 2 255\n0000"), 1)).toThrow("no PGM");
  expect(() => readPgm(bytes("P5 2 2 255\n000"), 1)).toThrow("ends early");
  expect(() => readPgm(bytes("P5 1 2 255\n000"), 1)).toThrow("out of range");
  expect(() => readPgm(bytes("P5 99999 99999 255\n000"), 1)).toThrow("out of range");
  expect(() => readPgm(bytes("P2 2 2 255\n1 2 x 4"), 1)).toThrow("isn't a number");
  expect(() => readPgm(new Uint8Array(0), 1)).toThrow("no PGM");
});
