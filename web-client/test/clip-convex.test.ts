import { expect, test } from "vitest";
import { clipConvex } from "../src/state/clip-convex.js";

/** A box along the axes, as triangles. */
function box(low: number[], high: number[]) {
  const positions: number[] = [];
  const normals: number[] = [];
  for (let axis = 0; axis < 3; axis++)
    for (const sign of [1, -1]) {
      const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
      const corner = (a: number, b: number): number[] => {
        const at = [0, 0, 0];
        at[axis] = (sign > 0 ? high[axis] : low[axis]) as number;
        at[u] = (a ? high[u] : low[u]) as number;
        at[v] = (b ? high[v] : low[v]) as number;
        return at;
      };
      const round = [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
      if (sign < 0) round.reverse();
      for (const i of [0, 1, 2, 0, 2, 3]) {
        positions.push(...(round[i] as number[]));
        normals.push(...[0, 1, 2].map((k) => (k === axis ? sign : 0)));
      }
    }
  return { positions, normals };
}

/** Of a closed surface whose faces look outwards. */
function volume(positions: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < positions.length; i += 9) {
    const [ax, ay, az, bx, by, bz, cx, cy, cz] = positions.slice(i, i + 9) as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    sum += ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx);
  }
  return sum / 6;
}

test("what lies in the tank stays as it is", () => {
  const { positions, normals } = box([0, 0.1, 0.2], [1, 0.5, 0.4]);
  expect(clipConvex({ positions, normals }, [1, 1, 1])).toEqual({ positions, normals });
});

test("what sticks out of every wall ends there, and is closed", () => {
  const { positions } = clipConvex(box([-1, -2, -3], [4, 5, 6]), [2, 1, 0.5]);
  expect(volume(positions)).toBeCloseTo(1, 9);
  for (let i = 0; i < positions.length; i += 3) {
    const at = positions.slice(i, i + 3);
    at.forEach((x, axis) => {
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x).toBeLessThanOrEqual([2, 1, 0.5][axis] as number);
    });
  }
});

test("a turned box that runs through the floor is a wedge", () => {
  // Turned by 45 degrees about z around the origin: above the floor and right of the wall there is a quarter of it.
  const { positions, normals } = box([-1, -1, 0.25], [1, 1, 0.75]);
  const turn = (values: number[]): number[] =>
    values.map((value, i) => {
      const [x, y] = [values[i - (i % 3)] as number, values[i - (i % 3) + 1] as number];
      return i % 3 === 2 ? value : (i % 3 === 0 ? x - y : x + y) * Math.SQRT1_2;
    });
  const cut = clipConvex({ positions: turn(positions), normals: turn(normals) }, [9, 9, 9]);
  expect(volume(cut.positions)).toBeCloseTo(0.5, 9);
  // The lids look outwards, as their triangles do.
  const down = cut.normals.filter((_, i) => i % 3 === 1 && cut.normals[i] === -1);
  expect(down.length).toBeGreaterThanOrEqual(3);
});

test("nothing is left of what lies outside", () => {
  expect(clipConvex(box([1.5, 0, 0], [2, 1, 1]), [1, 1, 1]).positions).toEqual([]);
  expect(clipConvex(box([1, 0, 0], [2, 1, 1]), [1, 1, 1]).positions.length % 9).toBe(0);
});
