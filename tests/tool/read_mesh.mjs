// Readers for the meshes that `tarn run --surface` writes, made after the formats' descriptions, and what a mesh of a
// closed surface is measured by. A mesh: {points, normals, triangles, attributes}, all arrays of tuples.
import { readFileSync } from "node:fs";

export function readObj(path) {
  const mesh = { points: [], normals: [], triangles: [], attributes: { colours: [] } };
  for (const line of readFileSync(path, "latin1").split("\n")) {
    const [kind, ...words] = line.split(" ");
    if (kind === "v") {
      mesh.points.push(words.slice(0, 3).map(Number));
      if (words.length === 6) mesh.attributes.colours.push(words.slice(3).map((c) => Math.round(255 * c)));
      else if (words.length !== 3) throw new Error(`${path}: ${line}`);
    } else if (kind === "vn") {
      mesh.normals.push(words.map(Number));
    } else if (kind === "f") {
      const corners = words.map((word) => word.split("//").map(Number));
      if (corners.length !== 3 || corners.some(([v, n]) => v !== n)) throw new Error(`${path}: ${line}`);
      mesh.triangles.push(corners.map(([v]) => v - 1));
    } else if (kind !== "#" && kind !== "o" && kind !== "") {
      throw new Error(`${path}: ${line}`);
    }
  }
  return mesh;
}

export function readPlyMesh(path) {
  const file = readFileSync(path);
  const end = file.indexOf("end_header\n") + "end_header\n".length;
  const header = file.toString("latin1", 0, end).split("\n");
  if (header[1] !== "format binary_little_endian 1.0") throw new Error(`${path}: ${header[1]}`);
  const countOf = (element) =>
    Number(header.find((line) => line.startsWith(`element ${element} `)).split(" ")[2]);
  const face = header.findIndex((line) => line.startsWith("element face "));
  const properties = header.slice(0, face).filter((line) => line.startsWith("property "));
  if (header[face + 1] !== "property list uint8 int vertex_indices") throw new Error(`${path}: its faces`);
  const vertices = [];
  let at = end;
  for (let v = 0; v < countOf("vertex"); v++) {
    const vertex = {};
    for (const property of properties) {
      const [, kind, name] = property.split(" ");
      vertex[name] = kind === "float" ? file.readFloatLE(at) : file.readUInt8(at);
      at += kind === "float" ? 4 : 1;
    }
    vertices.push(vertex);
  }
  const triangles = [];
  for (let i = 0; i < countOf("face"); i++, at += 13) {
    if (file.readUInt8(at) !== 3) throw new Error(`${path}: face ${i}`);
    triangles.push([1, 5, 9].map((off) => file.readInt32LE(at + off)));
  }
  if (at !== file.length) throw new Error(`${path}: ${file.length - at} bytes too many`);
  const tuples = (...names) => vertices.map((v) => names.map((name) => v[name]));
  const attributes = { velocities: tuples("vx", "vy", "vz"), colours: [] };
  if (vertices[0]?.red !== undefined) attributes.colours = tuples("red", "green", "blue");
  for (const name of ["speed", "height"]) {
    if (vertices[0]?.[name] !== undefined) attributes[name] = vertices.map((v) => v[name]);
  }
  return { points: tuples("x", "y", "z"), normals: tuples("nx", "ny", "nz"), triangles, attributes };
}

/** Of a Mesh prim as readUsd reads it, at a time code. */
export function meshOfUsd(attributes, code) {
  const at = (name) => attributes[name]?.samples?.get(code) ?? attributes[name]?.value;
  const indices = at("faceVertexIndices");
  const triangles = [];
  let from = 0;
  for (const count of at("faceVertexCounts")) {
    triangles.push(indices.slice(from, from + count));
    from += count;
  }
  if (from !== indices.length) throw new Error(`${indices.length} corners of ${from}`);
  return {
    points: at("points"),
    normals: at("normals"),
    triangles,
    attributes: { velocities: at("velocities") },
  };
}

/** What keeps a mesh from being closed: edges that aren't walked once in each direction, and corners that are none. */
export function gapsOf({ points, triangles }) {
  const walked = new Map();
  for (const triangle of triangles) {
    if (triangle.length !== 3 || triangle.some((v) => !(v >= 0 && v < points.length)))
      return `a face ${triangle}`;
    triangle.forEach((from, k) => {
      const edge = from * points.length + triangle[(k + 1) % 3];
      walked.set(edge, (walked.get(edge) ?? 0) + 1);
    });
  }
  let gaps = 0;
  for (const [edge, count] of walked) {
    const [from, to] = [Math.floor(edge / points.length), edge % points.length];
    if (count !== 1 || walked.get(to * points.length + from) !== 1) gaps++;
  }
  return gaps;
}

const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** Positive when triangles are counter-clockwise seen from outside. */
export function volumeOf({ points, triangles }) {
  return triangles.reduce((sum, [a, b, c]) => sum + dot(points[a], cross(points[b], points[c])), 0) / 6;
}
