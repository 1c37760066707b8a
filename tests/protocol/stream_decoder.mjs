// A decoder of frames written from SPEC.md, section 5, and STREAM.md, and from nothing else: where it and the C decoder
// disagree, one of them doesn't follow the documents. Slow and plain; used by tests only.

import {
  AXES,
  bitsOf,
  check,
  clamp,
  clampNode,
  contextOf,
  malformed,
  nodeTables,
  Refusal,
  readColours,
  readSet,
  rowTables,
  STATUS,
  Stream,
  sizeOf,
} from "./stream_coding.mjs";

// ---- 5, 9.2, 9.9: heads ----

const isUnit = (q) => {
  const sum = q.reduce((total, c) => total + c * c, 0);
  return sum >= 0.98 && sum <= 1.02;
};

function readBody(view, at) {
  return {
    solid: view.getUint16(at, true),
    reserved: view.getUint16(at + 2, true),
    position_m: AXES.map((axis) => view.getFloat32(at + 4 + 4 * axis, true)),
    rotation: [0, 1, 2, 3].map((i) => view.getInt16(at + 16 + 2 * i, true)),
  };
}

function readHeader(view) {
  const u32 = (at) => view.getUint32(at, true);
  const f32 = (at) => view.getFloat32(at, true);
  return {
    header_bytes: view.getUint16(6, true),
    frame_bytes: u32(8),
    kind: view.getUint8(12),
    place_bits: view.getUint8(13),
    layer_count: view.getUint8(14),
    flags: u32(16),
    epoch: u32(20),
    step: view.getBigUint64(24, true),
    sim_time_s: view.getFloat64(32, true),
    server_time_us: view.getBigUint64(40, true),
    realtime_factor: f32(48),
    number: u32(52),
    reference: u32(56),
    interval_steps: u32(60),
    cells: AXES.map((axis) => view.getUint16(64 + 2 * axis, true)),
    input_count: view.getUint16(70, true),
    cell_m: f32(72),
    orientation: [76, 80, 84, 88].map(f32),
    gravity_m_s2: [92, 96, 100].map(f32),
    interval_s: f32(104),
    flow_tiles: u32(108),
    flow_bytes: u32(112),
    flow_tiles_max: u32(116),
    body_count: u32(120),
    residual_step: view.getUint16(124, true),
    flow_step: view.getUint8(126),
    version: view.getUint16(4, true),
    channel: view.getUint16(4, true) >= 4 ? view.getUint8(127) : 0,
    channel_low: f32(128),
    channel_high: f32(132),
  };
}

function checkHead(head) {
  const limit = (condition, why) => check(condition, STATUS.LIMIT, why);
  const isKey = head.kind === 0;
  const finite = (values) => values.every(Number.isFinite);
  check(head.kind <= 2, STATUS.VERSION, "kind");
  malformed(head.place_bits <= 7 && head.flags <= 3, "place_bits or flags");
  malformed(head.flow_tiles <= head.flow_tiles_max && head.layer_count >= 1, "flow_tiles or layer_count");
  malformed(head.residual_step <= 2 ** 14, "residual_step");
  limit(head.flow_tiles_max <= 2 ** 20 && head.channel <= 8, "flow_tiles_max or channel");
  malformed(isKey === (head.reference === head.number), "reference");
  limit(head.step < 2n ** 53n && head.server_time_us < 2n ** 53n, "step or server_time_us");
  const times = [head.sim_time_s, head.realtime_factor, head.interval_s];
  malformed(finite(times) && times.every((value) => value >= 0), "a time");
  malformed(Number.isFinite(head.cell_m) && head.cell_m > 0, "cell_m");
  const ends = [head.channel_low, head.channel_high];
  malformed(head.channel === 0 || (finite(ends) && ends[0] <= ends[1]), "channel_low or channel_high");
  malformed(isUnit(head.orientation) && finite(head.gravity_m_s2), "orientation or gravity_m_s2");
  malformed(
    head.cells.every((cells) => cells >= 1),
    "cells",
  );
  limit(
    head.cells.every((cells) => cells <= 2048),
    "cells",
  );
  head.bodies.forEach((body, i) => {
    malformed(i === 0 || body.solid > head.bodies[i - 1].solid, "bodies' order");
    malformed(finite(body.position_m) && isUnit(body.rotation.map((r) => r / 32767)), "a body's place");
  });
  for (const layer of head.layers) {
    malformed(layer.particles <= layer.slots && layer.slots <= layer.slots_max, "a layer's slots");
    malformed(!isKey || layer.particles === layer.slots, "a layer's particles");
  }
  limit(head.layers.reduce((sum, layer) => sum + layer.slots_max, 0) <= 2 ** 24, "slots_max");
  if (head.field === undefined) return;
  const [number, , kinds, low, high, tiles, tilesMax] = head.field;
  limit(number <= 8 && tilesMax <= 2 ** 17, "field or field_tiles_max");
  malformed(kinds <= 1 && tiles <= tilesMax && tilesMax >= 1 && finite([low, high]) && low <= high, "what is said of the field");
}

