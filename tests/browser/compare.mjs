// How alike two pictures are where one of them shows water: what their brightness differs by on average, their
// structural similarity (Wang et al. 2004, in windows of 8 x 8), and the share of places where one has a hole.

const WINDOW = 8;
const C1 = (0.01 * 255) ** 2;
const C2 = (0.03 * 255) ** 2;
/** A place this much darker than it should be is a hole. */
const HOLE = 32;

/** Brightness, 0..255, of a picture (png.mjs), each value the mean of `scale` x `scale` pixels. */
export function brightness(picture, scale = 1) {
  const width = Math.floor(picture.width / scale);
  const height = Math.floor(picture.height / scale);
  const values = new Float32Array(width * height);
  for (let y = 0; y < height * scale; y++) {
    for (let x = 0; x < width * scale; x++) {
      const [r, g, b] = picture.at(x, y);
      const at = Math.floor(y / scale) * width + Math.floor(x / scale);
      values[at] += (0.2126 * r + 0.7152 * g + 0.0722 * b) / scale ** 2;
    }
  }
  return { width, height, values };
}

/** 1 for each place of a picture that doesn't look as it does in that of an empty tank. */
export function waterIn(picture, empty) {
  return picture.values.map((value, i) => (Math.abs(value - empty.values[i]) > 4 ? 1 : 0));
}

/**
 * @param whole  what the other picture should look like
 * @param mask   1 where the places count
 */
export function compare(picture, whole, mask) {
  let difference = 0;
  let holes = 0;
  let count = 0;
  mask.forEach((counts, i) => {
    if (counts === 0) return;
    const d = picture.values[i] - whole.values[i];
    difference += Math.abs(d);
    holes += d < -HOLE ? 1 : 0;
    count++;
  });
  return {
    difference: difference / count,
    holes: holes / count,
    similarity: similarity(picture, whole, mask),
  };
}

/** The mean similarity of the windows around the places that count. */
function similarity(a, b, mask) {
  let sum = 0;
  let count = 0;
  for (let y = 0; y + WINDOW <= a.height; y += 2) {
    for (let x = 0; x + WINDOW <= a.width; x += 2) {
      if (mask[(y + WINDOW / 2) * a.width + x + WINDOW / 2] === 0) continue;
      sum += windowSimilarity(a, b, x, y);
      count++;
    }
  }
  return sum / count;
}

function windowSimilarity(a, b, left, top) {
  let [sa, sb, saa, sbb, sab] = [0, 0, 0, 0, 0];
  for (let y = top; y < top + WINDOW; y++) {
    for (let x = left; x < left + WINDOW; x++) {
      const va = a.values[y * a.width + x];
      const vb = b.values[y * a.width + x];
      sa += va;
      sb += vb;
      saa += va * va;
      sbb += vb * vb;
      sab += va * vb;
    }
  }
  const n = WINDOW ** 2;
  const [ma, mb] = [sa / n, sb / n];
  const [varA, varB, cov] = [saa / n - ma * ma, sbb / n - mb * mb, sab / n - ma * mb];
  return ((2 * ma * mb + C1) * (2 * cov + C2)) / ((ma * ma + mb * mb + C1) * (varA + varB + C2));
}
