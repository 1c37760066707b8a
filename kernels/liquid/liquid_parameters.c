// The table of the liquid's parameters, which depends on nothing else.
#include "kernels/liquid_parameters.h"

const tarn_parameter_spec tarn_liquid_parameters[TARN_PARAMETER_COUNT] = {
    [TARN_PARAMETER_GRAVITY] = {"gravity_m_s2", 9.81f, 0.0f, 50.0f, "strength of gravity, straight down",
                                TARN_PLAYS_GRAVITY, false, false},
    [TARN_PARAMETER_FLIP] = {"flip_ratio", 0.97f, 0.0f, 1.0f, "share of FLIP in a step; the rest is PIC",
                             TARN_PLAYS_NONE, false, true},
    [TARN_PARAMETER_TOLERANCE] = {"pressure_tolerance", 1e-4f, 1e-7f, 1e-1f, "pressure residual, max abs(div u) dt",
                                  TARN_PLAYS_NONE, false, true},
    [TARN_PARAMETER_ITERATIONS] = {"pressure_iterations", 20.0f, 1.0f, 2000.0f, "cap on pressure iterations",
                                   TARN_PLAYS_NONE, true, true},
    [TARN_PARAMETER_CFL] = {"cfl", 2.0f, 0.5f, 4.0f, "cells that the fastest particle may cross in a substep",
                            TARN_PLAYS_CFL, false, true},
    [TARN_PARAMETER_SUBSTEPS] = {"substeps_max", 4.0f, 1.0f, 8.0f, "cap on substeps in a step", TARN_PLAYS_SUBSTEPS,
                                 true, true},
    [TARN_PARAMETER_DENSITY] = {"density_correction", 1.0f, 0.0f, 1.0f, "strength of the volume correction",
                                TARN_PLAYS_NONE, false, true},
    [TARN_PARAMETER_RELAXATION] = {"relaxation", 1.0f, 0.1f, 1.95f, "of Jacobi (up to 1) and Gauss-Seidel (SOR)",
                                   TARN_PLAYS_NONE, false, true},
    [TARN_PARAMETER_SURFACE_TENSION] = {"surface_tension_n_m", 0.0f, 0.0f, 10.0f, "pull of the free surface",
                                        TARN_PLAYS_NONE, false, false},
    [TARN_PARAMETER_DYE_MIXING] = {"dye_mixing", 0.0f, 0.0f, 1.0f, "share of a cell's dye that mixes in a step",
                                   TARN_PLAYS_DYE, false, false},
};
