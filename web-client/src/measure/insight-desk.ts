// Who looks into the flow: what of it is shown (state/insight-choices.ts), found anew with each frame from the particles'
// velocities, which come anyway; what is taken hold of in the tank; and the panel.
//
//     frame ─ codec/flow-grid ─┬─ state/flow-slice ─ plane, arrows      one step of the flow before is kept,
//                              ├─ state/flow-lines ─ streamlines        so that what drifts knows both ends
//                              ├─ state/marker-dots, particle-paths     of the time between two frames
//                              └─ state/liquid-sums ─ plots

import type { App } from "../app/app.js";
import type { InsightSample } from "../app/hook.js";
import { FlowGrid } from "../codec/flow-grid.js";
import type { Channel, SessionState } from "../protocol/messages.js";
import { InsightMarks, type MarksView, type MarkUniforms } from "../render/insight/insight-marks.js";
import { AutoRange } from "../state/auto-range.js";
import { AIR, LineBuffer, POINT_VALUES, Streamlines } from "../state/flow-lines.js";
import { type Axis, FlowSlice, PLANE_AXES } from "../state/flow-slice.js";
import type { DecodedFrame } from "../state/frame-stream.js";
import {
  BUDGETS,
  type Budget,
  type FieldWish,
  fieldOf,
  firstChoices,
  flowQuantityOf,
  type InsightChoices,
  quantitiesOf,
} from "../state/insight-choices.js";
import { isMixed, type LiquidMatter, LiquidSums, matterOf, SUM_COLUMNS } from "../state/liquid-sums.js";
import { DOT_VALUES, DOTS_MAX, MarkerDots } from "../state/marker-dots.js";
import { PATH_POINTS_MAX, PATHS_MAX, ParticlePaths } from "../state/particle-paths.js";
import type { Tier } from "../state/quality.js";
import { Rake, type RakeEnd, type RakeWay } from "../state/rake.js";
import type { Ray, Vec3 } from "../state/ray.js";
import type { InsightPanel } from "../ui/insight-panel.js";
import type { InsightScales } from "../ui/insight-scales.js";
import type { Desk, Grip } from "./desk-button.js";
import { ENDS, type GripView, InsightGrip } from "./insight-grip.js";

const SHOW_EVERY_MS = 200;
/** Between two frames that are farther apart nothing is known of the way, simulated seconds. */
const GAP_MAX_S = 1;
/** Of people's time as much as this is left to all else for each one that is spent here. */
const REST = 3;
/** But not more than this: what drifts is to see frames that are near to each other. */
const REST_MAX_MS = 400;
/** A particle that is pressed on is so near, cells. */
const PRESS_CELLS = 0.9;
const RAKE_COLOUR = 0xffb454;
const PLANE_COLOUR = 0xeaf6ff;

export interface InsightView extends MarksView, GripView {
  readonly tier: Tier;
  readonly particles: { readonly uniforms: Readonly<Record<string, { value: unknown }>> };
}

export interface InsightHost {
  view: InsightView;
  state(): SessionState | null;
  /** The newest; null: none is to be shown. Its bytes are at hand until the next one comes. */
  frame(): DecodedFrame | null;
  /** The scene's file; null: it isn't known. */
  sceneFile(): unknown;
  /** Simulated seconds that the last picture shows. */
  shownS(): number;
  /** Asks for a field, cut in a plane; null: for none. */
  cut(wish: FieldWish | null): void;
  /** Asks for a channel; "": for none. */
  carry(channel: string): void;
  say(text: string): void;
}

/** What the colours of a scale stand for. */
export interface ShownScale {
  channel: Channel;
  low: number;
  high: number;
}

export class InsightDesk implements Desk, Grip {
  readonly choices: InsightChoices = firstChoices();
  readonly rake = new Rake();
  readonly dots = new MarkerDots();
  readonly paths = new ParticlePaths();
  readonly sums = new LiquidSums();
  /** A press in the tank chooses a particle. */
  choosing = false;

