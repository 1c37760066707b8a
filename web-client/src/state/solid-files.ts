// The files that scenes name: triangles from OBJ, heights from PGM pictures. mesh-ply.ts and mesh-glb.ts have PLY and glTF.

export interface Triangles {
  /** x y z each, in the file's units. */
  positions: Float32Array;
  indices: Uint32Array;
}

/** Corners and faces of an OBJ file; everything else in it is let be. Faces of more than three corners become fans. */
export function readObj(text: string): Triangles {
  const positions: number[] = [];
  const indices: number[] = [];
  for (const line of text.split("\n")) {
    const words = line.trim().split(/\s+/);
    if (words[0] === "v") positions.push(Number(words[1]), Number(words[2]), Number(words[3]));
    if (words[0] !== "f") continue;
    const corners = words.slice(1).map((word) => cornerOf(word, positions.length / 3));
    for (let i = 2; i < corners.length; i++)
      indices.push(corners[0] as number, corners[i - 1] as number, corners[i] as number);
  }
  if (indices.length === 0) throw new Error("it has no faces");
  if (!positions.every(Number.isFinite)) throw new Error("a corner isn't three numbers");
  return { positions: new Float32Array(positions), indices: new Uint32Array(indices) };
}

/** "7/1/2" counts from 1, "-1" from the last corner backwards. */
function cornerOf(word: string, count: number): number {
  const number = Number.parseInt(word, 10);
  const corner = number < 0 ? count + number : number - 1;
  if (!(corner >= 0 && corner < count)) throw new Error(`a face names corner ${word} of ${count}`);
  return corner;
}

/** Heights of a PGM picture (P2 or P5): its columns run along x, its rows along z. Black is 0, white is `white`. */
export function readPgm(bytes: Uint8Array, white: number): number[][] {
  const reader = { bytes, at: 0 };
  const magic = word(reader);
  if (magic !== "P2" && magic !== "P5") throw new Error("it is no PGM picture");
  const [columns, rows, brightest] = [Number(word(reader)), Number(word(reader)), Number(word(reader))];
  const sound =
    columns > 1 && rows > 1 && columns <= 4096 && rows <= 4096 && brightest > 0 && brightest < 65536;
  if (!sound) throw new Error("its size or brightest shade is out of range");
  const wide = brightest > 255;
  reader.at++;
  if (magic === "P5" && bytes.length - reader.at < columns * rows * (wide ? 2 : 1))
    throw new Error("it ends early");
  const shade = (): number => {
    if (magic === "P2") return Number(word(reader));
    const high = wide ? (bytes[reader.at++] as number) * 256 : 0;
    return high + (bytes[reader.at++] as number);
  };
  return Array.from({ length: rows }, () =>
    Array.from({ length: columns }, () => {
      const height = (shade() / brightest) * white;
      if (!Number.isFinite(height)) throw new Error("a shade isn't a number");
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
