// From the page's events to gestures and keys.
import type { Gestures, PointerLike } from "./gestures.js";
import { isTyping, type KeyTarget, pressKey } from "./keys.js";

/** Pixels of a line, for wheels that count in lines. */
const LINE_PIXELS = 16;

export function listenToPointers(canvas: HTMLCanvasElement, gestures: Gestures): void {
  const at = (event: PointerEvent): PointerLike => ({
    pointerId: event.pointerId,
    pointerType: event.pointerType,
    button: event.button,
    x: event.offsetX,
    y: event.offsetY,
  });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    canvas.focus({ preventScroll: true });
    gestures.down(at(event));
    event.preventDefault();
  });
  canvas.addEventListener("pointermove", (event) => gestures.move(at(event), canvas.clientHeight));
  canvas.addEventListener("pointerup", (event) => gestures.up(at(event)));
  canvas.addEventListener("pointercancel", (event) => gestures.up(at(event)));
  canvas.addEventListener("pointerleave", () => gestures.leave());
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    // With shift some systems turn the wheel sideways.
    const pixels =
      (event.deltaY || event.deltaX) * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PIXELS : 1);
    gestures.wheel(pixels, event.shiftKey);
  };
  canvas.addEventListener("wheel", wheel, { passive: false });
  window.addEventListener("blur", () => gestures.cancel());
}

export function listenToKeys(target: KeyTarget): void {
  window.addEventListener("keydown", (event) => {
    if (!isTyping(document.activeElement) && pressKey(event, target)) event.preventDefault();
  });
}
