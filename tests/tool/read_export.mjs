// Readers for what `tarn run` writes, made after the formats' descriptions and not after the writers.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readPng } from "../browser/png.mjs";

const web = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "web-client");

const KINDS = {
  float: [4, "readFloatLE"],
  uint8: [1, "readUInt8"],
  Float32: [4, "readFloatLE"],
  UInt32: [4, "readUInt32LE"],
  Int32: [4, "readInt32LE"],
  UInt8: [1, "readUInt8"],
};

/** @returns {Record<string, number[]>} one array for each property */
export function readPly(path) {
  const file = readFileSync(path);
  const end = file.indexOf("end_header\n") + "end_header\n".length;
  const header = file.toString("latin1", 0, end).split("\n");
  if (header[1] !== "format binary_little_endian 1.0") throw new Error(`${path}: ${header[1]}`);
  const count = Number(header.find((line) => line.startsWith("element vertex ")).split(" ")[2]);
  const properties = header.filter((line) => line.startsWith("property ")).map((line) => line.split(" "));
  const values = Object.fromEntries(properties.map(([, , name]) => [name, []]));
  let at = end;
  for (let i = 0; i < count; i++) {
    for (const [, kind, name] of properties) {
      values[name].push(file[KINDS[kind][1]](at));
      at += KINDS[kind][0];
    }
  }
  if (at !== file.length) throw new Error(`${path}: ${file.length - at} bytes too many`);
  return values;
}

