// What a session's probes are, and what they have measured since: of each the newest rows, in a ring of fixed size.
// Moving a probe changes the list and leaves what it measured before; a tank that starts afresh forgets all of it.
import type { Channel, Probe, Readings } from "../protocol/messages.js";
import { Rows, written } from "./rows.js";

/** Rows that are kept of each probe: five minutes of 60 steps a second. */
export const KEPT_ROWS = 18000;

/** What a column is called, and its unit as people write it. */
export interface Quantity {
  /** The column's name. */
  name: string;
  label: string;
  unit: string;
}

const KNOWN: Readonly<Record<string, readonly [label: string, unit: string]>> = {
  pressure_pa: ["Pressure", "Pa"],
  velocity_x_m_s: ["Velocity, x", "m/s"],
  velocity_y_m_s: ["Velocity, y", "m/s"],
  velocity_z_m_s: ["Velocity, z", "m/s"],
  share: ["Share of liquid", ""],
  density_kg_m3: ["Density", "kg/m³"],
  depth_m: ["Depth", "m"],
  surface_m: ["Surface", "m"],
  flux_m3_s: ["Flux", "m³/s"],
  force_x_n: ["Force, x", "N"],
  force_y_n: ["Force, y", "N"],
  force_z_n: ["Force, z", "N"],
  torque_x_n_m: ["Torque, x", "N m"],
  torque_y_n_m: ["Torque, y", "N m"],
  torque_z_n_m: ["Torque, z", "N m"],
};

/** @param channels  the session's, whose names columns have, too */
export function quantityOf(column: string, channels: readonly Channel[]): Quantity {
  const known = KNOWN[column];
  if (known !== undefined) return { name: column, label: known[0], unit: known[1] };
  const channel = channels.find(({ name }) => name === column);
  if (channel !== undefined) return { name: column, label: channel.label || column, unit: channel.unit };
  return { name: column, label: column.replaceAll("_", " "), unit: "" };
}

/** Curves and marks have the same; told apart by people who see fewer colours, too (Okabe and Ito 2008). */
export const PROBE_COLOURS = [
  0xe69f00, 0x56b4e9, 0x009e73, 0xf0e442, 0x0072b2, 0xd55e00, 0xcc79a7, 0x999999,
] as const;

export function probeColour(index: number): number {
  return PROBE_COLOURS[index % PROBE_COLOURS.length] as number;
}

/** Of a column: letters, digits and what can't end a cell. */
const plainOf = (text: string): string => text.replace(/[^\p{L}\p{N}-]+/gu, "_");

/** How a probe is called where people read. */
export function titleOf({ label, kind, id }: Probe): string {
  return label === "" ? `${kind} ${id}` : label;
}

/** A curve, for whoever draws it. */
export interface Curve {
  probe: Probe;
  /** Simulated seconds. */
  times: number[];
  values: number[];
}

export class ProbeTrack {
  probes: readonly Probe[] = [];
  /** Of a step, simulated seconds; 0: nothing was measured yet. */
  dtS = 0;
  /** Rows that came, since the page was opened. */
  taken = 0;

  private list = -1;
  private epoch = -1;
  private readonly rows = new Map<number, Rows>();

  constructor(private readonly kept = KEPT_ROWS) {}

  /** The newest list. */
  show(list: number, probes: readonly Probe[]): void {
    this.list = list;
    this.probes = probes;
    const ids = new Set(probes.map(({ id }) => id));
    for (const id of this.rows.keys()) if (!ids.has(id)) this.rows.delete(id);
    for (const { id, columns } of probes)
      if (this.rows.get(id)?.columns.join() !== columns.join()) this.rows.delete(id);
  }

  /** @return false where it is of another list */
  take(readings: Readings): boolean {
    const columns = this.probes.reduce((sum, probe) => sum + probe.columns.length, 0);
    if (readings.list !== this.list || readings.values.length !== readings.rows * columns) return false;
    if (readings.epoch !== this.epoch) this.rows.clear();
    this.epoch = readings.epoch;
    this.dtS = readings.dtS;
    this.taken += readings.rows;
    for (let row = 0; row < readings.rows; row++) {
      let at = row * columns;
      for (const probe of this.probes) {
        this.rowsOf(probe).put(readings.step + row, readings.values, at);
        at += probe.columns.length;
      }
    }
    return true;
  }

