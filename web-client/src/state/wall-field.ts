// Which field frames are to carry: what somebody looks at, or else what a wall of fluid is drawn with, so that fluid
// without any particles in it is seen to move.
import type { Channel } from "../protocol/messages.js";

/** How fast the fluid is, wherever it is. */
export const WALL_FIELD = "speed";
/** Nobody does anything for so long before a page does without it, ms: what was stirred calms down. */
export const STIRRED_MS = 20_000;

export interface WallWish {
  /** A wall is drawn. */
  draws: boolean;
  /** For an audience: it is there whoever acts. */
  isDisplay: boolean;
  /** Since somebody did something, ms. */
  idleMs: number;
}

/** @param asked  the field that somebody looks at; "": none. @returns the name of what frames are to carry, or "" */
export function carriedField(asked: string, fields: readonly Channel[], wish: WallWish): string {
  if (asked !== "" || !wish.draws) return asked;
  if (!wish.isDisplay && wish.idleMs > STIRRED_MS) return "";
  return fields.some(({ name }) => name === WALL_FIELD) ? WALL_FIELD : "";
}
