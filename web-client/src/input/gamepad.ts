// What a gamepad of the standard layout means. It works as soon as the browser shows it.
//
//     left stick   moves a cursor over the tank      right stick   looks around
//     right trigger or A   presses the tool          shoulders     previous and next tool
//     pad up, down   size of the tool                pad left, right   zoom
//     start   pause                                  Y   centres the view

/** What this needs of a Gamepad object. */
export interface PadLike {
  readonly axes: readonly number[];
  readonly buttons: readonly { readonly pressed: boolean; readonly value: number }[];
}

export interface PadTarget {
  /** By shares of the canvas's height. */
  moveCursor(dx: number, dy: number): void;
  press(): void;
  release(): void;
  turn(dx: number, dy: number): void;
  zoom(factor: number): void;
  resizeTool(factor: number): void;
  nextTool(step: 1 | -1): void;
  togglePause(): void;
  goHome(): void;
}

const BUTTON = { a: 0, y: 3, left: 4, right: 5, trigger: 7, start: 9, up: 12, down: 13, west: 14, east: 15 };
/** A stick at rest is never quite at rest. */
const DEAD = 0.15;
/** A trigger presses beyond the first and releases below the second. */
const PRESS = 0.35;
const RELEASE = 0.2;
const CURSOR_PER_S = 0.9;
const TURN_PER_S = 0.45;
const GROW_PER_S = 2.2;
const ZOOM_PER_S = 1.8;

/** A stick's way with the rest cut out, finer near the middle. */
export function bend(x: number): number {
  const size = Math.min(1, Math.max(0, (Math.abs(x) - DEAD) / (1 - DEAD)));
  return Number.isFinite(x) ? Math.sign(x) * size * size : 0;
}

export class PadReader {
  private readonly held = new Set<number>();
  private pressing = false;

  constructor(private readonly target: PadTarget) {}

  /** Once per picture. @return whether somebody did something with it */
  read(pad: PadLike, elapsedS: number): boolean {
    const axis = (i: number): number => bend(pad.axes[i] ?? 0);
    const [x, y, lookX, lookY] = [axis(0), axis(1), axis(2), axis(3)];
    if (x !== 0 || y !== 0) this.target.moveCursor(x * CURSOR_PER_S * elapsedS, y * CURSOR_PER_S * elapsedS);
    if (lookX !== 0 || lookY !== 0)
      this.target.turn(lookX * TURN_PER_S * elapsedS, lookY * TURN_PER_S * elapsedS);

    const down = (i: number): boolean => pad.buttons[i]?.pressed ?? false;
    const grow = Number(down(BUTTON.up)) - Number(down(BUTTON.down));
    if (grow !== 0) this.target.resizeTool(GROW_PER_S ** (grow * elapsedS));
    const nearer = Number(down(BUTTON.east)) - Number(down(BUTTON.west));
    if (nearer !== 0) this.target.zoom(ZOOM_PER_S ** (-nearer * elapsedS));

    this.once(pad, BUTTON.left, () => this.target.nextTool(-1));
    this.once(pad, BUTTON.right, () => this.target.nextTool(1));
    this.once(pad, BUTTON.start, () => this.target.togglePause());
    this.once(pad, BUTTON.y, () => this.target.goHome());
    this.trigger(Math.max(pad.buttons[BUTTON.trigger]?.value ?? 0, down(BUTTON.a) ? 1 : 0));
    return x !== 0 || y !== 0 || grow !== 0 || this.pressing;
  }

  /** The gamepad is gone, or nobody looks. */
  stop(): void {
    this.trigger(0);
    this.held.clear();
  }

  private trigger(value: number): void {
    const pressing = this.pressing ? value > RELEASE : value > PRESS;
    if (pressing === this.pressing) return;
    this.pressing = pressing;
    if (pressing) this.target.press();
    else this.target.release();
  }

  private once(pad: PadLike, button: number, act: () => void): void {
    if (!(pad.buttons[button]?.pressed ?? false)) this.held.delete(button);
    else if (!this.held.has(button)) {
      this.held.add(button);
      act();
    }
  }
}
