/// The vector potential by transforms into the box's own waves: the host's part of waves.tile.c. Private to
/// kernels/vortons.
#ifndef TARN_KERNELS_VORTONS_WAVES_H
#define TARN_KERNELS_VORTONS_WAVES_H

#include "kernels/grid/grid_host.h"
#include "kernels/vortons/vorton_kernels.h"

/// Takes memory for the matrices; and fills it, once.
void vorton_waves_carve(grid_carver *t, const grid_shape *shape, vorton_memory *m);
tarn_status vorton_waves_upload(const tarn_tank *tank, const vorton_memory *m);

/// From vorticity to potential. What the solver of the pressure has in its vectors is lost.
void vorton_waves_launch(tarn_tank *tank, const vorton_args *args);

#endif
