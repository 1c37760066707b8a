// What a flat tank that is full of fluid looks like as a whole: a wall of it, instead of the particles alone.

export const WALL_LOOKS = ["water", "ink", "lava", "smoke", "aurora"] as const;
export type WallLook = (typeof WALL_LOOKS)[number];

/** What there is to ask for: `auto` is what the scene names, `particles` none. */
export const LOOK_WORDS = ["auto", "particles", ...WALL_LOOKS] as const;

/** Models whose fluid fills the tank: there is a wall of it. */
const FILLED: readonly string[] = ["smoke", "vortons"];

/** Whether a tank is a wall of fluid. @param flat  it is one cell deep */
export function isWall(model: string, flat: boolean): boolean {
  return flat && FILLED.includes(model);
}

function lookNamed(name: unknown): WallLook | null {
  return WALL_LOOKS.find((one) => one === name) ?? null;
}

/** Of a scene's file; null: it names none. */
export function lookOfScene(file: unknown): WallLook | null {
  return lookNamed((file as { look?: unknown } | null)?.look);
}

/** @param asked  one of LOOK_WORDS. @param scene  what the scene names. @returns null: the particles are drawn */
export function wallLookOf(asked: string, scene: WallLook | null): WallLook | null {
  return asked === "auto" ? scene : lookNamed(asked);
}
