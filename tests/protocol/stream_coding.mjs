// Streams of symbols, sets, residuals, numbers and colours, written from STREAM.md, section 8, and from nothing else.
// Slow and plain; used by tests only.

const STATUSES = ["OK", "TRUNCATED", "MALFORMED", "VERSION", "LIMIT", "STATE", "SPACE"];
export const STATUS = Object.fromEntries(STATUSES.map((name) => [name, name]));

export class Refusal extends Error {
  constructor(status, why) {
    super(`${status}: ${why}`);
    this.status = status;
  }
}

export function check(condition, status, why) {
  if (!condition) throw new Refusal(status, why);
}

export const malformed = (condition, why) => check(condition, STATUS.MALFORMED, why);
export const bitsOf = (value) => (value === 0 ? 0 : Math.floor(Math.log2(value)) + 1);
export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
export const clampNode = (value) => clamp(value, -32767, 32767);
export const AXES = [0, 1, 2];

// ---- 8. Entropy coding ----

/** Sums of the frequencies before each symbol, and of all. */
function makeTable(frequencies) {
  const from = [0];
  for (const frequency of frequencies) from.push(from.at(-1) + frequency);
  if (from.at(-1) !== 4096) throw new Error(`frequencies add up to ${from.at(-1)}`);
  return from;
}

const COUNTS = `
2765 147 224 186 170 119 102 92 121 85 52 21 8 2 1 1
4073 7 3 1 1 1 1 1 1 1 1 1 1 1 1 1
3070 450 290 171 73 25 7 2 1 1 1 1 1 1 1 1
1628 799 806 515 231 74 25 8 3 1 1 1 1 1 1 1
985 938 1079 687 274 84 29 10 3 1 1 1 1 1 1 1
641 944 1240 736 314 123 57 24 8 3 1 1 1 1 1 1
584 896 1091 721 394 214 114 53 17 5 2 1 1 1 1 1
424 637 835 744 626 423 248 104 36 11 3 1 1 1 1 1
251 385 639 790 848 605 355 150 49 15 4 1 1 1 1 1
134 258 560 813 1001 692 384 158 57 21 9 4 2 1 1 1
101 234 524 763 858 631 403 211 142 100 68 37 16 5 2 1
41 87 192 271 339 352 438 540 627 551 382 183 67 20 5 1
8 12 26 42 96 209 455 753 973 772 464 197 68 16 4 1
3 4 9 21 72 208 494 822 1095 737 405 159 52 12 2 1
4 3 9 25 97 281 585 870 955 670 382 150 52 10 2 1
6 5 15 34 124 332 636 841 886 608 394 151 49 11 3 1
16 11 27 61 138 393 664 819 841 562 336 153 58 13 2 2`;
const RESIDUALS = `
3987 83 12 8 21 12 12 3 6 1 48
3858 208 12 8 20 12 12 3 6 1 49
3857 209 12 8 21 12 12 3 6 1 45
3849 216 12 8 21 12 12 3 6 1 48
3838 225 12 8 22 12 12 3 6 1 48
3826 236 12 8 22 12 12 3 6 1 45
3811 248 12 8 23 12 12 3 6 1 48
3789 267 12 8 24 12 12 3 6 1 48
3752 294 14 8 31 12 12 3 6 1 48
3702 338 18 8 32 12 12 3 6 1 48
3597 415 28 8 46 12 12 4 6 1 45
3439 501 44 8 93 12 12 8 6 1 48
3194 630 72 8 163 15 12 15 6 1 50
2906 758 111 8 251 31 12 25 6 2 54
2589 842 159 11 374 61 12 43 6 4 65
2216 879 213 17 543 115 16 79 9 8 72
1800 846 261 27 737 213 35 141 20 15 86
1369 752 290 37 902 354 67 245 48 31 98
987 616 276 42 994 494 108 412 102 65 117
698 446 223 37 1016 572 141 641 181 141 138
484 294 160 29 936 559 155 894 286 301 162
291 188 104 21 741 508 156 1077 425 586 185
132 105 59 12 434 389 132 1119 579 1134 205
32 33 19 8 171 188 75 969 605 1999 225
389 432 220 50 390 571 233 559 484 769 232
3007 878 147 13 26 16 12 3 6 1 50
2227 1494 311 26 23 12 12 3 6 1 8
1683 1734 515 56 54 41 12 3 6 1 17
1204 1705 808 129 88 107 33 11 9 2 38
822 1566 1006 208 141 219 79 29 22 3 45
518 1209 998 263 248 459 199 98 85 18 77
220 677 730 258 367 812 406 284 270 71 106
99 334 415 172 354 896 509 565 556 197 140
57 168 211 93 275 752 487 790 840 422 172
33 84 103 48 177 519 361 849 1047 874 202
41 48 44 17 80 222 161 692 950 1842 232`;
const ROWS = `
4047 4 45
2328 1027 741
2642 14 1440
3493 18 585
1869 359 1868
4 4069 23
442 1086 2568
12 3950 134
2767 5 1324
148 2718 1230
338 82 3676
444 377 3275
4033 4 59
16 4011 69
1233 46 2817
1898 1165 1033`;
const NODES = `
69 997 3533 440 962 2667 3815 2807 88 1362 3590 431
416 1783 3720 1874 1471 3503 4025 3714 1004 3110 3971 3380
87 1586 3759 491 1237 3130 3941 2992 67 2862 3936 1459`;
const NUMBERS = {
  gap: "2342 560 330 250 180 130 90 60 40 24 16 12 8 8 8 8 4 4 4 4 4 4 2 2 2",
  count: "126 200 240 270 300 330 360 390 400 400 380 300 180 90 50 30 16 8 8 4 4 4 2 2 2",
  deaths: "3747 120 80 50 30 20 12 8 4 4 4 4 1 1 1 1 1 1 1 1 1 1 1 1 1",
};
const numbersOf = (text) => text.trim().split(/\s+/).map(Number);

