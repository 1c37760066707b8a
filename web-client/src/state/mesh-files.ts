// Triangles from the files that scenes name, as the server takes them (server/scene/mesh.h), which has checked them
// before it simulates them. Few scenes have one, so that this is fetched only then. mesh-ply.ts and mesh-glb.ts have PLY
// and binary glTF.
import { PlainError } from "../net/plain.js";
import { readGlb } from "./mesh-glb.js";
import { readPly } from "./mesh-ply.js";
import { addPolygon, faceOneWay, type Triangles } from "./mesh-surface.js";

/** @param name  ends as the format's files do */
export function readMesh(name: string, bytes: Uint8Array): Triangles {
  const read = name.endsWith(".ply")
    ? readPly
    : name.endsWith(".glb")
      ? readGlb
      : name.endsWith(".stl")
        ? readStl
        : readObj;
  const mesh = read(bytes);
  faceOneWay(mesh);
  return mesh;
}

/** Corners and faces of an OBJ file; everything else in it is let be. */
export function readObj(bytes: Uint8Array): Triangles {
  const text = new TextDecoder().decode(bytes).replace(/\\[ \t]*(\r\n|\r|\n)/g, " ");
  const positions: number[] = [];
  const indices: number[] = [];
  for (const line of text.split(/[\r\n]+/)) {
    const words = line.replace(/#.*/, "").trim().split(/\s+/);
    if (words[0] === "v") positions.push(Number(words[1]), Number(words[2]), Number(words[3]));
    if (words[0] !== "f") continue;
    const corners = words.slice(1).map((word) => cornerOf(word, positions.length / 3));
    addPolygon(indices, positions, corners);
  }
  return wholeMesh(positions, indices);
}

/** "7/1/2" counts from 1, "-1" from the last corner backwards. */
function cornerOf(word: string, count: number): number {
  const number = Number.parseInt(word, 10);
  const corner = number < 0 ? count + number : number - 1;
  if (!(corner >= 0 && corner < count)) throw new PlainError(`a face names corner ${word} of ${count}`);
  return corner;
}

/** Triangles one by one. Bytes have a zero in the number of triangles, where no text has one. */
export function readStl(bytes: Uint8Array): Triangles {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const positions: number[] = [];
  if (bytes[83] === 0) {
    const count = view.getUint32(80, true);
    if (count > (bytes.length - 84) / 50) throw new PlainError("it ends early");
    for (let triangle = 0; triangle < count; triangle++)
      for (let i = 0; i < 9; i++) positions.push(view.getFloat32(96 + 50 * triangle + 4 * i, true));
  } else {
    const text = new TextDecoder().decode(bytes);
    if (!/^\s*solid/i.test(text)) throw new PlainError("it is no STL file");
    const facets = text.replace(/^[ \t\v\f]*(end)?solid.*$/gim, "");
    for (const [, x, y, z] of facets.matchAll(/\bvertex\s+(\S+)\s+(\S+)\s+(\S+)/gi))
      positions.push(Number(x), Number(y), Number(z));
    if (positions.length % 9 !== 0) throw new PlainError("it ends early");
  }
  return wholeMesh(positions, [...Array(positions.length / 3).keys()]);
}

function wholeMesh(positions: number[], indices: number[]): Triangles {
  if (indices.length === 0) throw new PlainError("it has no faces");
  if (!positions.every(Number.isFinite)) throw new PlainError("a corner isn't three numbers");
  return { positions: new Float32Array(positions), indices: new Uint32Array(indices) };
}
