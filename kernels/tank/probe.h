/// What surfaces that stand still take of the cells beside them, for probes of forces. Host only.
#ifndef TARN_KERNELS_TANK_PROBE_H
#define TARN_KERNELS_TANK_PROBE_H

#include "kernels/probe.h"
#include "kernels/tank/probe_cells.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct probe_surface {
    tank_probe_patch *patch; ///< malloc
    tank_probe_cell *cell;   ///< malloc
    uint32_t patch_count, cell_count;
    uint32_t patch_room, cell_room;
} probe_surface;

/// A solid's, once it was found: whoever changes one probe of a tank gives it all others anew.
typedef struct probe_solid {
    bool is_known;
    probe_surface surface;
    float center[3];
} probe_solid;

/// Forgets what was found of solids. Takes NULL.
void probe_solids_forget(probe_solid kept[TARN_TANK_SOLIDS_MAX]);

#endif
