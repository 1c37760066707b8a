// What moves in pictures, and where to: presence and velocity on a grid of half the pictures' columns and rows. A cell moves
// where the pictures differ by more than the camera's noise, the flow found explains that, and it isn't alone.
import { Flow, type GreyPicture } from "./flow.js";
import { average, createPlane, type Plane } from "./pyramid.js";

export interface MotionFinderOptions {
  /** Slower than that is stillness: picture widths per second. */
  deadZone?: number;
  /** In which what no longer moves is half gone, seconds. */
  halfLifeS?: number;
}

const DEAD_ZONE = 0.04;
const HALF_LIFE_S = 0.08;
/** Cells between two pictures: less than that is the camera's noise, however fast it takes pictures. */
const STEP_MIN = 0.12;
/** Longer ago is another scene, seconds. */
const GAP_S_MAX = 0.5;
/** The pictures' difference, squared, in multiples of the noise's: of a cell's own surroundings, and of wider ones. */
const CHANGE_MIN = 5;
const WIDE_CHANGE_MIN = 3;
/** Of the difference the flow has to leave less than that. */
const REST_MAX = 0.5;
/** Of the eight around it so many must move, too; a hole with so many of them is filled. */
const COMPANY_MIN = 4;
const HOLE_MIN = 5;
/** A flow that nothing but its surroundings tells isn't one. */
const TRUST_MIN = 0.05;
/** Of a picture's differences a quarter are smaller than that many standard deviations. */
const QUARTILE = 0.3186;
/** A flow that follows the noise leaves so little of it: its standard deviation in multiples of what is left. */
const LEFT_OF_NOISE = 1.9;
/** Of a new picture's noise so much counts. */
const NOISE_SHARE = 0.1;
/** Light changes alike over squares of twice that and one. */
const LIGHT_RADIUS = 6;
/** Brightness levels: no camera is better, and none that is worse is of use. */
const NOISE_MIN = 0.4;
const NOISE_MAX = 6;
/** What is left of it is nobody. */
const PRESENCE_MIN = 1 / 16;

export class MotionFinder {
  readonly columns: number;
  readonly rows: number;
  /** 0..1, the top row first, as all here. */
  readonly presence: Float32Array;
  /** To the right, picture widths per second, and upwards, heights per second. */
  readonly along: Float32Array;
  readonly up: Float32Array;
  /** Standard deviation of two pictures' difference where nothing moves, brightness levels. */
  noise = 1.5;

  private readonly flow: Flow;
  private readonly near: Plane;
  private readonly wide: Plane;
  private readonly left: Plane;
  private readonly spare: Plane;
  private readonly moving: Uint8Array;
  private readonly joined: Uint8Array;
  private readonly histogram = new Uint32Array(256);
  private readonly deadZone: number;
  private readonly halfLifeS: number;
  /** Of pictures, compared so far. */
  private pairs = 0;
  private timeS = Number.NEGATIVE_INFINITY;

  constructor(width: number, height: number, options: MotionFinderOptions = {}) {
    this.flow = new Flow(width, height);
    this.columns = this.flow.width;
    this.rows = this.flow.height;
    const plane = (): Plane => createPlane(this.columns, this.rows);
    [this.near, this.wide, this.left, this.spare] = [plane(), plane(), plane(), plane()];
    const count = this.columns * this.rows;
    this.presence = new Float32Array(count);
    this.along = new Float32Array(count);
    this.up = new Float32Array(count);
    this.moving = new Uint8Array(count);
    this.joined = new Uint8Array(count);
    this.deadZone = options.deadZone ?? DEAD_ZONE;
    this.halfLifeS = options.halfLifeS ?? HALF_LIFE_S;
  }

  /** Takes the next picture. @param timeS  when it was taken. @return whether anything moves, or has just moved */
  next(picture: GreyPicture, timeS: number): boolean {
    const elapsedS = timeS - this.timeS;
    this.timeS = timeS;
    if (!(elapsedS > 0 && elapsedS < GAP_S_MAX)) {
      this.flow.forget();
      this.presence.fill(0);
    }
    if (!this.flow.next(picture)) return false;
    this.measure();
    this.judge(elapsedS);
    this.keepCompany();
    return this.fade(elapsedS);
  }

