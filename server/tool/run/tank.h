/// What is read of a tank besides its particles: the grid for files, and what probes measure. How a tank is made from a
/// command line is in tool.h.
#ifndef TARN_SERVER_TOOL_RUN_TANK_H
#define TARN_SERVER_TOOL_RUN_TANK_H

#include "server/tool/film/export.h"
#include "server/tool/run/run.h"
#include "server/tool/tool.h"

// ---- the grid ----
// What its files hold besides the particles: pressure, what each particle brings to its cells, and which cells are
// solid.

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

// ---- probes ----
// What `tarn run` measures: the options, and the table with a row for each step.

/// --probe and --probes; the input of tool_probe_argp.
typedef struct tool_probe_options {
    const char *path; ///< NULL: not given
    uint32_t count;
    tarn_probe_spec spec[TARN_PROBES_MAX]; ///< those without a name get one beside the scene's
} tool_probe_options;

extern const struct argp tool_probe_argp;

typedef struct tool_probes tool_probes;

/// Puts the scene's probes and those of the options into the tank and begins the table. Without --probes it makes one
/// that does nothing.
/// @return NULL: a sentence went to stderr
tool_probes *tool_probes_open(const char *command, const tool_probe_options *options, const tool_tank *tank);

/// After a step: writes its row. @return false: a sentence went to stderr, and the table is given up
bool tool_probes_step(tool_probes *probes, progress *bar);

/// Makes the table whole, or removes it where something failed. Once. @return false: a sentence went to stderr
bool tool_probes_finish(tool_probes *probes, bool failed);

/// "5 columns of 300 steps in probes.csv"
void tool_probes_print(const tool_probes *probes, FILE *file);

/// Takes NULL.
void tool_probes_free(tool_probes *probes);

#endif
