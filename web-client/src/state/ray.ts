// Rays and the tank: where a pointer's ray enters the box of water, in tank coordinates. Writes into what it is given.

export type Vec3 = [number, number, number];

export interface Ray {
  origin: Vec3;
  /** Unit length. */
  direction: Vec3;
}

/** Entry and exit along the ray, metres; exit < entry is a miss. */
export interface Span {
  entry: number;
  exit: number;
}

/** Cuts a ray with the box from 0 to `size`. @return whether it meets the box in front of its origin */
export function cutBox(ray: Ray, size: readonly number[], span: Span): boolean {
  let entry = 0;
  let exit = Number.POSITIVE_INFINITY;
  for (let axis = 0; axis < 3; axis++) {
    const o = ray.origin[axis] as number;
    const d = ray.direction[axis] as number;
    const s = size[axis] as number;
    if (Math.abs(d) < 1e-9) {
      if (o < 0 || o > s) exit = -1;
      continue;
    }
    const a = -o / d;
    const b = (s - o) / d;
    entry = Math.max(entry, Math.min(a, b));
    exit = Math.min(exit, Math.max(a, b));
  }
  span.entry = entry;
  span.exit = exit;
  return exit > entry;
}

/** The point at a distance along a ray. */
export function pointAt(ray: Ray, distance: number, out: Vec3): Vec3 {
  for (let axis = 0; axis < 3; axis++) {
    out[axis] = (ray.origin[axis] as number) + (ray.direction[axis] as number) * distance;
  }
  return out;
}