const attributesOf = (tag) =>
  Object.fromEntries([...tag.matchAll(/(\w+)="([^"]*)"/g)].map((m) => [m[1], m[2]]));

/** What .vtp and .vti have in common. */
function readVtk(path, type) {
  const file = readFileSync(path);
  const marker = '<AppendedData encoding="raw">';
  const markerAt = file.indexOf(marker);
  const xml = file.toString("latin1", 0, markerAt);
  const data = file.indexOf("_", markerAt + marker.length) + 1;
  const root = attributesOf(xml.match(/<VTKFile[^>]*>/)[0]);
  if (root.type !== type || root.byte_order !== "LittleEndian" || root.header_type !== "UInt64") {
    throw new Error(`${path}: ${JSON.stringify(root)}`);
  }
  const piece = attributesOf(xml.match(/<Piece[^>]*>/)[0]);
  const arrays = {};
  let used = 0;
  for (const [tag] of xml.matchAll(/<DataArray[^>]*format="appended"[^>]*>/g)) {
    const a = attributesOf(tag);
    const start = data + Number(a.offset);
    const bytes = Number(file.readBigUInt64LE(start));
    const [size, read] = KINDS[a.type];
    const width = Number(a.NumberOfComponents);
    arrays[a.Name] = [];
    for (let at = 0; at < bytes; at += size * width) {
      arrays[a.Name].push(Array.from({ length: width }, (_, k) => file[read](start + 8 + at + k * size)));
    }
    used = Math.max(used, start + 8 + bytes);
  }
  if (file.toString("latin1", used) !== "\n  </AppendedData>\n</VTKFile>\n")
    throw new Error(`${path}: its end`);
  const time = Number(xml.match(/Name="TimeValue"[^>]*>([^<]*)</)[1]);
  return { time, xml, piece, arrays };
}

/** @returns {{time: number, count: number, verts: number, arrays: Record<string, number[][]>}} tuples by name */
export function readVtp(path) {
  const { time, piece, arrays } = readVtk(path, "PolyData");
  return { time, count: Number(piece.NumberOfPoints), verts: Number(piece.NumberOfVerts), arrays };
}

/** @returns {{time: number, extent: number[], origin: number[], spacing: number[], arrays: Record<string, number[][]>}} */
export function readVti(path) {
  const { time, xml, piece, arrays } = readVtk(path, "ImageData");
  const image = attributesOf(xml.match(/<ImageData[^>]*>/)[0]);
  if (piece.Extent !== image.WholeExtent || !/<CellData[\s\S]*<\/CellData>/.test(xml))
    throw new Error(`${path}: its piece`);
  const numbers = (text) => text.split(" ").map(Number);
  const [extent, origin, spacing] = [image.WholeExtent, image.Origin, image.Spacing].map(numbers);
  return { time, extent, origin, spacing, arrays };
}

/** @returns {{time: number, file: string}[]} */
export function readPvd(path) {
  const xml = readFileSync(path, "utf8");
  if (!/<VTKFile type="Collection"/.test(xml) || !xml.endsWith("</VTKFile>\n")) throw new Error(path);
  return [...xml.matchAll(/<DataSet[^>]*>/g)].map(([tag]) => {
    const a = attributesOf(tag);
    return { time: Number(a.timestep), file: join(dirname(path), a.file) };
  });
}

/** tinyusdz, or null where it isn't installed. Its build is for browsers, so Node has to look like one. */
async function loadTinyUsd() {
  let script;
  try {
    script = createRequire(join(web, "package.json")).resolve("tinyusdz");
  } catch {
    return null;
  }
  const kind = Object.getOwnPropertyDescriptor(process, "type");
  globalThis.window = globalThis;
  process.type = "renderer";
  // An ES module in a package that doesn't say so: Node 18 would not take it for one by its name.
  const { default: create } = await import(`data:text/javascript;base64,${readFileSync(script, "base64")}`);
  const wasmBinary = readFileSync(join(dirname(script), "tinyusdz.wasm"));
  const module = await create({ wasmBinary, locateFile: (name) => name });
  delete globalThis.window;
  if (kind === undefined) delete process.type;
  return module;
}

/**
 * What tinyusdz understood of a layer: it prints the layer anew, in a layout of its own.
 * @returns {Promise<{layer: Record<string, string>, of: Record<string, object>, attributes: object} | null>} `of` has
 * each prim's attributes, `attributes` the liquid's: type, interpolation, and `value` or `samples` (arrays of tuples by
 * time code). Of a binary layer `ids` are not whole: ask hasIds(code, ids)
 */
export async function readUsd(path) {
  const usd = await loadTinyUsd();
  if (usd === null) return null;
  const file = readFileSync(path);
  const reprint = (content) => {
    const loader = new usd.TinyUSDZLoaderNative();
    if (!loader.loadAsLayerFromBinary(content, path)) throw new Error(`${path}: ${loader.error()}`);
    return loader.layerToString();
  };
  const read = parseLayer(reprint(file));
  // It prints only the first digit of 64-bit integers. In a text they can be doubles, of which it prints all that are
  // needed; in a binary layer they can be looked for.
  if (read.attributes.ids === undefined) return read;
  const { samples } = read.attributes.ids;
  if (path.endsWith(".usda")) {
    const asDoubles = Buffer.from(file.toString("utf8").replace("int64[] ids", "double[] ids"));
    const { ids } = parseLayer(reprint(asDoubles)).attributes;
    if (firstDigits(ids.samples) !== firstDigits(samples)) throw new Error(`${path}: ids differ by type`);
    read.attributes.ids.samples = ids.samples;
  } else {
    read.hasIds = (code, ids) => {
      const bytes = Buffer.alloc(8 * (ids.length + 1));
      [ids.length, ...ids].forEach((value, i) => {
        bytes.writeBigInt64LE(BigInt(value), 8 * i);
      });
      const found = ids.length === 0 || file.includes(bytes);
      return found && firstDigits([[code, ids]]) === firstDigits([[code, samples.get(code)]]);
    };
  }
  return read;
}

const firstDigits = (samples) =>
  JSON.stringify([...samples].map(([code, ids]) => [code, ids.map((id) => `${id}`[0])]));

function parseLayer(text) {
  const layer = {};
  for (const [, name, value] of text.slice(0, text.indexOf("\n)")).matchAll(/^ {4}(\w+) = (.*)$/gm)) {
    layer[name] = JSON.parse(value);
  }
  const prims = [...text.matchAll(/^ *def (\w+) "(\w+)"/gm)].map((m) => [m[1], m[2]]);
  const bodies = text.split(/^ *def \w+ "\w+"$/m).slice(1);
  const of = Object.fromEntries(prims.map(([, name], i) => [name, parseAttributes(bodies[i])]));
  return { layer, prims, of, attributes: of.Liquid };
}

/** Of a prim, up to the first one below it. */
function parseAttributes(text) {
  const attributes = {};
  const parse = (value) => JSON.parse(value.replaceAll("(", "[").replaceAll(")", "]"));
  for (const [, type, name, value, open] of text.matchAll(
    /^ {4,8}(?:uniform )?(\w+)(?:\[\])? ([\w:]+)(?: = ([^{\n]*?))?( \(\n *interpolation = "\w+")?$/gm,
  )) {
    attributes[name] ??= { type };
    if (value !== undefined) attributes[name].value = parse(value);
    if (open !== undefined) attributes[name].interpolation = open.match(/"(\w+)"/)[1];
  }
  for (const [, type, name, body] of text.matchAll(
    /^ {4,8}(\w+)(?:\[\])? ([\w:]+)\.timeSamples = \{\n([^}]*)\}/gm,
  )) {
    attributes[name] ??= { type };
    attributes[name].samples = new Map();
    for (const [, code, value] of body.matchAll(/^ *([\d.e+-]+): (.*),$/gm)) {
      attributes[name].samples.set(Number(code), parse(value));
    }
  }
  return attributes;
}

const crcTable = Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c >>> 0;
});
const crc32 = (bytes) => ~bytes.reduce((c, b) => (c >>> 8) ^ crcTable[(c ^ b) & 255], -1) >>> 0;

