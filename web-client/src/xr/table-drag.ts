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

export class TableDrag {
  /** Where the fingers were on the plane, in the room. */
  private readonly was = new Map<object, Vector3>();
  private readonly now = new Map<object, Vector3>();
  private readonly from = new Vector3();
  private readonly to = new Vector3();

  /** A finger's ray in this picture, in the room. @param direction  of length 1 */
  point(finger: object, origin: Vector3, direction: Vector3, stand: Stand, sizeM: readonly number[]): void {
    const down = origin.y - planeOf(stand, sizeM);
    if (down <= 0 || -direction.y < STEEP_MIN) return;
    const away = down / -direction.y;
    if (away <= FAR_M) this.now.set(finger, direction.clone().multiplyScalar(away).add(origin));
  }

  /** Once per picture, after its fingers: moves the stand as those moved that were there before. */
  tick(stand: Stand, sizeM: readonly number[]): void {
    const both = [...this.now.keys()].filter((finger) => this.was.has(finger)).slice(0, 2);
    const [a, b] = both.map((finger) => ({
      was: this.was.get(finger) as Vector3,
      now: this.now.get(finger) as Vector3,
    }));
    if (a !== undefined) {
      const bottom = planeOf(stand, sizeM);
      this.from.copy(a.was);
      this.to.copy(a.now);
      if (b !== undefined) {
        this.from.add(b.was).multiplyScalar(0.5);
        this.to.add(b.now).multiplyScalar(0.5);
        turnAbout(this.from, stand, sizeM, b.was.clone().sub(a.was), b.now.clone().sub(a.now));
      }
      stand.position.add(this.to).sub(this.from);
      stand.position.y = bottom + 0.5 * (sizeM[1] as number) * stand.scale;
    }
    this.was.clear();
    for (const [finger, at] of this.now) this.was.set(finger, at);
    this.now.clear();
  }

  forget(): void {
    this.was.clear();
    this.now.clear();
  }
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
