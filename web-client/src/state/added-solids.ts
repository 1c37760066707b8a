// Solids that people put into a tank, from the numbers that the session's state has of them (protocol/SPEC.md, "Added
// solids").
import type { Vec3 } from "./ray.js";
import type { Quaternion, Solid, SolidShape } from "./scene-solids.js";

/** The solids of a list; those that can't be understood are missing. What stands still has the index -1. */
export function readAdded(list: readonly (readonly number[])[]): Solid[] {
  const solids: Solid[] = [];
  for (const values of list) {
    const [number = 0, kind = -1, like = 0, a = 0, b = 0, c = 0] = values;
    const shape = shapeOf(kind, like, [a, b, c]);
    const rotation = values.slice(9, 13);
    const length = Math.hypot(...rotation);
    if (shape === null || !(length > 0)) continue;
    solids.push({
      index: number > 0 ? number : -1,
      shape,
      inverted: false,
      position: values.slice(6, 9) as Vec3,
      rotation: rotation.map((part) => part / length) as Quaternion,
      moves: number > 0,
      colour: (values[13] ?? 0) & 0xffffff,
    });
  }
  return solids;
}

function shapeOf(kind: number, like: number, half: Vec3): SolidShape | null {
  const [radius, straight] = half;
  if (kind === 4) return { kind: "like", solid: like };
  if (!(radius > 0)) return null;
  switch (kind) {
    case 0:
      return half.every((edge) => edge > 0)
        ? { kind: "box", size: half.map((edge) => 2 * edge) as Vec3 }
        : null;
    case 1:
      return { kind: "sphere", radius };
    case 2:
      return straight > 0 ? { kind: "capsule", radius, length: 2 * straight } : null;
    case 3:
      return straight > 0 ? { kind: "cylinder", radius, height: 2 * straight } : null;
    default:
      return null;
  }
}
