/// What surfaces that stand still take of the cells beside them, for probes of forces. Host only.
#ifndef TARN_KERNELS_TANK_PROBE_SURFACE_H
#define TARN_KERNELS_TANK_PROBE_SURFACE_H

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

/// Adds the cells of a part of a wall, that a checked probe is, or of a solid that stands still, as the grid has it.
/// @param kept    of the tank; takes what is found of a solid
/// @param center  receives the middle of the part of the wall, or the solid's centre of mass, cells; of one that has
///                none the middle of the box around it
/// @return TARN_OK, TARN_E_LIMIT or TARN_E_MEMORY
tarn_status probe_surface_wall(probe_surface *to, const tarn_tank_desc *desc, const tarn_probe *probe, uint32_t number,
                               float center[3]);
tarn_status probe_surface_solid(probe_surface *to, const tarn_tank_desc *desc, probe_solid kept[TARN_TANK_SOLIDS_MAX],
                                uint32_t solid, uint32_t number, float center[3]);

/// How many of a probe's points its kind has.
int tank_probe_points(tarn_probe_kind kind);

/// Which wall of the tank a rectangle lies in: 2 axis, and one more at the far end; -1: in none.
int probe_wall_of(const tarn_tank_desc *desc, const tarn_probe *probe);

void probe_surface_free(probe_surface *surface);

/// Forgets what was found of solids. Takes NULL.
void probe_solids_forget(probe_solid kept[TARN_TANK_SOLIDS_MAX]);

#endif
