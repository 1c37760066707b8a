// Where a press takes hold of the water. The server decides; this repeats its rule on the frame at hand, so that the
// cursor stands where the push will act: in the middle of the first stretch of tiles with liquid on the ray, at most
// one tile deep; without liquid in the middle of the ray's way through the tank; then along the plane through that
// point that faces the viewer.
import { LIGHT_PRESENCE, LIGHT_VALUES } from "../codec/frame-info.js";
import type { DecodedFrame } from "./frame-stream.js";
import { cutBox, type Ray, type Span, type Vec3 } from "./ray.js";

const TILE_CELLS = 8;
const SAMPLES_PER_TILE = 8;
const SAMPLES_MAX = 4096;
/** A plane that the ray meets more flatly than this isn't met. */
const GRAZE_MIN = 0.05;

export class LiquidMap {
  private readonly span: Span = { entry: 0, exit: 0 };

  /** Depth along the ray, metres; null where the ray misses the tank. */
  depth(ray: Ray, sizeM: readonly number[], frame: DecodedFrame | null): number | null {
    if (!cutBox(ray, sizeM, this.span)) return null;
    const { entry, exit } = this.span;
    if (frame === null) return 0.5 * (entry + exit);
    const tileM = TILE_CELLS * frame.info.cellM;
    const spacing = Math.max(tileM / SAMPLES_PER_TILE, (exit - entry) / SAMPLES_MAX);
    let first = -1;
    for (let depth = entry + 0.5 * spacing; depth < exit; depth += spacing) {
      const liquid = this.hasLiquid(ray, depth, frame);
      if (first < 0 && liquid) first = depth;
      if (first >= 0 && (!liquid || depth - first >= tileM)) return 0.5 * (first + depth);
    }
    return 0.5 * ((first >= 0 ? first : entry) + exit);
  }

  private hasLiquid(ray: Ray, depth: number, frame: DecodedFrame): boolean {
    const { info, views } = frame;
    const [nx, ny, nz] = info.lightDims;
    const perTile = Math.max(1, TILE_CELLS / info.lightCells);
    const tileM = perTile * info.lightCells * info.cellM;
    const x0 = perTile * Math.floor((ray.origin[0] + depth * ray.direction[0]) / tileM);
    const y0 = perTile * Math.floor((ray.origin[1] + depth * ray.direction[1]) / tileM);
    const z0 = perTile * Math.floor((ray.origin[2] + depth * ray.direction[2]) / tileM);
    if (x0 < 0 || y0 < 0 || z0 < 0) return false;
    for (let z = z0; z < Math.min(nz, z0 + perTile); z++)
      for (let y = y0; y < Math.min(ny, y0 + perTile); y++)
        for (let x = x0; x < Math.min(nx, x0 + perTile); x++)
          if ((views.light[LIGHT_VALUES * (x + nx * (y + ny * z)) + LIGHT_PRESENCE] as number) > 0)
            return true;
    return false;
  }
}

/** Where a ray meets the plane through a point. @return false where it is too flat to it or meets it behind its origin */
export function meetPlane(ray: Ray, point: Vec3, normal: Vec3, out: Vec3): boolean {
  const along = dot(ray.direction, normal);
  if (Math.abs(along) < GRAZE_MIN) return false;
  const distance = (dot(point, normal) - dot(ray.origin, normal)) / along;
  if (distance < 0) return false;
  for (let axis = 0; axis < 3; axis++) {
    out[axis] = (ray.origin[axis] as number) + distance * (ray.direction[axis] as number);
  }
  return true;
}

function dot(a: Vec3, b: Vec3): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
