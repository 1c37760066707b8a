// What an address asks for that a tank or a machine doesn't have.
import type { SettingValues } from "./settings.js";
import { isWall } from "./wall-look.js";

/** @return a sentence; "": it can all be had */
export function misfitOf(
  { look, view }: Pick<SettingValues, "look" | "view">,
  { model, isFlat, hasWater }: { model: string; isFlat: boolean; hasWater: boolean },
): string {
  const asks = look !== "auto" && look !== "particles";
  if (view !== null && !isFlat)
    return "The address has view, which is for flat tanks: this one is seen whole.";
  if (asks && !isWall(model, isFlat))
    return `The address has look=${look}, which is for flat tanks that are full: this one isn't.`;
  if (asks && !hasWater)
    return "This machine can't draw a wall (its textures hold no fractions): it shows particles.";
  return "";
}
