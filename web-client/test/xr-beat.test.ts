import { Group } from "three";
import { expect, test } from "vitest";
import { ACTIVE_MS, Beat, IDLE_MS } from "../src/xr/beat.js";
import { newDevice } from "../src/xr/devices.js";
import { TankStand } from "../src/xr/tank-stand.js";

/** How many of the pictures of some seconds are sent. */
function sent(beat: Beat, pictures: number, hertz: number, acts: boolean): number {
  let count = 0;
  for (let i = 0; i < pictures; i++) if (beat.due((1000 * i) / hertz, acts, false)) count++;
  return count;
}

test("the rate is kept whatever the display's is", () => {
  for (const hertz of [72, 80, 90, 120, 144]) {
    expect(sent(new Beat(), 10 * hertz, hertz, true)).toBeCloseTo(10_000 / ACTIVE_MS, -1);
    expect(sent(new Beat(), 10 * hertz, hertz, false)).toBeCloseTo(10_000 / IDLE_MS, -1);
  }
  expect(sent(new Beat(), 600, 60, true)).toBe(600);
});

test("changes are sent at once and silence nothing, and a pause isn't made up for", () => {
  const beat = new Beat();
  for (let ms = 0; ms < 100; ms++) expect(beat.due(ms, true, true)).toBe(true);
  expect(beat.due(99 + ACTIVE_MS, true, false)).toBe(true);
  let after = 0;
  for (let ms = 5000; ms < 5000 + ACTIVE_MS; ms++) if (beat.due(ms, true, false)) after++;
  expect(after).toBe(1);
});

test("a tank that is turned tells it thirty times a second at 72 Hz", () => {
  let turns = 0;
  const tank = new Group();
  const stage = { place: new Group(), room: new Group(), tank, sizeM: [1, 1, 1] };
  const stand = new TankStand({
    stage: stage as unknown as ConstructorParameters<typeof TankStand>[0]["stage"],
    orientation: () => null,
    turn: () => turns++,
  });
  const held = (["left", "right"] as const).map((side) => Object.assign(newDevice(side), { tracked: true }));
  for (let i = 0; i < 720; i++) {
    held.forEach(({ point }, side) => {
      const angle = 0.01 * i + Math.PI * side;
      point.set(Math.cos(angle), Math.sin(angle), 0);
    });
    stand.tick(held, (1000 * i) / 72);
  }
  expect(turns).toBeGreaterThan(295);
  expect(turns).toBeLessThan(305);
});
