import { partOf } from "../net/plain.js";
import "./insight.css";
import type { Channel } from "../protocol/messages.js";
import type { Axis } from "../state/flow-slice.js";
// The panel of what is to be seen of a flow: a section for each way, the scales, and a liquid's sums as plots.
import type { InsightChoices } from "../state/insight-choices.js";
import { EVERY_S, FIELD } from "../state/insight-choices.js";
import { isMixed, type LiquidMatter, type LiquidSums } from "../state/liquid-sums.js";
import { PATH_S, PATHS_MAX } from "../state/particle-paths.js";
import type { Rake, RakeEnd, RakeWay } from "../state/rake.js";
import type { InsightScales, ScalesHost } from "./insight-scales.js";
import { channelTitle } from "./legend.js";
import { button, coordinateInput, group, SidePane, shortly } from "./side-pane.js";
import type { SumPlots } from "./sum-plots.js";

const AXES = ["x", "y", "z"] as const;
const AXIS_NAMES = ["x: seen from the side", "y: seen from above", "z: seen from the front"] as const;
const WAYS: readonly (readonly [way: RakeWay, words: string])[] = [
  ["y", "Upright"],
  ["x", "Along x"],
  ["z", "Along z"],
];

export interface InsightPanelHost extends ScalesHost {
  readonly choices: InsightChoices;
  readonly rake: Rake;
  readonly sums: LiquidSums;
  readonly dots: { readonly count: number };
  readonly paths: { readonly paths: readonly unknown[] };
  readonly choosing: boolean;
  readonly sizeM: readonly number[];
  readonly isFlat: boolean;
  readonly budget: { seeds: number };
  readonly quantities: Channel[];
  /** Null: no liquid, or it isn't known. */
  readonly liquid: LiquidMatter | null;
  /** The choices are others. */
  change(): void;
  lieRake(way: RakeWay): void;
  moveRake(end: RakeEnd, place: readonly number[]): void;
  putDots(kind: "row" | "grid"): void;
  clearDots(): void;
  choose(on: boolean): void;
  followMiddle(): void;
  forgetPaths(): void;
  measure(on: boolean): void;
  hideAll(): void;
  close(): void;
  /** Something went wrong in passing. */
  say(text: string): void;
}

export class InsightPanel {
  private readonly pane: SidePane;
  private readonly quantity = document.createElement("select");
  private readonly position = slider(0, 1, 0.001);
  private readonly positionText = document.createElement("output");
  private readonly seeds = slider(1, 32, 1);
  private readonly seedsText = document.createElement("output");
  private readonly axes = document.createElement("div");
  private readonly rakeRow: HTMLElement;
  private readonly choice: HTMLButtonElement;
  private readonly counts = document.createElement("p");
  private readonly sumsNote = document.createElement("p");
  private readonly sumsBox = document.createElement("details");
  private plots: SumPlots | null = null;
  private readonly boxes: (readonly [input: HTMLInputElement, isOn: () => boolean])[] = [];
  private readonly switches = { slice: document.createElement("h3"), streams: document.createElement("h3") };
  private offered = "";

  /** @param scales  it has them while it is there */
  constructor(
    private readonly host: InsightPanelHost,
    private readonly scales: InsightScales,
  ) {
    this.pane = new SidePane("insight", "Flow", () => host.close());
    const { element } = this.pane;
    // What it is set to is told by the sliders themselves.
    for (const text of [this.positionText, this.seedsText]) text.setAttribute("aria-live", "off");
    this.choice = button("Tap a particle", () => host.choose(!host.choosing));
    this.rakeRow = group("row", "Ends of the rake, m");
    element.append(
      this.scaleSection(),
      this.sliceSection(),
      this.streamSection(),
      this.dotSection(),
      this.pathSection(),
      this.sumSection(),
    );
    element.addEventListener("keydown", (event) => {
      // Arrows move what has the focus, not the view.
      if (event.key.startsWith("Arrow")) event.stopPropagation();
      if (event.key !== "Escape") return;
      if (host.choosing) host.choose(false);
      else host.close();
      event.stopPropagation();
    });
    this.showPlaces();
    this.showChoosing();
    this.showValues();
    this.switches.slice.querySelector("input")?.focus();
  }

  remove(): void {
    this.plots?.remove();
    // What the colours mean stays beside the picture.
    document.body.append(this.scales.element);
    this.pane.remove();
  }

