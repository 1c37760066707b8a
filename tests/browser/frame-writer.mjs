// Key frames of one layer, written as STREAM.md says: the sections of the fake tank's frames. Every node of every tile
// with particles is known that the tank has, which costs bytes and spares deciding.
import {
  bitsOf,
  colourTables,
  countContext,
  countTables,
  halfTables,
  numberTables,
  residualTables,
  rowTables,
} from "../protocol/stream_coding.mjs";

/** Bits of a place inside a cell, per axis. */
export const PLACE_BITS = 5;
const CELLS = 512;
const NODE_MAX = 32767;

/** Section 8.1: what is written in order is put out backwards. */
class StreamWriter {
  /** Pairs: a symbol's first slot and frequency, or a value and minus how many bits it has. */
  operations = [];

  symbol(from, s) {
    this.operations.push(from[s], from[s + 1] - from[s]);
  }

  bits(value, count) {
    if (count > 16) this.bits(Math.floor(value / 65536), count - 16);
    this.operations.push(count > 16 ? value % 65536 : value, -Math.min(count, 16));
  }

  number(kind, value) {
    const bits = bitsOf(value);
    this.symbol(numberTables[kind], bits);
    if (bits > 0) this.bits(value - 2 ** (bits - 1), bits - 1);
  }

  /** Section 8.3. */
  residual(context, values) {
    const { symbols, sizes } = residualTables[context];
    const digit = (value) => (value === 0 ? 0 : value === 1 ? 1 : value === -1 ? 2 : 3);
    this.symbol(symbols, digit(values[0]) + 4 * digit(values[1]) + 16 * digit(values[2]));
    for (let axis = 0; axis < 3; axis++) {
      if (digit(values[axis]) < 3) continue;
      const size = Math.abs(values[axis]) - 2;
      this.symbol(sizes, Math.min(size, 15));
      if (size >= 15) this.bits(size - 15, 16);
      this.bits(values[axis] < 0 ? 1 : 0, 1);
    }
  }

  finish() {
    const words = [];
    let x = 65536;
    for (let i = this.operations.length - 2; i >= 0; i -= 2) {
      const [from, size] = [this.operations[i], this.operations[i + 1]];
      const slots = size > 0 ? 4096 / size : 2 ** -size;
      if (x >= 2 ** 32 / slots) {
        words.push(x % 65536);
        x = Math.floor(x / 65536);
      }
      x = size > 0 ? Math.floor(x / size) * 4096 + from + (x % size) : x * slots + from;
    }
    const bytes = Buffer.alloc(4 + 2 * words.length);
    bytes.writeUInt32LE(x, 0);
    words.reverse().forEach((word, i) => {
      bytes.writeUInt16LE(word, 4 + 2 * i);
    });
    return bytes;
  }
}

/** Keys `from` to `end`, which ascend, by their bits from `left` - 1 down. */
function writeRegion(stream, keys, from, end, left) {
  const n = end - from;
  if (n === 1) stream.bits(keys[from] % 2 ** left, left);
  if (n <= 1 || left === 0) return;
  let middle = from;
  while (middle < end && ((keys[middle] >> (left - 1)) & 1) === 0) middle++;
  if (n <= 32) stream.symbol(halfTables[n], middle - from);
  else stream.bits(middle - from, bitsOf(n));
  writeRegion(stream, keys, from, middle, left - 1);
  writeRegion(stream, keys, middle, end, left - 1);
}

/** Section 8.2. @param members  of a tile, ascending by cell and key */
function writeSet(members) {
  const stream = new StreamWriter();
  const keys = members.map(({ key }) => key);
  const counts = new Array(CELLS).fill(0);
  for (const { cell } of members) counts[cell]++;
  for (let cell = 0, at = 0; at < members.length; cell++) {
    const n = counts[cell];
    stream.symbol(countTables[countContext(counts, cell)], Math.min(n, 15));
    if (n >= 15) {
      const e = bitsOf(n - 14) - 1;
      stream.bits(e, 5);
      stream.bits(n - 14 - 2 ** e, e);
    }
    writeRegion(stream, keys, at, at + n, 3 * PLACE_BITS);
    at += n;
  }
  return stream.finish();
}

/** Section 8.5. */
function writeColours(colours) {
  const stream = new StreamWriter();
  let [last, source] = [0, 0];
  for (const colour of colours) {
    const isOther = colour !== last;
    stream.symbol(colourTables[source], isOther ? 1 : 0);
    if (isOther) stream.bits(colour, 8);
    [last, source] = [colour, isOther ? 0 : 1];
  }
  return stream.finish();
}

