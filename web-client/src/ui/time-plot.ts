import "uplot/dist/uPlot.min.css";
// A plot over simulated time by uPlot. While it is closed it costs nothing.
import uPlot from "uplot";
import { colourText } from "../state/identity.js";
import { readable } from "../state/probe-track.js";

/** Of a curve: more than a plot has pixels shows nothing more. */
export const POINTS_MAX = 600;
const HEIGHT_PX = 132;

export interface PlotCurve {
  /** Tells curves apart: of others the plot is made anew. */
  key: string;
  label: string;
  colour: number;
  times: number[];
  values: number[];
}

export class TimePlot {
  readonly element = document.createElement("details");
  private readonly frame = document.createElement("div");
  private chart: uPlot | null = null;
  private keys = "";

  /** @param names  the curves that are to be named below the title; none: others do that */
  constructor(
    title: string,
    private readonly unit: string,
    open: boolean,
    names: readonly Pick<PlotCurve, "label" | "colour">[] = [],
  ) {
    const summary = document.createElement("summary");
    summary.textContent = unit === "" ? title : `${title}, ${unit}`;
    const what = names.length > 0 ? `: ${names.map(({ label }) => label).join(", ")}` : "";
    this.frame.setAttribute("role", "img");
    this.frame.setAttribute("aria-label", `${summary.textContent}, over simulated seconds${what}`);
    this.element.open = open;
    this.element.append(summary);
    if (names.length > 0) this.element.append(nameList(names));
    this.element.append(this.frame);
  }

  draw(curves: readonly PlotCurve[]): void {
    if (!this.element.open) return;
    const { frame } = this;
    const width = frame.clientWidth;
    if (width === 0) return;
    const keys = curves.map(({ key }) => key).join();
    if (this.chart === null || this.keys !== keys) {
      this.drop();
      this.keys = keys;
      const series = curves.map(({ label, colour }) => ({
        label,
        stroke: colourText(colour),
        width: 1.5,
        spanGaps: true,
        points: { show: false },
      }));
      this.chart = new uPlot(this.options(width, series), [[], ...series.map(() => [])], frame);
    }
    if (this.chart.width !== width) this.chart.setSize({ width, height: HEIGHT_PX });
    const tables = curves.map(({ times, values }) => [times, values] as uPlot.AlignedData);
    this.chart.setData(tables.length > 0 ? uPlot.join(tables) : [[]]);
  }

  /** Another scheme has other colours: it is made anew with the next drawing. */
  drop(): void {
    this.chart?.destroy();
    this.chart = null;
  }

  private options(width: number, series: uPlot.Series[]): uPlot.Options {
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
        { ...axis, values: (_, ticks) => ticks.map((value) => readable(value, this.unit)), size: labelRoom },
      ],
      series: [{}, ...series],
    };
  }
}

/**
 * As wide as the widest of an axis's labels, with what lies between it and the plot. Within a drawing it only gets wider:
 * one width could ask for another and that for the first.
 */
function labelRoom(plot: uPlot, labels: string[], at: number, cycle: number): number {
  const axis = plot.axes[at] as uPlot.Axis & { _size: number; font: string[] };
  plot.ctx.save();
  plot.ctx.font = axis.font[0] as string;
  const widths = (labels ?? []).map((label) => plot.ctx.measureText(label).width);
  plot.ctx.restore();
  const { size = 0 } = axis.ticks ?? {};
  const room = Math.ceil(Math.max(0, ...widths) / uPlot.pxRatio) + (size as number) + (axis.gap ?? 0);
  return cycle > 1 ? Math.max(room, axis._size) : room;
}

function nameList(names: readonly Pick<PlotCurve, "label" | "colour">[]): HTMLElement {
  const list = document.createElement("ul");
  list.className = "names";
  for (const { label, colour } of names) {
    const item = document.createElement("li");
    const dot = document.createElement("i");
    dot.style.background = colourText(colour);
    item.append(dot, label);
    list.append(item);
  }
  return list;
}

/** Has plots drawn anew when the page's colours change. @returns what ends that */
export function followScheme(plots: () => Iterable<TimePlot>): () => void {
  const light = matchMedia("(prefers-color-scheme: light)");
  const redraw = (): void => {
    for (const plot of plots()) plot.drop();
  };
  light.addEventListener("change", redraw);
  return () => light.removeEventListener("change", redraw);
}
