import { readFileSync } from "node:fs";
import { Vector3 } from "three";
import { expect, test } from "vitest";
import { readMesh, readStl } from "../src/state/mesh-files.js";
import { readGlb } from "../src/state/mesh-glb.js";
import { readPly } from "../src/state/mesh-ply.js";
import type { Triangles } from "../src/state/mesh-surface.js";

const MESHES = new URL("../../tests/shapes/meshes/", import.meta.url);

/** Area and volume. */
function measure({ positions, indices }: Triangles): [number, number] {
  let [area, volume] = [0, 0];
  for (let i = 0; i < indices.length; i += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => {
      const at = 3 * (indices[i + k] as number);
      return new Vector3().fromArray(positions, at);
    }) as [Vector3, Vector3, Vector3];
    volume += a.dot(b.clone().cross(c)) / 6;
    area += b.clone().sub(a).cross(c.clone().sub(a)).length() / 2;
  }
  return [area, volume];
}

test("files are read as the server's table says", () => {
  const cases = readFileSync(new URL("cases.txt", MESHES), "utf8").matchAll(/^(\S+\.\w+) \d+ (\S+) (\S+)$/gm);
  const names = [...cases].map(([, name = "", area, volume]) => {
    const found = measure(readMesh(name, readFileSync(new URL(name, MESHES))));
    expect(found[0], `${name}: its area`).toBeCloseTo(Number(area), 4);
    expect(found[1], `${name}: its volume`).toBeCloseTo(Number(volume), 4);
    return name;
  });
  expect(names).toHaveLength(7);
});

/** The square's two triangles as bytes, whose header begins as texts do. */
function binaryStl(behind: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(84 + 2 * 50 + behind));
  const all = new Uint8Array(view.buffer);
  all.fill(32, 0, 80).set(bytes("solid square"));
  view.setUint32(80, 2, true);
  FAN.forEach((corner, i) => {
    CORNERS[corner]?.forEach((number, axis) => {
      view.setFloat32(84 + 50 * Math.floor(i / 3) + 12 + 12 * (i % 3) + 4 * axis, number, true);
    });
  });
  return all;
}

test("STL is told apart as text and bytes, whatever is around it", () => {
  const corners = FAN.flatMap((corner) => CORNERS[corner]);
  for (const behind of [0, 1, 70]) expect([...readStl(binaryStl(behind)).positions]).toEqual(corners);
  expect(() => readStl(binaryStl(0).subarray(0, 183))).toThrow("ends early");
  const facet = (word: (text: string) => string): string =>
    `${word("facet normal nan 0 0\nouter loop\n")}${[0, 1, 2]
      .map((corner) => `${word("vertex")} ${CORNERS[corner]?.join(" ")}\n`)
      .join("")}${word("endloop endfacet\n")}`;
  for (const text of [
    `solid vertex 1 2 3\n${facet((text) => text)}endsolid\n`,
    `\ufeff\r\n SOLID\r\n${facet((text) => text.toUpperCase())}`,
  ])
    expect([...readStl(bytes(text)).positions]).toEqual(CORNERS.slice(0, 3).flat());
  expect(() => readStl(bytes("a solid\n"))).toThrow("no STL");
  expect(() => readStl(bytes("solid\nvertex 0 0 0\n"))).toThrow("ends early");
});

test("a text of many blank lines is read as fast as one without", () => {
  const blank = "\n".repeat(500_000); // would take minutes where each is looked at from all before it
  const facet = `facet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n`;
  const text = `${blank}\r\n \tsolid vertex 9 9 9\n${blank}${facet}${blank}\t endsolid\n`;
  expect([...readStl(bytes(text)).positions]).toEqual([0, 0, 0, 1, 0, 0, 0, 1, 0]);
});

const CORNERS = [
  [0, 0, 0],
  [1, 0, 0],
  [1, 1, 0],
  [0, 1, 0],
];
const FAN = [0, 1, 2, 0, 2, 3];
const bytes = (text: string) => new TextEncoder().encode(text);

const HEAD = "element vertex 4\nproperty float x\nproperty float y\nproperty float z\n";
const FACES = "element face 1\nproperty list uchar int vertex_indices\nend_header\n";
const ply = (body: string) => readPly(bytes(`ply\nformat ascii 1.0\n${HEAD}${FACES}${body}`));
const TEXT = `${CORNERS.map((corner) => corner.join(" ")).join("\n")}\n`;

