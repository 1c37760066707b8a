// The panel of probes: buttons that place them, each one's values and place, plots, and all of it as a table to keep.
import type { Channel, Probe, ProbeKind } from "../protocol/messages.js";
import { colourText } from "../state/identity.js";
import { isSamePlace, type Place } from "../state/probe-place.js";
import {
  foremostOf,
  type ProbeTrack,
  probeColour,
  quantityOf,
  readable,
  titleOf,
} from "../state/probe-track.js";
import { ProbePlots } from "./probe-plots.js";
import { button, coordinateInput, group, SidePane, saveTable, spanChoice } from "./side-pane.js";

const KINDS: readonly (readonly [kind: ProbeKind, words: string, hint: string])[] = [
  ["point", "Point", "pressure, velocity and what is there"],
  ["gauge", "Rod", "how deep the liquid is along it"],
  ["flux", "Rectangle", "how much flows through it"],
  ["force", "Solid", "force and torque on the nearest solid"],
  ["wall", "Wall", "force and torque on the nearest wall of the tank"],
];
const AXES = ["x", "y", "z"] as const;

export interface ProbePanelHost {
  choose(kind: ProbeKind): void;
  placeInMiddle(): void;
  move(probe: Probe, place: Place): void;
  remove(probe: Probe): void;
  may(probe: Probe): boolean;
  mayPlace(): boolean;
  channels(): readonly Channel[];
  sizeM(): readonly number[];
  /** Of what is shown, simulated seconds. */
  timeS(): number;
  close(): void;
}

export class ProbePanel {
  private readonly pane: SidePane;
  private readonly hint = document.createElement("p");
  private readonly middle = button("Place it in the middle", () => this.host.placeInMiddle());
  private readonly list = document.createElement("ul");
  private readonly span = spanChoice(() => this.showValues());
  private readonly plots: ProbePlots;
  private readonly kinds = new Map<ProbeKind, HTMLButtonElement>();
  private readonly stopwatch: HTMLElement;
  private values: { probe: Probe; column: string; unit: string; at: HTMLElement }[] = [];
  private placing: ProbeKind | null = null;
  /** Those whose places are seen as numbers. */
  private readonly opened = new Set<number>();
  private startedS: number | null = null;
  private stoppedS = 0;

