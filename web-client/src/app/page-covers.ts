// What of the page's parts covers the picture, for who frames the tank and for what stands below the header.
import { type Covers, PHONE } from "../state/framing.js";

/** What the panel covers of the window's right, and the bar of tools of its bottom, CSS pixels (page.css). */
const PANEL_PX = 280;
const BAR_PX = 68;
/** Where the bar has two rows, which it hasn't for who may only watch (page.css). */
const TWO_ROWS_PX = 114;
const TWO_ROWS = "(max-width: 500px) and (min-height: 481px)";
/** The line that says how to begin, over the bar. It goes with the first press, and nothing is to jump then. */
const HINT_PX = 26;
/** In narrower windows that line stands elsewhere. */
const HINT_FROM_PX = 1041;

/**
 * @param header  above the picture, as wide and high as its buttons need; styles have its end as --head, and how high the
 *     time line is as --time
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
  measure();
  nextPicture(measure).observe(header);
  window.addEventListener("resize", measure);
  const lesson = new Seen("lesson");
  const time = new Seen("time", (box) =>
    document.documentElement.style.setProperty("--time", `${Math.ceil(box?.height ?? 0)}px`),
  );
  return {
    get rightPx() {
      return panel && !matchMedia(PHONE).matches ? PANEL_PX : 0;
    },
    get bottomPx() {
      if (!tools) return 0;
      return matchMedia(TWO_ROWS).matches && document.body.dataset.role !== "watch" ? TWO_ROWS_PX : BAR_PX;
    },
    get headPx() {
      return headPx;
    },
    get lessonRightPx() {
      return lesson.isOpen ? (lesson.box?.right ?? 0) : 0;
    },
    get lessonBottomPx() {
      return lesson.box?.bottom ?? 0;
    },
    get timePx() {
      return time.box === null ? 0 : window.innerHeight - time.box.top;
    },
    get hintPx() {
      return tools && window.innerWidth >= HINT_FROM_PX ? HINT_PX : 0;
    },
  };
}

/** Looks at sizes once the page has been laid out: what follows from one changes others that are looked at, too. */
function nextPicture(look: () => void): ResizeObserver {
  return new ResizeObserver(() => requestAnimationFrame(look));
}

/** A part of the page that comes and goes, and is another one each time. */
class Seen {
  private part: HTMLElement | null = null;
  private found: DOMRect | null = null;
  private readonly sizes = nextPicture(() => this.measure());

  /** @param measured  is told of each size */
  constructor(
    private readonly id: string,
    private readonly measured: (box: DOMRect | null) => void = () => {},
  ) {
    window.addEventListener("resize", () => this.measure());
  }

  /** Not folded. */
  get isOpen(): boolean {
    return !(this.part instanceof HTMLDetailsElement) || this.part.open;
  }

  /** Where it is; null: it isn't there. */
  get box(): DOMRect | null {
    const part = document.getElementById(this.id);
    if (part !== this.part) {
      if (this.part !== null) this.sizes.unobserve(this.part);
      this.part = part;
      if (part !== null) this.sizes.observe(part);
      this.measure();
    }
    return this.found;
  }

  private measure(): void {
    const box = this.part?.getBoundingClientRect() ?? null;
    this.found = box !== null && box.height > 0 ? box : null;
    this.measured(this.found);
  }
}
