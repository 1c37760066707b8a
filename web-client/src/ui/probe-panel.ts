// The panel of probes: buttons that place them, each one's values and place, plots, and all of it as a table to keep.
import type { Channel, Probe, ProbeKind } from "../protocol/messages.js";
import { colourText } from "../state/identity.js";
import { isSamePlace, type Place } from "../state/probe-place.js";
import { type ProbeTrack, probeColour, quantityOf, readable, titleOf } from "../state/probe-track.js";
import { ProbePlots } from "./probe-plots.js";

const KINDS: readonly (readonly [kind: ProbeKind, words: string, hint: string])[] = [
  ["point", "Point", "pressure, velocity and what is there"],
  ["gauge", "Rod", "how deep the water is along it"],
  ["flux", "Rectangle", "how much flows through it"],
  ["force", "Solid", "force and torque of the water on the nearest solid"],
  ["wall", "Wall", "force and torque of the water on the nearest wall of the tank"],
];
const SPANS = [5, 15, 60, Number.POSITIVE_INFINITY] as const;
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
  private readonly pane = document.createElement("section");
  private readonly hint = document.createElement("p");
  private readonly middle = button("Place it in the middle", () => this.host.placeInMiddle());
  private readonly list = document.createElement("ul");
  private readonly span = document.createElement("select");
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
    this.pane.id = "probes";
    this.pane.setAttribute("aria-labelledby", "probes-title");
    this.plots = new ProbePlots(track, () => host.channels());
    this.stopwatch = this.createStopwatch();
    this.hint.setAttribute("role", "status");
    this.pane.append(
      this.createHead(),
      this.createKinds(),
      this.hint,
      this.middle,
      this.list,
      this.createSpan(),
      this.plots.element,
      this.stopwatch,
      button("Save the table (CSV)", () => this.save()),
    );
    this.pane.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      if (this.placing !== null) host.choose(this.placing);
      else host.close();
      event.stopPropagation();
    });
    document.body.append(this.pane);
    document.body.classList.add("measuring");
    this.showPlacing(null);
    this.kinds.get("point")?.focus();
  }

  remove(): void {
    this.plots.remove();
    this.pane.remove();
    document.body.classList.remove("measuring");
  }

  /** @param kind  what the next press in the tank places; null: nothing */
  showPlacing(kind: ProbeKind | null): void {
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
    const chosen = Number(this.span.value);
    this.plots.show(chosen);
  }

  private createHead(): HTMLElement {
    const head = document.createElement("header");
    const title = document.createElement("h2");
    title.id = "probes-title";
    title.textContent = "Probes";
    head.append(
      title,
      button("Close", () => this.host.close()),
    );
    return head;
  }

  private createKinds(): HTMLElement {
    const row = document.createElement("div");
    row.className = "kinds";
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", "Place a probe");
    for (const [kind, words, hint] of KINDS) {
      const it = button(words, () => this.host.choose(kind));
      it.title = hint;
      it.dataset.kind = kind;
      this.kinds.set(kind, it);
      row.append(it);
    }
    return row;
  }

  private createSpan(): HTMLElement {
    const label = document.createElement("label");
    label.textContent = "Shown: ";
    for (const seconds of SPANS)
      this.span.add(
        new Option(Number.isFinite(seconds) ? `${seconds} s` : "all that is kept", String(seconds)),
      );
    this.span.value = "15";
    this.span.addEventListener("change", () => this.showValues());
    label.append(this.span);
    return label;
  }

  private item(probe: Probe, index: number): HTMLElement {
    const item = document.createElement("li");
    const head = document.createElement("h3");
    const dot = document.createElement("i");
    dot.style.background = colourText(probeColour(index));
    head.append(dot, titleOf(probe));
    item.dataset.probe = String(probe.id);
    const terms = document.createElement("dl");
    for (const column of probe.columns) {
      const { label, unit } = quantityOf(column, this.host.channels());
      const term = document.createElement("dt");
      const at = document.createElement("dd");
      term.textContent = label;
      at.dataset.column = column;
      this.values.push({ probe, column, unit, at });
      terms.append(term, at);
    }
    item.append(head, terms);
    if (!this.host.may(probe)) return item;
    const away = button("Remove", () => this.host.remove(probe));
    away.dataset.focus = `${probe.id} remove`;
    away.setAttribute("aria-label", `Remove ${titleOf(probe)}`);
    head.after(away);
    if (probe.kind !== "force") item.append(this.placeOf(probe)); // that goes with its solid
    return item;
  }

  /** Where it is, as numbers, for those who don't drag. */
  private placeOf(probe: Probe): HTMLElement {
    const box = document.createElement("details");
    const title = document.createElement("summary");
    const row = document.createElement("div");
    row.className = "place";
    title.textContent = "Place";
    title.dataset.focus = `${probe.id} place`;
    title.setAttribute("aria-label", `Place of ${titleOf(probe)}`);
    box.open = this.opened.has(probe.id);
    box.addEventListener("toggle", () => {
      if (box.open) this.opened.add(probe.id);
      else this.opened.delete(probe.id);
    });
    const isLong = probe.kind === "gauge" || probe.kind === "flux" || probe.kind === "wall";
    const ends = isLong ? (["atM", "toM"] as const) : (["atM"] as const);
    for (const end of ends)
      for (const [axis, name] of AXES.entries()) row.append(this.coordinate(probe, end, axis, name));
    box.append(title, row);
    return box;
  }

  private coordinate(probe: Probe, end: "atM" | "toM", axis: number, name: string): HTMLElement {
    const words = `${end === "toM" ? "to " : ""}${name}`;
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "number";
    input.min = "0";
    input.max = String(this.host.sizeM()[axis] ?? 0);
    input.step = "any";
    input.value = String(Number((probe[end][axis] ?? 0).toPrecision(4)));
    input.dataset.focus = `${probe.id} ${end} ${name}`;
    input.setAttribute("aria-label", `${titleOf(probe)}: ${words}, m`);
    input.addEventListener("change", () => this.moved(probe, end, axis, input.valueAsNumber));
    label.append(`${words} `, input);
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
    const row = document.createElement("div");
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
    row.className = "stopwatch";
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", "Stopwatch, in the tank's own time");
    time.setAttribute("aria-live", "off");
    row.append("Stopwatch ", time, start, zero);
    return row;
  }

  private showStopwatch(): void {
    const seconds = this.startedS === null ? this.stoppedS : Math.max(0, this.host.timeS() - this.startedS);
    const time = this.stopwatch.querySelector("output");
    if (time !== null) time.textContent = `${seconds.toFixed(2)} s`;
  }

  private save(): void {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([this.track.csv()], { type: "text/csv" }));
    link.download = "tarn-probes.csv";
    link.click();
    // What is being saved needs it a little longer.
    window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
}

function button(text: string, act: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}
