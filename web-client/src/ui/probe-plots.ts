import "uplot/dist/uPlot.min.css";
// A plot for each quantity that probes measure, over simulated time. Those that are closed cost nothing.
import uPlot from "uplot";
import type { Channel } from "../protocol/messages.js";
import { colourText } from "../state/identity.js";
import {
  type ProbeTrack,
  probeColour,
  type Quantity,
  quantityOf,
  readable,
  titleOf,
} from "../state/probe-track.js";

/** Of a curve: more than a plot has pixels shows nothing more. */
const POINTS_MAX = 600;
const HEIGHT_PX = 132;
/** Open from the beginning. */
const MAIN: ReadonlySet<string> = new Set([
  "pressure_pa",
  "depth_m",
  "flux_m3_s",
  "velocity_x_m_s",
  "force_y_n",
]);

interface Plot {
  quantity: Quantity;
  box: HTMLDetailsElement;
  frame: HTMLElement;
  chart: uPlot | null;
  /** Of the chart. */
  probes: string;
}

export class ProbePlots {
  readonly element = document.createElement("div");

  private plots: Plot[] = [];
  private shown = "";
  private readonly light = matchMedia("(prefers-color-scheme: light)");
  private readonly redraw = (): void => this.drop();

  constructor(
    private readonly track: ProbeTrack,
    private readonly channels: () => readonly Channel[],
  ) {
    this.element.className = "plots";
    this.light.addEventListener("change", this.redraw);
  }

  /** Has plots for what is measured now. */
  showList(): void {
    const { columns } = this.track;
    if (columns.join() === this.shown) return;
    this.shown = columns.join();
    const before = new Map(this.plots.map((plot) => [plot.quantity.name, plot.box.open]));
    this.drop();
    this.plots = columns.map((column) => this.make(quantityOf(column, this.channels()), before.get(column)));
    this.element.replaceChildren(...this.plots.map(({ box }) => box));
  }

  /** @param spanS  of simulated time */
  show(spanS: number): void {
    for (const plot of this.plots) if (plot.box.open) this.draw(plot, spanS);
  }

  remove(): void {
    this.light.removeEventListener("change", this.redraw);
    this.drop();
    this.element.remove();
  }

  private make(quantity: Quantity, open = MAIN.has(quantity.name)): Plot {
    const box = document.createElement("details");
    const title = document.createElement("summary");
    const frame = document.createElement("div");
    const name = quantity.unit === "" ? quantity.label : `${quantity.label}, ${quantity.unit}`;
    title.textContent = name;
    frame.setAttribute("role", "img");
    frame.setAttribute("aria-label", `${name}, over simulated seconds`);
    box.dataset.column = quantity.name;
    box.open = open;
    box.append(title, frame);
    return { quantity, box, frame, chart: null, probes: "" };
  }

  private draw(plot: Plot, spanS: number): void {
    const curves = this.track.curves(plot.quantity.name, spanS, POINTS_MAX);
    const probes = curves.map(({ probe }) => `${probe.id} ${titleOf(probe)}`).join();
    const width = plot.frame.clientWidth;
    if (width === 0) return;
    if (plot.chart === null || plot.probes !== probes) {
      plot.chart?.destroy();
      plot.probes = probes;
      const series = curves.map(({ probe }) => ({
        label: titleOf(probe),
        stroke: colourText(probeColour(this.track.probes.findIndex(({ id }) => id === probe.id))),
        width: 1.5,
        spanGaps: true,
        points: { show: false },
      }));
      plot.chart = new uPlot(
        this.options(plot.quantity, width, series),
        [[], ...series.map(() => [])],
        plot.frame,
      );
    }
    if (plot.chart.width !== width) plot.chart.setSize({ width, height: HEIGHT_PX });
    const tables = curves.map(({ times, values }) => [times, values] as uPlot.AlignedData);
    plot.chart.setData(tables.length > 0 ? uPlot.join(tables) : [[]]);
  }

  private options(quantity: Quantity, width: number, series: uPlot.Series[]): uPlot.Options {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--quiet").trim();
    const line = style.getPropertyValue("--line").trim();
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    return {
      width,
      height: HEIGHT_PX,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map((seconds) => `${seconds} s`), size: 28 },
        { ...axis, values: (_, ticks) => ticks.map((value) => readable(value, quantity.unit)), size: 62 },
      ],
      series: [{}, ...series],
    };
  }

  private drop(): void {
    for (const plot of this.plots) {
      plot.chart?.destroy();
      plot.chart = null;
    }
  }
}
