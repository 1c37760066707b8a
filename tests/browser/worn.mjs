// A page with an emulated headset: iwer stands in for the browser's WebXR, the test moves head, controllers and hands.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./harness.mjs";
import { WEB } from "./places.mjs";

const RUNTIME = join(WEB, "node_modules", "iwer", "build", "iwer.min.js");
/** Head, looking down at a table by so much, rad. */
const PITCH = -0.6;
const EYES = [0, 1.6, 0];

/** Puts an emulated Quest 3 into a page before it loads. */
export async function plugIn(page) {
  await page.addInitScript(`${readFileSync(RUNTIME, "utf8")}
    window.device = new IWER.XRDevice(IWER.metaQuest3, { stereoEnabled: true });
    window.device.installRuntime({ forceInstall: true });
    window.device.position.set(${EYES.join()});
    window.device.quaternion.set(${Math.sin(PITCH / 2)}, 0, 0, ${Math.cos(PITCH / 2)});
    // Out of sight, and off the tank.
    for (const side of ["left", "right"])
      for (const one of [window.device.controllers[side], window.device.hands[side]])
        one.position.set(side === "left" ? -0.6 : 0.6, 0.9, 0.3);`);
}

/** Of the page, in place of the real room that the emulation doesn't have: dark, and nothing that is drawn. */
export const UNDER = [0, 12, 24];

/** Presses the page's button and waits until the headset shows the tank. @param mode  immersive-vr or immersive-ar */
export async function enter(page, mode = "immersive-vr") {
  await page.evaluate((colour) => {
    document.body.style.background = `rgb(${colour})`;
  }, UNDER);
  // Not with the mouse: after a session the emulation leaves the canvas on top of everything. It comes when the browser has
  // told of its headset, and a case may have hidden all of the page by then.
  await page.locator("#headset").waitFor({ state: "attached" });
  await page.evaluate(
    (word) => {
      [...document.querySelectorAll("#headset button")].find((one) => one.textContent.includes(word)).click();
    },
    mode === "immersive-vr" ? "VR" : "AR",
  );
  await until(
    () =>
      page.evaluate(
        (wanted) => window.tarn.headset?.mode === wanted && window.tarn.headset.scale !== 1,
        mode,
      ),
    `the session ${mode} shows the tank`,
  );
  await pictures(page, 2);
}

/** Waits for so many pictures of the headset. */
export function pictures(page, count) {
  return page.evaluate(async (times) => {
    for (let i = 0; i < times; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
  }, count);
}

/**
 * Moves controllers or hands along lines of the room, at the pace of the pictures.
 * @param moves  of {kind: controllers | hands, side, from, to, turn: [axis, from rad, to rad]}
 */
export function move(page, moves, seconds) {
  return page.evaluate(
    async ([list, duration]) => {
      const began = performance.now();
      for (let share = 0; share < 1; ) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        share = Math.min(1, (performance.now() - began) / (1000 * duration));
        for (const { kind, side, from, to, turn } of list) {
          const one = window.device[kind][side];
          one.position.set(...from.map((x, axis) => x + share * (to[axis] - x)));
          if (turn === undefined) continue;
          const [axis, first, last] = turn;
          const half = 0.5 * (first + share * (last - first));
          one.quaternion.set(...axis.map((x) => x * Math.sin(half)), Math.cos(half));
        }
      }
      for (let i = 0; i < 3; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
    },
    [moves, seconds],
  );
}

/** Presses or releases a controller's button: trigger or squeeze. */
export async function press(page, side, button, value) {
  await page.evaluate(
    ([which, name, amount]) => window.device.controllers[which].updateButtonValue(name, amount),
    [side, button, value],
  );
  await pictures(page, 3);
}

/** Points the right controller at a button of the wrist panel and pulls the trigger. */
export async function pressPanel(page, button) {
  const wrist = [-0.1, 1.2, -0.4];
  await move(page, [{ kind: "controllers", side: "left", from: wrist, to: wrist }], 0);
  const at = await until(
    () => page.evaluate((name) => window.tarn.headset.button(name), button),
    "the wrist panel faces the eyes",
  );
  // From above, pointing straight down: -z of the ray is the room's -y.
  const above = [at[0], at[1] + 0.2, at[2]];
  const down = [[1, 0, 0], -Math.PI / 2, -Math.PI / 2];
  await move(page, [{ kind: "controllers", side: "right", from: above, to: above, turn: down }], 0);
  await press(page, "right", "trigger", 1);
  await press(page, "right", "trigger", 0).catch(() => {});
}

/** A place of the room for a point of the tank. */
export function inRoom(page, point) {
  return page.evaluate((p) => window.tarn.headset.inRoom(p), point);
}

/** What a test needs of the emulated eyes, and where a point of the room is in a picture of them both, pixels. */
export async function eyes(page, { width, height }) {
  const { ipd, fovy, pitch } = await page.evaluate(() => ({
    ipd: window.device.ipd,
    fovy: window.device.fovy,
    pitch: 2 * Math.asin(window.device.quaternion.x),
  }));
  const focal = (0.5 * height) / Math.tan(0.5 * fovy);
  const project = (point, eye) => {
    const [x, y, z] = point.map((coordinate, axis) => coordinate - EYES[axis]);
    const [up, back] = [y * Math.cos(pitch) + z * Math.sin(pitch), z * Math.cos(pitch) - y * Math.sin(pitch)];
    const side = eye === "left" ? -0.5 : 0.5;
    const middle = eye === "left" ? 0.25 * width : 0.75 * width;
    return [middle + (focal * (x - side * ipd)) / -back, 0.5 * height - (focal * up) / -back];
  };
  /** Of a point from the plane of the eyes. */
  const distance = (point) => {
    const [, y, z] = point.map((coordinate, axis) => coordinate - EYES[axis]);
    return y * Math.sin(pitch) - z * Math.cos(pitch);
  };
  return { project, focal, distance };
}

/** Pixels of one eye's picture that look a way: how many, and their middle. */
export function find(picture, eye, looks) {
  const from = eye === "left" ? 0 : picture.width / 2;
  const found = { count: 0, x: 0, y: 0, outside: 0 };
  for (let y = 0; y < picture.height; y++)
    for (let x = from; x < from + picture.width / 2; x++) {
      if (!looks(picture.at(x, y), x, y)) continue;
      found.count++;
      found.x += x + 0.5;
      found.y += y + 0.5;
    }
  found.x /= found.count;
  found.y /= found.count;
  return found;
}

/** The bright end of a controller. */
export const isTip = ([red, green, blue]) => red > 150 && red > green + 40 && green > blue + 30;
