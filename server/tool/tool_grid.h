/// What a grid's files hold besides the particles: pressure, what each particle brings to its cells, and which cells
/// are solid.
#ifndef TARN_SERVER_TOOL_TOOL_GRID_H
#define TARN_SERVER_TOOL_TOOL_GRID_H

#include "server/tool/export/export.h"
#include "server/tool/tool.h"

typedef struct tool_grid {
    size_t cell_count;
    float *pressure_pa;      ///< per cell; NULL: the model has none
    uint8_t *solid_cells;    ///< per cell, 1 where its centre is in a solid or a body
    uint8_t *still_cells;    ///< the same of the scene's solids that don't move
    float *amounts;          ///< per particle; NULL: the model has none
    const char *amount_name; ///< "density", kg/m3 of a liquid; "smoke", its concentration
    int channel;             ///< that the amounts are; below 0: none
} tool_grid;

/// @return false: out of memory, and everything is closed
bool tool_grid_open(tool_grid *grid, const tool_tank *tank);

/// Reads all of it into a frame that has the tank's particles, liquids and bodies.
tarn_status tool_grid_read(tool_grid *grid, const tool_tank *tank, export_frame *frame);

/// Takes one that was never opened, all zero.
void tool_grid_close(tool_grid *grid);

#endif
