// The noise that the looks of a wall are made of, as a texture that repeats: gradient noise in several octaves with its
// slope, and how far a place is from the border between two of some scattered cells, for cracks and stones.

export const NOISE_VALUES = 4;
const OCTAVES = [4, 8, 16, 32] as const;
const CELLS = 7;

/** Repeatable, evenly 0..1. */
export function hash(x: number, y: number, seed: number): number {
  let h = Math.imul(x, 0x27d4eb2d) ^ Math.imul(y, 0x165667b1) ^ Math.imul(seed, 0x9e3779b1);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  return ((h ^ (h >>> 15)) >>> 0) / 2 ** 32;
}

const wrap = (i: number, n: number): number => ((i % n) + n) % n;
const fade = (t: number): number => t * t * t * (t * (6 * t - 15) + 10);

/** Gradient noise that repeats after `n` cells. */
function lattice(x: number, y: number, n: number): number {
  const [i, j] = [Math.floor(x), Math.floor(y)];
  const [u, v] = [x - i, y - j];
  const corner = (a: number, b: number): number => {
    const angle = 2 * Math.PI * hash(wrap(i + a, n), wrap(j + b, n), n);
    return Math.cos(angle) * (u - a) + Math.sin(angle) * (v - b);
  };
  const [s, t] = [fade(u), fade(v)];
  const low = corner(0, 0) + s * (corner(1, 0) - corner(0, 0));
  const high = corner(0, 1) + s * (corner(1, 1) - corner(0, 1));
  return low + t * (high - low);
}

/** Difference of the distances to the two nearest of scattered points, in cells: 0 on a border. */
function border(x: number, y: number): number {
  const [i, j] = [Math.floor(x), Math.floor(y)];
  let [nearest, second] = [9, 9];
  for (let b = j - 1; b <= j + 1; b++)
    for (let a = i - 1; a <= i + 1; a++) {
      const [cx, cy] = [wrap(a, CELLS), wrap(b, CELLS)];
      const d = Math.hypot(a + hash(cx, cy, 71) - x, b + hash(cx, cy, 72) - y);
      if (d < nearest) [nearest, second] = [d, nearest];
      else if (d < second) second = d;
    }
  return second - nearest;
}

/** @returns for each texel, x fastest: the noise, about -1..1; its slope along x and y per period; the border */
export function makeNoise(size: number): Float32Array {
  const values = new Float32Array(size * size * NOISE_VALUES);
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      let sum = 0;
      for (const n of OCTAVES) sum += (lattice((x * n) / size, (y * n) / size, n) * 1.6 * OCTAVES[0]) / n;
      const at = NOISE_VALUES * (y * size + x);
      values[at] = sum;
      values[at + 3] = border((x * CELLS) / size, (y * CELLS) / size);
    }
  const noiseAt = (x: number, y: number): number =>
    values[NOISE_VALUES * (wrap(y, size) * size + wrap(x, size))] as number;
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      const at = NOISE_VALUES * (y * size + x);
      values[at + 1] = (noiseAt(x + 1, y) - noiseAt(x - 1, y)) * 0.5 * size;
      values[at + 2] = (noiseAt(x, y + 1) - noiseAt(x, y - 1)) * 0.5 * size;
    }
  return values;
}
