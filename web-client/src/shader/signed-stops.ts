/** The colours of values that have a sign, from the lowest to the highest: cool to warm (Moreland 2009), sRGB. */
export const SIGNED_STOPS: readonly number[] = [0x3b4cc0, 0x8db0fe, 0xdddddd, 0xf49876, 0xb40426];
