// Which part of a camera's picture lies on the tank's front.

/** Wider or higher tanks get a picture that is stretched, rather than a strip of one. */
const ASPECT_MIN = 0.5;
const ASPECT_MAX = 3;

/** Width by height of what is cut from a picture for a tank's front. */
export function aspectFor(widthM: number, heightM: number): number {
  return Math.min(ASPECT_MAX, Math.max(ASPECT_MIN, widthM / heightM));
}

/** The largest part of that aspect, in the picture's middle: left, top, width, height. */
export function cutFor(aspect: number, width: number, height: number): [number, number, number, number] {
  const [cutWidth, cutHeight] = [Math.min(width, height * aspect), Math.min(height, width / aspect)];
  return [(width - cutWidth) / 2, (height - cutHeight) / 2, cutWidth, cutHeight];
}

/** Lets through at most so many pictures a second, evenly, whatever a camera takes. */
export class Pace {
  private dueS = Number.NEGATIVE_INFINITY;

  constructor(private readonly perSecond: number) {}

  /** @return whether this one's turn has come; a camera is late or early by a little */
  takes(timeS: number): boolean {
    const everyS = 1 / this.perSecond;
    const earlyS = this.dueS - timeS;
    // Earlier than that by far: the camera's clock has begun anew.
    if (earlyS > everyS / 4 && earlyS < 2 * everyS) return false;
    this.dueS = Math.abs(earlyS) < everyS ? this.dueS + everyS : timeS + everyS;
    return true;
  }
}
