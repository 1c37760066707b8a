// A tank for looking at the page without a simulation: particles on known paths, encoded as frames of version 1.
// Also a fixture: what it sends is known exactly.

const TILE_CELLS = 8;
const NODES = 4;
const VELOCITY_BYTES = 3 * NODES ** 3;
const HEADER_BYTES = 136;
const BODY_BYTES = 24;

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

/**
 * Encodes particles ({at, velocity, colour}) as a key frame; colours count where the first particle has one.
 * @param head.bodies  [{solid, at, rotation}], ascending
 */
export function encodeFrame(particles, head) {
  const { cells, cellM, velocityScale } = head;
  const tiles = cells.map((n) => Math.ceil(n / TILE_CELLS));
  const lists = new Map();
  for (const particle of particles) {
    const q = particle.at.map((x, axis) =>
      Math.min(cells[axis] * 32 - 1, Math.max(0, Math.floor((x / cellM) * 32))),
    );
    const tile = q.map((x) => x >> 8);
    const key = (tile[2] * tiles[1] + tile[1]) * tiles[0] + tile[0];
    if (!lists.has(key)) lists.set(key, { tile, members: [] });
    lists.get(key).members.push({ q, velocity: particle.velocity, colour: particle.colour });
  }
  const order = [...lists.keys()].sort((a, b) => a - b).map((key) => lists.get(key));
  const inputs = head.inputs ?? [];
  const bodies = head.bodies ?? [];
  const coloured = particles[0]?.colour !== undefined;
  const headerBytes = HEADER_BYTES + BODY_BYTES * bodies.length;
  const headBytes = headerBytes + 8 * inputs.length + 16 * order.length;
  const payloadBytes = (list) => VELOCITY_BYTES + (coloured ? 4 : 3) * list.members.length;
  const total = headBytes + order.reduce((sum, list) => sum + payloadBytes(list), 0);
  const bytes = Buffer.alloc(total);
  writeHead(bytes, head, particles.length, order.length, inputs.length, total);
  bytes.writeUInt16LE(headerBytes, 6);
  bytes.writeUInt32LE(bodies.length, 120);
  for (const [i, body] of bodies.entries()) writeBody(bytes, HEADER_BYTES + BODY_BYTES * i, body);
  inputs.forEach(([viewer, sequence], i) => {
    bytes.writeUInt32LE(viewer, headerBytes + 8 * i);
    bytes.writeUInt32LE(sequence, headerBytes + 8 * i + 4);
  });
  let at = headBytes;
  order.forEach((list, i) => {
    const entry = headerBytes + 8 * inputs.length + 16 * i;
    for (let axis = 0; axis < 3; axis++) bytes.writeUInt16LE(list.tile[axis], entry + 2 * axis);
    bytes[entry + 7] = coloured ? 1 : 0;
    bytes.writeUInt32LE(list.members.length, entry + 8);
    bytes.writeUInt32LE(payloadBytes(list), entry + 12);
    at = writeTile(bytes, at, list.members, velocityScale);
    if (coloured) for (const { colour } of list.members) bytes[at++] = colour;
  });
  return bytes;
}

function writeHead(bytes, head, particles, tiles, inputs, total) {
  bytes.writeUInt32LE(0x464e5254, 0);
  bytes.writeUInt16LE(1, 4);
  bytes.writeUInt32LE(total, 8);
  bytes[13] = 8;
  bytes[14] = 1;
  bytes[15] = NODES;
  bytes.writeUInt32LE(head.paused ? 1 : 0, 16);
  bytes.writeUInt32LE(head.epoch, 20);
  bytes.writeBigUInt64LE(BigInt(head.step), 24);
  bytes.writeDoubleLE(head.simTimeS, 32);
  bytes.writeBigUInt64LE(BigInt(Date.now()) * 1000n, 40);
  bytes.writeFloatLE(head.realtimeFactor ?? 1, 48);
  bytes.writeUInt32LE(particles, 52);
  bytes.writeUInt32LE(tiles, 56);
  bytes.writeUInt32LE(inputs, 60);
  for (let axis = 0; axis < 3; axis++) bytes.writeUInt16LE(head.cells[axis], 64 + 2 * axis);
  bytes[70] = 3;
  bytes[71] = 16;
  bytes.writeFloatLE(head.cellM, 72);
  (head.orientation ?? [0, 0, 0, 1]).forEach((part, i) => {
    bytes.writeFloatLE(part, 76 + 4 * i);
  });
  bytes.writeFloatLE(-9.81, 96); // gravity 0 -9.81 0
  bytes.writeFloatLE(head.velocityScale, 104);
}

function writeBody(bytes, at, { solid, at: place, rotation }) {
  bytes.writeUInt16LE(solid, at);
  for (let axis = 0; axis < 3; axis++) bytes.writeFloatLE(place[axis], at + 4 + 4 * axis);
  for (let i = 0; i < 4; i++) bytes.writeInt16LE(Math.round(rotation[i] * 32767), at + 16 + 2 * i);
}

function writeTile(bytes, start, members, velocityScale) {
  const sums = new Float64Array(VELOCITY_BYTES);
  const counts = new Float64Array(NODES ** 3);
  for (const { q, velocity } of members) {
    const [x, y, z] = q.map((value) => (value & 255) >> 6);
    const node = (z * NODES + y) * NODES + x;
    counts[node]++;
    velocity.forEach((value, axis) => {
      sums[axis * NODES ** 3 + node] += value;
    });
  }
  for (let i = 0; i < VELOCITY_BYTES; i++) {
    const n = counts[i % NODES ** 3];
    const units = n > 0 ? Math.round(sums[i] / n / velocityScale) : 0;
    bytes.writeInt8(Math.max(-127, Math.min(127, units)), start + i);
  }
  let at = start + VELOCITY_BYTES;
  for (let axis = 0; axis < 3; axis++) {
    for (const { q } of members) bytes[at++] = q[axis] & 255;
  }
  return at;
}