/**
 * Section 9.3, of a tile without a past. Loops over numbers, since this is most of the work.
 * @param nodes  what flows at each node, in quanta: x, y and z of all
 * @param planes  of nodes that the tank has, 2..8
 */
function writeNodes(nodes, planes) {
  const stream = new StreamWriter();
  for (let row = 0; row < 64; row++) {
    const [isKnown, isFirst, isBehind] = [row < 8 * planes, row % 8 === 0, row >= 8 * (planes + 1)];
    const near = isKnown ? (row === 0 ? 3 : 1) : isBehind ? 0 : isFirst ? 1 : 2;
    stream.symbol(rowTables[12 + near], isKnown ? 1 : 0);
  }
  const activity = new Uint8Array(CELLS);
  const residual = [0, 0, 0];
  for (let node = 0; node < 64 * planes; node++) {
    const [x, y, z] = [node % 8 > 0, Math.floor(node / 8) % 8 > 0, node >= 64];
    const k = x + y + z;
    let size = 0;
    for (let axis = 0; axis < 3; axis++) {
      const at = axis * CELLS + node;
      const sum = (x && nodes[at - 1]) + (y && nodes[at - 8]) + (z && nodes[at - 64]);
      residual[axis] = nodes[at] - (k === 0 ? 0 : Math.floor((2 * sum + k) / (2 * k)));
      size += Math.abs(residual[axis]);
    }
    const busy = (x && activity[node - 1]) + (y && activity[node - 8]) + (z && activity[node - 64]);
    stream.residual(k === 0 ? 24 : nodeContext(Math.floor((4 * busy) / k)), residual);
    activity[node] = Math.min(15, size);
  }
  return stream.finish();
}

/** By the activity of the nodes before it, in quarters. */
function nodeContext(q) {
  const m = bitsOf(q);
  return m < 2 ? 25 + q : m === 2 ? 27 : 22 + 2 * m + (Math.floor(q / 2 ** (m - 2)) % 2);
}

/** What flows at each of a tile's nodes: the mean of the cell behind it, of the whole tile where that is empty. */
function nodesOf(members, quantaPerVelocity) {
  const nodes = new Int32Array(3 * CELLS);
  const counts = new Uint32Array(CELLS);
  for (const { cell } of members) counts[cell]++;
  for (let axis = 0; axis < 3; axis++) {
    const sums = new Float64Array(CELLS);
    for (const { cell, velocity } of members) sums[cell] += velocity[axis];
    const all = sums.reduce((total, sum) => total + sum) / members.length;
    for (let node = 0; node < CELLS; node++) {
      const mean = counts[node] > 0 ? sums[node] / counts[node] : all;
      const quanta = Math.round(mean * quantaPerVelocity);
      nodes[axis * CELLS + node] = Math.max(-NODE_MAX, Math.min(NODE_MAX, quanta));
    }
  }
  return nodes;
}

/** Section 9.4. @param tiles  [{index, members}], ascending; a member's key is that inside its cell */
export function writeLayer(tiles, hasColours) {
  if (tiles.length === 0) return Buffer.alloc(0);
  const list = new StreamWriter();
  list.number("count", tiles.length);
  let next = 0;
  for (const { index, members } of tiles) {
    members.sort((a, b) => a.cell - b.cell || a.key - b.key);
    list.number("gap", index - next);
    list.number("count", members.length);
    next = index + 1;
  }
  const sets = tiles.map(({ members }) => writeSet(members));
  const colours = hasColours ? tiles.map(({ members }) => writeColours(members.map((m) => m.colour))) : [];
  return Buffer.concat([list.finish(), ...sets, ...colours]);
}

/** Section 9.3. @param cells  of the tank, along each axis */
export function writeFlow(tiles, quantaPerVelocity, cells) {
  const [tx, ty] = cells.map((n) => Math.ceil(n / 8));
  const planesOf = (index) => Math.min(8, cells[2] - 8 * Math.floor(index / (tx * ty)) + 1);
  const gaps = new StreamWriter();
  let next = 0;
  for (const { index } of tiles) {
    gaps.number("gap", index - next);
    next = index + 1;
  }
  return Buffer.concat([
    gaps.finish(),
    ...tiles.map(({ index, members }) => writeNodes(nodesOf(members, quantaPerVelocity), planesOf(index))),
  ]);
}
