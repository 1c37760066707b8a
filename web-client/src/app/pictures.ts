// The pictures of a tank, in a page or an element: the newest frame, moved on to the time that the display shows.
//
//     begin: the camera moves; a new frame goes to the GPU  ->  what the page does between  ->  end: draws
import type { Stage } from "../render/stage.js";
import { BodyTrack } from "../state/body-track.js";
import { ColourBy } from "../state/colour-by.js";
import { DisplayClock } from "../state/display-clock.js";
import { FieldView } from "../state/field-view.js";
import type { DecodedFrame } from "../state/frame-stream.js";
import { homeOf } from "../state/framing.js";
import type { Orbit } from "../state/orbit.js";
import type { Vec3 } from "../state/ray.js";
import { WALL_FIELD } from "../state/wall-field.js";
import { Tiers, type TiersOptions } from "./tiers.js";

/** After a longer pause what moves by itself moves by so much only, seconds. */
const ELAPSED_MAX_S = 0.1;

export class Pictures {
  readonly clock = new DisplayClock();
  readonly tiers: Tiers;
  /** What the particles are coloured by; `recolour` follows a change. */
  readonly colourBy = new ColourBy();
  /** The field that is looked at. */
  readonly fieldView = new FieldView();
  /** The frame that the picture shows, the picture's time, ms, and what passed since the one before, seconds. */
  shown: DecodedFrame | null = null;
  timeMs = 0;
  elapsedS = 0;

  private isWaterDrawn = false;
  private readonly bodies = new BodyTrack();
  private readonly size: Vec3 = [0, 0, 0];
  private readonly calm = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(
    private readonly stage: Stage,
    options: Omit<TiersOptions, "draw">,
  ) {
    this.tiers = new Tiers(stage, { ...options, draw: () => this.draw(performance.now()) });
  }

  /**
   * @param timeMs  when the display's picture began: evener than when it is this page's turn
   * @param frame   the newest decoded one, or null where it isn't to be shown
   * @param orbit   where the page's own camera is; null: somebody's head looks
   * @returns whether the frame wasn't shown before
   */
  begin(timeMs: number, frame: DecodedFrame | null, orbit: Orbit | null): boolean {
    this.elapsedS = Math.max(0, Math.min(ELAPSED_MAX_S, (timeMs - this.timeMs) / 1000));
    this.timeMs = timeMs;
    this.stage.standBeside(document.body.classList.contains("measuring"));
    if (orbit !== null) {
      this.tiers.tick(timeMs);
      orbit.settle(homeOf(this.stage.isFlat));
      orbit.tick(this.elapsedS, this.calm.matches);
      this.stage.look(orbit);
    }
    if (frame === null || frame === this.shown) return false;
    this.show(frame);
    return true;
  }

  /** @param measures  whether a tier may be chosen by drawing; the first picture of water doesn't wait for that */
  end(measures: boolean): void {
    if (measures && this.isWaterDrawn) this.tiers.settle();
    this.draw(this.timeMs);
    this.isWaterDrawn = this.shown !== null;
  }

  /** Applies what the particles are coloured by to the frame that is shown. */
  recolour(): void {
    if (this.shown !== null) this.stage.particles.colour(this.colourBy.scale(this.shown.info));
  }

  private show(frame: DecodedFrame): void {
    const { info } = frame;
    this.shown = frame;
    for (let axis = 0; axis < 3; axis++) this.size[axis] = (info.cells[axis] as number) * info.cellM;
    this.stage.fitTank(this.size, info.cellM);
    this.stage.orient(info);
    this.stage.particles.show(frame);
    this.stage.secondary.show(frame);
    this.recolour();
    const { field, slice } = this.fieldView;
    const upright = frame.fieldAxis === 2 ? frame.field : null;
    const levels = this.fieldView.scale(info) === null ? null : upright;
    this.stage.fieldSlice.show(levels, info, (field?.kinds ?? "") !== "", slice);
    this.stage.speeds.show(this.fieldView.has(info, WALL_FIELD) ? upright : null, info);
    this.bodies.onFrame(info, frame.views.bodies);
  }

  private draw(timeMs: number): void {
    this.stage.draw(this.clock.tick(timeMs), this.bodies, timeMs, this.clock.speed);
  }
}