function makeHalf(n) {
  const frequencies = [];
  for (let k = 0, choose = 1; k <= n; choose = (choose * (n - k)) / (k + 1), k++) {
    frequencies.push(Math.max(1, Math.floor((4096 * choose) / 2 ** n)));
  }
  frequencies[Math.floor(n / 2)] += 4096 - frequencies.reduce((sum, f) => sum + f);
  return makeTable(frequencies);
}

const CLASSES = ["000", "001", "011", "111", "00L", "01L", "11L", "0LL", "1LL", "LLL"];
const CLASS_SYMBOLS = [1, 6, 12, 8, 3, 12, 12, 3, 6, 1];

function makeResidual(row) {
  const decay = row[10];
  const symbols = [0];
  for (let symbol = 1; symbol < 64; symbol++) {
    const digits = AXES.map((axis) => "011L"[Math.floor(symbol / 4 ** axis) % 4]);
    const kind = CLASSES.indexOf(digits.sort().join(""));
    symbols.push(Math.max(1, Math.floor(row[kind] / CLASS_SYMBOLS[kind])));
  }
  symbols[0] = 4096 - symbols.reduce((sum, f) => sum + f);
  const sizes = [];
  for (let symbol = 0, c = 4080; symbol < 16; symbol++) {
    const g = symbol < 15 ? Math.floor((c * (256 - decay)) / 256) : c;
    sizes.push(1 + g);
    c -= g;
  }
  return { symbols: makeTable(symbols), sizes: makeTable(sizes) };
}

const rowsOf = (text) => text.trim().split("\n").map(numbersOf);
export const countTables = rowsOf(COUNTS).map(makeTable);
export const halfTables = Array.from({ length: 33 }, (_, n) => (n < 2 ? null : makeHalf(n)));
export const residualTables = rowsOf(RESIDUALS).map(makeResidual);
export const rowTables = rowsOf(ROWS).map(makeTable);
export const nodeTables = numbersOf(NODES).map((frequency) => makeTable([4096 - frequency, frequency]));
export const numberTables = Object.fromEntries(
  Object.entries(NUMBERS).map(([kind, row]) => [kind, makeTable(numbersOf(row))]),
);
export const colourTables = [makeTable([2048, 2048]), makeTable([4000, 96])];

/** A stream, section 8.1. */
export class Stream {
  constructor(bytes, at, end) {
    malformed(end - at >= 4, "a stream that isn't there");
    this.bytes = bytes;
    this.x = bytes[at] + 2 ** 8 * bytes[at + 1] + 2 ** 16 * bytes[at + 2] + 2 ** 24 * bytes[at + 3];
    this.at = at + 4;
    this.end = end;
  }

  refill() {
    if (this.x >= 2 ** 16) return;
    malformed(this.end - this.at >= 2, "a stream ends early");
    this.x = 2 ** 16 * this.x + this.bytes[this.at] + 2 ** 8 * this.bytes[this.at + 1];
    this.at += 2;
  }

