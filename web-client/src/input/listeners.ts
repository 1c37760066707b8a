// From the page's events to gestures and keys.
import { type Gestures, type PointerLike, wheelFactor } from "./gestures.js";
import { isForTank, type KeyTarget, pressKey, releaseKey } from "./keys.js";

/** Pixels of a line, for wheels that count in lines. */
const LINE_PIXELS = 16;

/** @param until  ends the listening; absent: it goes on as long as the page */
export function listenToPointers(canvas: HTMLCanvasElement, gestures: Gestures, until?: AbortSignal): void {
  const bounds: AddEventListenerOptions = until === undefined ? {} : { signal: until };
  const at = (event: PointerEvent): PointerLike => ({
    pointerId: event.pointerId,
    pointerType: event.pointerType,
    button: event.button,
    x: event.offsetX,
    y: event.offsetY,
  });
  const on = <E extends "pointerdown" | "pointermove" | "pointerup" | "pointercancel" | "pointerleave">(
    type: E,
    act: (event: PointerEvent) => void,
  ): void => canvas.addEventListener(type, act, bounds);
  on("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    canvas.focus({ preventScroll: true });
    gestures.down(at(event));
    event.preventDefault();
  });
  on("pointermove", (event) => gestures.move(at(event), canvas.clientHeight));
  on("pointerup", (event) => gestures.up(at(event)));
  on("pointercancel", (event) => gestures.up(at(event)));
  on("pointerleave", () => gestures.leave());
  canvas.addEventListener("contextmenu", (event) => event.preventDefault(), bounds);
  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    gestures.wheel(wheelPixels(event), event.shiftKey);
  };
  canvas.addEventListener("wheel", wheel, { passive: false, ...bounds });
  window.addEventListener("blur", () => gestures.cancel(), bounds);
}

/** @param characters  whether keys that write something act, too */
export function listenToKeys(target: KeyTarget, characters: boolean): void {
  const isMeant = ({ target: at, key }: KeyboardEvent): boolean =>
    // Behind an open dialog there may be nothing that has the focus.
    document.querySelector("dialog[open]") === null &&
    isForTank(at instanceof Element ? at : null, key, characters);
  // The panel keeps keys that reach it to itself: they are taken on their way down.
  const bounds: AddEventListenerOptions = { capture: true };
  const press = (event: KeyboardEvent): void => {
    if (isMeant(event) && pressKey(event, target)) event.preventDefault();
  };
  const release = (event: KeyboardEvent): void => {
    // Somewhere else the release still ends what the press began.
    const used = releaseKey(event, target);
    if (used && isMeant(event)) event.preventDefault();
  };
  window.addEventListener("keydown", press, bounds);
  window.addEventListener("keyup", release, bounds);
  window.addEventListener("blur", () => target.pour(false));
}

/** Two fingers on an element, or the wheel over it: `resize` gets by how much they moved apart. */
export function listenToPinch(element: HTMLElement, resize: (factor: number) => void): void {
  const fingers = new Map<number, readonly [number, number]>();
  const spread = (): number => {
    const [a, b] = [...fingers.values()];
    return fingers.size === 2 && a !== undefined && b !== undefined
      ? Math.hypot(a[0] - b[0], a[1] - b[1])
      : 0;
  };
  element.style.touchAction = "none";
  element.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch") fingers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  window.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = spread();
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    const after = spread();
    if (before > 0 && after > 0) resize(after / before);
  });
  for (const end of ["pointerup", "pointercancel"] as const)
    window.addEventListener(end, (event) => fingers.delete(event.pointerId));
  element.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      resize(1 / wheelFactor(wheelPixels(event)));
    },
    { passive: false },
  );
}

/** With shift some systems turn the wheel sideways. */
function wheelPixels(event: WheelEvent): number {
  const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE;
  return (event.deltaY || event.deltaX) * (lines ? LINE_PIXELS : 1);
}
