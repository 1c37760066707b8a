// What a liquid has as a whole, summed up over the particles of a frame: energy, momentum, volume; SI units.
//
// Velocities are those of the stream's flow (protocol/STREAM.md, 9.8): the mean over the time between two frames, smooth
// within a cell, rounded to whole units. So the kinetic energy lacks what moves within cells, and has what rounding adds:
// of errors that are even between -1/2 and 1/2 unit u along each axis, m u² / 8 for each particle in the mean.
import type { FrameInfo, SlotViews } from "../codec/frame-info.js";
import { Rows, written } from "./rows.js";

/** What a scene's file says of its liquid. */
export interface LiquidMatter {
  /** Of each of its liquids, kg/m³. */
  densities: readonly number[];
  /** Particles along a cell's edge, at the start and where more is poured. */
  perAxis: number;
  /** Particles come and go inside the liquid, so that they don't count its volume. */
  reseeds: boolean;
}

const DENSITY = 1000;
const PER_AXIS = 2;

/** Reads it, with what scenes have that say nothing of it; null: it isn't a liquid's. */
export function matterOf(file: unknown): LiquidMatter | null {
  if (!isRecord(file)) return null;
  const { model = "liquid", liquids, solver, particles_per_axis: perAxis } = file;
  if (model !== "liquid") return null;
  const listed = Array.isArray(liquids) ? liquids.filter(isRecord) : [];
  const densities = listed.map(({ density_kg_m3: density }) =>
    typeof density === "number" ? density : DENSITY,
  );
  return {
    densities: densities.length > 0 ? densities : [DENSITY],
    perAxis: typeof perAxis === "number" ? perAxis : PER_AXIS,
    reseeds: isRecord(solver) && solver.reseed === true,
  };
}

/** Of liquids that differ each particle's density is to come as a channel. */
export function isMixed({ densities }: LiquidMatter): boolean {
  return densities.some((density) => density !== densities[0]);
}

export const SUM_COLUMNS = [
  "kinetic_j",
  "potential_j",
  "total_j",
  "volume_m3",
  "momentum_x_kg_m_s",
  "momentum_y_kg_m_s",
  "momentum_z_kg_m_s",
] as const;

export const SUM_LABELS: Readonly<
  Record<(typeof SUM_COLUMNS)[number], readonly [label: string, unit: string]>
> = {
  kinetic_j: ["Kinetic", "J"],
  potential_j: ["Potential", "J"],
  total_j: ["Both", "J"],
  volume_m3: ["Volume", "m³"],
  momentum_x_kg_m_s: ["x", "kg m/s"],
  momentum_y_kg_m_s: ["y", "kg m/s"],
  momentum_z_kg_m_s: ["z", "kg m/s"],
};

type Water = Pick<
  FrameInfo,
  | "particleCount"
  | "particlesTotal"
  | "layersPresent"
  | "layersTotal"
  | "cells"
  | "cellM"
  | "unitBits"
  | "velocityScale"
  | "gravity"
  | "channelLow"
  | "channelHigh"
>;

/** Rows that are kept: five minutes of 30 frames a second. */
const KEPT_ROWS = 9000;

export class LiquidSums {
  /** By simulated seconds. */
  readonly rows = new Rows(SUM_COLUMNS, KEPT_ROWS);
  /** Of the newest frame: what rounding adds to the kinetic energy in the mean, J; the unit of velocities, m/s. */
  roundingJ = 0;
  unitMS = 0;
  /** Of the particles, that were summed up. */
  share = 1;
  private readonly row = new Float64Array(SUM_COLUMNS.length);
  private epoch = -1;

  /** @param byChannel  the frame's channel is the density; else all have the first liquid's */
  take(
    info: Water & { epoch: number; simTimeS: number },
    views: Pick<SlotViews, "positions" | "velocities">,
    matter: LiquidMatter,
    byChannel: boolean,
  ): void {
    if (info.epoch !== this.epoch) this.rows.clear();
    this.epoch = info.epoch;
    const { row } = this;
    this.sum(info, views, matter, byChannel);
    this.rows.put(info.simTimeS, row);
  }

  csv(): string {
    const { rows } = this;
    const lines = [["time_s", ...SUM_COLUMNS].join()];
    for (let i = 0; i < rows.count; i++)
      lines.push(
        [rows.stepAt(i), ...SUM_COLUMNS.map((_, column) => rows.valueAt(i, column))].map(written).join(),
      );
    return `${lines.join("\n")}\n`;
  }

  private sum(
    info: Water,
    { positions, velocities }: Pick<SlotViews, "positions" | "velocities">,
    matter: LiquidMatter,
    byChannel: boolean,
  ): void {
    const quantumM = info.cellM / 2 ** info.unitBits;
    // Without all layers the first one is a fair sample (protocol/STREAM.md).
    const isWhole = info.layersPresent >= info.layersTotal;
    const single = matter.densities[0] as number;
    const perLevel = (info.channelHigh - info.channelLow) / 255;
    let mass = 0;
    let squares = 0;
    let count = 0;
    let mx = 0;
    let my = 0;
    let mz = 0;
    let px = 0;
    let py = 0;
    let pz = 0;
    for (let i = 0; i < 4 * info.particleCount; i += 4) {
      if (!isWhole && (velocities[i + 3] as number) > 0) continue;
      const density = byChannel ? info.channelLow + perLevel * ((positions[i + 3] as number) >> 8) : single;
      const vx = velocities[i] as number;
      const vy = velocities[i + 1] as number;
      const vz = velocities[i + 2] as number;
      count++;
      mass += density;
      squares += density * (vx * vx + vy * vy + vz * vz);
      mx += density * vx;
      my += density * vy;
      mz += density * vz;
      px += density * (positions[i] as number);
      py += density * (positions[i + 1] as number);
      pz += density * (positions[i + 2] as number);
    }
    const moment = [px, py, pz];
    this.share = count / Math.max(1, info.particlesTotal);
    const eachM3 = info.cellM ** 3 / matter.perAxis ** 3;
    const all = count > 0 ? (eachM3 * info.particlesTotal) / count : 0; // m³ for each that was summed up
    const unit = info.velocityScale;
    const kinetic = 0.5 * all * squares * unit * unit;
    let potential = 0;
    for (let axis = 0; axis < 3; axis++) {
      const g = info.gravity[axis] as number;
      // From the corner that gravity points to.
      const low = g > 0 ? (info.cells[axis] as number) * info.cellM : 0;
      potential -= all * g * (((moment[axis] as number) + 0.5 * mass) * quantumM - mass * low);
    }
    this.unitMS = unit;
    this.roundingJ = (all * mass * unit * unit) / 8;
    this.row.set([
      kinetic,
      potential,
      kinetic + potential,
      all * count,
      all * unit * mx,
      all * unit * my,
      all * unit * mz,
    ]);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
