// The small live view: the camera's picture, dark and as in a mirror, and over it what moves, coloured by where to.
import { PlainError } from "../net/plain.js";
import type { GreyPicture } from "./flow.js";
import type { MotionFinder } from "./motion-finder.js";

/** Of the picture's brightness. */
const SHADE = 0.42;
/** Arrows stand so many cells apart. */
const ARROW_CELLS = 10;
const ARROW_PRESENCE_MIN = 0.35;
/** Pixels for a speed of one picture width per second, and at most. */
const ARROW_PX = 16;
const ARROW_PX_MAX = 9;

export class MotionView {
  private readonly context: OffscreenCanvasRenderingContext2D;
  private readonly image: ImageData;

  /** @param view  gets the pictures' size */
  constructor(view: OffscreenCanvas, width: number, height: number) {
    view.width = width;
    view.height = height;
    const context = view.getContext("2d");
    if (context === null) throw new PlainError("the browser gives no canvas to draw on");
    this.context = context;
    this.image = context.createImageData(width, height);
  }

  /** @param found  on half the picture's columns and rows */
  show(picture: GreyPicture, found: MotionFinder): void {
    const { width, height } = picture;
    const { data } = this.image;
    for (let y = 0, i = 0; y < height; y++)
      for (let x = 0; x < width; x++, i++) {
        const cell = (y >> 1) * found.columns + (x >> 1);
        const share = 0.75 * (found.presence[cell] as number);
        const grey = (picture.values[i] as number) * SHADE * (1 - share);
        const [along, up] = [found.along[cell] as number, found.up[cell] as number];
        // Blue to the right, orange to the left; lighter upwards, darker downwards.
        const speed = Math.hypot(along, up) || 1;
        const [right, high] = [(1 + along / speed) / 2, 0.75 + (0.25 * up) / speed];
        data[4 * i] = grey + share * high * (255 - 190 * right);
        data[4 * i + 1] = grey + share * high * (165 + 25 * right);
        data[4 * i + 2] = grey + share * high * (80 + 175 * right);
        data[4 * i + 3] = 255;
      }
    this.context.putImageData(this.image, 0, 0);
    this.arrows(found);
  }

  private arrows({ columns, rows, presence, along, up }: MotionFinder): void {
    const { context } = this;
    context.strokeStyle = "#ffffff";
    context.lineWidth = 1.5;
    context.beginPath();
    for (let top = 0; top < rows; top += ARROW_CELLS)
      for (let left = 0; left < columns; left += ARROW_CELLS) {
        let [all, right, high] = [0, 0, 0];
        for (let y = top; y < top + ARROW_CELLS; y++)
          for (let x = left; x < left + ARROW_CELLS; x++) {
            const cell = y * columns + x;
            const share = presence[cell] as number;
            all += share;
            right += share * (along[cell] as number);
            high += share * (up[cell] as number);
          }
        if (all < ARROW_PRESENCE_MIN * ARROW_CELLS ** 2) continue;
        this.arrow(2 * left + ARROW_CELLS, 2 * top + ARROW_CELLS, right / all, -high / all);
      }
    context.stroke();
  }

  private arrow(x: number, y: number, right: number, down: number): void {
    const speed = Math.hypot(right, down);
    if (speed === 0) return;
    const length = Math.min(ARROW_PX_MAX, 3 + ARROW_PX * speed);
    const [dx, dy] = [(length * right) / speed, (length * down) / speed];
    const [tipX, tipY] = [x + dx, y + dy];
    this.context.moveTo(x - dx, y - dy);
    this.context.lineTo(tipX, tipY);
    for (const side of [-0.45, 0.45]) {
      this.context.moveTo(tipX, tipY);
      this.context.lineTo(tipX - 0.6 * dx - side * dy, tipY - 0.6 * dy + side * dx);
    }
  }
}
