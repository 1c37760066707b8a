// What the particles of a tank are drawn as: by its model, unless somebody asks for something else.
import type { WallLook } from "./wall-look.js";

export const DRAWINGS = ["water", "smoke", "dye", "arrows"] as const;
export type Drawing = (typeof DRAWINGS)[number];

/** What a model's tanks are drawn as, and what else of them there is to see. */
const BY_MODEL: ReadonlyMap<string, readonly Drawing[]> = new Map([
  ["liquid", ["water"]],
  ["smoke", ["smoke"]],
  ["vortons", ["dye", "arrows"]],
] as const);
/** What of a model alone makes sense. */
const OWN: readonly Drawing[] = ["arrows"];

/** What of a tank is seen, for people: what its wall looks like, or where there is none what its particles are drawn as. */
export function wordOf(drawing: Drawing, look: WallLook | null): string {
  return look ?? (drawing === "arrows" ? "dye" : drawing);
}

/** What there is to choose from: as the model says first. */
export function drawingsOf(model: string): readonly Drawing[] {
  return BY_MODEL.get(model) ?? ["water"];
}

/** @param asked  a drawing, or the setting's "auto" */
export function drawingOf(model: string, asked: string): Drawing {
  const choices = drawingsOf(model);
  const found = DRAWINGS.find((one) => one === asked && (!OWN.includes(one) || choices.includes(one)));
  return found ?? (choices[0] as Drawing);
}
