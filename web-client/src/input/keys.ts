// Keys: P pause, S step, < slower, > faster, R reset, H help, F full screen, M performance, 0 measure, I flow, V view, 1 to 9 tools, space pours while it is
// held, arrows turn, + and - zoom, [ and ] size the tool. They act wherever the focus is, but in what is written or chosen in
// and in a dialog; the space bar and Enter press a button that has the focus.

export interface KeyTarget {
  togglePause(): void;
  step(): void;
  /** Of the tank's clock. */
  changeSpeed(way: 1 | -1): void;
  reset(): void;
  toggleHelp(): void;
  toggleReadout(): void;
  toggleInstrument(which: "probes" | "insight"): void;
  goHome(): void;
  toggleFullScreen(): void;
  /** @param index  of the tool, from 0 */
  chooseTool(index: number): void;
  pour(held: boolean): void;
  resizeTool(factor: number): void;
  turn(dx: number, dy: number): void;
  zoom(factor: number): void;
}

export interface KeyLike {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  repeat: boolean;
}

/** @return whether the key meant something for where one looks from */
export function lookKey(event: KeyLike, target: Pick<KeyTarget, "turn" | "zoom">): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  switch (event.key) {
    case "ArrowLeft":
      target.turn(-0.06, 0);
      return true;
    case "ArrowRight":
      target.turn(0.06, 0);
      return true;
    case "ArrowUp":
      target.turn(0, 0.06);
      return true;
    case "ArrowDown":
      target.turn(0, -0.06);
      return true;
    case "+":
    case "=":
      target.zoom(0.9);
      return true;
    case "-":
      target.zoom(1 / 0.9);
      return true;
  }
  return false;
}

/** @return whether the key meant something */
export function pressKey(event: KeyLike, target: KeyTarget): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (lookKey(event, target)) return true;
  switch (event.key) {
    case "[":
      target.resizeTool(1 / 1.1);
      return true;
    case "]":
      target.resizeTool(1.1);
      return true;
    case " ":
      if (!event.repeat) target.pour(true);
      return true;
    case "s":
    case "S":
      target.step();
      return true;
  }
  if (event.repeat) return false;
  if (/^[1-9]$/.test(event.key)) {
    target.chooseTool(Number(event.key) - 1);
    return true;
  }
  switch (event.key.toLowerCase()) {
    case "<":
    case ",":
      target.changeSpeed(-1);
      return true;
    case ">":
    case ".":
      target.changeSpeed(1);
      return true;
    case "p":
      target.togglePause();
      return true;
    case "r":
      target.reset();
      return true;
    case "h":
    case "?":
      target.toggleHelp();
      return true;
    case "0":
      target.toggleInstrument("probes");
      return true;
    case "i":
      target.toggleInstrument("insight");
      return true;
    case "m":
      target.toggleReadout();
      return true;
    case "f":
      target.toggleFullScreen();
      return true;
    case "v":
      target.goHome();
      return true;
  }
  return false;
}

/** @return whether the key's release meant something */
export function releaseKey(event: Pick<KeyLike, "key">, target: KeyTarget): boolean {
  if (event.key !== " ") return false;
  target.pour(false);
  return true;
}

/** What of an element tells whether keys that go to it are the tank's. */
export interface FocusLike {
  closest(selector: string): unknown;
}

const DIALOG = "dialog, [role='dialog']";
const FIELD = "input, textarea, select, [contenteditable]";
/** What the space bar or Enter works while it has the focus. */
const BUTTON = "button, a, summary";
/** Arrows go from button to button there. */
const BAR = "[role='toolbar']";

/**
 * Whether a key that goes to an element is the tank's.
 * @param element  null: none has the focus
 * @param characters  whether the tank has keys that write something, too
 */
export function isForTank(element: FocusLike | null, key: string, characters: boolean): boolean {
  if (!characters && key.length === 1 && key !== " ") return false;
  if (element === null) return true;
  if (element.closest(`${DIALOG}, ${FIELD}`) !== null) return false;
  if (/^( |Enter)$/.test(key)) return element.closest(BUTTON) === null;
  return !key.startsWith("Arrow") || element.closest(BAR) === null;
}
