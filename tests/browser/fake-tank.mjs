// A tank for looking at the page without a simulation: particles on known paths, each frame a key frame. Also a fixture:
// what it sends is known exactly.
import { PLACE_BITS, writeFlow, writeLayer } from "./frame-writer.mjs";

const TILE_CELLS = 8;
const TILE_BITS = PLACE_BITS + Math.log2(TILE_CELLS);
const HEADER_BYTES = 136;
const BODY_BYTES = 24;
const INPUT_BYTES = 8;
const LAYER_BYTES = 16;
const INTERVAL_STEPS = 2;
const INTERVAL_S = INTERVAL_STEPS / 60;

/** A particle's place and velocity at a time: water that sloshes to and fro between the walls. */
export function waterAt(seed, t, size) {
  const [sx, sy, sz] = size;
  const [u, v, w] = seed;
  const omega = 4.1;
  const ripple = 9 * u + 5 * t + 4 * w;
  const height = sy * (0.4 + 0.26 * Math.cos(omega * t) * Math.cos(Math.PI * u) + 0.03 * Math.sin(ripple));
  const rise = sy * (-0.26 * omega * Math.sin(omega * t) * Math.cos(Math.PI * u) + 0.15 * Math.cos(ripple));
  const run = 0.26 * omega * 0.5 * sx * Math.sin(omega * t) * Math.sin(Math.PI * u);
  return { at: [u * sx, v * height, w * sz], velocity: [run, v * rise, 0] };
}

/** Seeds of particles, spread evenly over the unit cube (an additive recurrence), so that water looks like water. */
export function seeds(count) {
  const g = 1.2207440846057596;
  return Array.from({ length: count }, (_, i) => [(i / g) % 1, (i / (g * g)) % 1, (i / (g * g * g)) % 1]);
}

/** The bits of x, y and z in turn, the highest first. */
function keyOf(x, y, z) {
  let key = 0;
  for (let bit = PLACE_BITS - 1; bit >= 0; bit--)
    key = (key << 3) | (((x >> bit) & 1) << 2) | (((y >> bit) & 1) << 1) | ((z >> bit) & 1);
  return key;
}

/** The tiles that have particles, ascending, and of each particle its cell in the tile and its key in the cell. */
function tilesOf(particles, { cells, cellM }) {
  const [tx, ty] = cells.map((n) => Math.ceil(n / TILE_CELLS));
  const ends = cells.map((n) => (n << PLACE_BITS) - 1);
  const quantumOf = (at, axis) =>
    Math.min(ends[axis], Math.max(0, Math.floor((at[axis] / cellM) * 2 ** PLACE_BITS)));
  const tiles = new Map();
  for (const { at, velocity, colour } of particles) {
    const [x, y, z] = [quantumOf(at, 0), quantumOf(at, 1), quantumOf(at, 2)];
    const index = ((z >> TILE_BITS) * ty + (y >> TILE_BITS)) * tx + (x >> TILE_BITS);
    const cell = (((z >> PLACE_BITS) & 7) << 6) | (((y >> PLACE_BITS) & 7) << 3) | ((x >> PLACE_BITS) & 7);
    if (!tiles.has(index)) tiles.set(index, { index, members: [] });
    tiles.get(index).members.push({ cell, key: keyOf(x, y, z), velocity, colour });
  }
  return [...tiles.values()].sort((a, b) => a.index - b.index);
}

/**
 * Encodes particles ({at, velocity, colour}) as a key frame; colours count where the first particle has one.
 * @param head.bodies  [{solid, at, rotation}], ascending
 */
export function encodeFrame(particles, head) {
  const tiles = tilesOf(particles, head);
  const hasColours = particles[0]?.colour !== undefined;
  const flow = writeFlow(tiles, (INTERVAL_S / head.cellM) * 2 ** PLACE_BITS, head.cells);
  const layer = writeLayer(tiles, hasColours);
  const { inputs = [], bodies = [] } = head;
  const headerBytes = HEADER_BYTES + BODY_BYTES * bodies.length;
  const bytes = Buffer.alloc(headerBytes + INPUT_BYTES * inputs.length + LAYER_BYTES);
  writeHead(bytes, head, { flags: (head.paused ? 1 : 0) + (hasColours ? 2 : 0), headerBytes });
  bytes.writeUInt32LE(bytes.length + flow.length + layer.length, 8);
  bytes.writeUInt16LE(inputs.length, 70);
  bytes.writeUInt32LE(tiles.length, 108);
  bytes.writeUInt32LE(flow.length, 112);
  bytes.writeUInt32LE(tiles.length, 116);
  bytes.writeUInt32LE(bodies.length, 120);
  for (const [i, body] of bodies.entries()) writeBody(bytes, HEADER_BYTES + BODY_BYTES * i, body);
  inputs.forEach(([viewer, sequence], i) => {
    bytes.writeUInt32LE(viewer, headerBytes + INPUT_BYTES * i);
    bytes.writeUInt32LE(sequence, headerBytes + INPUT_BYTES * i + 4);
  });
  [layer.length, particles.length, particles.length, particles.length].forEach((value, i) => {
    bytes.writeUInt32LE(value, bytes.length - LAYER_BYTES + 4 * i);
  });
  return Buffer.concat([bytes, flow, layer]);
}

function writeHead(bytes, head, { flags, headerBytes }) {
  bytes.writeUInt32LE(0x464e5254, 0);
  bytes.writeUInt16LE(3, 4);
  bytes.writeUInt16LE(headerBytes, 6);
  bytes[13] = PLACE_BITS;
  bytes[14] = 1;
  bytes[15] = Math.log2(TILE_CELLS);
  bytes.writeUInt32LE(flags, 16);
  bytes.writeUInt32LE(head.epoch, 20);
  bytes.writeBigUInt64LE(BigInt(head.step), 24);
  bytes.writeDoubleLE(head.simTimeS, 32);
  bytes.writeBigUInt64LE(BigInt(Date.now()) * 1000n, 40);
  bytes.writeFloatLE(head.realtimeFactor ?? 1, 48);
  bytes.writeUInt32LE(INTERVAL_STEPS, 60);
  for (let axis = 0; axis < 3; axis++) bytes.writeUInt16LE(head.cells[axis], 64 + 2 * axis);
  bytes.writeFloatLE(head.cellM, 72);
  (head.orientation ?? [0, 0, 0, 1]).forEach((part, i) => {
    bytes.writeFloatLE(part, 76 + 4 * i);
  });
  bytes.writeFloatLE(-9.81, 96); // gravity 0 -9.81 0
  bytes.writeFloatLE(INTERVAL_S, 104);
}

function writeBody(bytes, at, { solid, at: place, rotation }) {
  bytes.writeUInt16LE(solid, at);
  for (let axis = 0; axis < 3; axis++) bytes.writeFloatLE(place[axis], at + 4 + 4 * axis);
  for (let i = 0; i < 4; i++) bytes.writeInt16LE(Math.round(rotation[i] * 32767), at + 16 + 2 * i);
}
