// What files' polygons and triangles become before they are drawn, as the server makes solids of them
// (server/scene/mesh.c, scene/mesh.c), which has refused what can't be understood.
import { ShapeUtils, Vector2 } from "three";

export interface Triangles {
  /** x y z each, in the file's units. */
  positions: Float32Array;
  indices: Uint32Array;
}

/** Adds a polygon's triangles, which go round the way that it does. */
export function addPolygon(
  indices: number[],
  positions: readonly number[],
  corners: readonly number[],
): void {
  const place = (corner: number, axis: number): number => positions[3 * corner + axis] as number;
  const fan = corners.slice(2).map((_, i) => [0, i + 1, i + 2]);
  const normal = [0, 1, 2].map((axis) => {
    const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
    return corners.reduce((sum, corner, i) => {
      const next = corners[(i + 1) % corners.length] as number;
      const [first] = corners as [number];
      const du = place(corner, u) - place(first, u);
      const dv = place(corner, v) - place(first, v);
      return sum + du * (place(next, v) - place(first, v)) - dv * (place(next, u) - place(first, u));
    }, 0);
  }) as [number, number, number];
  const size = normal.map(Math.abs);
  const axis = size.indexOf(Math.max(...size));
  // Seen so that it goes round to the left.
  const u = (axis + ((normal[axis] as number) > 0 ? 1 : 2)) % 3;
  const v = 3 - axis - u;
  const flat = corners.map((corner) => new Vector2(place(corner, u), place(corner, v)));
  const turn = (...[a = 0, b = 0, c = 0]: number[]): number => {
    const [from, at, to] = [flat[a], flat[b], flat[c]] as [Vector2, Vector2, Vector2];
    return (at.x - from.x) * (to.y - from.y) - (at.y - from.y) * (to.x - from.x);
  };
  const isConvex = fan.every((triangle) => turn(...triangle) > 0);
  const triangles = corners.length > 3 && !isConvex ? ShapeUtils.triangulateShape(flat, []) : fan;
  for (const triangle of triangles) {
    const [a, b, c] = triangle.map((corner) => corners[corner]) as [number, number, number];
    if (triangles !== fan && turn(...triangle) < 0) indices.push(a, c, b);
    else indices.push(a, b, c);
  }
}

/** Turns those triangles round that face against most of the others that they hang together with. */
export function faceOneWay({ positions, indices }: Triangles): void {
  const places = new Map<string, number>();
  const corners = indices.map((vertex) => {
    const key = positions.subarray(3 * vertex, 3 * vertex + 3).join();
    if (!places.has(key)) places.set(key, vertex);
    return places.get(key) as number;
  });
  const ends = (side: number): [number, number] => [
    corners[side] as number,
    corners[side % 3 === 2 ? side - 2 : side + 1] as number,
  ];
  const edges = new Map<number, number[]>();
  const vertices = positions.length / 3;
  const edgeOf = (side: number): number => {
    const [a, b] = ends(side);
    return Math.min(a, b) * vertices + Math.max(a, b);
  };
  for (let side = 0; side < corners.length; side++) {
    const [a, b, c] = corners.subarray(side - (side % 3), side - (side % 3) + 3);
    if (a === b || b === c || c === a) continue; // a line has no side
    const edge = edgeOf(side);
    const sides = edges.get(edge);
    if (sides === undefined) edges.set(edge, [side]);
    else sides.push(side);
  }
  const turned = new Int8Array(corners.length / 3).fill(-1);
  for (let start = 0; start < turned.length; start++) {
    if (turned[start] !== -1) continue;
    const piece = [start];
    let against = 0;
    let hasOneSide = false;
    turned[start] = 0;
    for (const triangle of piece) {
      against += turned[triangle] as number;
      for (let side = 3 * triangle; side < 3 * triangle + 3; side++) {
        const sides = edges.get(edgeOf(side)) ?? [];
        const other = sides[0] === side ? sides[1] : sides[0];
        if (sides.length !== 2 || other === undefined || !sides.includes(side)) continue;
        // Triangles that face one way walk their edge in opposite directions.
        const isAgainst = ends(side)[0] === ends(other)[0] ? 1 : 0;
        const wanted = (turned[triangle] as number) ^ isAgainst;
        const at = Math.floor(other / 3);
        if (turned[at] === -1) {
          turned[at] = wanted;
          piece.push(at);
        } else if (turned[at] !== wanted) hasOneSide = true;
      }
    }
    const most = against > piece.length - against ? 1 : 0;
    for (const triangle of piece) {
      if (hasOneSide || turned[triangle] === most) continue;
      const second = indices[3 * triangle + 1] as number;
      indices[3 * triangle + 1] = indices[3 * triangle + 2] as number;
      indices[3 * triangle + 2] = second;
    }
  }
}
