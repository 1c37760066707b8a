/// From one row of a tile to the next, in the solver's scratch. Part of lines.h.
#ifndef TARN_KERNELS_GRID_LINE_CELLS_CUDA_H
#define TARN_KERNELS_GRID_LINE_CELLS_CUDA_H

enum { LINE_CELLS = 24 }; ///< a warp's four rows lie in different banks of shared memory

#endif