  private readonly marks: InsightMarks;
  private readonly slice = new FlowSlice();
  private readonly tracer = new Streamlines();
  private readonly streams: LineBuffer;
  private readonly pathLines = new LineBuffer(PATHS_MAX * (PATH_POINTS_MAX + 2));
  private readonly rakeLine = new LineBuffer(4);
  private before = new FlowGrid();
  private after = new FlowGrid();
  /** How fast all of it is, and the range of what else the plane shows. */
  private readonly speeds = new AutoRange();
  private readonly amounts = new AutoRange();
  private amountsOf = "";
  private panel: InsightPanel | null = null;
  private scalesPane: InsightScales | null = null;
  private measures = false;
  private matter: { file: unknown; matter: LiquidMatter | null } = { file: null, matter: null };
  private seen: DecodedFrame | null = null;
  private epoch = -1;
  private timeS = 0;
  private emittedS = Number.NEGATIVE_INFINITY;
  private isStale = true;
  private restUntilMs = 0;
  private seenMs = 0;
  private shownMs = 0;
  private asked = "";
  private readonly grip: InsightGrip;
  private readonly ray: Ray = { origin: [0, 0, 0], direction: [0, 0, -1] };
  private readonly at: [number, number] = [0, 0];

  /** @param opened  is told when the panel is there, and when it is no more */
  constructor(
    private readonly host: InsightHost,
    private readonly opened: (open: boolean) => void,
  ) {
    const { uniforms } = host.view.particles;
    this.marks = new InsightMarks(uniforms as unknown as MarkUniforms, host.view);
    this.grip = new InsightGrip(host.view, this);
    const { seeds, steps } = BUDGETS.water;
    this.streams = new LineBuffer(seeds * (2 * steps + 2));
    this.fit();
  }

  async toggle(): Promise<void> {
    if (this.panel !== null) {
      this.close();
      return;
    }
    const [{ InsightPanel }, { InsightScales }] = await Promise.all([
      import("../ui/insight-panel.js"),
      import("../ui/insight-scales.js"),
    ]);
    if (this.panel !== null) return;
    this.scalesPane ??= new InsightScales(this);
    this.panel = new InsightPanel(this, this.scalesPane);
    this.opened(true);
    this.change();
  }

  say(text: string): void {
    this.host.say(text);
  }

  get isOpen(): boolean {
    return this.panel !== null;
  }

  // ---- what the panel knows and does ----

  get sizeM(): readonly number[] {
    return this.host.view.sizeM;
  }

  get isFlat(): boolean {
    return this.host.view.isFlat;
  }

  get isLiquid(): boolean {
    return this.host.state()?.model === "liquid";
  }

  get budget(): Budget {
    return BUDGETS[this.host.view.tier];
  }

  get quantities(): Channel[] {
    return quantitiesOf(this.choices.axis, this.host.state()?.fields ?? [], this.isLiquid);
  }

  /** The scales of what is shown now. */
  get scales(): ShownScale[] {
    const { choices, quantities } = this;
    const found: ShownScale[] = [];
    const quantity = quantities.find(({ name }) => name === choices.quantity);
    const speed = quantities[0] as Channel;
    if (choices.slice && quantity !== undefined) {
      const [low, high] = this.range();
      found.push({ channel: quantity, low, high });
    }
    const hasLines = choices.streams || this.paths.paths.length > 0;
    // Beside a plane lines have a colour of their own.
    if (hasLines && !choices.slice) found.push({ channel: speed, low: 0, high: this.speeds.top });
    return found;
  }

  /** What the longest arrow stands for, m/s; 0: there are none. */
  get arrowSpeed(): number {
    return this.slice.arrowCount > 0 ? this.speeds.top : 0;
  }

