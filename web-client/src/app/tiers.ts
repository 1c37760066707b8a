// How the particles are drawn at the moment: as finely as the machine can, or as somebody wants it.
import type { Stage } from "../render/stage.js";
import type { Drawing } from "../state/drawing.js";
import { isWater, Quality, type Tier } from "../state/quality.js";
import type { WallLook } from "../state/wall-look.js";

/** Pictures of a tier that the measurement at the start takes. */
const MEASURED_PICTURES = 3;

export interface TiersOptions {
  fullDetail: boolean;
  /** The drawing is done by the processor. */
  software: boolean;
  /** Draws the present picture. */
  draw(): void;
  say(text: string): void;
}

export class Tiers {
  private readonly quality: Quality;

  constructor(
    private readonly stage: Stage,
    private readonly options: TiersOptions,
  ) {
    const { fullDetail, software } = options;
    this.quality = new Quality({
      fullDetail,
      cheapest: software ? "spheres" : "points",
      finest: software || !stage.hasWater ? "spheres" : "water",
    });
  }

  get tier(): Tier {
    return this.quality.tier;
  }

  /** Draws the particles in one way from now on; null: as finely as the machine can. */
  pin(tier: Tier | null): void {
    const isTooMuch = tier !== null && isWater(tier) && !this.stage.hasWater;
    if (isTooMuch)
      this.options.say("This machine can't draw water (its textures hold no fractions): it shows spheres.");
    this.quality.pin(isTooMuch ? "spheres" : tier);
    this.show();
  }

  /** Draws the particles as something else from now on; what that costs is measured anew. */
  drawAs(drawing: Drawing, look: WallLook | null = null): void {
    if (drawing === this.stage.drawing && look === this.stage.wallLook) return;
    this.stage.show(this.stage.tier, drawing, look);
    if (!this.quality.isPinned) this.quality.pin(null);
  }

  /** How a headset's eyes are to see the water: two of them, more often than a screen, so not as finely by itself. */
  forEyes(): { tier: Tier; pinned: boolean } {
    const { isPinned, tier } = this.quality;
    if (isPinned) return { tier, pinned: true };
    const canWater = this.stage.hasWater && !this.options.software;
    return { tier: canWater ? "water-low" : "spheres", pinned: false };
  }

  /** The screen shows the picture again. */
  resume(): void {
    this.show();
  }

  /** Takes the canvas's present size over. */
  resize(): void {
    this.stage.resize(this.quality.scale);
  }

  /** Once per picture, before it is drawn. */
  tick(nowMs: number): void {
    if (this.quality.tick(nowMs)) this.show();
  }

  /** Chooses a tier where none has been chosen yet; there is something to draw. */
  settle(): void {
    if (!this.quality.wantsMeasure) return;
    this.quality.measure((tier) => this.costMs(tier));
    this.show();
  }

  /** Draws the present picture with every pixel and as finely as the machine can at all, for `take`. */
  drawFinest(take: () => void): void {
    const { stage, quality } = this;
    const finest = stage.hasWater ? "water" : "spheres";
    stage.show(quality.isPinned ? quality.tier : finest);
    stage.resize();
    this.options.draw();
    take();
    this.show();
    this.options.draw();
  }

  private costMs(tier: Tier): number {
    this.stage.show(tier);
    const draw = (): void => {
      this.options.draw();
      this.stage.finish();
    };
    draw(); // makes programs and maps
    const began = performance.now();
    for (let i = 0; i < MEASURED_PICTURES; i++) draw();
    return (performance.now() - began) / MEASURED_PICTURES;
  }

  private show(): void {
    this.stage.show(this.quality.tier);
    this.resize();
  }
}
