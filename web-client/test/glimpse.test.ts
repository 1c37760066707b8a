import { expect, test } from "vitest";
import { glimpseView } from "../src/lobby/glimpse.js";

test("a glimpse of a flat tank is its front, which fills the picture one way", () => {
  for (const [nx, ny] of [
    [512, 512],
    [128, 64],
    [20, 90],
  ] as const) {
    const { yaw, pitch, scale } = glimpseView([nx, ny, 1], 320, 180);
    expect([yaw, pitch]).toEqual([0, 0]);
    const [across, up] = [(nx * scale) / 320, (ny * scale) / 180];
    expect(Math.max(across, up)).toBeGreaterThan(0.9);
    expect(Math.max(across, up)).toBeLessThan(1);
  }
});

test("a glimpse of any other tank has all of it", () => {
  for (const cells of [
    [64, 32, 32],
    [32, 96, 32],
    [10, 4, 200],
  ] as const) {
    const { yaw, pitch, scale } = glimpseView(cells, 320, 180);
    expect(yaw).toBeLessThan(0);
    for (const corner of [0, 1, 2, 3, 4, 5, 6, 7]) {
      const [x, y, z] = cells.map((n, axis) => n * (((corner >> axis) & 1) - 0.5)) as [
        number,
        number,
        number,
      ];
      const across = x * Math.cos(yaw) + z * Math.sin(yaw);
      const depth = z * Math.cos(yaw) - x * Math.sin(yaw);
      const up = y * Math.cos(pitch) - depth * Math.sin(pitch);
      expect(Math.abs(across * scale)).toBeLessThan(160);
      expect(Math.abs(up * scale)).toBeLessThan(90);
    }
  }
});
