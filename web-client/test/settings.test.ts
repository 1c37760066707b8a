import { expect, test } from "vitest";
import { readSettings, SETTINGS, Settings, writeSettings } from "../src/state/settings.js";

test("an empty address means the defaults", () => {
  const { values, problems } = readSettings("");
  expect(problems).toEqual([]);
  for (const [name, { default: value }] of Object.entries(SETTINGS))
    expect(values[name as keyof typeof values], name).toEqual(value);
});

test("settings are read by their kinds", () => {
  const { values, problems } = readSettings(
    "?tool=vortex&radius=0.25&strength=.5&colour=00FF10&panel=0&yaw=-30&particles=5000&session=my%20tank",
  );
  expect(problems).toEqual([]);
  expect(values).toMatchObject({
    tool: "vortex",
    radius: 0.25,
    strength: 0.5,
    colour: 0x00ff10,
    panel: false,
    yaw: -30,
    particles: 5000,
    session: "my tank",
  });
});

test.each([
  ["?display=1", false],
  ["?display=1&keys=1", true],
  ["?display=0", true],
  ["?keys=0", false],
])("%s: whether keys that write something act is %s", (query, keys) => {
  expect(readSettings(query).values.keys).toBe(keys);
});

test.each([
  ["tool=hammer", /tool=hammer.*push, pull/],
  ["radius=0", /radius=0; allowed is a number from 0.001 to 10/],
  ["radius=", /radius=/],
  ["strength=NaN", /strength/],
  ["fps=Infinity", /fps/],
  ["colour=red", /six hexadecimal/],
  ["panel=yes", /0 and 1/],
])("%s is refused in words and leaves the default", (query, words) => {
  const { values, problems } = readSettings(query);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(words);
  const name = query.split("=")[0] as keyof typeof values;
  expect(values[name]).toEqual(SETTINGS[name].default);
});

test("a long address is shortened where it is refused", () => {
  const { values, problems } = readSettings(`?recording=${"x".repeat(1001)}`);
  expect(problems[0]).toMatch(/recording=x{24}…;/);
  expect(values.recording).toBe("");
});

test("what is written is read again, defaults are left out and others' parameters stay", () => {
  const changes = { tool: "dye", radius: 0.12345, colour: 0x0000ff, panel: false } as const;
  const search = writeSettings("?key=abc&strength=0.5", { ...changes, strength: 1 });
  expect(search).toBe("?key=abc&tool=dye&radius=0.123&colour=0000ff&panel=0");
  expect(readSettings(search).values).toMatchObject({ ...changes, radius: 0.123, strength: 1 });
  expect(writeSettings(search, { tool: "push", radius: null, colour: 0xe8467c, panel: true })).toBe(
    "?key=abc",
  );
});

test("many changes become one change of the address", () => {
  let search = "?session=x";
  const written: string[] = [];
  const timers: (() => void)[] = [];
  const settings = new Settings({
    search: () => search,
    replace: (now) => {
      search = now;
      written.push(now);
    },
    setTimer: (callback) => void timers.push(callback),
  });
  for (let i = 1; i <= 9; i++) settings.set("strength", i / 10);
  settings.set("tool", "pour");
  expect(timers).toHaveLength(1);
  timers[0]?.();
  expect(written).toEqual(["?session=x&strength=0.9&tool=pour"]);
  settings.set("strength", 1);
  settings.flush();
  expect(search).toBe("?session=x&tool=pour");
});