  /**
   * How much the pictures differ, what the flow leaves of it, and the noise: the difference where it is least, but no more
   * than what is left tells where all moves.
   */
  private measure(): void {
    const { near, wide, left, spare } = this;
    this.differ(this.flow.change);
    const still = this.quartile(wide.values);
    near.values.set(wide.values);
    average(near, 1, spare);
    average(wide, 2, spare);
    const { change, rest } = this.flow;
    change.set(wide.values);
    this.differ(rest);
    left.values.set(wide.values);
    wide.values.set(change);
    this.pairs++;
    const share = Math.max(NOISE_SHARE, 1 / this.pairs);
    const found = Math.min(still, LEFT_OF_NOISE * this.quartile(left.values));
    this.noise += share * (Math.min(NOISE_MAX, Math.max(NOISE_MIN, found)) - this.noise);
    average(left, 1, spare);
  }

  /** Writes a difference's squares into `wide`; what all around differs by as well is the light's, and doesn't count. */
  private differ(difference: Float32Array): void {
    const { wide, spare } = this;
    wide.values.set(difference);
    average(wide, LIGHT_RADIUS, spare);
    for (let i = 0; i < difference.length; i++) {
      const whole = difference[i] as number;
      wide.values[i] = Math.min(whole ** 2, (whole - (wide.values[i] as number)) ** 2);
    }
  }

  /** The standard deviation that a quarter of the roots being smaller tells. */
  private quartile(squares: Float32Array): number {
    const { histogram } = this;
    const unit = histogram.length / NOISE_MAX;
    histogram.fill(0);
    for (let i = 0; i < squares.length; i++) {
      const bin = Math.min(histogram.length - 1, Math.floor(Math.sqrt(squares[i] as number) * unit));
      histogram[bin] = (histogram[bin] as number) + 1;
    }
    let [bin, below] = [0, 0];
    while (below < squares.length / 4) below += histogram[bin++] as number;
    return bin / unit / QUARTILE;
  }

  private judge(elapsedS: number): void {
    const { near, wide, left, moving } = this;
    const { u, v, trust, width } = this.flow;
    const floor = this.noise * this.noise;
    const least = Math.max(STEP_MIN, this.deadZone * width * elapsedS);
    for (let i = 0; i < moving.length; i++) {
      const change = near.values[i] as number;
      const goes =
        change > CHANGE_MIN * floor &&
        (wide.values[i] as number) > WIDE_CHANGE_MIN * floor &&
        (left.values[i] as number) < REST_MAX * change &&
        (trust[i] as number) > TRUST_MIN &&
        Math.hypot(u[i] as number, v[i] as number) > least;
      moving[i] = goes ? 1 : 0;
    }
  }

  /** Leaves out what moves alone, and fills holes. */
  private keepCompany(): void {
    const { columns, rows, moving, joined } = this;
    for (let y = 0, i = 0; y < rows; y++)
      for (let x = 0; x < columns; x++, i++) {
        let company = -(moving[i] as number);
        for (let b = Math.max(0, y - 1); b <= Math.min(rows - 1, y + 1); b++)
          for (let a = Math.max(0, x - 1); a <= Math.min(columns - 1, x + 1); a++)
            company += moving[b * columns + a] as number;
        joined[i] = company >= (moving[i] === 1 ? COMPANY_MIN : HOLE_MIN) ? 1 : 0;
      }
  }

  /** What moves now is there at once, and what moved before goes slowly. */
  private fade(elapsedS: number): boolean {
    const { presence, along, up, joined, columns, rows } = this;
    const { u, v } = this.flow;
    const kept = 0.5 ** (elapsedS / this.halfLifeS);
    let any = false;
    for (let i = 0; i < presence.length; i++) {
      const before = (presence[i] as number) * kept;
      if (joined[i] === 1) {
        const share = 1 / (1 + before);
        const [x, y] = [(u[i] as number) / (columns * elapsedS), -(v[i] as number) / (rows * elapsedS)];
        along[i] = (along[i] as number) * (1 - share) + x * share;
        up[i] = (up[i] as number) * (1 - share) + y * share;
        presence[i] = 1;
      } else presence[i] = before < PRESENCE_MIN ? 0 : before;
      if (presence[i] !== 0) any = true;
    }
    return any;
  }
}
