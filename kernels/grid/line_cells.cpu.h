/// From one row of a tile to the next, in the solver's scratch. Part of lines.h.
#ifndef TARN_KERNELS_GRID_LINE_CELLS_CPU_H
#define TARN_KERNELS_GRID_LINE_CELLS_CPU_H

enum { LINE_CELLS = 16 }; ///< each row has a line of the cache

#endif