  /** The choices are others, or the rake is elsewhere. */
  change(): void {
    const { choices } = this;
    if (this.isFlat) choices.axis = 2;
    if (!this.quantities.some(({ name }) => name === choices.quantity)) choices.quantity = "speed";
    if (this.amountsOf !== `${choices.quantity} ${choices.axis}`) this.amounts.top = 0;
    this.amountsOf = `${choices.quantity} ${choices.axis}`;
    for (const range of [this.speeds, this.amounts]) range.held = choices.held;
    const name = fieldOf(choices);
    const asked = name === "" ? "" : `${name} ${choices.axis} ${choices.share}`;
    if (asked !== this.asked) {
      this.asked = asked;
      this.host.cut(name === "" ? null : { name, axis: choices.axis, share: choices.share });
    }
    this.isStale = true;
  }

  lieRake(way: RakeWay): void {
    this.rake.lie(way);
    this.settleRake();
    this.change();
  }

  private settleRake(): void {
    if (this.seen !== null) this.rake.settle((x, y, z) => this.after.sample(x, y, z) >= AIR);
  }

  moveRake(end: RakeEnd, place: readonly number[]): void {
    this.rake.move(end, place);
    this.change();
  }

  /** Puts dots in: a row along the rake, or a grid in the plane. */
  putDots(kind: "row" | "grid"): void {
    if (this.seen === null) return;
    const { dots } = this.budget;
    this.dots.add(this.after, kind === "row" ? this.rake.seeds(this.dotsOfRow) : this.gridOfDots(), dots);
    this.isStale = true;
  }

  clearDots(): void {
    this.dots.clear();
    this.isStale = true;
  }

  choose(on: boolean): void {
    this.choosing = on;
    document.body.classList.toggle("placing", on);
    this.panel?.showChoosing();
  }

  /** Follows the foremost particle in the tank's middle. */
  followMiddle(): void {
    const middle = this.sizeM.map((metres) => metres / 2);
    this.host.view.projectInto(middle, this.at);
    if (!this.follow(this.at[0], this.at[1], 4)) this.host.say("There is no particle in the middle.");
  }

  forgetPaths(): void {
    this.paths.clear();
    this.isStale = true;
  }

  /** Sums energy, momentum and volume up from now on, or no longer. */
  measure(on: boolean): void {
    this.measures = on;
    this.host.carry(on && this.needsDensity ? "density" : "");
  }

  private get needsDensity(): boolean {
    const { liquid } = this;
    return liquid !== null && isMixed(liquid);
  }

  /** Null: what is in the tank isn't a liquid, or its file isn't known. */
  get liquid(): LiquidMatter | null {
    const file = this.host.sceneFile();
    if (file !== this.matter.file) this.matter = { file, matter: matterOf(file) };
    return this.isLiquid ? this.matter.matter : null;
  }

  /** Nothing is shown any more. */
  hideAll(): void {
    Object.assign(this.choices, { slice: false, streams: false, everyS: 0 });
    this.dots.clear();
    this.forgetPaths();
    this.change();
  }

  close(): void {
    this.choose(false);
    this.measure(false);
    this.panel?.remove();
    this.panel = null;
    this.grip.letGo();
    this.isStale = true;
    this.opened(false);
    document.getElementById("insight-button")?.focus();
  }

  /** For window.tarn. */
  sample(): InsightSample {
    const { dots, paths, slice, streams, pathLines } = this;
    const { rows } = this.sums;
    const texels = this.choices.slice ? slice.columns * slice.rows : 0;
    const inFluid = slice.presence.subarray(0, texels).filter((density) => density >= AIR).length;
    return {
      streams: streams.count,
      pathPieces: pathLines.count,
      dots: dots.count,
      paths: paths.paths.length,
      dotPlaces: Array.from({ length: Math.min(64, dots.count) }, (_, i) => [
        ...dots.dots.subarray(DOT_VALUES * i, DOT_VALUES * i + 3),
      ]).flat(),
      pathPlaces: paths.paths.flatMap(({ at }) => at),
      arrows: slice.arrowCount,
      fluid: inFluid / Math.max(1, texels),
      most: slice.most,
      sums: SUM_COLUMNS.map((_, column) => (rows.count === 0 ? 0 : rows.valueAt(rows.count - 1, column))),
      handles: Object.fromEntries(this.grip.handles.map((handle) => [handle, this.grip.placeOf(handle)])),
    };
  }

