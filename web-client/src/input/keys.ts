// Keys: P pause, S step, R reset, H help, M measurements, V view, arrows turn, + and - zoom. Not while somebody types.

export interface KeyTarget {
  togglePause(): void;
  step(): void;
  reset(): void;
  toggleHelp(): void;
  toggleReadout(): void;
  goHome(): void;
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

/** @return whether the key meant something */
export function pressKey(event: KeyLike, target: KeyTarget): boolean {
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
    case "s":
    case "S":
      target.step();
      return true;
  }
  if (event.repeat) return false;
  switch (event.key.toLowerCase()) {
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
    case "m":
      target.toggleReadout();
      return true;
    case "v":
      target.goHome();
      return true;
  }
  return false;
}

/** Whether a key that goes to this element is somebody's typing. */
export function isTyping(element: Element | null): boolean {
  return element !== null && /^(INPUT|SELECT|TEXTAREA)$/.test(element.tagName);
}