/** The square as bytes, with values that nobody asks for around it, in a buffer that begins before it. */
function binaryPly(little: boolean): Uint8Array {
  const form = little ? "little" : "big";
  const head = bytes(
    `ply\r\nformat binary_${form}_endian 1.0\r\ncomment end_header comes later\r\nelement face 1\r\nproperty list uint8 float32 uv\r\n` +
      "property list uchar ushort vertex_index\r\nelement vertex 4\r\nproperty uchar red\r\nproperty double x\r\n" +
      "property short y\r\nproperty float z\r\nend_header\r\n",
  );
  const view = new DataView(new ArrayBuffer(128));
  let at = 0;
  view.setUint8(at++, 1);
  view.setFloat32(at, 7, little);
  at += 4;
  view.setUint8(at++, 4);
  for (let i = 0; i < 4; i++, at += 2) view.setUint16(at, i, little);
  for (const [x = 0, y = 0, z = 0] of CORNERS) {
    view.setUint8(at, 255);
    view.setFloat64(at + 1, x, little);
    view.setInt16(at + 9, y, little);
    view.setFloat32(at + 11, z, little);
    at += 15;
  }
  const whole = new Uint8Array([9, ...head, ...new Uint8Array(view.buffer, 0, at)]);
  return whole.subarray(1);
}

test("PLY becomes triangles, as text and as bytes in either order", () => {
  for (const { positions, indices } of [
    ply(`${TEXT}4 0 1 2 3\n`),
    readPly(bytes(`\ufeffply\nformat ascii 1.0\n${HEAD}${FACES}${TEXT}4 0 1 2 3\n`)),
    readPly(binaryPly(true)),
    readPly(binaryPly(false)),
  ]) {
    expect([...positions]).toEqual(CORNERS.flat());
    expect([...indices]).toEqual(FAN);
  }
});

test("a PLY file that isn't whole is refused", () => {
  const whole = binaryPly(true);
  for (let cut = 0; cut < whole.length; cut++) expect(() => readPly(whole.subarray(0, cut))).toThrow();
  expect(() => ply(`${TEXT}4 0 1 2`)).toThrow("ends early");
  expect(() => ply(`${TEXT}3 0 1 4`)).toThrow("corner 4 of 4");
  expect(() => ply(`${TEXT}3 0 1 -1`)).toThrow("corner -1 of 4");
  expect(() => ply(`${TEXT.replace("1", "x")}3 0 1 2`)).toThrow("three numbers");
  expect(() => ply(`${TEXT}2 0 1`)).toThrow("no faces");
  expect(() => readPly(bytes("solid"))).toThrow("no PLY");
  expect(() =>
    readPly(bytes("ply\nformat ascii 1.0\nelement vertex 1\nproperty half x\nend_header\n1")),
  ).toThrow("half");
  expect(() =>
    readPly(bytes("ply\nformat ascii 1.0\nelement vertex 1\nproperty int x\nend_header\n1")),
  ).toThrow("no x, y or z");
  expect(() => readPly(bytes("ply\nformat ascii 1.0\nelement edge 9999999999\nend_header\n1"))).toThrow(
    "head",
  );
});

/** A binary glTF with the square in it. */
function glb(json: Record<string, unknown>, cut = 0): Uint8Array {
  const text = bytes(
    JSON.stringify({
      meshes: [{ primitives: [{ attributes: { POSITION: 0 }, indices: 1 }] }],
      accessors: [
        { bufferView: 0, componentType: 5126, type: "VEC3", count: 4 },
        { bufferView: 1, componentType: 5123, type: "SCALAR", count: 6 },
      ],
      buffers: [{ byteLength: 60 }],
      bufferViews: [
        { buffer: 0, byteLength: 48 },
        { buffer: 0, byteOffset: 48, byteLength: 12 },
      ],
      ...json,
    }),
  );
  const padded = Math.ceil(text.length / 4) * 4;
  const view = new DataView(new ArrayBuffer(28 + padded + 60));
  const words = [0x46546c67, 2, view.byteLength, padded, 0x4e4f534a];
  words.forEach((word, i) => {
    view.setUint32(4 * i, word, true);
  });
  const all = new Uint8Array(view.buffer);
  all.fill(32, 20, 20 + padded).set(text, 20);
  view.setUint32(20 + padded, 60, true);
  view.setUint32(24 + padded, 0x004e4942, true);
  CORNERS.flat().forEach((number, i) => {
    view.setFloat32(28 + padded + 4 * i, number, true);
  });
  FAN.forEach((index, i) => {
    view.setUint16(76 + padded + 2 * i, index, true);
  });
  return all.subarray(0, all.length - cut);
}

test("binary glTF becomes triangles, where its nodes stand", () => {
  const still = readGlb(glb({ scene: 0, scenes: [{ nodes: [0] }], nodes: [{ mesh: 0 }, { mesh: 0 }] }));
  expect([...still.positions]).toEqual(CORNERS.flat());
  expect([...still.indices]).toEqual(FAN);
  const nodes = [
    { translation: [10, 0, 3], rotation: [0, 0, 1, 1], children: [1] },
    { mesh: 0, translation: [2, 0, 0], scale: [2, 3, 1] },
  ];
  const turned = readGlb(glb({ nodes, extensionsRequired: ["KHR_materials_unlit"] }));
  expect([...turned.positions]).toEqual([10, 2, 3, 10, 4, 3, 7, 4, 3, 7, 2, 3]);
  const matrix = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 2, 3, 1];
  expect([...readGlb(glb({ nodes: [{ mesh: 0, matrix }] })).positions].slice(0, 3)).toEqual([1, 2, 3]);
  expect([...readGlb(glb({ nodes: [{ mesh: 0, scale: [-1, 1, 1] }] })).indices]).toEqual([2, 1, 0, 3, 2, 0]);
  const two = readGlb(glb({ nodes: [{ mesh: 0 }, { mesh: 0 }] }));
  expect([...two.indices].slice(6)).toEqual(FAN.map((index) => index + 4));
});

