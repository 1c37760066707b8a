// What walls look like: numbers for the same programs. Light is linear, 1 is white.
import type { WallLook } from "../../state/wall-look.js";

type Colour = readonly [number, number, number];

export interface WallStyle {
  /** Of particles without colours of their own. */
  plain: Colour;
  /** How fast the picture's dye goes over into that of the particles, and is gone where there are none, 1/s. */
  pulls: number;
  clears: number;
  /** The pattern's way back to where it was, 1/s. */
  settles: number;
  /** Heat by motion, and how fast it is lost, 1/s. */
  heats: number;
  cools: number;
  /** Height of the waves that the flow makes, and of those that are always there. */
  hollow: number;
  bow: number;
  swell: number;
  /** Brightness of curtains that are always there. */
  veils: number;
  /** How deep the ground lies, times what light is bent by; 0: there are no caustics. */
  depth: number;
}

export const WALL_STYLES: Readonly<Record<WallLook, WallStyle>> = {
  water: {
    plain: [0.02, 0.1, 0.45],
    pulls: 4,
    clears: 1.6,
    settles: 0.25,
    heats: 0,
    cools: 1,
    hollow: 0.4,
    bow: 0.002,
    swell: 0.0026,
    veils: 0,
    depth: 0.2,
  },
  ink: {
    plain: [0.02, 0.025, 0.05],
    pulls: 3,
    clears: 1,
    settles: 0.3,
    heats: 0,
    cools: 1,
    hollow: 0.3,
    bow: 0.0015,
    swell: 0.0003,
    veils: 0,
    depth: 0,
  },
  lava: {
    plain: [0.9, 0.3, 0.05],
    pulls: 3,
    clears: 0.7,
    settles: 0.12,
    heats: 3.2,
    cools: 0.6,
    hollow: 0.25,
    bow: 0.0012,
    swell: 0.0002,
    veils: 0,
    depth: 0,
  },
  smoke: {
    plain: [0.82, 0.84, 0.88],
    pulls: 4,
    clears: 1.2,
    settles: 0.35,
    heats: 0,
    cools: 1,
    hollow: 0.3,
    bow: 0,
    swell: 0,
    veils: 0,
    depth: 0,
  },
  aurora: {
    plain: [0.1, 0.9, 0.5],
    pulls: 2.5,
    clears: 0.8,
    settles: 0.15,
    heats: 4,
    cools: 0.8,
    hollow: 0.3,
    bow: 0,
    swell: 0,
    veils: 1,
    depth: 0,
  },
};
