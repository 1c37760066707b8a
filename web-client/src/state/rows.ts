// Rows of numbers over time, the newest of them, in a ring of fixed size.

export class Rows {
  readonly steps: Float64Array;
  readonly values: Float32Array;
  private first = 0;
  count = 0;

  constructor(
    readonly columns: readonly string[],
    private readonly kept: number,
  ) {
    this.steps = new Float64Array(kept);
    this.values = new Float32Array(kept * columns.length);
  }

  /** A row of a step that is there already, as of a tank that stands, takes its place. */
  put(step: number, from: ArrayLike<number>, at = 0): void {
    if (this.count > 0 && step < this.stepAt(this.count - 1)) this.count = 0; // another past
    const isSame = this.count > 0 && this.stepAt(this.count - 1) === step;
    if (!isSame && this.count === this.kept) this.first = (this.first + 1) % this.kept;
    else if (!isSame) this.count++;
    const place = this.placeOf(this.count - 1);
    this.steps[place] = step;
    const { length } = this.columns;
    for (let c = 0; c < length; c++) this.values[place * length + c] = from[at + c] as number;
  }

  clear(): void {
    this.count = 0;
  }

  /** Steps, or whatever else grows from row to row. */
  stepAt(index: number): number {
    return this.steps[this.placeOf(index)] as number;
  }

  valueAt(index: number, column: number): number {
    return this.values[this.placeOf(index) * this.columns.length + column] as number;
  }

  /** The first row of a step that isn't below this one. */
  from(step: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.stepAt(middle) < step) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * A column, for whoever draws it.
   * @param since  of the first row
   * @param most   points, at least 2: where there are more, some are left out evenly
   * @param unitS  seconds of a step
   */
  curve(column: number, since: number, most: number, unitS: number): { times: number[]; values: number[] } {
    const first = this.from(since);
    const stride = Math.max(1, Math.ceil((this.count - first) / most));
    const times: number[] = [];
    const values: number[] = [];
    for (let i = first + ((this.count - 1 - first) % stride); i < this.count; i += stride) {
      times.push(this.stepAt(i) * unitS);
      values.push(this.valueAt(i, column));
    }
    return { times, values };
  }

  private placeOf(index: number): number {
    return (this.first + index) % this.kept;
  }
}

/** A number of 32 bits as it is, without digits that it doesn't have. */
export function written(value: number): string {
  return String(Number(value.toPrecision(9)));
}