  constructor(
    private readonly track: ProbeTrack,
    private readonly host: ProbePanelHost,
  ) {
    this.pane = new SidePane("probes", "Measure", () => host.close());
    const pane = this.pane.element;
    this.plots = new ProbePlots(track, () => host.channels());
    this.stopwatch = this.createStopwatch();
    this.hint.setAttribute("role", "status");
    pane.append(
      this.createKinds(),
      this.hint,
      this.middle,
      this.list,
      group(
        "row",
        "What was measured",
        this.span.element,
        button("Save as CSV", () => saveTable("tarn-probes.csv", track.csv())),
      ),
      this.plots.element,
      this.stopwatch,
    );
    pane.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      if (this.placing !== null) host.choose(this.placing);
      else host.close();
      event.stopPropagation();
    });
    this.showPlacing(null);
    this.kinds.get("point")?.focus();
  }

  remove(): void {
    this.plots.remove();
    this.pane.remove();
  }

  /** @param kind  what the next press in the tank places; null: nothing */
  showPlacing(kind: ProbeKind | null): void {
    // What is about to go hands the focus on: keys go on from there.
    if (kind === null && document.activeElement === this.middle)
      this.kinds.get(this.placing ?? "point")?.focus();
    this.placing = kind;
    for (const [one, it] of this.kinds) it.setAttribute("aria-pressed", String(one === kind));
    this.middle.hidden = kind === null;
    document.body.classList.toggle("placing", kind !== null);
    const none = "Choose what to measure with, then press in the tank.";
    const [, , measures = ""] = KINDS.find(([one]) => one === kind) ?? [];
    const some = "Drag a probe's ball in the tank to move it.";
    this.hint.textContent =
      kind !== null
        ? `Press where in the tank it is to be: it measures ${measures}.`
        : !this.host.mayPlace()
          ? "You may look at what is measured here."
          : this.track.probes.length === 0
            ? none
            : some;
  }

  /** The probes are others than before, or elsewhere. */
  showList(): void {
    const focus = document.activeElement;
    const kept = focus instanceof HTMLElement && this.list.contains(focus) ? focus.dataset.focus : undefined;
    this.values = [];
    for (const it of this.kinds.values()) it.disabled = !this.host.mayPlace();
    this.list.replaceChildren(...this.track.probes.map((probe, index) => this.item(probe, index)));
    if (kept !== undefined)
      this.list.querySelector<HTMLElement>(`[data-focus="${CSS.escape(kept)}"]`)?.focus();
    this.plots.showList();
    this.showPlacing(this.placing);
    this.showValues();
  }

  showValues(): void {
    for (const { probe, column, unit, at } of this.values) {
      const value = this.track.newest(probe, column);
      const text = value === null ? "–" : readable(value, unit);
      if (at.textContent !== text) at.textContent = text;
    }
    this.showStopwatch();
    this.plots.show(this.span.seconds());
  }

  private createKinds(): HTMLElement {
    const row = group("row kinds", "Place a probe");
    for (const [kind, words, hint] of KINDS) {
      const it = button(words, () => this.host.choose(kind));
      it.title = hint;
      it.dataset.kind = kind;
      this.kinds.set(kind, it);
      row.append(it);
    }
    return row;
  }

  /** A row with the foremost of what it measures and its buttons; below it all else. */
  private item(probe: Probe, index: number): HTMLElement {
    const item = document.createElement("li");
    const head = document.createElement("h3");
    const dot = document.createElement("i");
    dot.style.background = colourText(probeColour(index));
    head.append(dot, titleOf(probe));
    item.dataset.probe = String(probe.id);
    const first = foremostOf(probe);
    const values = (isFirst: boolean): HTMLElement =>
      this.valuesOf(
        probe,
        probe.columns.filter((column) => (column === first) === isFirst),
      );
    item.append(head, values(true));
    const others = values(false);
    if (!this.host.may(probe)) {
      item.append(others);
      return item;
    }
    const away = button("×", () => this.host.remove(probe));
    away.dataset.focus = `${probe.id} remove`;
    away.title = "Remove it";
    away.setAttribute("aria-label", `Remove ${titleOf(probe)}`);
    if (probe.kind === "force")
      item.append(away, others); // it goes with its solid
    else {
      const [opener, row] = this.placeOf(probe);
      item.append(opener, away, row, others);
    }
    return item;
  }

  private valuesOf(probe: Probe, columns: readonly string[]): HTMLElement {
    const terms = document.createElement("dl");
    for (const column of columns) {
      const { label, unit } = quantityOf(column, this.host.channels());
      const term = document.createElement("dt");
      const at = document.createElement("dd");
      term.textContent = label;
      at.dataset.column = column;
      this.values.push({ probe, column, unit, at });
      terms.append(term, at);
    }
    return terms;
  }

  /** Where it is, as numbers, for those who don't drag: a button, and what it opens. */
  private placeOf(probe: Probe): [HTMLElement, HTMLElement] {
    const row = document.createElement("div");
    row.className = "row place";
    const opener = button("Place", () => {
      if (row.hidden) this.opened.add(probe.id);
      else this.opened.delete(probe.id);
      show();
    });
    const show = (): void => {
      row.hidden = !this.opened.has(probe.id);
      opener.setAttribute("aria-expanded", String(!row.hidden));
    };
    opener.dataset.focus = `${probe.id} place`;
    opener.setAttribute("aria-label", `Place of ${titleOf(probe)}`);
    const isLong = probe.kind === "gauge" || probe.kind === "flux" || probe.kind === "wall";
    const ends = isLong ? (["atM", "toM"] as const) : (["atM"] as const);
    for (const end of ends)
      for (const [axis, name] of AXES.entries()) row.append(this.coordinate(probe, end, axis, name));
    show();
    return [opener, row];
  }

  private coordinate(probe: Probe, end: "atM" | "toM", axis: number, name: string): HTMLElement {
    const words = `${end === "toM" ? "to " : ""}${name}`;
    const label = coordinateInput(
      words,
      `${titleOf(probe)}: ${words}, m`,
      probe[end][axis] ?? 0,
      this.host.sizeM()[axis] ?? 0,
      (metres) => this.moved(probe, end, axis, metres),
    );
    label.input.dataset.focus = `${probe.id} ${end} ${name}`;
    return label;
  }

  private moved(probe: Probe, end: "atM" | "toM", axis: number, metres: number): void {
    if (!Number.isFinite(metres)) {
      this.showList();
      return;
    }
    const inside = Math.min(this.host.sizeM()[axis] ?? 0, Math.max(0, metres));
    const moveEnd = (place: readonly number[]): number[] =>
      place.map((value, one) => (one === axis ? inside : value));
    // Across its axis a rectangle moves as a whole, and so does what is a point.
    const isWhole = probe.kind !== "gauge" && probe.atM[axis] === probe.toM[axis];
    const place: Place = {
      kind: probe.kind,
      atM: end === "atM" || isWhole ? moveEnd(probe.atM) : probe.atM,
      toM: end === "toM" || isWhole ? moveEnd(probe.toM) : probe.toM,
    };
    if (!isSamePlace(place, probe)) this.host.move(probe, place);
  }

  // ---- a stopwatch of the tank's own time ----

  private createStopwatch(): HTMLElement {
    const time = document.createElement("output");
    const start = button("Start", () => {
      if (this.startedS === null) this.startedS = this.host.timeS() - this.stoppedS;
      else {
        this.stoppedS = Math.max(0, this.host.timeS() - this.startedS);
        this.startedS = null;
      }
      start.textContent = this.startedS === null ? "Start" : "Stop";
      this.showStopwatch();
    });
    const zero = button("Zero", () => {
      this.stoppedS = 0;
      if (this.startedS !== null) this.startedS = this.host.timeS();
      this.showStopwatch();
    });
    time.setAttribute("aria-live", "off");
    return group("row stopwatch", "Stopwatch, in the tank's own time", "Stopwatch ", time, start, zero);
  }

  private showStopwatch(): void {
    const seconds = this.startedS === null ? this.stoppedS : Math.max(0, this.host.timeS() - this.startedS);
    const time = this.stopwatch.querySelector("output");
    if (time !== null) time.textContent = `${seconds.toFixed(2)} s`;
  }
}
