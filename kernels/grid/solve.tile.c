// The grid's chain: the matrix and both solves as one launch.
#include "kernels/device/tile_chain.h"
#include "kernels/grid/grid.h"

TILE_CHAIN(grid_solver, SOLVER_LANES, grid_args, GRID_CHAIN_LIST)
