// Where each place of a picture has come from: optical flow of two pictures, from coarse to fine (Lucas and Kanade 1981, with
// the pyramid of Bouguet 2000). At each level the flow of the coarser one is corrected so that the picture, moved back by
// it, is the earlier one. Sums are of what differs from its surroundings' mean: light that changes isn't motion.
//
//     picture ─ halve ─ 80 x 60 ─ halve ─ 40 x 30 ─ halve ─ 20 x 15
//                          ▲                 ▲                 │
//                          └── refine ◀──────┴── refine ◀──────┘ begins with no flow
//
// Where there is no texture nothing can be told: such places take over what their surroundings tell.
import { average, createPlane, halve, type Plane, soften } from "./pyramid.js";

/** A picture's brightness: 0 to 255, the top row first. */
export interface GreyPicture {
  readonly width: number;
  readonly height: number;
  readonly values: Uint8Array;
}

const LEVELS = 3;
/** Sums are over squares of 2 RADIUS + 1. */
const RADIUS = 2;
const ITERATIONS = 3;
/** A correction goes no farther, cells: beyond that the picture isn't what its slope says. */
const CORRECTION_MAX = 1;
/** Slopes below that are the camera's noise, squared levels per squared cell. */
const TEXTURE_MIN = 2;

interface Level {
  earlier: Plane;
  later: Plane;
  /** Slopes of the earlier picture, and means of them and of their products. */
  slopeX: Plane;
  slopeY: Plane;
  meanX: Plane;
  meanY: Plane;
  xx: Plane;
  xy: Plane;
  yy: Plane;
  /** What the later picture, moved back, is more than the earlier one; its mean and its products'. */
  rest: Plane;
  restMean: Plane;
  restX: Plane;
  restY: Plane;
  u: Plane;
  v: Plane;
  trust: Plane;
  spare: Plane;
}

export class Flow {
  readonly width: number;
  readonly height: number;
  /** From the earlier picture to the later one, cells: to the right and down. */
  readonly u: Float32Array;
  readonly v: Float32Array;
  /** 0: nothing tells, 1: texture in all directions does. */
  readonly trust: Float32Array;
  /** The two pictures' difference, and what is left of it where the later one is moved back. */
  readonly change: Float32Array;
  readonly rest: Float32Array;

  private readonly levels: Level[] = [];
  private filled = false;

  /** @param width  of the pictures; multiples of 2 to the power of LEVELS, or what is over is left out */
  constructor(width: number, height: number) {
    for (let i = 1; i <= LEVELS; i++) this.levels.push(createLevel(width >> i, height >> i));
    const finest = this.levels[0] as Level;
    this.width = finest.u.width;
    this.height = finest.u.height;
    this.u = finest.u.values;
    this.v = finest.v.values;
    this.trust = finest.trust.values;
    this.rest = finest.rest.values;
    this.change = new Float32Array(this.width * this.height);
  }

  /** Finds the flow from the picture before to this one. @return false for the first one: there is none before */
  next(picture: GreyPicture): boolean {
    let from: Parameters<typeof halve>[0] = picture;
    for (const level of this.levels) {
      [level.earlier, level.later] = [level.later, level.earlier];
      halve(from, level.later);
      if (from === picture) soften(level.later, level.spare);
      from = level.later;
    }
    const isFirst = !this.filled;
    this.filled = true;
    if (isFirst) return false;
    let coarser: Level | null = null;
    for (const level of [...this.levels].reverse()) {
      begin(level, coarser);
      for (let i = 0; i < ITERATIONS; i++) correct(level);
      spread(level);
      coarser = level;
    }
    this.compare();
    return true;
  }

  /** The next picture is the first one again. */
  forget(): void {
    this.filled = false;
  }

  private compare(): void {
    const finest = this.levels[0] as Level;
    moveBack(finest);
    for (let i = 0; i < this.change.length; i++)
      this.change[i] = (finest.later.values[i] as number) - (finest.earlier.values[i] as number);
  }
}

function createLevel(width: number, height: number): Level {
  const plane = (): Plane => createPlane(width, height);
  return {
    earlier: plane(),
    later: plane(),
    slopeX: plane(),
    slopeY: plane(),
    meanX: plane(),
    meanY: plane(),
    xx: plane(),
    xy: plane(),
    yy: plane(),
    rest: plane(),
    restMean: plane(),
    restX: plane(),
    restY: plane(),
    u: plane(),
    v: plane(),
    trust: plane(),
    spare: plane(),
  };
}

