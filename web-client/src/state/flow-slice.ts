// A plane across the tank, and what the flow is in it: colours, texel by texel, and arrows along it.
import { AIR, type Flow } from "./flow-lines.js";

/** x, y or z: across which the plane lies. */
export type Axis = 0 | 1 | 2;

/** Along the plane to the right, and up: seen from where the axis points from, but for y, which is seen from above. */
export const PLANE_AXES: readonly (readonly [right: Axis, up: Axis])[] = [
  [2, 1],
  [0, 2],
  [0, 1],
];

/** What a plane can show of the particles' velocities alone. */
export type FlowQuantity = "speed" | "along" | "vorticity";

/** Values of an arrow: where its middle is, m, and the velocity along the plane, m/s. */
export const ARROW_VALUES = 6;

export class FlowSlice {
  columns = 1;
  rows = 1;
  /** Of each texel, columns first: m/s or 1/s. */
  values = new Float32Array(1);
  /** How dense the fluid is there, 1 in calm water; less than AIR: air. */
  presence = new Float32Array(1);
  readonly arrows = new Float32Array(ARROW_VALUES * 1024);
  arrowCount = 0;
  /** The largest amount of what is shown, and of the velocity along the plane. */
  most = 0;
  fastest = 0;

  /** Divides the plane. @param texelM  edge of a texel at least @param texelsMax  on the longer side */
  divide(axis: Axis, sizeM: readonly number[], texelM: number, texelsMax: number): void {
    const [right, up] = PLANE_AXES[axis] as readonly [Axis, Axis];
    const [width, height] = [sizeM[right] as number, sizeM[up] as number];
    const edge = Math.max(texelM, Math.max(width, height) / texelsMax);
    this.columns = Math.max(1, Math.round(width / edge));
    this.rows = Math.max(1, Math.round(height / edge));
    const texels = this.columns * this.rows;
    if (this.values.length >= texels) return;
    this.values = new Float32Array(texels);
    this.presence = new Float32Array(texels);
  }

  /** @param atM  where on its axis the plane lies @param differenceM  across which vorticity is told from velocities */
  compute(
    flow: Flow,
    quantity: FlowQuantity,
    axis: Axis,
    atM: number,
    sizeM: readonly number[],
    differenceM: number,
  ): void {
    const { columns, rows, values, presence } = this;
    const [right, up] = PLANE_AXES[axis] as readonly [Axis, Axis];
    const place: [number, number, number] = [atM, atM, atM];
    this.most = 0;
    for (let row = 0, texel = 0; row < rows; row++) {
      place[up] = ((row + 0.5) / rows) * (sizeM[up] as number);
      for (let column = 0; column < columns; column++, texel++) {
        place[right] = ((column + 0.5) / columns) * (sizeM[right] as number);
        const density = flow.sample(place[0], place[1], place[2]);
        presence[texel] = density;
        let value = 0;
        if (density >= AIR) {
          if (quantity === "speed") value = Math.sqrt(flow.vx ** 2 + flow.vy ** 2 + flow.vz ** 2);
          else if (quantity === "along") value = axis === 0 ? flow.vx : axis === 1 ? flow.vy : flow.vz;
          else value = vorticity(flow, axis, place, differenceM, sizeM);
          const amount = Math.abs(value);
          if (amount > this.most) this.most = amount;
        }
        values[texel] = value;
      }
    }
  }

  /** Takes levels of cells instead. @param levels  columns first, as many as `divideCells` was told */
  take(levels: Uint8Array, low: number, high: number): void {
    const { values } = this;
    for (let texel = 0; texel < levels.length; texel++)
      values[texel] = low + ((high - low) * (levels[texel] as number)) / 255;
  }

  /** The plane's texels are the tank's cells. */
  divideCells(axis: Axis, cells: readonly number[]): void {
    const [right, up] = PLANE_AXES[axis] as readonly [Axis, Axis];
    this.columns = cells[right] as number;
    this.rows = cells[up] as number;
    const texels = this.columns * this.rows;
    if (this.values.length >= texels) return;
    this.values = new Float32Array(texels);
    this.presence = new Float32Array(texels);
  }