/** Section 5.6. */
function readField(view, at) {
  const field = [view.getUint8(at), view.getUint8(at + 1), view.getUint16(at + 2, true)];
  for (const offset of [4, 8]) field.push(view.getFloat32(at + offset, true));
  for (const offset of [12, 16, 20, 24]) field.push(view.getUint32(at + offset, true));
  malformed(field[0] >= 1 && field[2] < 256, "field or is_kinds");
  return field;
}

/** Opens a frame that may have been cut. */
function open(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  check(bytes.length >= 8, STATUS.TRUNCATED, "8 bytes");
  malformed(view.getUint32(0, true) === 0x464e5254, "magic");
  const version = view.getUint16(4, true);
  check(version >= 2 && version <= 5, STATUS.VERSION, "version");
  const headerBytes = view.getUint16(6, true);
  malformed(headerBytes >= 136 && headerBytes % 8 === 0, "header_bytes");
  check(headerBytes <= 1024, STATUS.LIMIT, "header_bytes");
  check(bytes.length >= headerBytes, STATUS.TRUNCATED, "header");
  check(bytes[15] === 3, STATUS.VERSION, "tile_cells_log2");
  const reserved = version === 2 ? view.getUint32(124, true) : view.getUint8(127);
  malformed(version === 5 || (version === 4) === (reserved !== 0), "reserved, or channel");
  const head = readHeader(view);
  check(head.body_count <= 16, STATUS.LIMIT, "body_count");
  malformed(headerBytes >= 136 + 24 * head.body_count, "room for bodies");
  head.bodies = Array.from({ length: head.body_count }, (_, i) => readBody(view, 136 + 24 * i));
  malformed(
    head.bodies.every((body) => body.reserved === 0),
    "bodies' reserved",
  );
  check(head.layer_count <= 8 && head.input_count <= 64, STATUS.LIMIT, "layer_count or input_count");
  const layersAt = headerBytes + 8 * head.input_count;
  const fieldAt = layersAt + 16 * head.layer_count;
  const flowAt = fieldAt + (version === 5 ? 28 : 0);
  check(bytes.length >= flowAt, STATUS.TRUNCATED, "tables");
  const pair = (at) => [view.getUint32(at, true), view.getUint32(at + 4, true)];
  head.inputs = Array.from({ length: head.input_count }, (_, i) => pair(headerBytes + 8 * i));
  head.layers = Array.from({ length: head.layer_count }, (_, i) => {
    const [layerBytes, slots, particles, slots_max] = [
      ...pair(layersAt + 16 * i),
      ...pair(layersAt + 16 * i + 8),
    ];
    return { bytes: layerBytes, slots, particles, slots_max };
  });
  if (version === 5) head.field = readField(view, fieldAt);
  checkHead(head);
  const sections = [];
  const blocksAt = flowAt + head.flow_bytes;
  const [blockBytes, cellBytes] = head.field?.slice(7) ?? [0, 0];
  let at = blocksAt + blockBytes;
  check(bytes.length >= at, STATUS.TRUNCATED, "flow or blocks");
  let whole = at;
  for (const layer of head.layers) {
    whole += layer.bytes;
    if (whole > bytes.length) continue;
    sections.push({ at, end: whole });
    at = whole;
  }
  malformed(whole + cellBytes === head.frame_bytes, "frame_bytes");
  const isCut = sections.length < head.layers.length;
  const cells = !isCut && bytes.length >= at + cellBytes ? { at, end: at + cellBytes } : undefined;
  at = cells?.end ?? at;
  check(at === bytes.length || cells !== undefined, STATUS.TRUNCATED, "a layer, or cells");
  malformed(at === bytes.length, "bytes behind the end");
  const blocks = { at: blocksAt, end: blocksAt + blockBytes };
  return { head, bytes, flow: { at: flowAt, end: blocksAt }, blocks, sections, cells };
}