  symbol(from) {
    const p = this.x % 4096;
    let s = 0;
    while (from[s + 1] <= p) s++;
    this.x = (from[s + 1] - from[s]) * Math.floor(this.x / 4096) + p - from[s];
    this.refill();
    return s;
  }

  bits(count) {
    if (count > 16) {
      const high = this.bits(count - 16);
      return 2 ** 16 * high + this.bits(16);
    }
    const value = this.x % 2 ** count;
    this.x = Math.floor(this.x / 2 ** count);
    this.refill();
    return value;
  }

  number(kind) {
    const bits = this.symbol(numberTables[kind]);
    return bits === 0 ? 0 : 2 ** (bits - 1) + this.bits(bits - 1);
  }

  residual(context) {
    const { symbols, sizes } = residualTables[context];
    const symbol = this.symbol(symbols);
    return AXES.map((axis) => {
      const digit = (symbol >> (2 * axis)) % 4;
      if (digit < 3) return [0, 1, -1][digit];
      let size = 2 + this.symbol(sizes);
      if (size === 17) size += this.bits(16);
      return this.bits(1) === 1 ? -size : size;
    });
  }

  /** Ends the stream. @returns where the next one begins */
  finish() {
    malformed(this.x === 2 ** 16, "a stream that isn't whole");
    return this.at;
  }
}

/** Of a particle's residual, section 9.5. */
export function contextOf(activity) {
  if (activity < 2) return activity;
  let h = 0;
  while (Math.floor(activity / 2 ** h) >= 4) h++;
  return 2 * h + Math.floor(activity / 2 ** h);
}

export const sizeOf = (residual) =>
  Math.min(
    15,
    residual.reduce((sum, r) => sum + Math.abs(r), 0),
  );

/** Of a cell's count, section 8.2, by the counts of the cells before it. */
export function countContext(counts, cell) {
  const before = [1, 8, 64]
    .filter((step) => Math.floor(cell / step) % 8 > 0)
    .map((step) => counts[cell - step]);
  const k = before.length;
  const m = k === 0 ? 0 : Math.floor((2 * before.reduce((sum, c) => sum + c) + Math.floor(k / 2)) / k);
  return k === 0 ? 0 : 1 + Math.min(15, m < 8 ? m : 4 + Math.floor(m / 2));
}

/** Section 8.2. @returns per particle its quantum inside the tile, along each axis */
export function readSet(stream, count, b) {
  const counts = [];
  const quanta = [];
  const cellCount = (cell) => {
    const symbol = stream.symbol(countTables[countContext(counts, cell)]);
    if (symbol < 15) return symbol;
    const e = stream.bits(5);
    malformed(e <= 16, "a count of too many bits");
    return 14 + 2 ** e + stream.bits(e);
  };
  const region = (cell, n, prefix, left) => {
    if (n === 0) return;
    if (n === 1 || left === 0) {
      const key = prefix * 2 ** left + (n === 1 ? stream.bits(left) : 0);
      for (let i = 0; i < n; i++) quanta.push(quantumOf(cell, key, b));
      return;
    }
    const low = n <= 32 ? stream.symbol(halfTables[n]) : stream.bits(bitsOf(n));
    malformed(low <= n, "more particles in a half than there are");
    region(cell, low, prefix * 2, left - 1);
    region(cell, n - low, prefix * 2 + 1, left - 1);
  };
  malformed(count <= 65536, "too many particles in a tile");
  for (let cell = 0, left = count; left > 0; cell++) {
    malformed(cell < 512, "cells end before particles do");
    counts[cell] = cellCount(cell);
    malformed(counts[cell] <= left, "more particles in a cell than there are");
    left -= counts[cell];
    region(cell, counts[cell], 0, 3 * b);
  }
  return quanta;
}

/** The bits of x, of y, of z, from the highest ones on. */
function quantumOf(cell, key, b) {
  const quantum = [cell % 8, Math.floor(cell / 8) % 8, Math.floor(cell / 64)];
  for (let bit = 3 * b - 1; bit >= 0; bit--) {
    const axis = (3 * b - 1 - bit) % 3;
    quantum[axis] = 2 * quantum[axis] + (Math.floor(key / 2 ** bit) % 2);
  }
  return quantum;
}

export function readColours(stream, count) {
  const colours = [];
  for (let i = 0, source = 0, last = 0; i < count; i++) {
    const isOther = stream.symbol(colourTables[source]) === 1;
    if (isOther) last = stream.bits(8);
    source = isOther ? 0 : 1;
    colours.push(last);
  }
  return colours;
}
