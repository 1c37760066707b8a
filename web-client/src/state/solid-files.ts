// Heights from PGM pictures that scenes name.
import { PlainError } from "../net/plain.js";

/** Files without the byte-order mark that editors on Windows begin texts with. */
export function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/** Heights of a PGM picture (P2 or P5): its columns run along x, its rows along z. Black is 0, white is `white`. */
export function readPgm(whole: Uint8Array, white: number): number[][] {
  const bytes = withoutMark(whole);
  const reader = { bytes, at: 0 };
  const magic = word(reader);
  if (magic !== "P2" && magic !== "P5") throw new PlainError("it is no PGM picture");
  const [columns, rows, brightest] = [Number(word(reader)), Number(word(reader)), Number(word(reader))];
  const sound =
    columns > 1 && rows > 1 && columns <= 4096 && rows <= 4096 && brightest > 0 && brightest < 65536;
  if (!sound) throw new PlainError("its size or brightest shade is out of range");
  const wide = brightest > 255;
  reader.at++;
  if (magic === "P5" && bytes.length - reader.at < columns * rows * (wide ? 2 : 1))
    throw new PlainError("it ends early");
  const shade = (): number => {
    if (magic === "P2") return Number(word(reader));
    const high = wide ? (bytes[reader.at++] as number) * 256 : 0;
    return high + (bytes[reader.at++] as number);
  };
  return Array.from({ length: rows }, () =>
    Array.from({ length: columns }, () => {
      const height = (shade() / brightest) * white;
      if (!Number.isFinite(height)) throw new PlainError("a shade isn't a number");
      return height;
    }),
  );
}

/** The next word of a picture's text; comments run from # to the end of the line. */
function word(reader: { bytes: Uint8Array; at: number }): string {
  const { bytes } = reader;
  const isSpace = (c: number | undefined): boolean => c === 32 || (c !== undefined && c >= 9 && c <= 13);
  while (isSpace(bytes[reader.at]) || bytes[reader.at] === 35) {
    if (bytes[reader.at] === 35) while (reader.at < bytes.length && bytes[reader.at] !== 10) reader.at++;
    reader.at++;
  }
  const start = reader.at;
  while (reader.at < bytes.length && !isSpace(bytes[reader.at])) reader.at++;
  return String.fromCharCode(...bytes.subarray(start, reader.at));
}
