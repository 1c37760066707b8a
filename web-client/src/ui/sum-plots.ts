// A liquid's energy, volume and momentum over simulated time, as numbers, plots and a table to keep.
import { type LiquidSums, SUM_COLUMNS, SUM_LABELS } from "../state/liquid-sums.js";
import { PROBE_COLOURS, readable } from "../state/probe-track.js";
import { button, saveTable, spanChoice } from "./side-pane.js";
import { followScheme, POINTS_MAX, TimePlot } from "./time-plot.js";

type Column = (typeof SUM_COLUMNS)[number];

const PLOTS: readonly (readonly [title: string, columns: readonly Column[]])[] = [
  ["Energy", ["kinetic_j", "potential_j", "total_j"]],
  ["Volume", ["volume_m3"]],
  ["Momentum", ["momentum_x_kg_m_s", "momentum_y_kg_m_s", "momentum_z_kg_m_s"]],
];

export class SumPlots {
  readonly element = document.createElement("div");
  private readonly values = new Map<Column, HTMLElement>();
  private readonly plots: readonly (readonly [columns: readonly Column[], plot: TimePlot])[];
  private readonly span = spanChoice(() => this.show());
  private readonly unfollow = followScheme(() => this.plots.map(([, plot]) => plot));

  constructor(private readonly sums: LiquidSums) {
    const list = document.createElement("dl");
    for (const [title, columns] of PLOTS)
      for (const column of columns) {
        const term = document.createElement("dt");
        const value = document.createElement("dd");
        const [label] = SUM_LABELS[column];
        term.textContent = label === title ? title : `${title}, ${label.toLowerCase()}`;
        value.dataset.column = column;
        this.values.set(column, value);
        list.append(term, value);
      }
    this.plots = PLOTS.map(([title, columns]) => {
      const names = columns.map((column, i) => ({ label: SUM_LABELS[column][0], colour: colourOf(i) }));
      const [, unit] = SUM_LABELS[columns[0] as Column];
      const plot = new TimePlot(title, unit, title === "Energy", names.length > 1 ? names : []);
      plot.element.dataset.column = columns[0];
      return [columns, plot];
    });
    this.element.append(
      list,
      this.span.element,
      ...this.plots.map(([, { element }]) => element),
      button("Save as CSV", () => saveTable("tarn-energy.csv", sums.csv())),
    );
  }

  show(): void {
    const { rows } = this.sums;
    const last = rows.count - 1;
    for (const [column, at] of this.values) {
      const text =
        last < 0 ? "–" : readable(rows.valueAt(last, SUM_COLUMNS.indexOf(column)), SUM_LABELS[column][1]);
      if (at.textContent !== text) at.textContent = text;
    }
    const since = last < 0 ? 0 : rows.stepAt(last) - this.span.seconds();
    for (const [columns, plot] of this.plots) {
      if (!plot.element.open) continue;
      plot.draw(
        columns.map((column, i) => ({
          key: column,
          label: SUM_LABELS[column][0],
          colour: colourOf(i),
          ...rows.curve(SUM_COLUMNS.indexOf(column), since, POINTS_MAX, 1),
        })),
      );
    }
  }

  remove(): void {
    this.unfollow();
    for (const [, plot] of this.plots) plot.drop();
    this.element.remove();
  }
}

function colourOf(index: number): number {
  return PROBE_COLOURS[index % PROBE_COLOURS.length] as number;
}