/** Takes the coarser level's flow, and all that the corrections have in common. */
function begin(level: Level, coarser: Level | null): void {
  const { slopeX, slopeY, meanX, meanY, xx, xy, yy, spare, u, v } = level;
  if (coarser === null) {
    u.values.fill(0);
    v.values.fill(0);
  } else {
    double(coarser.u, u);
    double(coarser.v, v);
  }
  slopes(level);
  for (let i = 0; i < u.values.length; i++) {
    const [gx, gy] = [slopeX.values[i] as number, slopeY.values[i] as number];
    meanX.values[i] = gx;
    meanY.values[i] = gy;
    xx.values[i] = gx * gx;
    xy.values[i] = gx * gy;
    yy.values[i] = gy * gy;
  }
  for (const plane of [meanX, meanY, xx, xy, yy]) average(plane, RADIUS, spare);
  for (let i = 0; i < u.values.length; i++) {
    const [mx, my] = [meanX.values[i] as number, meanY.values[i] as number];
    const a = (xx.values[i] as number) - mx * mx;
    const b = (xy.values[i] as number) - mx * my;
    const c = (yy.values[i] as number) - my * my;
    xx.values[i] = a;
    xy.values[i] = b;
    yy.values[i] = c;
    const least = (a + c) / 2 - Math.hypot((a - c) / 2, b);
    level.trust.values[i] = Math.max(0, least) / (Math.max(0, least) + TEXTURE_MIN);
  }
}

/** Of the earlier picture. */
function slopes({ earlier, slopeX, slopeY }: Level): void {
  const { width, height, values } = earlier;
  for (let y = 0; y < height; y++) {
    const [above, below] = [Math.max(0, y - 1) * width, Math.min(height - 1, y + 1) * width];
    for (let x = 0; x < width; x++) {
      const [left, right] = [Math.max(0, x - 1), Math.min(width - 1, x + 1)];
      const row = y * width;
      slopeX.values[row + x] = ((values[row + right] as number) - (values[row + left] as number)) / 2;
      slopeY.values[row + x] = ((values[below + x] as number) - (values[above + x] as number)) / 2;
    }
  }
}

/** A flow on twice as many columns and rows. */
function double(from: Plane, to: Plane): void {
  for (let y = 0; y < to.height; y++)
    for (let x = 0; x < to.width; x++)
      to.values[y * to.width + x] = 2 * sample(from, (x - 0.5) / 2, (y - 0.5) / 2);
}

/** Between four values; beyond the edge it is the edge's. */
function sample({ width, height, values }: Plane, x: number, y: number): number {
  const [inX, inY] = [Math.min(width - 1, Math.max(0, x)), Math.min(height - 1, Math.max(0, y))];
  const [left, above] = [Math.min(width - 2, Math.floor(inX)), Math.min(height - 2, Math.floor(inY))];
  const [shareX, shareY] = [inX - left, inY - above];
  const at = above * width + left;
  const upper = (values[at] as number) * (1 - shareX) + (values[at + 1] as number) * shareX;
  const lower = (values[at + width] as number) * (1 - shareX) + (values[at + width + 1] as number) * shareX;
  return upper * (1 - shareY) + lower * shareY;
}

/** Writes what the later picture, moved back by the flow, is more than the earlier one. */
function moveBack({ earlier, later, rest, u, v }: Level): void {
  const { width, height } = earlier;
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0; x < width; x++, i++)
      rest.values[i] =
        sample(later, x + (u.values[i] as number), y + (v.values[i] as number)) -
        (earlier.values[i] as number);
}

function correct(level: Level): void {
  const { slopeX, slopeY, meanX, meanY, xx, xy, yy, rest, restMean, restX, restY, u, v, spare } = level;
  moveBack(level);
  for (let i = 0; i < u.values.length; i++) {
    const more = rest.values[i] as number;
    restMean.values[i] = more;
    restX.values[i] = more * (slopeX.values[i] as number);
    restY.values[i] = more * (slopeY.values[i] as number);
  }
  for (const plane of [restMean, restX, restY]) average(plane, RADIUS, spare);
  for (let i = 0; i < u.values.length; i++) {
    const mean = restMean.values[i] as number;
    const alongX = (restX.values[i] as number) - mean * (meanX.values[i] as number);
    const alongY = (restY.values[i] as number) - mean * (meanY.values[i] as number);
    const [a, b, c] = [
      (xx.values[i] as number) + TEXTURE_MIN / 4,
      xy.values[i] as number,
      (yy.values[i] as number) + TEXTURE_MIN / 4,
    ];
    const whole = a * c - b * b;
    u.values[i] = (u.values[i] as number) + bounded((b * alongY - c * alongX) / whole);
    v.values[i] = (v.values[i] as number) + bounded((b * alongX - a * alongY) / whole);
  }
}

function bounded(cells: number): number {
  return Math.min(CORRECTION_MAX, Math.max(-CORRECTION_MAX, cells));
}

/** Has each place take over from its surroundings what they tell better. */
function spread({ u, v, trust, restMean, restX, restY, spare }: Level): void {
  for (let i = 0; i < u.values.length; i++) {
    const share = (trust.values[i] as number) + 1e-4;
    restMean.values[i] = share;
    restX.values[i] = share * (u.values[i] as number);
    restY.values[i] = share * (v.values[i] as number);
  }
  for (const plane of [restMean, restX, restY]) average(plane, RADIUS, spare);
  for (let i = 0; i < u.values.length; i++) {
    const all = restMean.values[i] as number;
    u.values[i] = (restX.values[i] as number) / all;
    v.values[i] = (restY.values[i] as number) / all;
  }
}