// ---- 9.3 Flow ----

/** A frame's grid: per tile's index its 512 nodes' values, and which of them the frame knows. */
class Grid {
  constructor(cells, b, steps) {
    this.tiles = cells.map((count) => Math.ceil(count / 8));
    this.b = b;
    this.steps = steps;
    this.nodes = new Map();
    this.known = new Map();
  }

  indexOf([i, j, k]) {
    return (k * this.tiles[1] + j) * this.tiles[0] + i;
  }

  tileOf(index) {
    const [tx, ty] = this.tiles;
    return [index % tx, Math.floor(index / tx) % ty, Math.floor(index / tx / ty)];
  }

  /** Node 0..8 along each axis of a tile that the grid has. */
  value(tile, node) {
    const next = AXES.map((axis) => tile[axis] + (node[axis] === 8 ? 1 : 0));
    const isInside = next.every((at, axis) => at < this.tiles[axis]);
    const other = isInside ? this.nodes.get(this.indexOf(next)) : undefined;
    const own = node.map((n) => (n < 8 ? n : other === undefined ? 7 : 0));
    return (other ?? this.nodes.get(this.indexOf(tile)))[64 * own[2] + 8 * own[1] + own[0]];
  }

  /** S(p), or null where the grid has no tile. */
  sum(p) {
    const tile = p.map((at) => Math.floor(at / 8192));
    if (!this.nodes.has(this.indexOf(tile))) return null;
    const c = p.map((at) => Math.floor(at / 1024) % 8);
    const w = p.map((at) => Math.floor(((at % 1024) + 16) / 32));
    const sum = [0, 0, 0];
    for (let corner = 0; corner < 8; corner++) {
      const upper = AXES.map((axis) => (corner >> axis) % 2);
      const weight = AXES.reduce((product, axis) => product * (upper[axis] ? w[axis] : 32 - w[axis]), 1);
      const value = this.value(
        tile,
        c.map((at, axis) => at + upper[axis]),
      );
      for (const axis of AXES) sum[axis] += weight * value[axis];
    }
    return sum;
  }

  /** D(p). */
  distance(sum) {
    return sum.map((s) => Math.floor((s + 2 ** (4 + this.b)) / 2 ** (5 + this.b)));
  }

  largest() {
    let most = 0;
    for (const nodes of this.nodes.values()) {
      for (const value of nodes) most = Math.max(most, ...value.map(Math.abs));
    }
    return most;
  }
}

function expected(reference, place, ratio, ends) {
  const tile = place.map((at) => Math.floor(at / 8192));
  const nodes = reference.nodes.get(reference.indexOf(tile));
  const [x, y, z] = place.map((at) => Math.floor(at / 1024) % 8);
  const n = nodes[64 * z + 8 * y + x];
  const p = place.map((at, axis) => clamp(at - 2 ** (10 - reference.b) * n[axis], 0, ends[axis]));
  const s = reference.sum(p) ?? n.map((value) => 2 ** 15 * value);
  return s.map((value) => clampNode(Math.floor((value * ratio + 2 ** 30) / 2 ** 31)));
}

/** The nodes before one along some axes, inside the tile. */
function nodesBefore(node, axes) {
  return axes.filter((axis) => Math.floor(node / 8 ** axis) % 8 > 0).map((axis) => node - 8 ** axis);
}

function stateOf(known, row) {
  const count = known.slice(8 * row, 8 * row + 8).filter(Boolean).length;
  return count === 0 ? 0 : count === 8 ? 1 : 2;
}

