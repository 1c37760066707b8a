// What of the page's parts covers the picture, for who frames the tank and for what stands below the header.
import { type Covers, PHONE } from "./state/framing.js";

/** What the panel covers of the window's right, and the bar of tools of its bottom, CSS pixels (page.css). */
const PANEL_PX = 280;
const BAR_PX = 68;
/** The line that says how to begin, over the bar. It goes with the first press, and nothing is to jump then. */
const HINT_PX = 26;
/** Of a lesson beside the pane in which one measures, in such windows (page.css). */
const LESSON_SHARE = 0.26;
const LESSON_GAP_PX = 10;
const LESSON_FROM_PX = 900;
/** In narrower windows that line stands elsewhere. */
const HINT_FROM_PX = 1041;

/**
 * @param header  above the picture, as wide and high as its buttons need; styles have its end as --head
 * @param panel, tools  whether they are shown
 * @return as things are whenever it is looked at: windows are turned
 */
export function pageCovers(header: HTMLElement, panel: boolean, tools: boolean): Covers {
  let headPx = 0;
  const measure = (): void => {
    const { bottom } = header.getBoundingClientRect();
    if (bottom > 0) document.documentElement.style.setProperty("--head", `${Math.ceil(bottom)}px`);
    headPx = Math.ceil(bottom);
  };
  new ResizeObserver(measure).observe(header);
  window.addEventListener("resize", measure);
  return {
    get rightPx() {
      return panel && !matchMedia(PHONE).matches ? PANEL_PX : 0;
    },
    bottomPx: tools ? BAR_PX : 0,
    get headPx() {
      return headPx;
    },
    get lessonPx() {
      const lesson = document.getElementById("lesson") as HTMLDetailsElement | null;
      return lesson?.open && window.innerWidth >= LESSON_FROM_PX
        ? headPx + LESSON_GAP_PX + LESSON_SHARE * window.innerHeight
        : 0;
    },
    get hintPx() {
      return tools && window.innerWidth >= HINT_FROM_PX ? HINT_PX : 0;
    },
  };
}
