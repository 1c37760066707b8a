// Reads the cells of an `input motion` as a server does (protocol/SPEC.md, "Motion cells").
import { assert } from "./harness.mjs";

const PLANES = 4;

/** @returns cells from the lowest row up: presence 0..1, and velocity along and up, m/s */
export function readMotion({ columns, rows, speed_m_s, cells: code }) {
  const count = columns * rows;
  const planes = [];
  for (let at = 0; at < code.length; ) {
    const head = code[at++];
    assert(head !== 128, "a motion's code has a head of 128");
    if (head < 128) planes.push(...code.slice(at, at + head + 1));
    else planes.push(...Array(257 - head).fill(code[at]));
    at += head < 128 ? head + 1 : 1;
  }
  assert(
    planes.length === PLANES * count,
    `a motion has ${planes.length} bytes for ${columns} x ${rows} cells`,
  );
  const speed = (byte) => (((byte << 24) >> 24) * speed_m_s) / 127;
  return Array.from({ length: count }, (_, i) => ({
    presence: planes[i] / 255,
    along: speed(planes[count + i]),
    up: speed(planes[2 * count + i]),
    towards: speed(planes[3 * count + i]),
  }));
}
