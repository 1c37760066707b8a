// Decides what each pointer does: push the water, or look around.
//
//     mouse  left button on the tank: push · left beside it, right or middle anywhere: orbit · wheel: zoom
//            shift + wheel: radius of the push
//     touch  one finger on the tank: push · one finger beside it: orbit · two fingers: orbit and pinch to zoom
//
// A second finger that lands while the first pushes ends the push: both then look around.

export interface GestureTarget {
  /** Whether a place of the canvas (CSS pixels) lies over the tank. */
  overTank(x: number, y: number): boolean;
  pushDown(pointer: number, x: number, y: number): void;
  pushMove(pointer: number, x: number, y: number): void;
  pushUp(pointer: number, x: number, y: number): void;
  /** The pointer moves over the canvas without pressing; null: it left. */
  hover(at: readonly [number, number] | null): void;
  turn(dx: number, dy: number): void;
  zoom(factor: number): void;
  resizeTool(factor: number): void;
}

interface Held {
  x: number;
  y: number;
  /** Number on the wire, where this pointer pushes. */
  push: number | null;
  touch: boolean;
}

/** What a gesture needs of a PointerEvent. */
export interface PointerLike {
  pointerId: number;
  pointerType: string;
  button: number;
  /** CSS pixels inside the canvas. */
  x: number;
  y: number;
}

/** Pointers at once: the protocol's ids are 0..15, and the last two are the gamepad's and the keyboard's. */
export const POINTERS_MAX = 14;

/** By how much a turn of the wheel towards oneself makes something larger. */
export function wheelFactor(deltaPixels: number): number {
  return Math.exp(Math.max(-240, Math.min(240, deltaPixels)) * 0.0012);
}

export class Gestures {
  private readonly held = new Map<number, Held>();

  constructor(private readonly target: GestureTarget) {}

  down(event: PointerLike): void {
    if (this.held.has(event.pointerId) || this.held.size >= POINTERS_MAX) return;
    const touch = event.pointerType === "touch";
    const others = [...this.held.values()].filter((held) => held.touch);
    let push = event.button === 0 && this.target.overTank(event.x, event.y);
    if (touch && others.length > 0) {
      push = false;
      for (const other of others) this.endPush(other);
    }
    const held: Held = { x: event.x, y: event.y, push: null, touch };
    this.held.set(event.pointerId, held);
    this.target.hover(null);
    if (push) {
      held.push = this.freeNumber();
      this.target.pushDown(held.push, event.x, event.y);
    }
  }

  /** @param height  of the canvas, CSS pixels */
  move(event: PointerLike, height: number): void {
    const held = this.held.get(event.pointerId);
    if (held === undefined) {
      if (event.pointerType !== "touch" && this.held.size === 0) this.target.hover([event.x, event.y]);
      return;
    }
    const dx = event.x - held.x;
    const dy = event.y - held.y;
    const before = this.spread();
    held.x = event.x;
    held.y = event.y;
    if (held.push !== null) {
      this.target.pushMove(held.push, event.x, event.y);
      return;
    }
    const fingers = Math.max(1, this.fingers());
    this.target.turn(dx / height / fingers, dy / height / fingers);
    const after = this.spread();
    if (before > 0 && after > 0) this.target.zoom(before / after);
  }

  up(event: PointerLike): void {
    const held = this.held.get(event.pointerId);
    if (held === undefined) return;
    held.x = event.x;
    held.y = event.y;
    this.endPush(held);
    this.held.delete(event.pointerId);
  }

  leave(): void {
    this.target.hover(null);
  }

  wheel(deltaPixels: number, shift: boolean): void {
    const factor = wheelFactor(deltaPixels);
    if (shift) this.target.resizeTool(1 / factor);
    else this.target.zoom(factor);
  }

  /** Ends everything, as when the page loses the focus. */
  cancel(): void {
    for (const held of this.held.values()) this.endPush(held);
    this.held.clear();
    this.target.hover(null);
  }

  private endPush(held: Held): void {
    if (held.push === null) return;
    this.target.pushUp(held.push, held.x, held.y);
    held.push = null;
  }

  private freeNumber(): number {
    let number = 0;
    const taken = [...this.held.values()].map((held) => held.push);
    while (taken.includes(number)) number++;
    return number;
  }

  private fingers(): number {
    let count = 0;
    for (const held of this.held.values()) if (held.touch) count++;
    return count;
  }

  /** Distance between the two fingers that look around, 0 where there aren't two. */
  private spread(): number {
    if (this.fingers() !== 2) return 0;
    const [a, b] = [...this.held.values()].filter((held) => held.touch);
    return a !== undefined && b !== undefined ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
  }
}