  /** Columns that any probe has, in the order in which they first come. */
  get columns(): string[] {
    return [...new Set(this.probes.flatMap(({ columns }) => columns))];
  }

  /** The newest value of a column; null: there is none. */
  newest(probe: Probe, column: string): number | null {
    const rows = this.rows.get(probe.id);
    const at = probe.columns.indexOf(column);
    return rows === undefined || rows.count === 0 || at < 0 ? null : rows.valueAt(rows.count - 1, at);
  }

  /** The newest time that anything was measured at, simulated seconds. */
  get newestS(): number {
    let newest = 0;
    for (const rows of this.rows.values())
      if (rows.count > 0) newest = Math.max(newest, rows.stepAt(rows.count - 1));
    return newest * this.dtS;
  }

  /**
   * What a column was, of each probe that has it.
   * @param spanS  of the newest simulated seconds
   * @param most   points of a curve, at least 2: where there are more, some are left out evenly
   */
  curves(column: string, spanS: number, most: number): Curve[] {
    const since = this.dtS > 0 ? (this.newestS - spanS) / this.dtS : 0;
    return this.probes.flatMap((probe) => {
      const rows = this.rows.get(probe.id);
      const at = probe.columns.indexOf(column);
      if (rows === undefined || at < 0) return [];
      return [{ probe, ...rows.curve(at, since, most, this.dtS) }];
    });
  }

  /** All that is kept, as a table: a row for each step, a column for each of each probe's. */
  csv(): string {
    const names = new Map<string, number>();
    const named = this.probes.flatMap((probe) => {
      const rows = this.rows.get(probe.id);
      if (rows === undefined || rows.count === 0) return [];
      const plain = plainOf(titleOf(probe));
      const times = names.get(plain) ?? 0;
      names.set(plain, times + 1);
      return [{ rows, name: times === 0 ? plain : `${plain}_${probe.id}` }];
    });
    const lines = [
      [
        "time_s",
        ...named.flatMap(({ rows, name }) => rows.columns.map((column) => `${name}_${plainOf(column)}`)),
      ].join(),
    ];
    const at = named.map(() => 0);
    for (;;) {
      const steps = named.map(({ rows }, i) =>
        (at[i] as number) < rows.count ? rows.stepAt(at[i] as number) : Number.POSITIVE_INFINITY,
      );
      const step = Math.min(...steps, Number.POSITIVE_INFINITY);
      if (step === Number.POSITIVE_INFINITY) break;
      const cells = named.flatMap(({ rows }, i) => {
        if (steps[i] !== step) return rows.columns.map(() => "");
        const row = at[i] as number;
        at[i] = row + 1;
        return rows.columns.map((_, column) => written(rows.valueAt(row, column)));
      });
      lines.push([written(step * this.dtS), ...cells].join());
    }
    return `${lines.join("\n")}\n`;
  }

  private rowsOf(probe: Probe): Rows {
    const there = this.rows.get(probe.id);
    if (there !== undefined) return there;
    const rows = new Rows(probe.columns, this.kept);
    this.rows.set(probe.id, rows);
    return rows;
  }
}

/** Units that have prefixes here. */
const SCALED: ReadonlySet<string> = new Set(["Pa", "J", "N"]);
const PREFIXES = [
  [1e6, "M"],
  [1e3, "k"],
] as const;

/** Of several columns, where there is room for one. */
const FOREMOST = ["pressure_pa", "surface_m", "flux_m3_s", "force_y_n"] as const;

/** The one of a probe's columns that says most: "" where it has none. */
export function foremostOf({ columns }: Probe): string {
  return FOREMOST.find((name) => columns.includes(name)) ?? columns[0] ?? "";
}

/** As people read it: "2.45 kPa". */
export function readable(value: number, unit: string): string {
  const size = Math.abs(value);
  const [factor, prefix] = (SCALED.has(unit) && PREFIXES.find(([at]) => size >= at)) || ([1, ""] as const);
  const shown = value / factor;
  const digits = Math.abs(shown) < 0.0005 ? "0" : Number(shown.toPrecision(3)).toString();
  return unit === "" ? digits : `${digits} ${prefix}${unit}`;
}
