import { expect, test } from "vitest";
import type { Probe, Readings } from "../src/protocol/messages.js";
import { movedTo, placeAt } from "../src/state/probe-place.js";
import { ProbeTrack, quantityOf, readable } from "../src/state/probe-track.js";

const FLOOR: Probe = {
  id: 1,
  viewerId: 0,
  scene: true,
  kind: "pressure",
  atM: [1, 0, 1],
  toM: [1, 0, 1],
  solid: 0,
  label: "floor",
  columns: ["pressure_pa"],
};
const ROD: Probe = {
  ...FLOOR,
  id: 2,
  scene: false,
  kind: "gauge",
  toM: [1, 2, 1],
  label: "",
  columns: ["depth_m", "surface_m"],
};

function rows(step: number, values: number[], list = 1, epoch = 7): Readings {
  const width = values.length % 3 === 0 ? 3 : 1;
  return {
    t: "readings",
    list,
    epoch,
    step,
    dtS: 0.5,
    rows: values.length / width,
    values: Float32Array.from(values),
  };
}

test("rows are kept for each probe, with the newest on top", () => {
  const track = new ProbeTrack();
  track.show(1, [FLOOR, ROD]);
  expect(track.newest(FLOOR, "pressure_pa")).toBeNull();
  expect(track.take(rows(4, [100, 0.5, 0.6, 200, 0.7, 0.8]))).toBe(true);
  expect(track.newest(FLOOR, "pressure_pa")).toBe(200);
  expect(track.newest(ROD, "surface_m")).toBeCloseTo(0.8);
  expect(track.newestS).toBe(2.5);
  expect(track.columns).toEqual(["pressure_pa", "depth_m", "surface_m"]);
  const [curve] = track.curves("depth_m", 10, 100);
  expect(curve?.times).toEqual([2, 2.5]);
  expect(curve?.probe).toBe(ROD);
});

test("what is of another list, or doesn't fit it, is left out", () => {
  const track = new ProbeTrack();
  track.show(2, [FLOOR, ROD]);
  expect(track.take(rows(1, [1, 2, 3], 1))).toBe(false);
  expect(track.take({ ...rows(1, [1, 2, 3], 2), rows: 3 })).toBe(false);
  expect(track.taken).toBe(0);
});

test("a probe that is moved keeps what it measured; one that is gone doesn't", () => {
  const track = new ProbeTrack();
  track.show(1, [FLOOR, ROD]);
  track.take(rows(1, [1, 2, 3]));
  track.show(2, [{ ...FLOOR, atM: [0, 0, 0] }]);
  expect(track.newest(FLOOR, "pressure_pa")).toBe(1);
  expect(track.newest(ROD, "depth_m")).toBeNull();
  track.show(3, [{ ...FLOOR, columns: ["depth_m"] }]);
  expect(track.newest(FLOOR, "pressure_pa")).toBeNull();
});

test("a tank that starts afresh forgets; one that stands has one row", () => {
  const track = new ProbeTrack();
  track.show(1, [FLOOR, ROD]);
  track.take(rows(8, [1, 2, 3]));
  track.take(rows(8, [4, 5, 6]));
  expect(track.curves("pressure_pa", 10, 100)[0]?.values).toEqual([4]);
  track.take(rows(0, [7, 8, 9], 1, 8));
  expect(track.curves("pressure_pa", 10, 100)[0]?.times).toEqual([0]);
});

test("no more rows are kept than there is room for, and no more points drawn than asked for", () => {
  const track = new ProbeTrack(100);
  track.show(1, [FLOOR]);
  for (let step = 0; step < 250; step++) track.take(rows(step, [step]));
  const [all] = track.curves("pressure_pa", Number.POSITIVE_INFINITY, 1000);
  expect(all?.values).toHaveLength(100);
  expect(all?.values[0]).toBe(150);
  const [few] = track.curves("pressure_pa", Number.POSITIVE_INFINITY, 10);
  expect(few?.values.length).toBeLessThanOrEqual(10);
  expect(few?.values.at(-1)).toBe(249);
  expect(track.curves("pressure_pa", 5, 1000)[0]?.times[0]).toBe(119.5);
});

test("the table has a row for each step and says nothing where nothing was measured", () => {
  const track = new ProbeTrack();
  track.show(1, [FLOOR]);
  track.take(rows(1, [10]));
  track.show(2, [FLOOR, ROD]);
  track.take({ ...rows(2, [20, 0.25, 0.5], 2), rows: 1 });
  expect(track.csv()).toBe(
    "time_s,floor_pressure_pa,gauge_2_depth_m,gauge_2_surface_m\n0.5,10,,\n1,20,0.25,0.5\n",
  );
});

test("columns are named and values written for people", () => {
  expect(quantityOf("pressure_pa", [])).toEqual({ name: "pressure_pa", label: "Pressure", unit: "Pa" });
  expect(quantityOf("heat_k", [{ name: "heat_k", label: "Heat", unit: "K" }]).label).toBe("Heat");
  expect(quantityOf("odd_thing", []).label).toBe("odd thing");
  expect(readable(2451.6, "Pa")).toBe("2.45 kPa");
  expect(readable(0.1234, "m/s")).toBe("0.123 m/s");
  expect(readable(0.00001, "")).toBe("0");
  expect(readable(-12, "m")).toBe("-12 m");
});

test("places are in the tank, however far somebody drags", () => {
  const size = [2, 1, 0.5];
  expect(placeAt("gauge", [1.5, 0.3, 0.2], size)).toEqual({
    kind: "gauge",
    atM: [1.5, 0, 0.2],
    toM: [1.5, 1, 0.2],
  });
  expect(placeAt("point", [3, -1, 0.2], size).atM).toEqual([2, 0, 0.2]);
  const sheet = placeAt("flux", [0.75, 0.3, 0.2], size);
  expect(sheet).toEqual({ kind: "flux", atM: [0.75, 0, 0], toM: [0.75, 1, 0.5] });
  const moved = movedTo(sheet, [9, 9, 9], size);
  expect(moved.atM).toEqual([2, 0, 0]);
  expect(moved.toM).toEqual([2, 1, 0.5]);
  const wall = placeAt("wall", [1, 0.1, 0.25], size);
  expect(wall).toEqual({ kind: "wall", atM: [0, 0, 0], toM: [2, 0, 0.5] });
  expect(movedTo(wall, [1, 0.9, 0.25], size)).toEqual(wall);
  expect(placeAt("wall", [1.95, 0.5, 0.25], size).atM).toEqual([2, 0, 0]);
  const rod = movedTo(placeAt("gauge", [1, 0, 0.25], size), [0.125, 0.5, 0.25], size);
  expect(rod.atM).toEqual([0.125, 0, 0.25]);
});
