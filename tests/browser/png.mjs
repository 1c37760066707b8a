// Reads the PNG files that a screenshot gives: 8 bits a channel, RGB or RGBA, not interlaced.
import { inflateSync } from "node:zlib";

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
