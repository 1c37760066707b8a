/// The smoke's parameters and what its particles carry, by number, for who names them in C.
#ifndef TARN_KERNELS_SMOKE_PARAMETERS_H
#define TARN_KERNELS_SMOKE_PARAMETERS_H

#include "kernels/model.h"

typedef enum tarn_smoke_parameter {
    TARN_SMOKE_GRAVITY,
    TARN_SMOKE_EXPANSION,
    TARN_SMOKE_WEIGHT,
    TARN_SMOKE_VISCOSITY,
    TARN_SMOKE_HEAT_DIFFUSION,
    TARN_SMOKE_COOLING,
    TARN_SMOKE_FADING,
    TARN_SMOKE_CONFINEMENT,
    TARN_SMOKE_WALL_GRIP,
    TARN_SMOKE_OPEN,
    TARN_SMOKE_SLEEP_SPEED,
    TARN_SMOKE_ADVECTION,
    TARN_SMOKE_TOLERANCE,
    TARN_SMOKE_ITERATIONS,
    TARN_SMOKE_CFL,
    TARN_SMOKE_SUBSTEPS,
    TARN_SMOKE_PARAMETER_COUNT
} tarn_smoke_parameter;

typedef enum tarn_smoke_carried {
    TARN_SMOKE_HEAT,  ///< K above the air's temperature at rest
    TARN_SMOKE_SMOKE, ///< concentration; 1: as it comes from a fire
    TARN_SMOKE_CARRIED_COUNT
} tarn_smoke_carried;

extern const tarn_parameter_spec tarn_smoke_parameters[TARN_SMOKE_PARAMETER_COUNT];

#endif
