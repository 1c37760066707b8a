import "./insight.css";
// What the colours and arrows of a flow's picture mean: in the panel, and beside the picture while that is closed.
import type { Channel } from "../protocol/messages.js";
import { SIGNED_STOPS } from "../shader/signed-stops.js";
import { Legend } from "./legend.js";

export interface ScalesHost {
  /** Of what is shown. */
  readonly scales: readonly { channel: Channel; low: number; high: number }[];
  /** What the longest arrow stands for, m/s; 0: there are none. */
  readonly arrowSpeed: number;
}

export class InsightScales {
  readonly element = document.createElement("div");
  private readonly legends = new Map<string, { legend: Legend; figure: HTMLElement }>();
  private readonly arrowNote = document.createElement("p");

  constructor(private readonly host: ScalesHost) {
    this.element.id = "insight-scales";
  }

  /** A few times a second. */
  show(): void {
    const shown = new Set<string>();
    for (const { channel, low, high } of this.host.scales) {
      shown.add(channel.name);
      const there = this.legends.get(channel.name) ?? makeLegend();
      this.legends.set(channel.name, there);
      if (!there.figure.isConnected) this.element.append(there.figure);
      const isThere = Number.isFinite(low) && high > low;
      there.legend.show(channel, isThere ? { low, high } : null, low < 0 ? SIGNED_STOPS : undefined);
    }
    for (const [name, { figure }] of this.legends) if (!shown.has(name)) figure.remove();
    const { arrowSpeed } = this.host;
    const note = arrowSpeed > 0 ? `Longest arrow: ${arrowSpeed} m/s` : "";
    if (note === "") this.arrowNote.remove();
    else if (this.element.lastElementChild !== this.arrowNote) this.element.append(this.arrowNote);
    if (this.arrowNote.textContent !== note) this.arrowNote.textContent = note;
  }
}

function makeLegend(): { legend: Legend; figure: HTMLElement } {
  const figure = document.createElement("figure");
  return { legend: new Legend(figure), figure };
}
