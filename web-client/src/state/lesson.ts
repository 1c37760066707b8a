// What a tank teaches, as its scene's file says.

export interface Lesson {
  /** What it is about. */
  text: string;
  /** What to do or to find out. */
  task: string;
  /** What there is to be found. */
  answer: string;
}

/** @param file  a scene's, which may be anything @return null: it teaches nothing */
export function lessonOf(file: unknown): Lesson | null {
  const { lesson } = (file ?? {}) as { lesson?: unknown };
  if (typeof lesson !== "object" || lesson === null) return null;
  const { text, task, answer } = lesson as Record<string, unknown>;
  if (typeof text !== "string" || typeof task !== "string" || typeof answer !== "string") return null;
  return { text, task, answer };
}
