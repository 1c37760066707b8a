// Reads the PNG files that a screenshot gives: 8 bits a channel, RGB or RGBA, not interlaced. Writes smaller ones, of
// few colours.
import { deflateSync, inflateSync } from "node:zlib";

/** @returns {{width: number, height: number, at(x: number, y: number): number[]}} `at` gives red, green, blue */
export function readPng(file) {
  let width = 0;
  let height = 0;
  let channels = 0;
  const parts = [];
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at);
    const kind = file.toString("latin1", at + 4, at + 8);
    const body = file.subarray(at + 8, at + 8 + length);
    if (kind === "IHDR") {
      width = body.readUInt32BE(0);
      height = body.readUInt32BE(4);
      channels = { 2: 3, 6: 4 }[body[9]];
      if (body[8] !== 8 || channels === undefined || body[12] !== 0) throw new Error("a PNG of another kind");
    }
    if (kind === "IDAT") parts.push(body);
    at += length + 12;
  }
  const rows = unfilter(inflateSync(Buffer.concat(parts)), width * channels, height, channels);
  const at = (x, y) => {
    const start = (y * width + x) * channels;
    return [rows[start], rows[start + 1], rows[start + 2]];
  };
  return { width, height, at };
}

function unfilter(raw, rowBytes, height, channels) {
  const out = new Uint8Array(rowBytes * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (rowBytes + 1)];
    for (let x = 0; x < rowBytes; x++) {
      const here = y * rowBytes + x;
      const left = x >= channels ? out[here - channels] : 0;
      const up = y > 0 ? out[here - rowBytes] : 0;
      const corner = x >= channels && y > 0 ? out[here - rowBytes - channels] : 0;
      out[here] = raw[y * (rowBytes + 1) + 1 + x] + predict(filter, left, up, corner);
    }
  }
  return out;
}

function predict(filter, left, up, corner) {
  switch (filter) {
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return (left + up) >> 1;
    case 4: {
      const guess = left + up - corner;
      const [a, b, c] = [left, up, corner].map((value) => Math.abs(guess - value));
      return a <= b && a <= c ? left : b <= c ? up : corner;
    }
  }
  return 0;
}

/** A picture (readPng) as a PNG of `colours` <= 256: those of equally many pixels each, by halving the widest range. */
export function writePng(picture, colours) {
  const { width, height } = picture;
  const pixels = Array.from({ length: width * height }, (_, i) =>
    picture.at(i % width, Math.floor(i / width)),
  );
  const boxes = divide(
    pixels.map((_, i) => i),
    pixels,
    colours,
  );
  const palette = Buffer.alloc(3 * boxes.length);
  const rows = Buffer.alloc(height * (width + 1));
  boxes.forEach((box, colour) => {
    for (let channel = 0; channel < 3; channel++) {
      const sum = box.reduce((total, i) => total + pixels[i][channel], 0);
      palette[3 * colour + channel] = Math.round(sum / box.length);
    }
    for (const i of box) rows[Math.floor(i / width) * (width + 1) + 1 + (i % width)] = colour;
  });
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3], 8);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("PLTE", palette),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Cuts a set of pixels into `count` at most. */
function divide(set, pixels, count) {
  const ranges = [0, 1, 2].map((channel) => {
    let [low, high] = [255, 0];
    for (const i of set) {
      low = Math.min(low, pixels[i][channel]);
      high = Math.max(high, pixels[i][channel]);
    }
    return high - low;
  });
  const widest = ranges.indexOf(Math.max(...ranges));
  if (count < 2 || ranges[widest] <= 0) return [set];
  const sorted = set.sort((i, j) => pixels[i][widest] - pixels[j][widest]);
  const half = sorted.length >> 1;
  return [
    ...divide(sorted.slice(0, half), pixels, count >> 1),
    ...divide(sorted.slice(half), pixels, count >> 1),
  ];
}

function chunk(kind, body) {
  const bytes = Buffer.alloc(12 + body.length);
  bytes.writeUInt32BE(body.length, 0);
  bytes.write(kind, 4, "latin1");
  body.copy(bytes, 8);
  bytes.writeUInt32BE(checksum(bytes.subarray(4, 8 + body.length)), 8 + body.length);
  return bytes;
}

/** CRC-32, bit by bit. */
function checksum(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