  // ---- pictures ----

  /** A frame was decoded: what drifts is to see all of them, however seldom pictures are. */
  decoded(frame: DecodedFrame): void {
    if (this.host.frame() === frame) this.work(() => this.see(frame));
  }

  tick(nowMs: number): void {
    const frame = this.host.frame();
    if (!this.isWanted && this.isStale) this.redraw(null, nowMs);
    else if (frame !== null && (this.isStale || frame !== this.seen))
      this.work(() => {
        if (frame !== this.seen) this.see(frame);
        this.redraw(frame, nowMs);
      });
    this.marks.tick(this.host.shownS());
    if (nowMs - this.shownMs < SHOW_EVERY_MS) return;
    this.shownMs = nowMs;
    this.scalesPane?.show();
    this.panel?.showValues();
  }

  /** Does something unless it is to be left. */
  private work(act: () => void): void {
    const began = performance.now();
    if (!this.isWanted || began < this.restUntilMs) return;
    act();
    const ended = performance.now();
    this.restUntilMs = ended + Math.min(REST * (ended - began), REST_MAX_MS);
  }

  private get isWanted(): boolean {
    const { choices } = this;
    const drifts = this.dots.count > 0 || this.paths.paths.length > 0 || choices.everyS > 0;
    return choices.slice || choices.streams || drifts || this.panel !== null;
  }

  /** A frame that wasn't seen before. */
  private see(frame: DecodedFrame): void {
    const { info, views } = frame;
    const dtS = info.simTimeS - this.timeS;
    const isNext = info.epoch === this.epoch && dtS >= 0 && dtS <= GAP_MAX_S;
    this.fit();
    [this.before, this.after] = [this.after, this.before];
    this.after.remember(this.before);
    this.after.compute(info, views, isNext ? dtS : Number.POSITIVE_INFINITY);
    const { before, after, sizeM } = this;
    if (!isNext) {
      this.dots.clear();
      this.paths.clear();
      this.emittedS = Number.NEGATIVE_INFINITY;
    } else if (dtS > 0) {
      this.dots.move(before, after, dtS, after.voxelM, sizeM);
      this.paths.follow({ before, after, voxelM: after.voxelM }, info, views, info.simTimeS, dtS, sizeM);
    }
    const isFirst = this.seen === null;
    // Another tank may lack what is asked for.
    if (info.epoch !== this.epoch) this.change();
    this.seen = frame;
    if (isFirst) this.settleRake();
    this.epoch = info.epoch;
    this.timeS = info.simTimeS;
    this.emit();
    if (this.measures) this.sumUp(frame);
    this.isStale = true;
  }

  private emit(): void {
    const { everyS } = this.choices;
    if (everyS <= 0 || this.timeS - this.emittedS < everyS) return;
    // Evenly, whenever frames come; after a while without any, once.
    this.emittedS = this.timeS - this.emittedS < 2 * everyS ? this.emittedS + everyS : this.timeS;
    this.putDots("row");
  }

  private sumUp({ info, views }: DecodedFrame): void {
    const matter = this.liquid;
    if (matter === null) return;
    // The scene may be another one.
    const byChannel = this.needsDensity;
    this.host.carry(byChannel ? "density" : "");
    const channel = this.host.state()?.channels[info.channel - 1]?.name ?? "";
    if (byChannel && channel !== "density") return;
    this.sums.take(info, views, matter, byChannel);
  }

  /** The tank may be another one. */
  private fit(): void {
    this.marks.fit(this.sizeM);
    this.rake.fit(this.sizeM);
  }

