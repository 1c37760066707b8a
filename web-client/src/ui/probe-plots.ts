// A plot for each quantity that probes measure, over simulated time. Those that are closed cost nothing.
import type { Channel } from "../protocol/messages.js";
import { type ProbeTrack, probeColour, quantityOf, titleOf } from "../state/probe-track.js";
import { followScheme, POINTS_MAX, TimePlot } from "./time-plot.js";

/** Open from the beginning. */
const MAIN: ReadonlySet<string> = new Set([
  "pressure_pa",
  "depth_m",
  "flux_m3_s",
  "velocity_x_m_s",
  "force_y_n",
]);

export class ProbePlots {
  readonly element = document.createElement("div");

  /** By column. */
  private plots = new Map<string, TimePlot>();
  private shown = "";
  private readonly unfollow = followScheme(() => this.plots.values());

  constructor(
    private readonly track: ProbeTrack,
    private readonly channels: () => readonly Channel[],
  ) {
    this.element.className = "plots";
  }

  /** Has plots for what is measured now. */
  showList(): void {
    const { columns } = this.track;
    if (columns.join() === this.shown) return;
    this.shown = columns.join();
    const before = this.plots;
    this.drop();
    this.plots = new Map(
      columns.map((column) => {
        const { label, unit } = quantityOf(column, this.channels());
        const plot = new TimePlot(label, unit, before.get(column)?.element.open ?? MAIN.has(column));
        plot.element.dataset.column = column;
        return [column, plot];
      }),
    );
    this.element.replaceChildren(...[...this.plots.values()].map(({ element }) => element));
  }

  /** @param spanS  of simulated time */
  show(spanS: number): void {
    for (const [column, plot] of this.plots) {
      if (!plot.element.open) continue;
      const curves = this.track.curves(column, spanS, POINTS_MAX).map(({ probe, times, values }) => ({
        key: `${probe.id} ${titleOf(probe)}`,
        label: titleOf(probe),
        colour: probeColour(this.track.probes.findIndex(({ id }) => id === probe.id)),
        times,
        values,
      }));
      plot.draw(curves);
    }
  }

  remove(): void {
    this.unfollow();
    this.drop();
    this.element.remove();
  }

  private drop(): void {
    for (const plot of this.plots.values()) plot.drop();
  }
}
