// What smoke and dye look like: numbers for the same programs. Light is linear, 1 is white.
import type { Drawing } from "../../state/drawing.js";

type Colour = readonly [number, number, number];

export interface Look {
  /** Of particles without colours of their own, at rest and fast. */
  colour: Colour;
  fast: Colour;
  /** Optical depth of an edge of the tank that is full of it, of a flat tank's one cell. */
  depth: number;
  flatDepth: number;
  /** Optical depth of an edge of the tank that is full of it, for the light that falls in: deep or flat. */
  shadow: number;
  flatShadow: number;
  /** Of the light that is lost, as much is scattered. */
  scatter: number;
  /** 0: all colours get equally far through it; 1: as its own colour does. */
  inky: number;
  /** What the liquid around it takes from light along an edge of the tank. */
  clear: Colour;
}

export type GasDrawing = Extract<Drawing, "smoke" | "dye">;

export const LOOKS: Readonly<Record<GasDrawing, Look>> = {
  smoke: {
    colour: [0.82, 0.84, 0.88],
    fast: [0.86, 0.84, 0.82],
    depth: 20,
    flatDepth: 1.5,
    shadow: 13,
    flatShadow: 6.5,
    scatter: 1,
    inky: 0,
    clear: [0, 0, 0],
  },
  dye: {
    colour: [0.03, 0.07, 0.62],
    fast: [0.85, 0.03, 0.3],
    depth: 9,
    flatDepth: 0.7,
    shadow: 5,
    flatShadow: 0, // its light comes from behind
    scatter: 0.16,
    inky: 1,
    clear: [0.16, 0.04, 0.03],
  },
};