  private redraw(frame: DecodedFrame | null, nowMs: number): void {
    this.isStale = false;
    const passedS = (nowMs - this.seenMs) / 1000;
    this.seenMs = nowMs;
    const { choices, marks, budget } = this;
    const spacingM = this.cutSlice(frame);
    this.traceStreams(frame !== null && choices.streams, budget);
    this.pathLines.clear();
    this.paths.write(this.pathLines);
    const isSpeed = choices.slice && choices.quantity === "speed";
    const fastest = Math.max(
      isSpeed ? this.slice.most : 0,
      choices.slice && choices.arrows ? this.slice.fastest : 0,
      fastestOf(this.streams),
      fastestOf(this.pathLines),
    );
    const top = this.speeds.see(fastest, passedS);
    if (choices.slice && !isSpeed) this.amounts.see(this.slice.most, passedS);
    const hasSlice = frame !== null && choices.slice && this.slice.columns > 0;
    const [low, high] = this.range();
    const { axis } = choices;
    marks.showPlane(hasSlice ? this.slice : null, axis, this.planeM, this.sizeM, low, high);
    marks.showArrows(hasSlice && choices.arrows ? this.slice : null, axis, spacingM, top);
    marks.colourLines(choices.slice);
    marks.showStreams(this.streams, top);
    marks.showPaths(this.pathLines, top);
    marks.showDots(this.dots);
    this.showHandles();
  }

  /** Fills the slice. @return how far its arrows are apart, metres */
  private cutSlice(frame: DecodedFrame | null): number {
    const { choices, slice, after, sizeM, budget } = this;
    slice.arrowCount = 0;
    if (frame === null || !choices.slice) return 0;
    const { axis } = choices;
    const quantity = flowQuantityOf(choices);
    if (quantity === null) this.cutField(frame);
    else {
      slice.divide(axis, sizeM, 0.5 * after.voxelM, budget.texels);
      slice.compute(after, quantity, axis, this.planeM, sizeM, after.voxelM);
    }
    return choices.arrows ? slice.point(after, axis, this.planeM, sizeM, budget.arrows) : 0;
  }

  /** Shows the levels of a field that the frame has in this plane; else nothing but the plane. */
  private cutField({ info, field, fieldAxis }: DecodedFrame): void {
    const { slice, after, sizeM, choices } = this;
    const { axis } = choices;
    const name = this.host.state()?.fields[info.field - 1]?.name ?? "";
    slice.divideCells(axis, info.cells);
    const isThere = field !== null && fieldAxis === axis && name === fieldOf(choices);
    if (isThere && field.length === slice.columns * slice.rows)
      slice.take(field, info.fieldLow, info.fieldHigh);
    // What fills its tank is everywhere; of a liquid only where particles are.
    if (isThere && this.isLiquid) slice.findFluid(after, axis, this.planeM, sizeM);
    else slice.presence.fill(isThere ? 1 : 0);
    this.fieldEnds = isThere ? [info.fieldLow, info.fieldHigh] : [Number.NaN, Number.NaN];
  }

  private fieldEnds: [number, number] = [Number.NaN, Number.NaN];

  /** What the ends of the plane's colours stand for. */
  private range(): [number, number] {
    const { quantity } = this.choices;
    if (quantity === "speed") return [0, this.speeds.top];
    if (flowQuantityOf(this.choices) === null) return this.fieldEnds;
    return [-this.amounts.top, this.amounts.top];
  }

  private traceStreams(on: boolean, { seeds, steps }: Budget): void {
    const { streams, after, sizeM } = this;
    streams.clear();
    if (!on) return;
    const limits = {
      stepM: 0.5 * after.voxelM,
      stepsMax: steps,
      speedMin: 0.02 * this.speeds.top + 1e-4,
      sizeM,
    };
    for (const seed of this.rake.seeds(Math.min(seeds, this.choices.seeds)))
      this.tracer.trace(after, seed, limits, streams);
  }

