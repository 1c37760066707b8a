// Which light the tank stands in: what the address says, or what this browser's viewer chose before, or day.
import { LIGHT_NAMES, type LightName } from "../shader/lights.js";
import type { Shelf } from "./identity.js";

const LIGHT = "tarn.light";

/** What there is to ask for: `auto` is what was chosen in this browser. */
export const LIGHT_WORDS = ["auto", ...LIGHT_NAMES] as const;

export class LightShelf {
  constructor(private readonly shelf: () => Shelf) {}

  /** null: none was chosen here. */
  get kept(): LightName | null {
    try {
      return named(this.shelf().getItem(LIGHT));
    } catch {
      return null;
    }
  }

  keep(name: LightName): void {
    try {
      this.shelf().setItem(LIGHT, name);
    } catch {
      // A browser that keeps nothing forgets it with the page.
    }
  }
}

/** @param asked  one of LIGHT_WORDS */
export function lightOf(asked: string, kept: LightName | null): LightName {
  return named(asked) ?? kept ?? "day";
}

function named(text: string | null): LightName | null {
  return LIGHT_NAMES.find((name) => name === text) ?? null;
}
