// The table of the liquid's parameters, which depends on nothing else.
#include "kernels/liquid_parameters.h"

#include <stddef.h>

const tarn_parameter_spec tarn_liquid_parameters[TARN_PARAMETER_COUNT] = {
    [TARN_PARAMETER_GRAVITY] = {"gravity_m_s2", "Gravity", "m/s²", 9.81f, 0.0f, 50.0f, TARN_PLAYS_GRAVITY, 0,
                                "Gravity: its strength straight down, or a vector x, y, z."},
    [TARN_PARAMETER_FLIP] = {"flip_ratio", "FLIP share", NULL, 0.97f, 0.0f, 1.0f, TARN_PLAYS_NONE,
                             TARN_PARAMETER_IS_SOLVER,
                             "Share of FLIP; the rest is PIC. Often called alpha: where alpha weighs FLIP it is alpha, "
                             "where it weighs PIC it is 1 - alpha."},
    [TARN_PARAMETER_TOLERANCE] = {"pressure_tolerance", "Tolerance", NULL, 1e-4f, 1e-7f, 1e-1f, TARN_PLAYS_NONE,
                                  TARN_PARAMETER_HAS_MAGNITUDES | TARN_PARAMETER_IS_SOLVER,
                                  "Residual at which the pressure solve ends: the largest |div u| dt."},
    [TARN_PARAMETER_ITERATIONS] = {"pressure_iterations", "Iterations", NULL, 20.0f, 1.0f, 2000.0f, TARN_PLAYS_NONE,
                                   TARN_PARAMETER_IS_WHOLE | TARN_PARAMETER_IS_SOLVER,
                                   "Cap on pressure iterations, whatever kind."},
    [TARN_PARAMETER_CFL] = {"cfl", "CFL", NULL, 2.0f, 0.5f, 4.0f, TARN_PLAYS_CFL, TARN_PARAMETER_IS_SOLVER,
                            "Cells that the fastest liquid may cross in a substep; spray may cross more."},
    [TARN_PARAMETER_SUBSTEPS] = {"substeps_max", "Substeps", NULL, 4.0f, 1.0f, 8.0f, TARN_PLAYS_SUBSTEPS,
                                 TARN_PARAMETER_IS_WHOLE | TARN_PARAMETER_IS_SOLVER, "Cap on substeps in a step."},
    [TARN_PARAMETER_DENSITY] = {"density_correction", "Volume keeping", NULL, 1.0f, 0.0f, 1.0f, TARN_PLAYS_NONE,
                                TARN_PARAMETER_IS_SOLVER, "Strength of the volume correction."},
    [TARN_PARAMETER_RELAXATION] = {"relaxation", "Relaxation", NULL, 1.0f, 0.1f, 1.95f, TARN_PLAYS_NONE,
                                   TARN_PARAMETER_IS_SOLVER,
                                   "Damping of jacobi (at most 1) or over-relaxation of gauss-seidel (SOR, above 1); "
                                   "often called omega. No effect with multigrid."},
    [TARN_PARAMETER_SURFACE_TENSION] = {"surface_tension_n_m", "Surface tension", "N/m", 0.0f, 0.0f, 10.0f,
                                        TARN_PLAYS_NONE, 0, "Pull of the free surface; water has 0.072."},
    [TARN_PARAMETER_DYE_MIXING] = {"dye_mixing", "Dye mixing", NULL, 0.0f, 0.0f, 1.0f, TARN_PLAYS_DYE, 0,
                                   "Share of a cell's dye that mixes in a step."},
};