/** @param past  which nodes the reference knows; undefined without a past */
function readKnown(stream, past) {
  const known = new Array(512).fill(false);
  for (let row = 0; row < 64; row++) {
    const states = nodesBefore(8 * row, [1, 2]).map((node) => stateOf(known, node / 8));
    const near = states.length === 0 ? 3 : states.every((state) => state === states[0]) ? states[0] : 2;
    const state = stream.symbol(rowTables[4 * (past ? stateOf(past, row) : 3) + near]);
    for (let x = 0; x < 8; x++) {
      const node = 8 * row + x;
      if (state < 2) {
        known[node] = state === 1;
        continue;
      }
      const was = past ? Number(past[node]) : 2;
      const before = x === 0 ? 2 : Number(known[node - 1]);
      const others = nodesBefore(node, [1, 2]);
      const count = others.length === 0 ? 3 : others.filter((other) => known[other]).length;
      known[node] = stream.symbol(nodeTables[12 * was + 4 * before + count]) === 1;
    }
  }
  return known;
}

function nodeContext(q) {
  if (q < 4) return [25, 26, 27, 27][q];
  const m = bitsOf(q);
  return 22 + 2 * m + (Math.floor(q / 2 ** (m - 2)) % 2);
}

/** Of each axis floor((2 E + k) / (2 k)). */
function meanOf(values) {
  const k = values.length;
  return AXES.map((axis) => Math.floor((2 * values.reduce((sum, v) => sum + v[axis], 0) + k) / (2 * k)));
}

/** Gives the nodes that the frame doesn't know a value. */
function fillIn(nodes) {
  for (const direction of [1, -1]) {
    for (let i = 0; i < 512; i++) {
      const node = direction === 1 ? i : 511 - i;
      if (nodes[node] !== null) continue;
      // Backwards the nodes behind are those before in the mirrored tile.
      const mirrored = direction === 1 ? node : 511 - node;
      const near = nodesBefore(mirrored, AXES).map((other) => nodes[direction === 1 ? other : 511 - other]);
      const values = near.filter((value) => value !== null);
      if (values.length > 0) nodes[node] = meanOf(values);
    }
  }
  return nodes.map((value) => value ?? [0, 0, 0]);
}

function readNodes(stream, tile, reference, ratio, ends, step) {
  const past = ratio > 0 ? reference?.known.get(reference.indexOf(tile)) : undefined;
  const known = readKnown(stream, past);
  const nodes = new Array(512).fill(null);
  const errors = [];
  const activities = [];
  for (let node = 0; node < 512; node++) {
    if (!known[node]) continue;
    const at = [node % 8, Math.floor(node / 8) % 8, Math.floor(node / 64)];
    const place = at.map((n, axis) => 1024 * (8 * tile[axis] + n));
    malformed(place[2] <= ends[2] + 1, "a node outside the tank");
    const e = past ? expected(reference, place, ratio, ends) : [0, 0, 0];
    const before = nodesBefore(node, AXES).filter((other) => known[other]);
    const k = before.length;
    let context = 24;
    let corrected = e;
    if (k > 0) {
      const mean = meanOf(before.map((other) => errors[other]));
      corrected = e.map((value, axis) => clampNode(value + mean[axis]));
      context = nodeContext(Math.floor((4 * before.reduce((sum, other) => sum + activities[other], 0)) / k));
    }
    const residual = stream.residual(context);
    nodes[node] = corrected.map((c, axis) => clampNode(c + step * residual[axis]));
    errors[node] = nodes[node].map((v, axis) => clampNode(v - e[axis]));
    activities[node] = sizeOf(residual);
  }
  return { known, nodes: fillIn(nodes) };
}

// ---- 9.4 .. 9.8 ----

/** Keeps the particles of one tank's stream. */
export class StreamDecoder {
  constructor() {
    this.chain = null; // what the last key or base frame left
  }

  /** Takes a frame. @returns its status, and what a receiver has then */
  take(bytes) {
    try {
      const frame = open(bytes);
      return { status: STATUS.OK, frame, ...this.decode(frame) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: error.status, why: error.message };
    }
  }

