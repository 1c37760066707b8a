// Fingers on a phone's screen that move the tank over the table: one carries it, two also turn it and change its size, as
// they do with a map. Each is a ray; what counts is where it meets the plane that the tank stands on.
import { Vector3 } from "three";
import { scaleBounds } from "./placement.js";
import type { Stand } from "./two-handed.js";

/** Rays that are flatter, or meet the plane farther away, would throw the tank about: sine, metres. */
const STEEP_MIN = 0.08;
const FAR_M = 8;
/** Fingers nearer to each other than this say no direction, metres. */
const SPAN_M_MIN = 0.02;
const UP = new Vector3(0, 1, 0);

interface Finger {
  id: object | null;
  /** Where it was on the plane in the picture before, and where it is, in the room. */
  was: Vector3;
  now: Vector3;
  /** It was there before; it is there now. */
  before: boolean;
  here: boolean;
}

export class TableDrag {
  private readonly fingers: readonly [Finger, Finger] = [newFinger(), newFinger()];
  private readonly from = new Vector3();
  private readonly to = new Vector3();
  private readonly span0 = new Vector3();
  private readonly span = new Vector3();

  /** A finger's ray in this picture, in the room; a third one does nothing. @param direction  of length 1 */
  point(id: object, origin: Vector3, direction: Vector3, stand: Stand, sizeM: readonly number[]): void {
    const down = origin.y - planeOf(stand, sizeM);
    if (down <= 0 || -direction.y < STEEP_MIN) return;
    const away = down / -direction.y;
    const finger = this.fingerOf(id);
    if (away > FAR_M || finger === null) return;
    finger.id = id;
    finger.here = true;
    finger.now.copy(direction).multiplyScalar(away).add(origin);
  }

  /** Once per picture, after its fingers: moves the stand as those moved that were there before. */
  tick(stand: Stand, sizeM: readonly number[]): void {
    const [one, other] = this.fingers;
    const [moves, alsoMoves] = [one.before && one.here, other.before && other.here];
    if (moves && alsoMoves) this.move(stand, sizeM, one, other);
    else if (moves || alsoMoves) this.move(stand, sizeM, moves ? one : other, null);
    for (const finger of this.fingers) {
      finger.was.copy(finger.now);
      finger.before = finger.here;
      if (!finger.here) finger.id = null;
      finger.here = false;
    }
  }

  forget(): void {
    for (const finger of this.fingers) {
      finger.id = null;
      finger.before = finger.here = false;
    }
  }

  private fingerOf(id: object): Finger | null {
    const [one, other] = this.fingers;
    if (one.id === id) return one;
    if (other.id === id) return other;
    return one.id === null ? one : other.id === null ? other : null;
  }

  private move(stand: Stand, sizeM: readonly number[], one: Finger, other: Finger | null): void {
    const bottom = planeOf(stand, sizeM);
    this.from.copy(one.was);
    this.to.copy(one.now);
    if (other !== null) {
      this.from.add(other.was).multiplyScalar(0.5);
      this.to.add(other.now).multiplyScalar(0.5);
      this.span0.subVectors(other.was, one.was);
      this.span.subVectors(other.now, one.now);
      turnAbout(this.from, stand, sizeM, this.span0, this.span);
    }
    stand.position.add(this.to).sub(this.from);
    stand.position.y = bottom + 0.5 * (sizeM[1] as number) * stand.scale;
  }
}

function newFinger(): Finger {
  return { id: null, was: new Vector3(), now: new Vector3(), before: false, here: false };
}

/** Turns and scales the stand about a place as the line between two fingers changed. */
function turnAbout(
  middle: Vector3,
  stand: Stand,
  sizeM: readonly number[],
  was: Vector3,
  now: Vector3,
): void {
  if (Math.min(was.length(), now.length()) < SPAN_M_MIN) return;
  const [least, most] = scaleBounds(sizeM);
  const scale = Math.min(most, Math.max(least, (stand.scale * now.length()) / was.length()));
  const angle = Math.atan2(now.x, now.z) - Math.atan2(was.x, was.z);
  stand.position
    .sub(middle)
    .multiplyScalar(scale / stand.scale)
    .applyAxisAngle(UP, angle)
    .add(middle);
  stand.scale = scale;
  stand.yaw += angle;
}

/** Height of what the tank stands on. */
function planeOf(stand: Stand, sizeM: readonly number[]): number {
  return stand.position.y - 0.5 * (sizeM[1] as number) * stand.scale;
}
