/** Drops are drawn as long as the way that they make meanwhile, seconds. */
export const SHUTTER_S = 0.014;