test("a node may have many of its mesh, and a mesh whole numbers for coordinates", () => {
  // Two places, in the bytes of the square's second and third corner; turns and sizes as they are.
  const own = { bufferView: 0, componentType: 5126, type: "VEC3" };
  const triangles = { bufferView: 1, componentType: 5123, type: "SCALAR", count: 6 };
  const accessors = [{ ...own, count: 4 }, triangles, { ...own, byteOffset: 12, count: 2 }];
  const many = (attributes: Record<string, number>) => ({
    nodes: [{ mesh: 0, translation: [10, 0, 0], extensions: { EXT_mesh_gpu_instancing: { attributes } } }],
  });
  const placed = readGlb(
    glb({ ...many({ TRANSLATION: 2 }), accessors, extensionsRequired: ["EXT_mesh_gpu_instancing"] }),
  );
  expect(placed.indices).toHaveLength(12);
  expect([...placed.positions].slice(0, 3)).toEqual([11, 0, 0]);
  expect([...placed.positions].slice(12, 15)).toEqual([11, 1, 0]);
  // The triangles' own bytes, 0 1 2 0 2 3 as 16 bits each, as points.
  const whole = { bufferView: 1, componentType: 5123, type: "VEC3", count: 2 };
  const meshes = [{ primitives: [{ attributes: { POSITION: 0 }, indices: 1, mode: 5 }] }];
  const strip = { bufferView: 1, componentType: 5121, type: "SCALAR", count: 3, byteOffset: 1 };
  const shares = (normalized: boolean) =>
    readGlb(glb({ nodes: [{ mesh: 0 }], meshes, accessors: [{ ...whole, normalized }, strip] }));
  expect([...shares(false).positions]).toEqual([0, 1, 2, 0, 2, 3]);
  expect(shares(true).positions[2]).toBeCloseTo(2 / 65535);
  const hidden = { mesh: 0, extensions: { KHR_node_visibility: { visible: false } } };
  expect(readGlb(glb({ nodes: [hidden, { mesh: 0 }] })).indices).toHaveLength(6);
});

test("strips and fans are triangles", () => {
  const modes = (mode: number) =>
    readGlb(glb({ nodes: [{ mesh: 0 }], meshes: [{ primitives: [{ attributes: { POSITION: 0 }, mode }] }] }));
  expect([...modes(5).indices]).toEqual([0, 1, 2, 1, 3, 2]);
  expect([...modes(6).indices]).toEqual([1, 2, 0, 2, 3, 0]);
});

test("glTF that can't be shown as it is meant is refused", () => {
  const nodes = [{ mesh: 0 }];
  expect(() => readGlb(bytes("glTF"))).toThrow("no binary glTF");
  expect(() => readGlb(glb({ nodes }, 4))).toThrow("ends early");
  expect(() => readGlb(glb({}))).toThrow("no triangles");
  expect(() => readGlb(glb({ nodes: [{ mesh: 1 }] }))).toThrow("missing");
  expect(() => readGlb(glb({ nodes: [{ mesh: 0, skin: 0 }] }))).toThrow("bones");
  expect(() => readGlb(glb({ nodes: [{ children: [0] }], scenes: [{ nodes: [0] }] }))).toThrow(
    "a node is there twice",
  );
  const chain = Array.from({ length: 1000 }, (_, i) => ({ children: [i + 1] }));
  expect(() => readGlb(glb({ nodes: [...chain, { mesh: 0 }] }))).toThrow("in each other");
  expect(() => readGlb(glb({ nodes, extensionsRequired: ["KHR_draco_mesh_compression"] }))).toThrow("draco");
  const accessor = { bufferView: 0, componentType: 5126, type: "VEC3", count: 4 };
  const meshes = [{ primitives: [{ attributes: { POSITION: 0 } }] }];
  expect(() => readGlb(glb({ nodes, meshes, accessors: [{ ...accessor, sparse: {} }] }))).toThrow("sparse");
  expect(() => readGlb(glb({ nodes, meshes, accessors: [{ ...accessor, count: 99 }] }))).toThrow(
    "ends early",
  );
  expect(() => readGlb(glb({ nodes, meshes, accessors: [{ ...accessor, componentType: 5125 }] }))).toThrow(
    "type",
  );
  expect(() => readGlb(glb({ nodes, meshes: [{ primitives: [{ mode: 1 }] }] }))).toThrow("triangles");
  const few = [
    { ...accessor, count: 3 },
    { bufferView: 1, componentType: 5123, type: "SCALAR", count: 6 },
  ];
  expect(() => readGlb(glb({ nodes, accessors: few }))).toThrow("corner 3 of 3");
});
