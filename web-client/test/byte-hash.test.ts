import { expect, test } from "vitest";
import { byteHash } from "../src/codec/byte-hash.js";

test("every single bit of a buffer changes its fingerprint", () => {
  const bytes = new Uint8Array(67).map((_, i) => (i * 37) & 255);
  const seen = new Set([byteHash(bytes)]);
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = bytes.slice();
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
    seen.add(byteHash(changed));
  }
  expect(seen.size).toBe(bytes.length * 8 + 1);
});

test("the same bytes have the same fingerprint wherever they lie", () => {
  const whole = new Uint8Array([9, 1, 2, 3, 4, 5]);
  expect(byteHash(whole.subarray(1))).toBe(byteHash(new Uint8Array([1, 2, 3, 4, 5])));
});