  decode(frame) {
    const { head } = frame;
    if (head.kind !== 0) check(this.continues(head), STATUS.STATE, "its reference isn't there");
    const ends = head.cells.map((cells) => 1024 * cells - 1);
    const chain =
      head.kind !== 0
        ? this.chain
        : {
            head,
            promised: head,
            grid: null,
            layers: head.layers.map(() => null),
            hasColours: head.flags >= 2,
          };
    this.chain = null; // until the frame has been read to its end
    const grid = this.readFlow(frame, chain, ends);
    const field = head.field && Field.read(frame, head.kind === 0 ? undefined : chain.field, grid);
    const shown = [];
    const layers = head.layers.map((layer, index) => {
      const section = frame.sections[index];
      if (section === undefined) return head.kind === 2 ? chain.layers[index] : null;
      if (head.kind !== 0 && chain.layers[index] === null) return null;
      const reader = { bytes: frame.bytes, ...section };
      return head.kind === 0
        ? readKeyLayer(reader, layer, index, { chain, grid, ends, shown, head })
        : readMovedLayer(reader, layer, index, { chain, grid, ends, shown, head });
    });
    field?.readCells(frame, head.kind === 0 ? undefined : chain.field, grid);
    this.chain = head.kind === 2 ? chain : { ...chain, head, grid, layers, field };
    return { ...handOut(head, grid, shown), field };
  }

  continues(head) {
    const last = this.chain?.head;
    return (
      last !== undefined &&
      head.reference === last.number &&
      head.epoch === last.epoch &&
      head.place_bits === last.place_bits &&
      head.layer_count === last.layer_count &&
      head.cells.every((cells, axis) => cells === last.cells[axis]) &&
      head.flags >= 2 === this.chain.hasColours &&
      head.field?.[0] === this.chain.promised.field?.[0] &&
      head.field?.[2] === this.chain.promised.field?.[2]
    );
  }

  readFlow({ head, bytes, flow }, chain, ends) {
    const grid = new Grid(head.cells, head.place_bits, head.interval_steps);
    const tileCount = grid.tiles.reduce((product, tiles) => product * tiles);
    malformed(head.flow_tiles <= chain.promised.flow_tiles_max, "more tiles than promised");
    const list = new Stream(bytes, flow.at, flow.end);
    const tiles = readTiles(list, head.flow_tiles, tileCount, () => null);
    let at = list.finish();
    const steps = chain.grid?.steps ?? 0;
    const ratio = steps === 0 ? 0 : Math.min(2 ** 20, Math.floor((2 ** 16 * head.interval_steps) / steps));
    for (const { index } of tiles) {
      const stream = new Stream(bytes, at, flow.end);
      const { known, nodes } = readNodes(
        stream,
        grid.tileOf(index),
        chain.grid,
        ratio,
        ends,
        Math.max(1, head.flow_step),
      );
      grid.known.set(index, known);
      grid.nodes.set(index, nodes);
      at = stream.finish();
    }
    malformed(at === flow.end, "bytes behind the flow");
    return grid;
  }
}

/** A list of tiles, each behind how many are left out, with what is said of it. */
function readTiles(stream, count, tileCount, readMore) {
  const tiles = [];
  for (let i = 0, next = 0; i < count; i++) {
    const index = next + stream.number("gap");
    malformed(index < tileCount, "a tile outside the tank");
    tiles.push({ index, more: readMore() });
    next = index + 1;
  }
  return tiles;
}

const middleOf = (quantum, b) => 2 ** (10 - b) * quantum + 2 ** (9 - b);

