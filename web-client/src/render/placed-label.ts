// A text over the canvas at a point of the tank. Written only where it changes: the page is laid out anew otherwise.

export interface LabelView {
  /**
   * Writes the place over the canvas (CSS pixels) of a point in tank coordinates.
   * @returns false where the point is behind the camera
   */
  projectInto(at: readonly number[], place: [number, number]): boolean;
}

export class PlacedLabel {
  /** Tenths of a CSS pixel. */
  private x = Number.NaN;
  private y = Number.NaN;
  private readonly place: [number, number] = [0, 0];

  constructor(readonly element: HTMLElement) {}

  /** Goes to where a point is seen. */
  follow(view: LabelView, at: readonly number[]): void {
    const { element, place } = this;
    const isSeen = view.projectInto(at, place);
    if (element.hidden === isSeen) element.hidden = !isSeen;
    const x = Math.round(10 * place[0]);
    const y = Math.round(10 * place[1]);
    if (!isSeen || (x === this.x && y === this.y)) return;
    this.x = x;
    this.y = y;
    element.style.transform = `translate(${x / 10}px, ${y / 10}px)`;
  }
}
