// What the particles of a tank are drawn as: by its model, unless somebody asks for something else.

export const DRAWINGS = ["water", "smoke", "dye"] as const;
export type Drawing = (typeof DRAWINGS)[number];

const BY_MODEL: ReadonlyMap<string, Drawing> = new Map([
  ["liquid", "water"],
  ["smoke", "smoke"],
  ["vortons", "dye"],
]);

/** @param asked  a drawing, or the setting's "auto" */
export function drawingOf(model: string, asked: string): Drawing {
  return DRAWINGS.find((one) => one === asked) ?? BY_MODEL.get(model) ?? "water";
}
