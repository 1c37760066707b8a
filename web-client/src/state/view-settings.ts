// The view in the page's address: angles in whole degrees, absent while it is the home view.
import type { Orbit } from "./orbit.js";
import type { Settings } from "./settings.js";

const DEGREES = Math.PI / 180;

/** Looks from where the address says. */
export function recallView(orbit: Orbit, settings: Settings): void {
  const { yaw, pitch, distance } = settings.values;
  if (yaw === null && pitch === null && distance === null) return;
  const [homeYaw, homePitch] = orbit.goal;
  orbit.look(
    yaw === null ? homeYaw : yaw * DEGREES,
    pitch === null ? homePitch : pitch * DEGREES,
    distance ?? 1,
  );
}

/** Now and then: writes where the view goes into the address. */
export function rememberView(orbit: Orbit, settings: Settings): void {
  const home = orbit.isHome;
  const [yaw, pitch, distance] = orbit.goal;
  const turned = ((((yaw / DEGREES + 180) % 360) + 360) % 360) - 180;
  settings.set("yaw", home ? null : Math.round(turned));
  settings.set("pitch", home ? null : Math.round(pitch / DEGREES));
  settings.set("distance", home ? null : Number(distance.toFixed(2)));
}