  /** Where the plane lies on its axis, metres. */
  get planeM(): number {
    const { axis, share } = this.choices;
    return share * (this.sizeM[axis] as number);
  }

  private get dotsOfRow(): number {
    return Math.min(this.budget.dots, 2 * this.choices.seeds);
  }

  private gridOfDots(): Vec3[] {
    const { axis } = this.choices;
    const { sizeM } = this;
    const [right, up] = PLANE_AXES[axis] as readonly [Axis, Axis];
    const [width, height] = [sizeM[right] as number, sizeM[up] as number];
    const spacing = Math.max(width, height) / Math.sqrt(Math.min(this.budget.dots, DOTS_MAX, 1600));
    const places: Vec3[] = [];
    for (let y = 0.5 * spacing; y < height; y += spacing)
      for (let x = 0.5 * spacing; x < width; x += spacing) {
        const place: Vec3 = [this.planeM, this.planeM, this.planeM];
        place[right] = x;
        place[up] = y;
        places.push(place);
      }
    return places;
  }

  // ---- presses ----

  get hasRake(): boolean {
    return this.choices.streams || this.choices.everyS > 0 || this.dots.count > 0;
  }

  /** Something is taken hold of, moved or let go. */
  grasped(): void {
    this.change();
    this.panel?.showPlaces();
  }

  reaches(x: number, y: number): boolean {
    return this.grip.reaches(x, y);
  }

  down(pointer: number, x: number, y: number): boolean {
    return this.grip.down(pointer, x, y);
  }

  move(pointer: number, x: number, y: number): boolean {
    return this.grip.move(pointer, x, y);
  }

  up(pointer: number): boolean {
    return this.grip.up(pointer);
  }

  /** Follows the foremost particle beside a place of the canvas. @param reach  how far beside it, 1: a press */
  follow(x: number, y: number, reach: number): boolean {
    const frame = this.host.frame();
    if (frame === null) return false;
    this.host.view.rayAt(x, y, this.ray);
    const reachM = reach * PRESS_CELLS * frame.info.cellM;
    const found = this.paths.choose(this.ray, reachM, frame.info, frame.views, frame.info.simTimeS);
    this.isStale ||= found;
    return found;
  }

  private showHandles(): void {
    const { grip, rake, rakeLine } = this;
    const { handles } = grip;
    for (const handle of ["slice", ...ENDS] as const) {
      const colour = handle === "slice" ? PLANE_COLOUR : RAKE_COLOUR;
      const place = handles.includes(handle) ? grip.placeOf(handle) : null;
      this.marks.handle(handle, place, colour, grip.holds === handle);
    }
    rakeLine.clear();
    if (handles.includes("from")) {
      rakeLine.add(...rake.from, 0, 0);
      rakeLine.add(...rake.to, 0, 0);
    }
    this.marks.showRake(rakeLine);
  }
}

function fastestOf({ points, count }: LineBuffer): number {
  let fastest = 0;
  for (let i = 0; i < count; i++) fastest = Math.max(fastest, points[POINT_VALUES * i + 3] as number);
  return fastest;
}

/** @param sceneFile  of the scene that is shown; null: it isn't known */
export function createInsightDesk(
  app: App,
  sceneFile: () => unknown,
  say: (text: string) => void,
  opened: (open: boolean) => void,
): InsightDesk {
  const { conversation, keeping, model, pictures, stage, stream } = app;
  return new InsightDesk(
    {
      view: stage,
      state: () => model.state,
      frame: () => (keeping.catchingUp ? null : stream.latest),
      sceneFile,
      shownS: () => pictures.clock.shownS,
      cut: (wish) => {
        pictures.fieldView.wish = wish;
        app.carryField();
        if (wish !== null && model.state?.paused) conversation.lookAgain();
      },
      carry: (channel) => {
        pictures.colourBy.wish = channel;
        conversation.carry(pictures.colourBy.carried);
      },
      say,
    },
    opened,
  );
}
