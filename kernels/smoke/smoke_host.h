/// The smoke's host side: its part of a tank, shared by the files of kernels/smoke.
#ifndef TARN_KERNELS_SMOKE_HOST_H
#define TARN_KERNELS_SMOKE_HOST_H

#include "kernels/smoke/smoke_kernels.h"
#include "kernels/tank/tank_internal.h"

/// The stages of a profile.
enum {
    STAGE_CARRY = STAGE_COUNT,
    STAGE_DEPOSIT,
    STAGE_FORCES,
    STAGE_MATRIX,
    STAGE_PRESSURE,
    STAGE_EXTRAPOLATE,
    STAGE_END,
};

typedef struct smoke_part {
    smoke_args args;
} smoke_part;

static inline smoke_part *smoke_of(const tarn_tank *tank)
{
    return tank->part;
}

/// What tank_model says of it.
void smoke_substep(tarn_tank *tank);

/// Rounds of viscosity in a step's substeps, an even number: 0 where there is none.
uint32_t smoke_viscosity_rounds(const tarn_tank *tank);

#endif