function readKeyLayer({ bytes, at, end }, layer, index, { chain, grid, ends, shown, head }) {
  const b = chain.head.place_bits;
  const slots = [];
  if (at === end && layer.slots === 0) return slots;
  const list = new Stream(bytes, at, end);
  const count = list.number("count");
  malformed(count <= layer.slots, "more tiles than slots");
  const tileCount = grid.tiles.reduce((product, tiles) => product * tiles);
  const tiles = readTiles(list, count, tileCount, () => list.number("count"));
  malformed(tiles.reduce((sum, tile) => sum + tile.more, 0) === layer.slots, "particles of the tiles");
  let next = list.finish();
  for (const tile of tiles) {
    const stream = new Stream(bytes, next, end);
    const corner = grid.tileOf(tile.index).map((i) => 8192 * i);
    for (const quantum of readSet(stream, tile.more, b)) {
      const place = quantum.map((q, axis) => Math.min(corner[axis] + middleOf(q, b), ends[axis]));
      slots.push({ place, colour: 0, isDead: false });
    }
    next = stream.finish();
  }
  if (chain.hasColours) {
    let slot = 0;
    for (const tile of tiles) {
      const stream = new Stream(bytes, next, end);
      for (const colour of readColours(stream, tile.more)) slots[slot++].colour = colour;
      next = stream.finish();
    }
  }
  next = readLevels({ bytes, end }, next, slots, { head, hasPast: false });
  malformed(next === end, "bytes behind the layer");
  for (const { place, colour, shownLevel } of slots)
    shown.push({ place, colour, level: shownLevel, layer: index, sum: grid.sum(place) });
  return slots;
}

/** Sections 8.8 and 9.6: gives each slot that is alive its level. @returns where the next stream begins */
function readLevels({ bytes, end }, at, slots, { head, hasPast }) {
  let next = at;
  for (let first = 0; first < slots.length && head.channel !== 0; first += 1024) {
    const alive = slots.slice(first, first + 1024).filter((slot) => !slot.isDead);
    if (alive.length === 0) continue;
    const stream = new Stream(bytes, next, end);
    const form = stream.bits(3);
    let activity = 0;
    let residual = [];
    let [before, change] = [0, 0];
    alive.forEach((slot, i) => {
      if (form > 0 && i % 3 === 0) {
        residual = stream.residual(contextOf(activity));
        activity = activity - Math.floor((activity + 7) / 8) + 32 * sizeOf(residual);
      }
      const isKnown = hasPast && slot.level !== undefined;
      const expected = isKnown ? clamp(slot.level + change, 0, 255) : before;
      before = form === 0 ? stream.bits(8) : clamp(expected + 2 ** (form - 1) * residual[i % 3], 0, 255);
      change = isKnown ? before - slot.level : 0;
      slot.shownLevel = before;
    });
    next = stream.finish();
  }
  for (const slot of slots) slot.level = head.channel === 0 ? undefined : slot.shownLevel;
  return next;
}

function readGroup(stream, group, isBase) {
  const deaths = stream.number("deaths");
  malformed(deaths <= (isBase ? group.length : 0), "too many deaths");
  for (let i = 0; i < deaths; i++) {
    const slot = stream.bits(10);
    malformed(slot < group.length, "the death of no slot");
    group[slot].isDead = true;
  }
  let a = 0;
  for (const slot of group) {
    if (slot.isDead) continue;
    slot.residual = stream.residual(contextOf(a));
    a = a - Math.floor((a + 7) / 8) + 32 * sizeOf(slot.residual);
  }
}

function readBirths(reader, at, count, { chain, head }) {
  const births = [];
  const b = head.place_bits;
  const stream = new Stream(reader.bytes, at, reader.end);
  for (let i = 0; i < count; i++) {
    const quantum = head.cells.map((cells) => {
      const q = stream.bits(bitsOf(2 ** b * cells - 1));
      malformed(q < 2 ** b * cells, "a birth outside the tank");
      return q;
    });
    const colour = chain.hasColours ? stream.bits(8) : 0;
    births.push({ place: quantum.map((q) => middleOf(q, b)), colour, isDead: false });
  }
  return { births, next: stream.finish() };
}

