// Flows whose lines are known, for tests: as functions, and as the particles of a frame.
import type { FrameInfo } from "../src/codec/frame-info.js";
import type { Flow } from "../src/state/flow-lines.js";

type Velocity = (x: number, y: number, z: number) => readonly [number, number, number];

/** A flow that fills everything, or what `isThere` says. */
export function flowOf(
  velocity: Velocity,
  isThere: (x: number, y: number, z: number) => boolean = () => true,
) {
  const flow = {
    vx: 0,
    vy: 0,
    vz: 0,
    sample(x: number, y: number, z: number): number {
      [flow.vx, flow.vy, flow.vz] = velocity(x, y, z);
      return isThere(x, y, z) ? 1 : 0;
    },
  };
  return flow satisfies Flow;
}

/** About the middle of a tank of 1 m edges, along z: omega in 1/s. */
export const rotation =
  (omega: number): Velocity =>
  (x, y) => [-omega * (y - 0.5), omega * (x - 0.5), 0];

/** Along x, faster the higher: 1/s. */
export const shear =
  (rate: number): Velocity =>
  (_, y) => [rate * y, 0, 0];

export const UNIT_BITS = 4;
export const SCALE = 0.01;

/** Eight particles in each cell below `top` (rows of cells) of a tank of 5 cm cells, as fast as a flow says. */
export function frameOf(velocity: Velocity, cells: [number, number, number] = [20, 20, 20], top = cells[1]) {
  const cellM = 1 / 20;
  const positions: number[] = [];
  const velocities: number[] = [];
  const quarter = [3, 12]; // of 16 units: even about the cell's middle with the half unit that a place is in
  for (let z = 0; z < cells[2]; z++)
    for (let y = 0; y < top; y++)
      for (let x = 0; x < cells[0]; x++)
        for (let corner = 0; corner < 8; corner++) {
          const place = [x, y, z].map((cell, axis) => 16 * cell + (quarter[(corner >> axis) & 1] as number));
          positions.push(...place, 0);
          const [mx, my, mz] = place.map((units) => ((units + 0.5) / 16) * cellM) as [number, number, number];
          velocities.push(...velocity(mx, my, mz).map((v) => Math.round(v / SCALE)), 0);
        }
  const info = {
    epoch: 1,
    simTimeS: 0,
    cells,
    cellM,
    unitBits: UNIT_BITS,
    velocityScale: SCALE,
    particleCount: positions.length / 4,
    particlesTotal: positions.length / 4,
    layersPresent: 1,
    layersTotal: 1,
    crowding: 8,
    gravity: [0, -9.81, 0],
    channelLow: 0,
    channelHigh: 0,
  };
  return {
    info: info as unknown as FrameInfo,
    views: { positions: new Uint16Array(positions), velocities: new Int8Array(velocities) },
  };
}
