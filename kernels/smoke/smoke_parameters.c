// The tables of the smoke's parameters and of what its particles carry, which depend on nothing else.
#include "kernels/smoke_parameters.h"

#include <stddef.h>

const tarn_parameter_spec tarn_smoke_parameters[TARN_SMOKE_PARAMETER_COUNT] = {
    [TARN_SMOKE_GRAVITY] = {"gravity_m_s2", "Gravity", "m/s²", 9.81f, 0.0f, 50.0f, TARN_PLAYS_GRAVITY, 0,
                            "Strength of gravity, straight down."},
    [TARN_SMOKE_EXPANSION] = {"thermal_expansion_1_k", "Thermal expansion", "1/K", 1.0f / 293.0f, 0.0f, 0.1f,
                              TARN_PLAYS_NONE, 0,
                              "By what share of its density air gets lighter with each kelvin; air at 20 °C by 1/293."},
    [TARN_SMOKE_WEIGHT] = {"smoke_weight", "Weight of smoke", NULL, 0.0f, -1.0f, 10.0f, TARN_PLAYS_NONE, 0,
                           "By what share of its density smoke of concentration 1 makes air heavier."},
    [TARN_SMOKE_VISCOSITY] = {"viscosity_m2_s", "Viscosity", "m²/s", 0.0f, 0.0f, 1.0f, TARN_PLAYS_NONE, 0,
                              "Kinematic viscosity; air has 0.000015. As much of it acts as is stable."},
    [TARN_SMOKE_HEAT_DIFFUSION] = {"heat_diffusion_1_s", "Mixing", "1/s", 0.5f, 0.0f, 100.0f, TARN_PLAYS_NONE, 0,
                                   "Rate at which the heat and smoke of a cell's particles become equal."},
    [TARN_SMOKE_COOLING] = {"cooling_1_s", "Cooling", "1/s", 0.2f, 0.0f, 100.0f, TARN_PLAYS_NONE, 0,
                            "Rate at which heat is lost."},
    [TARN_SMOKE_FADING] = {"fading_1_s", "Fading", "1/s", 0.2f, 0.0f, 100.0f, TARN_PLAYS_NONE, 0,
                           "Rate at which smoke fades; what is hardly seen and hardly warm is taken away."},
    [TARN_SMOKE_CONFINEMENT] = {"vorticity_confinement", "Vorticity confinement", NULL, 0.0f, 0.0f, 10.0f,
                                TARN_PLAYS_NONE, 0,
                                "Strength of a force that keeps small vortices turning; 0: physics alone."},
    [TARN_SMOKE_WALL_GRIP] = {"wall_grip", "Grip of walls", NULL, 0.0f, 0.0f, 1.0f, TARN_PLAYS_NONE, 0,
                              "0: air slips freely along walls; 1: it sticks to them."},
    [TARN_SMOKE_OPEN] = {"open", "Open", NULL, 0.0f, 0.0f, 2.0f, TARN_PLAYS_NONE, TARN_PARAMETER_IS_WHOLE,
                         "Where air and smoke leave the tank: 0: nowhere; 1: at the top; 2: at all sides but the "
                         "floor."},
    [TARN_SMOKE_SLEEP_SPEED] = {"sleep_speed_m_s", "Sleep below", "m/s", 0.01f, 0.0f, 10.0f, TARN_PLAYS_NONE,
                                TARN_PARAMETER_IS_SOLVER,
                                "Where air has no smoke and is slower it isn't computed: it gives way as if it were "
                                "outside. 0: all air is computed."},
    [TARN_SMOKE_ADVECTION] = {"advection", "Advection", NULL, 1.0f, 0.0f, 1.0f, TARN_PLAYS_NONE,
                              TARN_PARAMETER_IS_WHOLE | TARN_PARAMETER_IS_SOLVER,
                              "How air carries its own velocity: 0: semi-Lagrangian, which blurs; 1: MacCormack."},
    [TARN_SMOKE_TOLERANCE] = {"pressure_tolerance", "Tolerance", NULL, 1e-3f, 1e-7f, 1e-1f, TARN_PLAYS_NONE,
                              TARN_PARAMETER_HAS_MAGNITUDES | TARN_PARAMETER_IS_SOLVER,
                              "Residual at which the pressure solve ends: the largest |div u| dt."},
    [TARN_SMOKE_ITERATIONS] = {"pressure_iterations", "Iterations", NULL, 20.0f, 1.0f, 2000.0f, TARN_PLAYS_NONE,
                               TARN_PARAMETER_IS_WHOLE | TARN_PARAMETER_IS_SOLVER,
                               "Cap on pressure iterations, whatever kind."},
    [TARN_SMOKE_CFL] = {"cfl", "CFL", NULL, 2.0f, 0.5f, 2.9f, TARN_PLAYS_CFL, TARN_PARAMETER_IS_SOLVER,
                        "Cells that the fastest air may cross in a substep."},
    [TARN_SMOKE_SUBSTEPS] =
        {"substeps_max", "Substeps", NULL, 4.0f, 1.0f, 8.0f, TARN_PLAYS_SUBSTEPS,
         TARN_PARAMETER_IS_WHOLE | TARN_PARAMETER_IS_SOLVER,
         "Cap on substeps in a step. Air so fast that it takes more than half of them calms within seconds."},
};

const tarn_carried_spec tarn_smoke_carried_specs[TARN_SMOKE_CARRIED_COUNT] = {
    [TARN_SMOKE_HEAT] = {"heat_k", "Heat", "K", 60.0f, -250.0f, 2000.0f, "Kelvin above the air's temperature at rest."},
    [TARN_SMOKE_SMOKE] = {"smoke", "Smoke", NULL, 1.0f, 0.0f, 10.0f, "Concentration of smoke; 1: as it leaves a fire."},
};
