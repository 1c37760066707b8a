import { Box3, Group, type Object3D, Quaternion, Vector3 } from "three";
import { expect, test } from "vitest";
import { Room } from "../src/shader/room.js";
import {
  buttonAt,
  isOffered,
  PANEL_AREAS,
  PANEL_HEIGHT_M,
  PANEL_WIDTH_M,
  type PanelHit,
  panelRights,
  placeOf,
  rayHit,
  Touch,
  touchHit,
} from "../src/xr/panel-layout.js";
import { place, scaleBounds, tableHeight } from "../src/xr/placement.js";
import { Surroundings } from "../src/xr/surroundings.js";
import { newStand } from "../src/xr/two-handed.js";

test("a tank stands on the table before the eyes, small enough for it, and faces them", () => {
  const stand = newStand();
  place("table", [2, 1, 1], new Vector3(1, 1.6, 2), 0, 0, stand);
  expect(stand.scale).toBeCloseTo(0.45, 9);
  expect(stand.position.y - 0.5 * stand.scale).toBeCloseTo(tableHeight(1.6, 0), 9);
  expect([stand.position.x, stand.position.z < 1.5]).toEqual([1, true]);
  place("table", [2, 1, 1], new Vector3(1, 1.6, 2), Math.PI / 2, 0, stand);
  expect(stand.position.x).toBeLessThan(0.5);
  expect(stand.position.z).toBeCloseTo(2, 9);
  expect(stand.yaw).toBe(Math.PI / 2);
  expect(tableHeight(0.9, 0)).toBeLessThan(tableHeight(1.6, 0));
});

test("a tank's floor lies above the table's top: in the same place neither would hide the other", () => {
  const surroundings = new Surroundings(new Room().uniforms);
  surroundings.fit(0, new Vector3(0, 0.72, -1));
  const table = surroundings.group.children.find((child) => child instanceof Group) as Object3D;
  const { min, max } = new Box3().setFromObject(table);
  expect(0.72 - max.y).toBeGreaterThan(0.002);
  expect(0.72 - max.y).toBeLessThan(0.006);
  expect(min.y).toBeCloseTo(0, 6);
});

test("on the floor a tank has its own size, within bounds", () => {
  const stand = newStand();
  place("floor", [2, 1, 1], new Vector3(0, 1.6, 0), 0, -0.1, stand);
  expect(stand.scale).toBe(1);
  expect(stand.position.y).toBeCloseTo(0.4, 9);
  place("floor", [200, 100, 100], new Vector3(0, 1.6, 0), 0, 0, stand);
  expect(200 * stand.scale).toBeCloseTo(3, 9);
  place("floor", [0.02, 0.01, 0.01], new Vector3(0, 1.6, 0), 0, 0, stand);
  expect(0.02 * stand.scale).toBeCloseTo(0.8, 9);
  const [low, high] = scaleBounds([2, 1, 1]);
  expect(low).toBeLessThan(0.45);
  expect(high).toBeGreaterThan(1);
});

test("the panel offers what the role may do, and in a recording to pause it", () => {
  const greyed = (...[role, plays]: Parameters<typeof panelRights>): string =>
    PANEL_AREAS.map(({ button }) => button)
      .filter((button) => !isOffered(button, panelRights(role, plays)))
      .join(" ");
  expect(greyed("own", false)).toBe("");
  expect(greyed("play", false)).toBe("scene-back scene-next pause speed reset");
  expect(greyed("watch", false)).toBe("scene-back scene-next tool colour pause speed reset level");
  for (const role of ["watch", "play", "own"] as const)
    expect(greyed(role, true)).toBe("scene-back scene-next tool colour speed reset level");
});

test("each button is met by a ray and a finger at its middle, and none beside the panel", () => {
  const position = new Vector3(0.3, 1.1, -0.4);
  const turn = new Quaternion().setFromAxisAngle(new Vector3(1, 0.4, 0).normalize(), -0.8);
  const hit: PanelHit = { x: 0, y: 0, distance: 0 };
  const front = new Vector3(0, 0, 0.3).applyQuaternion(turn);
  for (const { button } of PANEL_AREAS) {
    const at = placeOf(button, new Vector3()).applyQuaternion(turn).add(position);
    expect(rayHit(position, turn, at.clone().add(front), turn, hit)).toBe(true);
    expect(hit.distance).toBeCloseTo(0.3, 6);
    expect(buttonAt(hit.x, hit.y)).toBe(button);
    expect(touchHit(position, turn, at, hit)).toBe(true);
    expect(hit.distance).toBeCloseTo(0, 6);
    expect(buttonAt(hit.x, hit.y)).toBe(button);
  }
  const beside = new Vector3(0.6 * PANEL_WIDTH_M, 0, 0.3).applyQuaternion(turn).add(position);
  expect(rayHit(position, turn, beside, turn, hit)).toBe(false);
  const behind = new Vector3(0, 0, -0.3).applyQuaternion(turn).add(position);
  expect(rayHit(position, turn, behind, turn, hit)).toBe(false);
  expect(touchHit(position, turn, new Vector3(0, PANEL_HEIGHT_M, 0).add(position), hit)).toBe(false);
});

test("a finger presses once, coming from the front", () => {
  const press = (distances: readonly (number | null)[]): number => {
    const touch = new Touch();
    return distances.filter((distance) => touch.tick(distance)).length;
  };
  expect(press([0.1, 0.03, 0.015, 0.004, -0.01, 0.004, -0.01])).toBe(1);
  expect(press([0.1, 0.03, 0.004, 0.03, 0.004])).toBe(2);
  expect(press([null, -0.02, 0.004])).toBe(0);
  expect(press([0.3, 0.004])).toBe(0);
});
