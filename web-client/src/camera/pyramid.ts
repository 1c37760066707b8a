// What the motion finder does to planes of numbers: halves, blurs and sums them. All write into what they are given.

/** Numbers by columns and rows, the top row first. */
export interface Plane {
  readonly width: number;
  readonly height: number;
  readonly values: Float32Array;
}

export function createPlane(width: number, height: number): Plane {
  return { width, height, values: new Float32Array(width * height) };
}

/** Means of 2 x 2. */
export function halve(from: Plane | { width: number; height: number; values: Uint8Array }, to: Plane): void {
  const { width, values } = from;
  for (let y = 0; y < to.height; y++) {
    let at = 2 * y * width;
    for (let x = 0; x < to.width; x++, at += 2) {
      const [a, b] = [values[at] as number, values[at + 1] as number];
      const [c, d] = [values[at + width] as number, values[at + width + 1] as number];
      to.values[y * to.width + x] = (a + b + c + d) / 4;
    }
  }
}

/** Weights 1 2 1 both ways. @param spare  as large */
export function soften(plane: Plane, spare: Plane): void {
  const { width, height, values } = plane;
  for (let y = 0; y < height; y++) {
    const row = y * width;
    for (let x = 0; x < width; x++) {
      const [left, right] = [Math.max(0, x - 1), Math.min(width - 1, x + 1)];
      spare.values[row + x] =
        ((values[row + left] as number) + 2 * (values[row + x] as number) + (values[row + right] as number)) /
        4;
    }
  }
  for (let y = 0; y < height; y++) {
    const [above, below] = [Math.max(0, y - 1) * width, Math.min(height - 1, y + 1) * width];
    for (let x = 0; x < width; x++)
      values[y * width + x] =
        ((spare.values[above + x] as number) +
          2 * (spare.values[y * width + x] as number) +
          (spare.values[below + x] as number)) /
        4;
  }
}

/** Means over squares of 2 radius + 1 around each place, of what of them is inside. In place. @param spare  as large */
export function average(plane: Plane, radius: number, spare: Plane): void {
  const { width, height, values } = plane;
  for (let y = 0; y < height; y++) slide(values, y * width, 1, width, radius, spare.values);
  for (let x = 0; x < width; x++) slide(spare.values, x, width, height, radius, values);
}

/** Along a line of `count` numbers that are `step` apart. */
function slide(
  from: Float32Array,
  start: number,
  step: number,
  count: number,
  radius: number,
  to: Float32Array,
): void {
  let [sum, inside] = [0, 0];
  for (let i = 0; i < Math.min(radius, count); i++, inside++) sum += from[start + i * step] as number;
  for (let i = 0; i < count; i++) {
    if (i + radius < count) {
      sum += from[start + (i + radius) * step] as number;
      inside++;
    }
    if (i > radius) {
      sum -= from[start + (i - radius - 1) * step] as number;
      inside--;
    }
    to[start + i * step] = sum / inside;
  }
}
