// Where probes are put: a point in the tank, a rod through it from the floor to the lid, a rectangle across the tank
// there, the nearest of the tank's walls, all of it; and where one goes that is dragged.
import type { Probe, ProbeKind, ProbeWish } from "../protocol/messages.js";

export type Place = Pick<Probe, "kind" | "atM" | "toM">;

/** What people place by one point. */
export function placeAt(kind: ProbeKind, point: readonly number[], sizeM: readonly number[]): Place {
  const [x, y, z] = inside(point, sizeM);
  const [width, height, depth] = sizeM as [number, number, number];
  switch (kind) {
    case "gauge":
      return { kind, atM: [x, 0, z], toM: [x, height, z] };
    case "flux":
      return { kind, atM: [x, 0, 0], toM: [Math.min(x, width), height, depth] };
    case "wall": {
      const gaps = [x, width - x, y, height - y, z, depth - z];
      const nearest = gaps.indexOf(Math.min(...gaps));
      const across = Math.floor(nearest / 2);
      const at = nearest % 2 === 0 ? 0 : (sizeM[across] ?? 0);
      return {
        kind,
        atM: [0, 0, 0].map((low, axis) => (axis === across ? at : low)),
        toM: [width, height, depth].map((high, axis) => (axis === across ? at : high)),
      };
    }
    default:
      return { kind, atM: [x, y, z], toM: [x, y, z] };
  }
}

/** A probe whose middle goes to a point, as far as it stays in the tank. */
export function movedTo(probe: Place, point: readonly number[], sizeM: readonly number[]): Place {
  const middle = middleOf(probe);
  const moved = [0, 1, 2].map((axis) => {
    const low = Math.min(at(probe.atM, axis), at(probe.toM, axis));
    const high = Math.max(at(probe.atM, axis), at(probe.toM, axis));
    // What is on a wall stays on it.
    const by = probe.kind === "wall" && low === high ? 0 : at(point, axis) - at(middle, axis);
    return Math.min(at(sizeM, axis) - high, Math.max(-low, by));
  });
  const shift = (place: readonly number[]): number[] =>
    // What lies in a plane stays in one: both of its corners get the same number.
    place.map((metres, axis) =>
      Math.min(at(sizeM, axis), Math.max(0, Math.fround(metres + at(moved, axis)))),
    );
  return { kind: probe.kind, atM: shift(probe.atM), toM: shift(probe.toM) };
}

/** Where a probe is taken hold of. */
export function middleOf({ atM, toM }: Pick<Place, "atM" | "toM">): number[] {
  return atM.map((metres, axis) => 0.5 * (metres + at(toM, axis)));
}

export function isSamePlace(a: Pick<Place, "atM" | "toM">, b: Pick<Place, "atM" | "toM">): boolean {
  return a.atM.join() === b.atM.join() && a.toM.join() === b.toM.join();
}

/** @param solid  of a force: which of the scene's */
export function placeWish({ kind, atM, toM }: Place, solid?: number): ProbeWish {
  return { action: "place", kind, at_m: atM, to_m: toM, ...(solid === undefined ? {} : { solid }) };
}

export function moveWish(id: number, { atM, toM }: Place): ProbeWish {
  return { action: "move", id, at_m: atM, to_m: toM };
}

function inside(point: readonly number[], sizeM: readonly number[]): [number, number, number] {
  const [x, y, z] = point.map((metres, axis) => Math.min(at(sizeM, axis), Math.max(0, metres)));
  return [x ?? 0, y ?? 0, z ?? 0];
}

function at(values: readonly number[], axis: number): number {
  return values[axis] ?? 0;
}
