// Triangles from binary glTF 2.0: those of a scene's nodes where they stand, and nothing of how they look. What the
// server takes of such a file (server/scene/mesh_glb.c), which has checked it before it simulates it.
import { PlainError } from "../net/plain.js";
import type { Triangles } from "./mesh-surface.js";

type Json = Readonly<Record<string, unknown>>;
/** Rows of three, with what is added behind them. */
type Place = readonly number[];

interface Mesh {
  positions: number[];
  indices: number[];
}

interface Items {
  count: number;
  item(number: number): readonly number[];
}

const MAGIC = 0x46546c67;
const JSON_CHUNK = 0x4e4f534a;
const BIN_CHUNK = 0x004e4942;
const DEEP_MAX = 64;
/** Extensions that are read, or are of how things look. */
const READ =
  /_(materials|texture|lights)_|^(KHR_mesh_quantization|EXT_mesh_gpu_instancing|KHR_node_visibility)$/;
/** Of whole numbers: their bytes, and what stands for 1 where they are shares. */
const TYPES: Readonly<Record<number, readonly [bytes: number, one: number]>> = {
  5120: [1, 127],
  5121: [1, 255],
  5122: [2, 32767],
  5123: [2, 65535],
  5125: [4, 1],
  5126: [4, 1],
};
const HERE: Place = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];

export function readGlb(bytes: Uint8Array): Triangles {
  const { json, bin } = readChunks(bytes);
  const file = new GlbFile(json, bin);
  const { positions, indices } = file.read();
  if (indices.length === 0) throw new PlainError("it has no triangles");
  if (!positions.every(Number.isFinite)) throw new PlainError("a corner isn't three numbers");
  return { positions: new Float32Array(positions), indices: new Uint32Array(indices) };
}

function readChunks(bytes: Uint8Array): { json: Json; bin: DataView } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.byteLength < 20 || view.getUint32(0, true) !== MAGIC || view.getUint32(4, true) !== 2)
    throw new PlainError("it is no binary glTF 2.0");
  let json: unknown = null;
  let bin: DataView = new DataView(new ArrayBuffer(0));
  for (let at = 12; at + 8 <= view.byteLength; ) {
    const length = view.getUint32(at, true);
    const kind = view.getUint32(at + 4, true);
    if (length > view.byteLength - at - 8) throw new PlainError("it ends early");
    const chunk = bytes.subarray(at + 8, at + 8 + length);
    if (kind === JSON_CHUNK) json = JSON.parse(new TextDecoder().decode(chunk));
    if (kind === BIN_CHUNK) bin = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    at += 8 + length;
  }
  return { json: object(json), bin };
}

class GlbFile {
  private readonly mesh: Mesh = { positions: [], indices: [] };
  private readonly nodes: readonly unknown[];
  private readonly seen = new Set<number>();

  constructor(
    private readonly json: Json,
    private readonly bin: DataView,
  ) {
    this.nodes = list(json.nodes);
  }

  read(): Mesh {
    const { json, nodes } = this;
    const required = list(json.extensionsRequired).find((name) => !READ.test(String(name)));
    if (required !== undefined) throw new PlainError(`it needs ${String(required)}, which isn't known here`);
    const scene = list(json.scenes)[Number(json.scene ?? 0)];
    const children = new Set(nodes.flatMap((node) => list(object(node).children)));
    const roots =
      scene !== undefined ? list(object(scene).nodes) : [...nodes.keys()].filter((i) => !children.has(i));
    for (const root of roots) this.addNode(Number(root), HERE, 1);
    return this.mesh;
  }

  private addNode(number: number, outer: Place, depth: number): void {
    if (depth > DEEP_MAX) throw new PlainError("its nodes are too many in each other");
    if (this.seen.has(number)) throw new PlainError("a node is there twice");
    this.seen.add(number);
    const node = object(this.nodes[number]);
    const extensions = object(node.extensions ?? {});
    if (object(extensions.KHR_node_visibility ?? {}).visible === false) return;
    const place = within(outer, placeOf(node));
    if (node.mesh !== undefined) {
      if (node.skin !== undefined) throw new PlainError("bones bend its mesh");
      const mesh = object(list(this.json.meshes)[Number(node.mesh)]);
      const many = extensions.EXT_mesh_gpu_instancing;
      for (const at of many === undefined ? [place] : this.instancesOf(object(many), place))
        for (const primitive of list(mesh.primitives)) this.addPrimitive(object(primitive), at);
    }
    for (const child of list(node.children)) this.addNode(Number(child), place, depth + 1);
  }

  /** The places of a mesh that a node has many of. */
  private instancesOf(extension: Json, outer: Place): Place[] {
    const attributes = object(extension.attributes);
    const parts = { TRANSLATION: "translation", ROTATION: "rotation", SCALE: "scale" };
    const found = Object.entries(parts).flatMap(([name, part]) =>
      attributes[name] === undefined
        ? []
        : [{ part, items: this.items(attributes[name], part === "rotation" ? 4 : 3) }],
    );
    const count = found[0]?.items.count ?? 0;
    return Array.from({ length: count }, (_, i) =>
      within(outer, placeOf(Object.fromEntries(found.map(({ part, items }) => [part, items.item(i)])))),
    );
  }