  /** The plane or the rake is elsewhere. */
  showPlaces(): void {
    const { host } = this;
    const { choices, sizeM } = host;
    this.position.value = String(choices.share);
    this.positionText.value = `${AXES[choices.axis]} = ${(choices.share * (sizeM[choices.axis] ?? 0)).toFixed(3)} m`;
    this.position.setAttribute("aria-valuetext", this.positionText.value);
    this.seeds.max = String(host.budget.seeds);
    this.seeds.value = String(choices.seeds);
    this.seedsText.value = `${Math.min(choices.seeds, host.budget.seeds)}`;
    for (const [input, isOn] of this.boxes) input.checked = isOn();
    for (const input of this.rakeRow.querySelectorAll("input")) {
      const [end, axis] = (input.dataset.place ?? "").split(" ") as ["from" | "to", string];
      if (input !== document.activeElement) input.value = shortly(host.rake[end][Number(axis)] ?? 0);
    }
    this.axes.hidden = host.isFlat;
    (this.position.parentElement as HTMLElement).hidden = host.isFlat;
  }

  showChoosing(): void {
    this.choice.setAttribute("aria-pressed", String(this.host.choosing));
    this.choice.textContent = this.host.choosing ? "Tap in the tank …" : "Tap a particle";
  }

  /** A few times a second. */
  showValues(): void {
    this.showQuantities();
    const { host } = this;
    const paths = host.paths.paths.length;
    const said = `${host.dots.count} dots, ${paths} of ${PATHS_MAX} particles followed`;
    if (this.counts.textContent !== said) this.counts.textContent = said;
    this.showSumsNote();
    this.plots?.show();
  }

  // ---- sections ----

  private sliceSection(): HTMLElement {
    const { host } = this;
    const { choices } = host;
    const radios = AXES.map((name, axis) => {
      const label = document.createElement("label");
      const input = document.createElement("input");
      input.type = "radio";
      input.name = "insight-axis";
      input.checked = choices.axis === axis;
      input.setAttribute("aria-label", AXIS_NAMES[axis as Axis]);
      input.addEventListener("change", () => this.choose({ axis: axis as Axis }));
      label.title = AXIS_NAMES[axis as Axis];
      label.append(input, name);
      return label;
    });
    this.axes.className = "row";
    this.axes.setAttribute("role", "radiogroup");
    this.axes.setAttribute("aria-label", "The plane lies across");
    this.axes.append("Across ", ...radios);
    this.position.setAttribute("aria-label", "Place of the plane");
    this.position.addEventListener("input", () => this.choose({ share: this.position.valueAsNumber }));
    this.quantity.setAttribute("aria-label", "Colours of the plane");
    this.quantity.addEventListener("change", () => this.choose({ quantity: this.quantity.value }));
    return section(
      this.switch("Slice", "slice", (slice) => this.choose({ slice })),
      this.axes,
      group("row", "Position", this.position, this.positionText),
      group(
        "row",
        "What the plane shows",
        this.quantity,
        this.tick(
          "Arrows",
          () => choices.arrows,
          (arrows) => this.choose({ arrows }),
        ),
      ),
    );
  }

  private streamSection(): HTMLElement {
    const { host } = this;
    const label = document.createElement("label");
    this.seeds.addEventListener("input", () => this.choose({ seeds: this.seeds.valueAsNumber }));
    label.append("Lines ", this.seeds);
    for (const end of ["from", "to"] as const)
      for (const [axis, name] of AXES.entries()) {
        const box = coordinateInput(
          `${end === "to" ? "to " : ""}${name}`,
          `Rake ${end} ${name}, m`,
          0,
          host.sizeM[axis] ?? 0,
          (metres) => this.moveRake(end, axis, metres),
        );
        box.input.dataset.place = `${end} ${axis}`;
        this.rakeRow.append(box);
      }
    const place = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Rake: drag it in the tank, or by numbers";
    const ways = WAYS.map(([way, words]) =>
      button(words, () => {
        host.lieRake(way);
        this.showPlaces();
      }),
    );
    place.append(summary, this.rakeRow);
    return section(
      this.switch("Streamlines", "streams", (streams) => this.choose({ streams })),
      group("row", "How many lines", label, this.seedsText),
      group("row", "The rake lies", ...ways),
      place,
    );
  }

  private dotSection(): HTMLElement {
    const { host } = this;
    const title = document.createElement("h3");
    title.textContent = "Dots";
    return section(
      title,
      group(
        "row",
        "Put dots in",
        button("A row, off the rake", () => host.putDots("row")),
        button("A grid, in the plane", () => host.putDots("grid")),
        button("Take them out", () => {
          this.choose({ everyS: 0 });
          host.clearDots();
        }),
      ),
      group(
        "row",
        "Rows",
        this.tick(
          `A row every ${EVERY_S} s`,
          () => host.choices.everyS > 0,
          (on) => this.choose({ everyS: on ? EVERY_S : 0 }),
        ),
      ),
    );
  }

