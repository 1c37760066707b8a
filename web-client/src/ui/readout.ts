// The measurements in the corner. Text is written a few times a second, and only where it changed.

export interface Measurements {
  fps: number;
  particles: number;
  mbitPerS: number;
  framesPerS: number;
  roundTripMs: number;
  latencyMs: number;
  dropped: number;
  realtimeFactor: number;
  step: number;
  paused: boolean;
}

/** A tank slower than this says so visibly. */
export const REALTIME_WARN = 0.95;

const ROWS = [
  ["fps", "Display"],
  ["particles", "Particles"],
  ["stream", "Stream"],
  ["roundTrip", "Round trip"],
  ["latency", "Input to frame"],
  ["dropped", "Dropped frames"],
  ["realtime", "Real time"],
  ["step", "Step"],
] as const;

type Row = (typeof ROWS)[number][0];

export class Readout {
  private readonly cells = new Map<Row, HTMLElement>();

  constructor(host: HTMLElement) {
    const list = document.createElement("dl");
    for (const [row, label] of ROWS) {
      const term = document.createElement("dt");
      term.textContent = label;
      const value = document.createElement("dd");
      value.textContent = "–";
      value.dataset.row = row;
      list.append(term, value);
      this.cells.set(row, value);
    }
    host.append(list);
  }

  show(m: Measurements): void {
    this.set("fps", `${m.fps.toFixed(0)} fps`);
    this.set("particles", m.particles.toLocaleString("en"));
    this.set("stream", `${m.mbitPerS.toFixed(1)} Mbit/s · ${m.framesPerS.toFixed(0)}/s`);
    this.set("roundTrip", milliseconds(m.roundTripMs));
    this.set("latency", milliseconds(m.latencyMs));
    this.set("dropped", String(m.dropped));
    const slow = !m.paused && m.realtimeFactor < REALTIME_WARN;
    this.set(
      "realtime",
      m.paused ? "paused" : `${m.realtimeFactor.toFixed(2)} ×${slow ? " slow" : ""}`,
      slow,
    );
    this.set("step", m.step.toLocaleString("en"));
  }

  private set(row: Row, text: string, warn = false): void {
    const cell = this.cells.get(row) as HTMLElement;
    if (cell.textContent !== text) cell.textContent = text;
    cell.classList.toggle("warn", warn);
  }
}

function milliseconds(value: number): string {
  return Number.isFinite(value) ? `${value.toFixed(value < 9.95 ? 1 : 0)} ms` : "–";
}
