// Which of a tank's fields is looked at, and where.
import type { FrameInfo } from "../codec/frame-info.js";
import type { Channel } from "../protocol/messages.js";
import type { FieldWish } from "./insight-choices.js";

export class FieldView {
  /** A field's; one that the tank doesn't have counts as none. */
  name = "";
  /** Where the plane lies, as a share of the tank's depth. */
  slice = 0.5;
  /** Somebody looks into the flow, at a field in a plane of their own: it takes the place of this one. */
  wish: FieldWish | null = null;
  private fields: readonly Channel[] = [];

  /** The tank has these. */
  offer(fields: readonly Channel[]): void {
    this.fields = fields;
  }

  /** What frames are to carry for it, and the plane that is to be cut out. */
  get asked(): FieldWish {
    return this.wish ?? { name: this.name, axis: 2, share: this.slice };
  }

  /** The field that is shown; null: none. */
  get field(): Channel | null {
    if (this.wish !== null) return null;
    return this.fields.find(({ name }) => name === this.name) ?? null;
  }

  /** What a frame's levels 0 and 255 stand for; null: it doesn't have this field. */
  scale(info: FrameInfo): { low: number; high: number } | null {
    return this.field !== null && this.has(info, this.name)
      ? { low: info.fieldLow, high: info.fieldHigh }
      : null;
  }

  /** Whether a frame has a field, whichever is shown. */
  has(info: FrameInfo, name: string): boolean {
    return info.field > 0 && this.fields[info.field - 1]?.name === name;
  }
}