  private addPrimitive(primitive: Json, place: Place): void {
    const { positions, indices } = this.mesh;
    const mode = Number(primitive.mode ?? 4);
    if (mode !== 4 && mode !== 5 && mode !== 6) throw new PlainError("it has something else than triangles");
    const points = this.items(object(primitive.attributes).POSITION, 3);
    const corners = primitive.indices === undefined ? null : this.items(primitive.indices, 1);
    const first = positions.length / 3;
    for (let i = 0; i < points.count; i++) {
      const [x = 0, y = 0, z = 0] = points.item(i);
      for (let row = 0; row < 12; row += 4)
        positions.push(
          at(place, row) * x + at(place, row + 1) * y + at(place, row + 2) * z + at(place, row + 3),
        );
    }
    const isMirrored = determinant(place) < 0;
    const all = corners?.count ?? points.count;
    const count = mode === 4 ? Math.floor(all / 3) : all - 2;
    for (let i = 0; i < count; i++) {
      const odd = i % 2;
      const triangle =
        mode === 4
          ? [3 * i, 3 * i + 1, 3 * i + 2]
          : mode === 5
            ? [i, i + 1 + odd, i + 2 - odd]
            : [i + 1, i + 2, 0];
      for (let c = 0; c < 3; c++) {
        const number = at(triangle, isMirrored ? 2 - c : c);
        const index = corners === null ? number : at(corners.item(number), 0);
        if (index >= points.count)
          throw new PlainError(`a triangle names corner ${index} of ${points.count}`);
        indices.push(first + index);
      }
    }
  }

  /** What an accessor gives. */
  private items(number: unknown, components: number): Items {
    const accessor = object(list(this.json.accessors)[Number(number)]);
    const view = object(list(this.json.bufferViews)[Number(accessor.bufferView ?? -1)]);
    const type = Number(accessor.componentType);
    const [size, one] = TYPES[type] ?? [4, 1];
    const stride = Number(view.byteStride ?? components * size);
    const start = Number(view.byteOffset ?? 0) + Number(accessor.byteOffset ?? 0);
    const count = Number(accessor.count);
    const { bin } = this;
    if (accessor.sparse !== undefined) throw new PlainError("it has sparse values");
    if (
      !(
        Number.isInteger(count) &&
        Number.isInteger(stride) &&
        Number.isInteger(start) &&
        count > 0 &&
        stride > 0 &&
        start >= 0 &&
        start + stride * (count - 1) + components * size <= bin.byteLength
      )
    )
      throw new PlainError("it ends early");
    if (components === 1 ? ![5121, 5123, 5125].includes(type) : type === 5125 || !(type in TYPES))
      throw new PlainError("its numbers are of an unknown type");
    const share = accessor.normalized === true ? one : 1;
    const item = (i: number): number[] =>
      Array.from({ length: components }, (_, c) => {
        const place = start + i * stride + c * size;
        if (type === 5126) return bin.getFloat32(place, true);
        return Math.max(wholeAt(bin, place, type) / share, accessor.normalized === true ? -1 : -Infinity);
      });
    return { count, item };
  }
}

function wholeAt(bin: DataView, place: number, type: number): number {
  switch (type) {
    case 5120:
      return bin.getInt8(place);
    case 5121:
      return bin.getUint8(place);
    case 5122:
      return bin.getInt16(place, true);
    case 5123:
      return bin.getUint16(place, true);
    default:
      return bin.getUint32(place, true);
  }
}

/** First scaled, then turned, then moved; or a matrix, column by column. */
function placeOf(node: Json): Place {
  const m = list(node.matrix).map(Number);
  if (m.length === 16)
    return [0, 1, 2].flatMap((row) => [0, 1, 2, 3].map((column) => at(m, column * 4 + row)));
  const [x, y, z, w] = numbers(node.rotation, [0, 0, 0, 1]) as [number, number, number, number];
  const scale = numbers(node.scale, [1, 1, 1]);
  const move = numbers(node.translation, [0, 0, 0]);
  const s = 2 / (x * x + y * y + z * z + w * w);
  const turn = [
    [1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
    [s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)],
    [s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)],
  ];
  return turn.flatMap((row, r) => [...row.map((part, c) => part * at(scale, c)), at(move, r)]);
}

function within(outer: Place, inner: Place): Place {
  return HERE.map((_, i) => {
    const row = i - (i % 4);
    const column = i % 4;
    let sum = column === 3 ? at(outer, i) : 0;
    for (let k = 0; k < 3; k++) sum += at(outer, row + k) * at(inner, k * 4 + column);
    return sum;
  });
}

/** Below 0 where the place mirrors. */
function determinant(m: Place): number {
  const minor = (a: number, b: number): number => at(m, 4 + a) * at(m, 8 + b) - at(m, 4 + b) * at(m, 8 + a);
  return at(m, 0) * minor(1, 2) - at(m, 1) * minor(0, 2) + at(m, 2) * minor(0, 1);
}

function at(values: readonly number[], i: number): number {
  return values[i] as number;
}

function numbers(value: unknown, otherwise: number[]): number[] {
  const found = list(value).map(Number);
  return found.length === otherwise.length ? found : otherwise;
}

function object(value: unknown): Json {
  if (typeof value !== "object" || value === null) throw new PlainError("something in it is missing");
  return value as Json;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
