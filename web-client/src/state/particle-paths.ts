// The ways of chosen particles: path lines. Frames don't say which particle is which (protocol/STREAM.md, 9.1: a key
// frame orders them anew), so one is found again where it must be by its velocity, as in particle tracking velocimetry
// with the nearest neighbour; where none is near enough the flow carries it on.
import type { FrameInfo, SlotViews } from "../codec/frame-info.js";
import { Drift } from "./drift.js";
import type { Flow, LineBuffer } from "./flow-lines.js";
import type { Ray, Vec3 } from "./ray.js";

export const PATHS_MAX = 8;
/** Of a way, seconds of the tank's time that are kept. */
export const PATH_S = 5;
/** Of one, at most. */
export const PATH_POINTS_MAX = 600;
/** So near to where it must be a particle is taken for the same, cells. */
const SAME_CELLS = 0.2;

type Water = Pick<FrameInfo, "particleCount" | "cellM" | "unitBits">;
type Places = Pick<SlotViews, "positions">;

interface Path {
  at: Vec3;
  /** x, y, z, speed, time of each point, the oldest first. */
  points: number[];
  /** It has left the fluid, and stays as it is until it is too old. */
  lost: boolean;
}

const POINT = 5;

export class ParticlePaths {
  readonly paths: Path[] = [];
  private readonly drift = new Drift();

  /**
   * Chooses the foremost particle beside a ray.
   * @param reachM  how far from it, metres
   * @return false where there is none
   */
  choose(ray: Ray, reachM: number, water: Water, { positions }: Places, timeS: number): boolean {
    const quantumM = water.cellM / 2 ** water.unitBits;
    const [ox, oy, oz] = ray.origin;
    const [dx, dy, dz] = ray.direction;
    let found = -1;
    let first = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 4 * water.particleCount; i += 4) {
      const x = ((positions[i] as number) + 0.5) * quantumM - ox;
      const y = ((positions[i + 1] as number) + 0.5) * quantumM - oy;
      const z = ((positions[i + 2] as number) + 0.5) * quantumM - oz;
      const along = x * dx + y * dy + z * dz;
      if (along < 0 || along >= first) continue;
      if (x * x + y * y + z * z - along * along > reachM * reachM) continue;
      first = along;
      found = i;
    }
    if (found < 0) return false;
    const at = [0, 1, 2].map((axis) => ((positions[found + axis] as number) + 0.5) * quantumM) as Vec3;
    if (this.paths.length === PATHS_MAX) this.paths.shift();
    this.paths.push({ at, points: [...at, 0, timeS], lost: false });
    return true;
  }

  /** Follows them from a frame to the next. */
  follow(
    flows: { before: Flow; after: Flow; voxelM: number },
    water: Water,
    places: Places,
    timeS: number,
    dtS: number,
    sizeM: readonly number[],
  ): void {
    for (const path of this.paths)
      if (!path.lost)
        path.lost = !this.drift.move(flows.before, flows.after, path.at, dtS, flows.voxelM, sizeM);
    this.find(water, places);
    for (const path of this.paths) {
      const { at, points } = path;
      if (!path.lost) {
        flows.after.sample(at[0], at[1], at[2]);
        const speed = Math.hypot(flows.after.vx, flows.after.vy, flows.after.vz);
        points.push(at[0], at[1], at[2], speed, timeS);
      }
      let old = Math.max(0, points.length - POINT * PATH_POINTS_MAX);
      while (old < points.length && (points[old + 4] as number) < timeS - PATH_S) old += POINT;
      if (old > 0) points.splice(0, old);
    }
    for (let i = this.paths.length - 1; i >= 0; i--)
      if (this.paths[i]?.points.length === 0) this.paths.splice(i, 1);
  }

  write(lines: LineBuffer): void {
    for (const { points } of this.paths) {
      const last = points.length - POINT;
      for (let i = 0; i <= last; i += POINT) {
        const [x, y, z, speed, timeS] = points.slice(i, i + POINT) as [
          number,
          number,
          number,
          number,
          number,
        ];
        lines.add(x, y, z, speed, timeS - (points[last + 4] as number));
      }
      lines.cut();
    }
  }

  clear(): void {
    this.paths.length = 0;
  }

  /** Puts each where the particle is that is nearest to where it must be. */
  private find({ particleCount, cellM, unitBits }: Water, { positions }: Places): void {
    const units = 2 ** unitBits;
    const quantumM = cellM / units;
    const reach = SAME_CELLS * units;
    for (const path of this.paths) {
      if (path.lost) continue;
      const [x, y, z] = path.at.map((metres) => metres / quantumM - 0.5) as Vec3;
      let least = reach * reach;
      let found = -1;
      for (let i = 0; i < 4 * particleCount; i += 4) {
        const dx = (positions[i] as number) - x;
        if (dx > reach || dx < -reach) continue;
        const dy = (positions[i + 1] as number) - y;
        const dz = (positions[i + 2] as number) - z;
        const squared = dx * dx + dy * dy + dz * dz;
        if (squared >= least) continue;
        least = squared;
        found = i;
      }
      if (found < 0) continue;
      for (let axis = 0; axis < 3; axis++)
        path.at[axis] = ((positions[found + axis] as number) + 0.5) * quantumM;
    }
  }
}