function* chunks(file) {
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at);
    const body = file.subarray(at + 8, at + 8 + length);
    const kind = file.toString("latin1", at + 4, at + 8);
    if (crc32(file.subarray(at + 4, at + 8 + length)) !== file.readUInt32BE(at + 8 + length)) {
      throw new Error(`the checksum of ${kind} at ${at}`);
    }
    yield { kind, body };
    at += length + 12;
  }
}

const chunk = (kind, body) => {
  const out = Buffer.alloc(body.length + 12);
  out.writeUInt32BE(body.length, 0);
  out.write(kind, 4, "latin1");
  body.copy(out, 8);
  return out;
};

/** Pixels of a PNG, its checksums checked: bytes, red green blue. */
export function readPicture(path) {
  const file = readFileSync(path);
  const kinds = [...chunks(file)].map((c) => c.kind);
  if (kinds.at(-1) !== "IEND") throw new Error(`${path}: ends with ${kinds.at(-1)}`);
  return pixels(file);
}

function pixels(file) {
  const png = readPng(file);
  const rgb = new Uint8Array(png.width * png.height * 3);
  for (let y = 0; y < png.height; y++) {
    for (let x = 0; x < png.width; x++) rgb.set(png.at(x, y), (y * png.width + x) * 3);
  }
  return { width: png.width, height: png.height, rgb };
}

/** Plays an animated PNG. @returns {{width, height, delays: number[], frames: Uint8Array[]}} delays in seconds */
export function readApng(path) {
  const file = readFileSync(path);
  const all = [...chunks(file)];
  const header = all[0].body;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const canvas = new Uint8Array(width * height * 3);
  const frames = [];
  const delays = [];
  let sequence = 0;
  let area = null;
  let data = [];
  const show = () => {
    if (area === null) return;
    const small = Buffer.from(header);
    small.writeUInt32BE(area.width, 0);
    small.writeUInt32BE(area.height, 4);
    const part = pixels(
      Buffer.concat([file.subarray(0, 8), chunk("IHDR", small), chunk("IDAT", Buffer.concat(data))]),
    );
    for (let y = 0; y < area.height; y++) {
      const row = part.rgb.subarray(y * area.width * 3, (y + 1) * area.width * 3);
      canvas.set(row, ((area.y + y) * width + area.x) * 3);
    }
    frames.push(canvas.slice());
    data = [];
  };
  const next = (body) => {
    if (body.readUInt32BE(0) !== sequence++) throw new Error(`${path}: the order of its chunks`);
  };
  for (const { kind, body } of all) {
    if (kind === "fcTL") {
      show();
      next(body);
      const [w, h, x, y] = [4, 8, 12, 16].map((at) => body.readUInt32BE(at));
      if (w < 1 || h < 1 || x + w > width || y + h > height) throw new Error(`${path}: a frame's area`);
      if (body[24] !== 0 || body[25] !== 0) throw new Error(`${path}: unexpected disposal or blending`);
      area = { width: w, height: h, x, y };
      delays.push(body.readUInt16BE(20) / body.readUInt16BE(22));
    }
    if (kind === "IDAT") data.push(body);
    if (kind === "fdAT") {
      next(body);
      data.push(body.subarray(4));
    }
    if (kind === "IEND") show();
  }
  const control = all.find((c) => c.kind === "acTL").body;
  if (control.readUInt32BE(0) !== frames.length) throw new Error(`${path}: says another number of frames`);
  return { width, height, delays, frames };
}

/** @returns {{header: string, width, height, frames: Uint8Array[]}} frames are the luma planes */
export function readY4m(path) {
  const file = readFileSync(path);
  const header = file.toString("latin1", 0, file.indexOf("\n"));
  const width = Number(header.match(/ W(\d+)/)[1]);
  const height = Number(header.match(/ H(\d+)/)[1]);
  const bytes = width * height + 2 * (Math.ceil(width / 2) * Math.ceil(height / 2));
  const frames = [];
  let at = header.length + 1;
  for (; at < file.length; at += 6 + bytes) {
    if (file.toString("latin1", at, at + 6) !== "FRAME\n") throw new Error(`${path}: no FRAME at ${at}`);
    frames.push(new Uint8Array(file.subarray(at + 6, at + 6 + width * height)));
  }
  if (at !== file.length) throw new Error(`${path}: is cut`);
  return { header, width, height, frames };
}
