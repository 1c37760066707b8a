// Pictures for the tests of what moves: a body with a texture that moves over a still room, with a camera's noise.

/** Evenly in 0..1, from a seed. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Brightness at a place, smooth, levels around 128. @param contrast  levels */
export function createTexture(seed: number, contrast: number): (x: number, y: number) => number {
  const random = createRandom(seed);
  const waves = Array.from({ length: 14 }, () => {
    const [length, angle] = [6 + 26 * random(), 2 * Math.PI * random()];
    const size = (2 * Math.PI) / length;
    return [size * Math.cos(angle), size * Math.sin(angle), 2 * Math.PI * random()] as const;
  });
  const unit = contrast / Math.sqrt(waves.length / 2);
  return (x, y) =>
    128 + unit * waves.reduce((sum, [kx, ky, phase]) => sum + Math.sin(kx * x + ky * y + phase), 0);
}

export interface Made {
  width: number;
  height: number;
  /** Of the body: its middle in the first picture and how it moves from each to the next, pixels, right and down. */
  at: readonly [number, number];
  step: readonly [number, number];
  /** Half its width and height; it is an ellipse. */
  half: readonly [number, number];
  body: (x: number, y: number) => number;
  room: (x: number, y: number) => number;
  /** Standard deviation, levels. */
  noise: number;
  random: () => number;
}

/** How far a place is inside of the body: below 1. */
export function insideOf(made: Made, picture: number, x: number, y: number): number {
  const [dx, dy] = [x - made.at[0] - picture * made.step[0], y - made.at[1] - picture * made.step[1]];
  return Math.hypot(dx / made.half[0], dy / made.half[1]);
}

/** @param light  by which all is brighter, as a factor */
export function makePicture(made: Made, picture: number, light = 1): Uint8Array {
  const { width, height, random } = made;
  const values = new Uint8Array(width * height);
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0; x < width; x++, i++) {
      // The body's edge is as sharp as a pixel.
      const radius = insideOf(made, picture, x, y);
      const share = Math.min(1, Math.max(0, (1 - radius) * Math.min(...made.half) + 0.5));
      const [bodyX, bodyY] = [x - picture * made.step[0], y - picture * made.step[1]];
      const clean = share * (share > 0 ? made.body(bodyX, bodyY) : 0) + (1 - share) * made.room(x, y);
      const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
      values[i] = Math.min(255, Math.max(0, Math.round(light * clean + made.noise * normal)));
    }
  return values;
}
