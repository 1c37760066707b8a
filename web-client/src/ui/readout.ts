// The performance in the corner, for those who want figures, and a button that opens them, for everybody, as long as the
// tank is slower than it is to be. Text is written a few times a second, and only where it changed.

export interface Measurements {
  fps: number;
  particles: number;
  mbitPerS: number;
  framesPerS: number;
  roundTripMs: number;
  latencyMs: number;
  /** Of the server's work between an input and its frame: wait, step, encode, pass, write; empty: not known. */
  stagesMs: readonly number[];
  /** From a frame's arrival until it is decoded, and from there until it is drawn. */
  decodeMs: number;
  drawMs: number;
  /** Of the newest frame: a FRAME_KIND, and how many layers of particles came. */
  kind: number;
  layersPresent: number;
  layersTotal: number;
  bitsPerParticle: number;
  dropped: number;
  /** Frames that referred to one that wasn't there. */
  unreferenced: number;
  realtimeFactor: number;
  /** What that is to be. */
  speed: number;
  step: number;
  /** Substeps since the tank's start whose pressure ended short of its tolerance. */
  unconverged: number;
  paused: boolean;
  /** That simulates the tank; "": none is known. */
  device: string;
}

/** A tank that has less than this of the speed that it is to have says so visibly. */
export const REALTIME_WARN = 0.95;

const ROWS = [
  ["fps", "Display"],
  ["particles", "Particles"],
  ["stream", "Stream"],
  ["frame", "Frame"],
  ["roundTrip", "Round trip"],
  ["latency", "Input to frame"],
  ["server", "Wait, step, encode, send"],
  ["page", "Decode, draw"],
  ["dropped", "Dropped frames"],
  ["realtime", "Real time"],
  ["step", "Step"],
  ["device", "Device"],
] as const;

type Row = (typeof ROWS)[number][0];
/** What a small screen has no room for. */
const DETAILS: readonly Row[] = ["frame", "roundTrip", "server", "page", "dropped", "step", "device"];

export class Readout {
  private readonly cells = new Map<Row, HTMLElement>();
  private readonly slow = document.createElement("button");

  /** @param nav  where the button goes */
  constructor(
    private readonly host: HTMLElement,
    nav: HTMLElement,
    toggle: () => void,
  ) {
    this.slow.type = "button";
    this.slow.id = "slow";
    this.slow.hidden = true;
    this.slow.title = "The server is too busy for this tank to keep its pace (M)";
    this.slow.addEventListener("click", toggle);
    nav.append(this.slow);
    const list = document.createElement("dl");
    for (const [row, label] of ROWS) {
      const term = document.createElement("dt");
      term.textContent = label;
      const value = document.createElement("dd");
      value.textContent = "–";
      value.dataset.row = row;
      for (const cell of [term, value]) cell.classList.toggle("detail", DETAILS.includes(row));
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
    this.set("server", serverText(m.stagesMs));
    this.set("page", milliseconds(m.decodeMs, m.drawMs));
    this.set("frame", frameText(m));
    const lost = m.unreferenced > 0 ? ` · ${m.unreferenced} unreferenced` : "";
    this.set("dropped", `${m.dropped}${lost}`);
    const slow = !m.paused && m.realtimeFactor < REALTIME_WARN * m.speed;
    this.slow.hidden = !slow || !this.host.hidden;
    const pace = `${m.realtimeFactor.toFixed(1)} × real time`;
    if (slow && this.slow.textContent !== pace) this.slow.textContent = pace;
    this.set(
      "realtime",
      m.paused ? "paused" : `${m.realtimeFactor.toFixed(2)} ×${slow ? " slow" : ""}`,
      slow,
    );
    this.set("step", stepText(m), m.unconverged > 0);
    this.set("device", m.device || "–");
  }

  private set(row: Row, text: string, warn = false): void {
    const cell = this.cells.get(row) as HTMLElement;
    if (cell.textContent !== text) cell.textContent = text;
    cell.classList.toggle("warn", warn);
  }
}

export function stepText({ step, unconverged }: Pick<Measurements, "step" | "unconverged">): string {
  const early = unconverged === 1 ? "1 step's" : `${unconverged.toLocaleString("en")} steps'`;
  return step.toLocaleString("en") + (unconverged > 0 ? ` · ${early} pressure ended early` : "");
}

const KINDS = ["key", "base", "extra"];

/** What kind it is, how many of its layers came, and what a particle costs. */
function frameText(m: Measurements): string {
  if (!Number.isFinite(m.bitsPerParticle)) return "–";
  const layers = m.layersTotal > 1 ? ` ${m.layersPresent}/${m.layersTotal}` : "";
  return `${KINDS[m.kind] ?? "?"}${layers} · ${m.bitsPerParticle.toFixed(1)} bits`;
}

/** Where the server's time goes; what it takes to hand frames on is one thing to people. */
function serverText(stagesMs: readonly number[]): string {
  const [wait, step, encode, pass = 0, write = 0] = stagesMs;
  return milliseconds(wait, step, encode, stagesMs.length === 0 ? undefined : pass + write);
}

function short(ms: number): string {
  return ms.toFixed(ms < 9.95 ? 1 : 0);
}

/** One number or several, which are unknown together. */
function milliseconds(...values: readonly (number | undefined)[]): string {
  const known = values.filter((value) => value !== undefined && Number.isFinite(value)) as number[];
  return known.length === values.length ? `${known.map(short).join(" · ")} ms` : "–";
}
