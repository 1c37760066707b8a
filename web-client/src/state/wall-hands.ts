// What moves on a wall as this page knows it by itself: its own pointer, others' cursors while they are pressed, and the
// strokes of an idle display. What the tank makes of a press comes with the frames, a little later, and only where there
// are particles; these answer at once, and in clear fluid, too.
import { type Stroke, strokeAt } from "./idle-stir.js";

export const HANDS = 8;
const STROKES = 2;
/** Numbers of a hand: place, velocity. And of its kind: radius, how much it adds to flow that is known. */
export const HAND_VALUES = 4;
export const KIND_VALUES = 2;

/** Radius of what a hand moves, and of a stroke, in the wall's edge. */
const RADIUS = 0.045;
const STROKE_RADIUS = 0.1;
/** In which a hand's velocity follows its places, and in which that of one that left is gone, seconds. */
const FOLLOW_S = 0.06;
const LEAVE_S = 0.12;
/** No hand is faster, edges per second. */
const SPEED_MAX = 1.2;

interface Hand {
  id: number;
  x: number;
  y: number;
  /** Where it was at the picture before. */
  fromX: number;
  fromY: number;
  vx: number;
  vy: number;
  held: boolean;
  known: boolean;
}

/** Lengths are in the edge of a square as large as the wall. */
export class WallHands {
  readonly moves = new Float32Array(HANDS * HAND_VALUES);
  readonly kinds = new Float32Array(HANDS * KIND_VALUES);
  private readonly hands: Hand[] = [];
  private readonly stroke: Stroke = { x: 0, y: 0, vx: 0, vy: 0 };

  constructor() {
    for (let i = 0; i < HANDS - STROKES; i++)
      this.hands.push({ id: 0, x: 0, y: 0, fromX: 0, fromY: 0, vx: 0, vy: 0, held: false, known: false });
  }

  /** A hand is on the wall at this picture. @param id  not 0 */
  touch(id: number, x: number, y: number): void {
    const hand = this.handOf(id) ?? this.handOf(0);
    if (hand === null) return;
    if (hand.id === 0) hand.known = false;
    hand.id = id;
    hand.x = x;
    hand.y = y;
    hand.held = true;
  }

  /** Once per picture, after the touches. @param width, height  of the wall. @param strength  of an idle display's strokes */
  tick(elapsedS: number, width: number, height: number, strength = 0, timeS = 0): void {
    for (let i = 0; i < this.hands.length; i++) {
      const hand = this.hands[i] as Hand;
      this.move(hand, elapsedS);
      this.put(i, hand.x, hand.y, hand.vx, hand.vy, RADIUS, 0);
      hand.held = false;
    }
    const { stroke } = this;
    for (let which = 0; which < STROKES; which++) {
      strokeAt(which, timeS, stroke);
      const [vx, vy] = [stroke.vx * width * strength, stroke.vy * height * strength];
      this.put(HANDS - STROKES + which, stroke.x * width, stroke.y * height, vx, vy, STROKE_RADIUS, 1);
    }
  }

  private handOf(id: number): Hand | null {
    for (const hand of this.hands) if (hand.id === id) return hand;
    return null;
  }

  private move(hand: Hand, elapsedS: number): void {
    if (hand.id === 0 || elapsedS <= 0) return;
    if (!hand.held) {
      const left = Math.exp(-elapsedS / LEAVE_S);
      hand.vx *= left;
      hand.vy *= left;
      if (Math.hypot(hand.vx, hand.vy) < 1e-3) hand.id = hand.vx = hand.vy = 0;
      return;
    }
    if (hand.known) {
      const share = 1 - Math.exp(-elapsedS / FOLLOW_S);
      const [vx, vy] = [(hand.x - hand.fromX) / elapsedS, (hand.y - hand.fromY) / elapsedS];
      const slower = Math.min(1, SPEED_MAX / Math.max(1e-6, Math.hypot(vx, vy)));
      hand.vx += share * (vx * slower - hand.vx);
      hand.vy += share * (vy * slower - hand.vy);
    }
    hand.fromX = hand.x;
    hand.fromY = hand.y;
    hand.known = true;
  }

  private put(i: number, x: number, y: number, vx: number, vy: number, radius: number, adds: number): void {
    const { moves, kinds } = this;
    moves[4 * i] = x;
    moves[4 * i + 1] = y;
    moves[4 * i + 2] = vx;
    moves[4 * i + 3] = vy;
    kinds[2 * i] = radius;
    kinds[2 * i + 1] = adds;
  }
}
