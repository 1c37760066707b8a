/** Planes from their run-length code, as a server reads it; throws where the code isn't exact. */
export function decodeMotion(code: Uint8Array, count: number): Uint8Array {
  const planes = new Uint8Array(count);
  let [at, used] = [0, 0];
  while (used < code.length) {
    const head = code[used++] as number;
    if (head === 128) throw new Error("128");
    const bytes = head < 128 ? head + 1 : 257 - head;
    if (bytes > count - at) throw new Error("too many");
    if (head < 128) planes.set(code.subarray(used, used + bytes), at);
    else planes.fill(code[used] as number, at, at + bytes);
    used += head < 128 ? bytes : 1;
    if (used > code.length) throw new Error("truncated");
    at += bytes;
  }
  if (at !== count) throw new Error("too few");
  return planes;
}
