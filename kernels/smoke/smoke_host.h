/// The smoke's host side: its part of a tank.
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

#endif
