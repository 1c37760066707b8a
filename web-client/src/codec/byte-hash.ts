/** A 64-bit fingerprint of bytes, in hexadecimal: two FNV-1a lanes over 32-bit words. For comparing, not for secrets. */
export function byteHash(bytes: Uint8Array): string {
  let a = 0x811c9dc5;
  let b = 0x9747b28c ^ bytes.length;
  const words = bytes.length >>> 2;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let i = 0; i < words; i++) {
    const w = view.getUint32(i * 4, true);
    a = Math.imul(a ^ w, 0x01000193);
    b = Math.imul((b << 5) ^ (b >>> 27) ^ w, 0x85ebca6b);
  }
  for (let i = words * 4; i < bytes.length; i++) {
    const w = bytes[i] as number;
    a = Math.imul(a ^ w, 0x01000193);
    b = Math.imul((b << 5) ^ (b >>> 27) ^ w, 0x85ebca6b);
  }
  const hex = (x: number): string => (x >>> 0).toString(16).padStart(8, "0");
  return hex(a ^ (a >>> 15)) + hex(b ^ (b >>> 13));
}
