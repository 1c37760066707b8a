// What of the page's parts covers the picture, for who frames the tank.
import { type Covers, PHONE } from "./state/framing.js";

/** What the panel covers of the window's right, and the bar of tools of its bottom, CSS pixels (page.css). */
const PANEL_PX = 280;
const BAR_PX = 68;

/** @param panel, tools  whether they are shown @return as things are whenever it is looked at: windows are turned */
export function pageCovers(panel: boolean, tools: boolean): Covers {
  return {
    get rightPx() {
      return panel && !matchMedia(PHONE).matches ? PANEL_PX : 0;
    },
    bottomPx: tools ? BAR_PX : 0,
  };
}
