import { expect, test } from "vitest";
import type { FrameInfo } from "../src/codec/frame-info.js";
import { ColourBy, SOURCE } from "../src/state/colour-by.js";
import { FieldView } from "../src/state/field-view.js";
import { channelTitle, endTexts } from "../src/ui/legend.js";

const CHANNELS = [
  { name: "colour", label: "Own colour", unit: "" },
  { name: "speed", label: "Speed", unit: "m/s" },
  { name: "height", label: "", unit: "m" },
  { name: "vorticity", label: "Vorticity", unit: "1/s" },
  { name: "pressure", label: "Pressure", unit: "Pa" },
];
const INFO = {
  cells: [64, 32, 32],
  cellM: 0.05,
  gravity: [0, -9.81, 0],
  hasCurl: false,
} as unknown as FrameInfo;

function by(name: string): ColourBy {
  const colourBy = new ColourBy();
  colourBy.offer(CHANNELS);
  colourBy.name = name;
  return colourBy;
}

test("particles have their own look unless a channel of the tank is chosen", () => {
  for (const name of ["colour", "", "temperature"]) {
    expect(by(name).channel, name).toBeNull();
    expect(by(name).scale(INFO), name).toBeNull();
  }
  expect(new ColourBy().scale(INFO)).toBeNull();
});

test("ranges are the tank's", () => {
  expect(by("height").scale(INFO)).toEqual({ source: SOURCE.height, low: 0, high: 1.6 });
  // A fall from 0.85 of 1.6 m.
  expect(by("speed").scale(INFO)?.high).toBeCloseTo(Math.sqrt(2 * 9.81 * 1.36), 5);
});

test("a frame without curls has no vorticity to show", () => {
  expect(by("vorticity").scale(INFO)).toBeNull();
  expect(by("vorticity").channel?.unit).toBe("1/s");
  const scale = by("vorticity").scale({ ...INFO, hasCurl: true });
  expect(scale).toMatchObject({ source: SOURCE.level, low: 0 });
  expect(scale?.high).toBeCloseTo(Math.sqrt(2 * 9.81 * 1.36) / 0.4, 5);
});

test("what frames carry is asked for, and shown where they do", () => {
  expect(
    ["colour", "speed", "height", "vorticity", "pressure", "heat"].map((name) => by(name).carried),
  ).toEqual(["", "", "", "", "pressure", ""]);
  const carries = (channel: number) => ({ ...INFO, channel, channelLow: 0, channelHigh: 9810 });
  expect(by("pressure").scale(carries(5))).toEqual({ source: SOURCE.level, low: 0, high: 9810 });
  for (const channel of [0, 4, 6]) expect(by("pressure").scale(carries(channel)), `${channel}`).toBeNull();
});

test("a field is shown where the tank and the frame have it", () => {
  const view = new FieldView();
  view.name = "cells";
  expect(view.field).toBeNull();
  view.offer([
    { name: "pressure", label: "Pressure", unit: "Pa" },
    { name: "cells", label: "Cells", unit: "", kinds: "air,liquid" },
  ]);
  expect(view.field?.kinds).toBe("air,liquid");
  const carries = (field: number) => ({ ...INFO, field, fieldLow: 0, fieldHigh: 255 });
  expect(view.scale(carries(2))).toEqual({ low: 0, high: 255 });
  for (const field of [0, 1, 3]) expect(view.scale(carries(field)), `${field}`).toBeNull();
  expect([0, 1, 2, 3].map((field) => view.has(carries(field), "pressure"))).toEqual([
    false,
    true,
    false,
    false,
  ]);
});

test("a legend has words, a unit and the ends of the scale", () => {
  expect(CHANNELS.map(channelTitle)).toEqual([
    "Own colour",
    "Speed, m/s",
    "height, m",
    "Vorticity, 1/s",
    "Pressure, Pa",
  ]);
  expect(endTexts({ source: SOURCE.speed, low: 0, high: 5.1657 })).toEqual(["0", "5.17"]);
  expect(endTexts({ source: SOURCE.level, low: -1234.5, high: 98123 })).toEqual(["-1,230", "98,100"]);
  expect(endTexts(null)).toEqual(["…", "…"]);
});

test("what is measured by a channel is carried while colours need none, and a field in a plane of its own before another", () => {
  const channel = (name: string) => ({ name, label: "", unit: "" });
  const colours = new ColourBy();
  colours.offer(["colour", "speed", "pressure", "density"].map(channel));
  colours.wish = "density";
  expect(colours.carried).toBe("density");
  colours.name = "speed";
  expect(colours.carried).toBe("density");
  colours.name = "pressure";
  expect(colours.carried).toBe("pressure");
  const fields = new FieldView();
  fields.offer([channel("pressure"), channel("speed")]);
  fields.name = "pressure";
  fields.slice = 0.25;
  expect(fields.asked).toEqual({ name: "pressure", axis: 2, share: 0.25 });
  fields.wish = { name: "speed", axis: 0, share: 0.5 };
  expect(fields.asked).toBe(fields.wish);
  expect(fields.field).toBeNull();
});
