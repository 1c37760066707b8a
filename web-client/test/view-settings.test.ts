import { expect, test } from "vitest";
import { Orbit } from "../src/state/orbit.js";
import { Settings } from "../src/state/settings.js";
import { recallView, rememberView } from "../src/state/view-settings.js";

function settingsOf(search: string): { settings: Settings; search: () => string } {
  let now = search;
  const settings = new Settings({
    search: () => now,
    replace: (next) => {
      now = next;
    },
    setTimer: () => {},
  });
  return { settings, search: () => now };
}

test("the home view leaves the address alone, another is written and recalled", () => {
  const { settings, search } = settingsOf("?a=1");
  const orbit = new Orbit();
  rememberView(orbit, settings);
  settings.flush();
  expect(search()).toBe("?a=1");
  orbit.turn(1.2, 0.1);
  orbit.zoom(1.5);
  rememberView(orbit, settings);
  settings.flush();
  expect(search()).toMatch(/^\?a=1&yaw=96&pitch=36&distance=1.5$/);

  const again = new Orbit();
  recallView(again, settingsOf(search()).settings);
  again.goal.forEach((x, i) => {
    expect(x % (2 * Math.PI)).toBeCloseTo(
      (((orbit.goal[i] as number) + 3 * Math.PI) % (2 * Math.PI)) - Math.PI,
      1,
    );
  });
  again.goHome();
  expect(again.isHome).toBe(true);
});
