// The colours of a channel's values, from the lowest to the highest, evenly apart: sRGB. Viridis (S. van der Walt and
// N. Smith, 2015) without its darkest eighth, which the tank's background swallows: evenly lighter, for every eye.
export const STOPS: readonly number[] = [
  0x472d7b, 0x3b528b, 0x2c728e, 0x21918c, 0x28ae80, 0x5ec962, 0xaddc30, 0xfde725,
];

/** Of cells' kinds 0, 1, ...: air, liquid, solid. */
export const KINDS: readonly number[] = [0x2a3a44, 0x4aa3e0, 0xd0a050];