function readMovedLayer(reader, layer, index, { chain, grid, ends, shown, head }) {
  const isBase = head.kind === 1;
  const before = shown.length;
  const slots = chain.layers[index].map((slot) => ({ ...slot, residual: [0, 0, 0] }));
  const births = layer.slots - slots.length;
  malformed(births >= 0 && (isBase || births === 0), "slots");
  malformed(layer.slots <= chain.promised.layers[index].slots_max, "more slots than promised");
  const flags = new Stream(reader.bytes, reader.at, reader.end);
  const groups = Array.from({ length: Math.ceil(slots.length / 1024) }, () => flags.bits(1));
  let next = flags.finish();
  groups.forEach((isCoded, g) => {
    if (!isCoded) return;
    const stream = new Stream(reader.bytes, next, reader.end);
    readGroup(stream, slots.slice(1024 * g, 1024 * (g + 1)), isBase);
    next = stream.finish();
  });
  const step = head.residual_step || 2 ** (10 - head.place_bits);
  for (const slot of slots) {
    if (slot.isDead) continue;
    const sum = grid.sum(slot.place);
    const distance = sum === null ? [0, 0, 0] : grid.distance(sum);
    slot.place = slot.place.map((p, axis) =>
      clamp(p + distance[axis] + step * slot.residual[axis], 0, ends[axis]),
    );
    slot.sum = sum;
  }
  for (let left = births; left > 0; left -= 1024) {
    const read = readBirths(reader, next, Math.min(left, 1024), { chain, head });
    next = read.next;
    for (const birth of read.births) birth.sum = grid.sum(birth.place);
    slots.push(...read.births);
  }
  next = readLevels(reader, next, slots, { head, hasPast: head.channel === chain.head.channel });
  for (const { place, colour, shownLevel, sum, isDead } of slots)
    if (!isDead) shown.push({ place, colour, level: shownLevel, layer: index, sum });
  malformed(next === reader.end, "bytes behind the layer");
  malformed(shown.length - before === layer.particles, "particles");
  return slots;
}

/** Section 9.8. */
function handOut(head, grid, shown) {
  const u = Math.min(10, 16 - bitsOf(Math.max(...head.cells) - 1));
  const h = Math.max(0, bitsOf(grid.largest()) - 7);
  const unit = (2 ** (h - head.place_bits) * head.cell_m) / head.interval_s;
  return {
    unit_bits: u,
    velocity_scale_m_s: head.interval_s > 0 && Number.isFinite(Math.fround(unit)) ? unit : 0,
    particles: shown.map(({ place, colour, level, layer, sum }) => ({
      position: place.map((p) => Math.floor(p / 2 ** (10 - u))),
      velocity: (sum ?? [0, 0, 0]).map((s) =>
        clamp(Math.floor((s + 2 ** (14 + h)) / 2 ** (15 + h)), -127, 127),
      ),
      colour: colour + 256 * (head.channel === 0 ? 0 : level),
      layer,
    })),
  };
}

// ---- 9.7 Fields ----

/** A frame's field: per tile's index the levels of its blocks and, if they are there, its cells. */
class Field {
  constructor(head) {
    [, this.rest, this.isKinds] = head.field;
    this.tank = head.cells;
    this.tiles = head.cells.map((count) => Math.ceil(count / 8));
    this.list = [];
    this.levels = { blocks: new Map(), cells: undefined };
  }

  /** The number, along each axis, of a cell or block of a tile. */
  at(index, i, edge) {
    const [tx, ty] = this.tiles;
    const tile = [index % tx, Math.floor(index / tx) % ty, Math.floor(index / tx / ty)];
    return tile.map((t, axis) => edge * t + (Math.floor(i / edge ** axis) % edge));
  }

  /** How many there are along each axis. */
  counts(edge) {
    return this.tank.map((cells) => (edge === 8 ? cells : Math.ceil(cells / 2)));
  }

  level(part, edge, at) {
    const [x, y, z] = at.map((a) => Math.floor(a / edge));
    const levels = this.levels[part].get((z * this.tiles[1] + y) * this.tiles[0] + x);
    const [i, j, k] = at.map((a) => a % edge);
    return levels === undefined ? this.rest : levels[edge * (edge * k + j) + i];
  }

