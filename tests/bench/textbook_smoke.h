/// A stable-fluids step as textbooks have it, for comparison: velocities, heat and smoke on a dense staggered grid, all
/// carried by a semi-Lagrangian walk of second order; lift by heat; a pressure by plain relaxation or plain conjugate
/// gradients from zero, to the divergence that is asked for (Stam 1999, "Stable fluids"; Bridson, "Fluid Simulation for
/// Computer Graphics", chapters 3 to 6). One thread, a closed box whose walls are slippery, cells and steps as units.
#ifndef TARN_TESTS_TEXTBOOK_SMOKE_H
#define TARN_TESTS_TEXTBOOK_SMOKE_H

#include "protocol/status.h"

#include <stddef.h>
#include <stdint.h>

typedef enum textbook_smoke_solver {
    TEXTBOOK_SMOKE_RELAXATION, ///< red-black, over-relaxed by the best factor of the box's Laplacian
    TEXTBOOK_SMOKE_GRADIENTS,  ///< conjugate gradients
} textbook_smoke_solver;

typedef struct textbook_smoke textbook_smoke;

/// @param cells  z may be one, which makes the box flat
tarn_status textbook_smoke_create(const int *cells, textbook_smoke_solver solver, textbook_smoke **smoke);

/// Takes NULL.
void textbook_smoke_destroy(textbook_smoke *s);

/// All air at rest, without heat and smoke.
void textbook_smoke_reset(textbook_smoke *s);

/// The velocity at a cell's lower face across an axis, cells per step. Those on walls stay 0.
float *textbook_smoke_face(textbook_smoke *s, int axis, int x, int y, int z);

/// A cell's heat in kelvin and its smoke.
float *textbook_smoke_heat(textbook_smoke *s, int x, int y, int z);
float *textbook_smoke_smoke(textbook_smoke *s, int x, int y, int z);

typedef struct textbook_smoke_way {
    float lift;      ///< cells per step^2 that a kelvin accelerates by
    float cooled;    ///< share of the heat that is left after a step
    float faded;     ///< the same of the smoke
    float tolerance; ///< largest |div u|, per step
} textbook_smoke_way;

typedef struct textbook_smoke_report {
    uint32_t iterations;
    float residual;
} textbook_smoke_report;

textbook_smoke_report textbook_smoke_step(textbook_smoke *s, const textbook_smoke_way *way);

#endif
