// A film for Chromium's fake camera (Y4M): a still, textured room with a round window in it, behind which a texture moves
// by at a steady speed. It repeats without a jump.
import { writeFileSync } from "node:fs";

export const FILM = { width: 320, height: 240, framesPerSecond: 30 };
/**
 * Of the window: its middle and half its width and height, pixels, from the left and the top. It is beside the film's
 * middle, and leaves what is pushed a way back: a full tank has none otherwise.
 */
export const WINDOW = { x: 135, y: 140, half: [90, 42] };
/** After so many pixels a texture repeats itself, both ways. */
const PERIOD = 240;

/** Brightness around 128 of pixels, from a seed. */
function createTexture(seed) {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const turns = () => Math.round(24 * random() - 12);
  const waves = Array.from({ length: 16 }, () => [turns(), turns(), 2 * Math.PI * random()]);
  const level = (x, y) =>
    128 +
    waves.reduce(
      (sum, [kx, ky, at]) => sum + 11 * Math.sin((2 * Math.PI * (kx * x + ky * y)) / PERIOD + at),
      0,
    );
  const levels = Array.from({ length: PERIOD * PERIOD }, (_, i) => level(i % PERIOD, Math.floor(i / PERIOD)));
  const wrap = (pixel) => ((pixel % PERIOD) + PERIOD) % PERIOD;
  return (x, y) => levels[wrap(y) * PERIOD + wrap(x)];
}

/** @param step  pixels that the texture moves by from picture to picture, right and down; they divide the period */
export function writeFilm(path, [stepX, stepY], { noise = 2 } = {}) {
  const { width, height, framesPerSecond } = FILM;
  const count = PERIOD / Math.max(Math.abs(stepX), Math.abs(stepY));
  const [room, body] = [createTexture(3), createTexture(8)];
  let state = 1;
  const grain = () => {
    let sum = -6;
    for (let i = 0; i < 12; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      sum += state / 2 ** 32;
    }
    return noise * sum;
  };
  const parts = [Buffer.from(`YUV4MPEG2 W${width} H${height} F${framesPerSecond}:1 Ip A1:1 C420jpeg\n`)];
  const colours = Buffer.alloc((width * height) / 2, 128);
  for (let picture = 0; picture < count; picture++) {
    const bright = Buffer.alloc(width * height);
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        const inside = Math.hypot((x - WINDOW.x) / WINDOW.half[0], (y - WINDOW.y) / WINDOW.half[1]) < 1;
        const level = inside ? body(x - picture * stepX, y - picture * stepY) : room(x, y);
        bright[y * width + x] = Math.min(235, Math.max(16, level + grain()));
      }
    parts.push(Buffer.from("FRAME\n"), bright, colours);
  }
  writeFileSync(path, Buffer.concat(parts));
}
