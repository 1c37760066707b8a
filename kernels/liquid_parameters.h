/// The liquid's parameters by number, for who names them in C.
#ifndef TARN_KERNELS_LIQUID_PARAMETERS_H
#define TARN_KERNELS_LIQUID_PARAMETERS_H

#include "kernels/model.h"

/// Surface tension costs nothing at 0; above 0 a step takes as many substeps as it needs to be stable, and where
/// substeps_max is fewer, it acts only as far as it is stable: up to 1.25 rho cell_m^3 (substeps_max / dt_s)^2, rho
/// being the lightest liquid's density (tarn_tank_parameter_used). Surfaces curved more than those of a ball of four
/// cells' radius pull less than they should.
typedef enum tarn_parameter {
    TARN_PARAMETER_GRAVITY,
    TARN_PARAMETER_FLIP,
    TARN_PARAMETER_TOLERANCE,
    TARN_PARAMETER_ITERATIONS,
    TARN_PARAMETER_CFL,
    TARN_PARAMETER_SUBSTEPS,
    TARN_PARAMETER_DENSITY,
    TARN_PARAMETER_RELAXATION,
    TARN_PARAMETER_SURFACE_TENSION,
    TARN_PARAMETER_DYE_MIXING,
    TARN_PARAMETER_COUNT
} tarn_parameter;

extern const tarn_parameter_spec tarn_liquid_parameters[TARN_PARAMETER_COUNT];

#endif
