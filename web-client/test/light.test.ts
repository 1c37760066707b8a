import { expect, test } from "vitest";
import { LIGHT_NAMES, LIGHTS } from "../src/shader/lights.js";
import { Room } from "../src/shader/room.js";
import { LightShelf, lightOf } from "../src/state/light.js";
import { readSettings } from "../src/state/settings.js";

/** A browser's memory. */
function shelfWith(kept: Record<string, string> = {}): { shelf: LightShelf; kept: Map<string, string> } {
  const map = new Map(Object.entries(kept));
  const storage = {
    getItem: (key: string) => map.get(key) ?? null,
    setItem: (key: string, value: string) => void map.set(key, value),
  };
  return { shelf: new LightShelf(() => storage), kept: map };
}

test("it is day where nobody says anything else", () => {
  expect(lightOf(readSettings("").values.light, shelfWith().shelf.kept)).toBe("day");
});

test.each(LIGHT_NAMES)("%s is what it is where the address says so, whatever was kept", (name) => {
  const { values, problems } = readSettings(`?light=${name}`);
  expect(problems).toEqual([]);
  for (const kept of [null, ...LIGHT_NAMES]) expect(lightOf(values.light, kept)).toBe(name);
});

test("what was chosen before holds until the address says something else", () => {
  const { shelf } = shelfWith();
  shelf.keep("night");
  expect(shelf.kept).toBe("night");
  expect(lightOf("auto", shelf.kept)).toBe("night");
  expect(lightOf("studio", shelf.kept)).toBe("studio");
});

test("a light that there isn't is refused in words, and day", () => {
  const { values, problems } = readSettings("?light=dusk");
  expect(problems).toEqual(["The address has light=dusk; allowed are auto, day, night, studio, clear."]);
  expect(lightOf(values.light, null)).toBe("day");
  for (const name of ["dusk", "auto", "", "constructor"])
    expect(shelfWith({ "tarn.light": name }).shelf.kept, name).toBeNull();
});

test("a browser that keeps nothing keeps no light", () => {
  const broken = new LightShelf(() => {
    throw new Error("no storage");
  });
  expect(() => broken.keep("night")).not.toThrow();
  expect(broken.kept).toBeNull();
});

test("a room keeps its uniforms and changes what is in them", () => {
  const room = new Room();
  const before = { ...room.uniforms };
  for (const name of LIGHT_NAMES) {
    room.choose(name);
    expect(Math.hypot(...room.sun), name).toBeCloseTo(1);
    expect(room.isClear, name).toBe(name === "clear");
    for (const [key, uniform] of Object.entries(room.uniforms)) {
      expect(uniform, key).toBe(before[key as keyof typeof before]);
      for (const value of [uniform.value].flat()) expect(Number.isFinite(value), `${name} ${key}`).toBe(true);
    }
    expect(room.uniforms.tileColour.value).toBe(LIGHTS[name].values.tileColour);
  }
});

test("the sky's colour tints a bright room, and of the dark one the windows and the lamp alone", () => {
  const room = new Room();
  const { horizon, sky } = { horizon: room.uniforms.roomHorizon, sky: room.uniforms.skyColour };
  room.colour([1, 0, 0]);
  expect(horizon.value).toEqual([expect.closeTo(0.8 / 0.716), 0, 0]);
  room.choose("night");
  expect([horizon.value, sky.value]).toEqual([LIGHTS.night.values.roomHorizon, [1, 0, 0]]);
  room.colour(null);
  room.choose("day");
  expect(horizon.value).toEqual(LIGHTS.day.values.roomHorizon.map((part) => expect.closeTo(part)));
});
