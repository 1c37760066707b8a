// Triangles from PLY, as text and as bytes in either order: what the server takes of such a file
// (server/scene/ply.c), which has checked it before it simulates it.
import { PlainError } from "../net/plain.js";
import { addPolygon, type Triangles } from "./mesh-surface.js";
import { withoutMark } from "./solid-files.js";

type Take = () => number;

interface Property {
  name: string;
  type: string;
  /** Of a list's length; "": a single number. */
  countType: string;
}

interface Element {
  name: string;
  count: number;
  properties: Property[];
}

interface Head {
  form: string;
  elements: Element[];
  /** Where the elements begin. */
  end: number;
}

/** Of which a value has so many bytes; the same under two names. */
const BYTES: Readonly<Record<string, number>> = {
  char: 1,
  uchar: 1,
  short: 2,
  ushort: 2,
  int: 4,
  uint: 4,
  float: 4,
  double: 8,
};
const SAME: Readonly<Record<string, string>> = {
  int8: "char",
  uint8: "uchar",
  int16: "short",
  uint16: "ushort",
  int32: "int",
  uint32: "uint",
  float32: "float",
  float64: "double",
};
const HEAD_BYTES_MAX = 65536;

/** Of the vertices x, y, z; of the faces the corners. */
export function readPly(whole: Uint8Array): Triangles {
  const bytes = withoutMark(whole);
  const head = readHead(bytes);
  const take = head.form === "ascii" ? takeWords(bytes, head.end) : null;
  const view = new DataView(bytes.buffer, bytes.byteOffset + head.end, bytes.byteLength - head.end);
  const little = head.form === "binary_little_endian";
  let at = 0;
  const number = (type: string): number => {
    if (take !== null) return take();
    const size = BYTES[type] as number;
    if (at + size > view.byteLength) throw new PlainError("it ends early");
    at += size;
    return valueAt(view, at - size, type, little);
  };
  const positions: number[] = [];
  const polygons: number[][] = [];
  for (const element of head.elements) {
    const axes = ["x", "y", "z"].map((axis) => element.properties.findIndex(({ name }) => name === axis));
    if (element.name === "vertex" && axes.some((axis) => axis < 0))
      throw new PlainError("a vertex has no x, y or z");
    for (let i = 0; i < element.count; i++) {
      const values = element.properties.map((property) => {
        if (property.countType === "") return number(property.type);
        const count = number(property.countType);
        if (!(Number.isInteger(count) && count >= 0)) throw new PlainError("a list has no length");
        const isFace = element.name === "face" && /^vertex_ind(ices|ex)$/.test(property.name);
        const items: number[] = [];
        for (let k = 0; k < count; k++) items.push(number(property.type));
        if (isFace) polygons.push(items);
        return 0;
      });
      if (element.name === "vertex") for (const axis of axes) positions.push(values[axis] as number);
    }
  }
  const count = positions.length / 3;
  if (!polygons.some((corners) => corners.length > 2)) throw new PlainError("it has no faces");
  if (!positions.every(Number.isFinite)) throw new PlainError("a corner isn't three numbers");
  const indices: number[] = [];
  for (const corners of polygons) {
    const beyond = corners.find((corner) => !(Number.isInteger(corner) && corner >= 0 && corner < count));
    if (beyond !== undefined) throw new PlainError(`a face names corner ${beyond} of ${count}`);
    addPolygon(indices, positions, corners);
  }
  return { positions: new Float32Array(positions), indices: new Uint32Array(indices) };
}

function readHead(bytes: Uint8Array): Head {
  const text = new TextDecoder("latin1").decode(bytes.subarray(0, HEAD_BYTES_MAX));
  const end = /(^|[\r\n])end_header(\r\n|\n|\r|$)/.exec(text);
  if (!/^ply[\r\n]/.test(text) || end === null) throw new PlainError("it is no PLY file");
  const head: Head = { form: "", elements: [], end: end.index + end[0].length };
  for (const line of text.slice(0, end.index).split(/[\r\n]+/)) {
    const words = line.trim().split(/\s+/);
    const last = head.elements.at(-1);
    if (words[0] === "format") head.form = words[1] ?? "";
    if (words[0] === "element")
      head.elements.push({ name: words[1] ?? "", count: Number(words[2]), properties: [] });
    if (words[0] === "property" && last !== undefined) last.properties.push(readProperty(words));
  }
  const sound = head.elements.every(
    ({ count, properties }) =>
      Number.isInteger(count) && count >= 0 && (count === 0 || properties.length > 0),
  );
  if (!sound || !["ascii", "binary_little_endian", "binary_big_endian"].includes(head.form))
    throw new PlainError("its head can't be understood");
  return head;
}

function readProperty(words: string[]): Property {
  const isList = words[1] === "list";
  const type = typeOf(words[isList ? 3 : 1]);
  return { name: words[isList ? 4 : 2] ?? "", type, countType: isList ? typeOf(words[2]) : "" };
}

function typeOf(word = ""): string {
  const type = Object.hasOwn(SAME, word) ? (SAME[word] as string) : word;
  if (!Object.hasOwn(BYTES, type)) throw new PlainError(`it has values of an unknown type, ${word}`);
  return type;
}

/** The words of a text, as numbers. */
function takeWords(bytes: Uint8Array, start: number): Take {
  const words = new TextDecoder().decode(bytes.subarray(start)).match(/\S+/g) ?? [];
  let at = 0;
  return () => {
    const word = words[at++];
    if (word === undefined) throw new PlainError("it ends early");
    return Number(word);
  };
}

function valueAt(view: DataView, at: number, type: string, little: boolean): number {
  switch (type) {
    case "char":
      return view.getInt8(at);
    case "uchar":
      return view.getUint8(at);
    case "short":
      return view.getInt16(at, little);
    case "ushort":
      return view.getUint16(at, little);
    case "int":
      return view.getInt32(at, little);
    case "uint":
      return view.getUint32(at, little);
    case "float":
      return view.getFloat32(at, little);
    default:
      return view.getFloat64(at, little);
  }
}
