// Which of a tank's fields is looked at, and where.
import type { FrameInfo } from "../codec/frame-info.js";
import type { Channel } from "../protocol/messages.js";

export class FieldView {
  /** A field's; one that the tank doesn't have counts as none. */
  name = "";
  /** Where the plane lies, as a share of the tank's depth. */
  slice = 0.5;
  private fields: readonly Channel[] = [];

  /** The tank has these. */
  offer(fields: readonly Channel[]): void {
    this.fields = fields;
  }

  /** The field that is shown; null: none. */
  get field(): Channel | null {
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