  /** F(p) or B(p). */
  levelAt(part, edge, p) {
    const s = edge === 8 ? 1024 : 2048;
    const counts = this.counts(edge);
    if (this.isKinds) return this.level(part, edge, p.map((at) => Math.floor(at / s)));
    const q = p.map((at, axis) => clamp(at - s / 2, 0, s * (counts[axis] - 1)));
    const w = q.map((at) => Math.floor(((at % s) * 32) / s));
    let sum = 0;
    for (let corner = 0; corner < 8; corner++) {
      const upper = AXES.map((axis) => (corner >> axis) % 2);
      const weight = AXES.reduce((product, axis) => product * (upper[axis] ? w[axis] : 32 - w[axis]), 1);
      const at = q.map((place, axis) => Math.floor(place / s) + upper[axis]);
      if (weight > 0) sum += weight * this.level(part, edge, at);
    }
    return Math.floor((sum + 2 ** 14) / 2 ** 15);
  }

  middle(at, s) {
    return at.map((a, axis) => Math.min(s * a + s / 2, 1024 * this.tank[axis] - 1));
  }

  /** Where what is at a place has come from. */
  from(place, grid) {
    const sum = grid.sum(place);
    const way = sum === null ? [0, 0, 0] : grid.distance(sum);
    return place.map((p, axis) => clamp(p - way[axis], 0, 1024 * this.tank[axis] - 1));
  }

  /** @param expect  of the number of a cell or block: what is expected; undefined: nothing is known */
  readPart({ bytes, end }, begin, edge, expect, isBlock) {
    const size = this.tank[2] === 1 ? edge ** 2 : edge ** 3;
    const counts = this.counts(edge);
    const levels = new Map();
    let next = begin;
    for (let first = 0; first < this.list.length; first += 1024 / size) {
      const stream = new Stream(bytes, next, end);
      const form = stream.bits(3);
      let [activity, used, before, change] = [0, 0, 0, 0];
      let residual = [];
      for (const index of this.list.slice(first, first + 1024 / size)) {
        const tile = new Array(size).fill(this.rest);
        for (let i = 0; i < size; i++) {
          const at = this.at(index, i, edge);
          if (at.some((a, axis) => a >= counts[axis])) continue;
          if (form > 0 && used++ % 3 === 0) {
            residual = stream.residual(contextOf(activity));
            activity = activity - Math.floor((activity + 7) / 8) + 32 * sizeOf(residual);
          }
          const last = expect(at);
          const expected = last === undefined ? before : clamp(last + (isBlock ? change : 0), 0, 255);
          before =
            form === 0 ? stream.bits(8) : clamp(expected + 2 ** (form - 1) * residual[(used - 1) % 3], 0, 255);
          change = last === undefined ? 0 : before - last;
          tile[i] = before;
        }
        levels.set(index, tile);
      }
      next = stream.finish();
    }
    malformed(next === end, "bytes behind the field");
    return levels;
  }

  static read({ head, bytes, blocks }, past, grid) {
    const field = new Field(head);
    const tileCount = field.tiles.reduce((product, tiles) => product * tiles);
    const list = new Stream(bytes, blocks.at, blocks.end);
    field.list = readTiles(list, head.field[5], tileCount, () => null).map(({ index }) => index);
    const expect = (at) => past?.levelAt("blocks", 4, field.from(field.middle(at, 2048), grid));
    field.levels.blocks = field.readPart({ bytes, end: blocks.end }, list.finish(), 4, expect, true);
    return field;
  }

  readCells({ bytes, cells }, past, grid) {
    if (cells === undefined || (past && past.levels.cells === undefined)) return;
    const expect = (at) => {
      const middle = this.middle(at, 1024);
      const b = this.levelAt("blocks", 4, middle);
      if (past === undefined) return b;
      const r = this.from(middle, grid);
      const [f, was] = [past.levelAt("cells", 8, r), past.levelAt("blocks", 4, r)];
      return this.isKinds ? (was === b ? f : b) : clamp(b + f - was, 0, 255);
    };
    this.levels.cells = this.readPart({ bytes, end: cells.end }, cells.at, 8, expect, false);
  }

  /** All cells' levels, as a receiver shows them. */
  *shown() {
    for (let z = 0; z < this.tank[2]; z++)
      for (let y = 0; y < this.tank[1]; y++)
        for (let x = 0; x < this.tank[0]; x++)
          yield this.levels.cells === undefined
            ? this.levelAt("blocks", 4, this.middle([x, y, z], 1024))
            : this.level("cells", 8, [x, y, z]);
  }
}