  /** Finds where fluid is, and nothing else. */
  findFluid(flow: Flow, axis: Axis, atM: number, sizeM: readonly number[]): void {
    const { columns, rows, presence } = this;
    const [right, up] = PLANE_AXES[axis] as readonly [Axis, Axis];
    const place: [number, number, number] = [atM, atM, atM];
    for (let row = 0, texel = 0; row < rows; row++) {
      place[up] = ((row + 0.5) / rows) * (sizeM[up] as number);
      for (let column = 0; column < columns; column++, texel++) {
        place[right] = ((column + 0.5) / columns) * (sizeM[right] as number);
        presence[texel] = flow.sample(place[0], place[1], place[2]);
      }
    }
  }

  /** Arrows evenly over the plane where fluid is. @param most  of them, at most 1024 */
  point(flow: Flow, axis: Axis, atM: number, sizeM: readonly number[], most: number): number {
    const [right, up] = PLANE_AXES[axis] as readonly [Axis, Axis];
    const [width, height] = [sizeM[right] as number, sizeM[up] as number];
    const spacing = Math.max(
      Math.sqrt((width * height) / Math.min(most, 1024)),
      Math.max(width, height) / 200,
    );
    const columns = Math.max(1, Math.floor(width / spacing));
    const rows = Math.max(1, Math.floor(height / spacing));
    const place: [number, number, number] = [atM, atM, atM];
    const { arrows } = this;
    this.arrowCount = 0;
    this.fastest = 0;
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) {
        place[right] = ((column + 0.5) / columns) * width;
        place[up] = ((row + 0.5) / rows) * height;
        if (flow.sample(place[0], place[1], place[2]) < AIR) continue;
        const to = ARROW_VALUES * this.arrowCount++;
        arrows[to] = place[0];
        arrows[to + 1] = place[1];
        arrows[to + 2] = place[2];
        arrows[to + 3] = axis === 0 ? 0 : flow.vx;
        arrows[to + 4] = axis === 1 ? 0 : flow.vy;
        arrows[to + 5] = axis === 2 ? 0 : flow.vz;
        const speed = Math.hypot(
          arrows[to + 3] as number,
          arrows[to + 4] as number,
          arrows[to + 5] as number,
        );
        if (speed > this.fastest) this.fastest = speed;
      }
    return spacing;
  }
}

/** The component along an axis of the curl of the velocity, 1/s: from differences to both sides, or to the one with fluid. */
function vorticity(
  flow: Flow,
  axis: Axis,
  place: readonly [number, number, number],
  reachM: number,
  sizeM: readonly number[],
): number {
  const b = ((axis + 1) % 3) as Axis;
  const c = ((axis + 2) % 3) as Axis;
  return slope(flow, place, b, c, reachM, sizeM) - slope(flow, place, c, b, reachM, sizeM);
}

/** Change of a velocity component per metre along an axis. A grid has velocities up to half a voxel from a wall. */
function slope(
  flow: Flow,
  place: readonly [number, number, number],
  along: Axis,
  component: Axis,
  reachM: number,
  sizeM: readonly number[],
): number {
  const [x, y, z] = place;
  const low = 0.5 * reachM;
  const high = Math.max(low, (sizeM[along] as number) - low);
  const here = Math.min(high, Math.max(low, place[along]));
  let gap = 0;
  const look = (by: number): number => {
    const to = Math.min(high, Math.max(low, place[along] + by));
    const isThere = flow.sample(along === 0 ? to : x, along === 1 ? to : y, along === 2 ? to : z) >= AIR;
    if (isThere) gap += Math.abs(to - here);
    else flow.sample(x, y, z);
    return component === 0 ? flow.vx : component === 1 ? flow.vy : flow.vz;
  };
  const before = look(-reachM);
  const after = look(reachM);
  return gap === 0 ? 0 : (after - before) / gap;
}
