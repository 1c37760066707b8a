import { byteHash } from "../codec/byte-hash.js";

/** A fingerprint of what a scene's file says, by which it is told from others of its name. */
export function sceneMark(file: unknown): string {
  return byteHash(new TextEncoder().encode(JSON.stringify(file)));
}