  private pathSection(): HTMLElement {
    const { host } = this;
    const title = document.createElement("h3");
    title.textContent = "Path lines";
    this.choice.title = `Its way over the last ${PATH_S} s is drawn`;
    return section(
      title,
      group(
        "row",
        "Follow particles",
        this.choice,
        button("One in the middle", () => host.followMiddle()),
        button("Forget them", () => host.forgetPaths()),
      ),
      this.counts,
    );
  }

  private sumSection(): HTMLElement {
    const { host } = this;
    const summary = document.createElement("summary");
    summary.textContent = "Energy, momentum, volume";
    this.sumsBox.append(summary, this.sumsNote);
    this.sumsBox.addEventListener("toggle", () => {
      host.measure(this.sumsBox.open);
      if (this.sumsBox.open) void this.openPlots();
    });
    return section(this.sumsBox);
  }

  private scaleSection(): HTMLElement {
    const all = button("Hide all", () => {
      this.host.hideAll();
      this.showPlaces();
    });
    const held = this.tick(
      "Hold the ranges",
      () => this.host.choices.held,
      (one) => this.choose({ held: one }),
    );
    return section(this.scales.element, group("row", "Scales", held, all));
  }

  private async openPlots(): Promise<void> {
    if (this.plots !== null) return;
    const part = await partOf(
      () => import("./sum-plots.js"),
      (text) => this.host.say(text),
    );
    if (part === null || this.plots !== null || !this.pane.element.isConnected) return;
    this.plots = new part.SumPlots(this.host.sums);
    this.sumsBox.append(this.plots.element);
  }

  // ---- what changes ----

  private choose(choice: Partial<InsightChoices>): void {
    const { host } = this;
    Object.assign(host.choices, choice);
    // Who moves a plane wants to see it.
    if ("axis" in choice || "share" in choice || "quantity" in choice) host.choices.slice = true;
    host.change();
    this.showPlaces();
    this.showValues();
  }

  private moveRake(end: "from" | "to", axis: number, metres: number): void {
    if (Number.isFinite(metres))
      this.host.moveRake(
        end,
        this.host.rake[end].map((one, i) => (i === axis ? metres : one)),
      );
    this.showPlaces();
  }

  private showQuantities(): void {
    const { quantities, choices } = this.host;
    const offered = quantities.map((one) => `${one.name} ${channelTitle(one)}`).join("\n");
    if (offered !== this.offered) {
      this.offered = offered;
      this.quantity.replaceChildren(
        ...quantities.map((one) => {
          const option = new Option(channelTitle(one), one.name);
          if (one.name.startsWith(FIELD)) option.title = "The server sends it while it is shown";
          return option;
        }),
      );
    }
    if (this.quantity.value !== choices.quantity) this.quantity.value = choices.quantity;
  }

  private showSumsNote(): void {
    if (!this.sumsBox.open) return;
    const { host } = this;
    const { sums, liquid } = host;
    const text = sumsNote(sums, liquid);
    if (this.sumsNote.textContent !== text) this.sumsNote.textContent = text;
  }

  private switch(words: string, name: "slice" | "streams", act: (on: boolean) => void): HTMLElement {
    const title = this.switches[name];
    title.append(this.tick(words, () => this.host.choices[name], act));
    return title;
  }

  private tick(words: string, isOn: () => boolean, act: (on: boolean) => void): HTMLElement {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "checkbox";
    input.checked = isOn();
    input.addEventListener("change", () => act(input.checked));
    this.boxes.push([input, isOn]);
    label.append(input, words);
    return label;
  }
}

function sumsNote(sums: LiquidSums, liquid: LiquidMatter | null): string {
  if (liquid === null) return "Only of a liquid whose scene the page knows.";
  if (sums.rows.count === 0)
    return isMixed(liquid)
      ? "Waits for the particles' densities; colours by another channel, or by vorticity, take their place."
      : "Waits for a frame.";
  const energy = Number(sums.roundingJ.toPrecision(2));
  const unit = Number(sums.unitMS.toPrecision(2));
  const part = sums.share < 0.999 ? ` From ${(100 * sums.share).toFixed(0)} % of the particles.` : "";
  const count = liquid.reseeds ? " Particles come and go in this scene: the volume is rough." : "";
  return (
    `Of the stream's velocities: means between two frames, smooth within a cell, to ±${unit / 2} m/s, ` +
    `which adds ${energy} J to the kinetic energy in the mean. Potential energy is from the tank's lowest corner.${part}${count}`
  );
}

function section(...children: Node[]): HTMLElement {
  const made = document.createElement("section");
  made.append(...children);
  return made;
}

function slider(min: number, max: number, step: number): HTMLInputElement {
  const input = document.createElement("input");
  input.type = "range";
  [input.min, input.max, input.step] = [String(min), String(max), String(step)];
  return input;
}
