// Cuts convex solids off at the tank's walls: a beach is a tilted box of which the tank holds a wedge.
import type { Vec3 } from "./ray.js";

/** Triangles: nine numbers of positions and of normals for each, counter-clockwise from outside. */
export interface Surface {
  positions: ArrayLike<number>;
  normals: ArrayLike<number>;
}

/** x y z of a place, then of its normal */
type Corner = readonly number[];
type Face = Corner[];

/** So near to a wall counts as on it, metres: the places come as 32-bit floats. */
const ON_WALL_M = 1e-6;

/** What of a convex solid lies between the origin and `size`, closed where it was cut. */
export function clipConvex(surface: Surface, size: Vec3): { positions: number[]; normals: number[] } {
  let faces = facesOf(surface);
  for (let axis = 0; axis < 3; axis++) {
    faces = cut(faces, axis, 1, size[axis] as number);
    faces = cut(faces, axis, -1, 0);
  }
  const positions: number[] = [];
  const normals: number[] = [];
  for (const face of faces)
    for (let i = 1; i + 1 < face.length; i++)
      for (const corner of [face[0], face[i], face[i + 1]] as Face) {
        positions.push(...corner.slice(0, 3));
        normals.push(...corner.slice(3));
      }
  return { positions, normals };
}

function facesOf({ positions, normals }: Surface): Face[] {
  const corner = (at: number): Corner =>
    [positions[at], positions[at + 1], positions[at + 2], normals[at], normals[at + 1], normals[at + 2]].map(
      Number,
    );
  const faces: Face[] = [];
  for (let at = 0; at + 9 <= positions.length; at += 9)
    faces.push([corner(at), corner(at + 3), corner(at + 6)]);
  return faces;
}

/** Keeps what doesn't lie beyond a wall, and puts a lid on the hole. @param sign  on which side of the tank the wall is */
function cut(faces: readonly Face[], axis: number, sign: 1 | -1, limit: number): Face[] {
  const beyond = (corner: Corner): number => {
    const distance = sign * (corner[axis] as number) - limit;
    return Math.abs(distance) < ON_WALL_M ? 0 : distance;
  };
  const kept: Face[] = [];
  const rim: Corner[] = [];
  let isCut = false;
  for (const face of faces) {
    const inside: Face = [];
    face.forEach((from, i) => {
      const to = face[(i + 1) % face.length] as Corner;
      const [a, b] = [beyond(from), beyond(to)];
      isCut ||= a > 0;
      if (a <= 0) inside.push(from);
      if (a === 0) rim.push(from);
      if (a * b >= 0) return;
      const at = mix(from, to, a / (a - b));
      inside.push(at);
      rim.push(at);
    });
    if (inside.length >= 3) kept.push(inside);
  }
  if (isCut && rim.length >= 3) kept.push(lid(rim, axis, sign));
  return kept;
}

function mix(a: Corner, b: Corner, share: number): Corner {
  return a.map((value, i) => value + share * ((b[i] as number) - value));
}

/** The rim is convex: in the order of its angles it is a face. */
function lid(rim: readonly Corner[], axis: number, sign: 1 | -1): Face {
  const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
  const mean = (along: number): number => rim.reduce((sum, c) => sum + (c[along] as number), 0) / rim.length;
  const [middleU, middleV] = [mean(u), mean(v)];
  const angle = (c: Corner): number => Math.atan2((c[v] as number) - middleV, (c[u] as number) - middleU);
  const normal = [0, 0, 0];
  normal[axis] = sign;
  return [...rim]
    .sort((a, b) => sign * (angle(a) - angle(b)))
    .map((corner) => [...corner.slice(0, 3), ...normal]);
}
