/// What the two parts of the textbook's solver share: textbook_flip.c moves the liquid, textbook_pressure.c keeps its
/// volume.
#ifndef TARN_TESTS_TEXTBOOK_INTERNAL_H
#define TARN_TESTS_TEXTBOOK_INTERNAL_H

#include "tests/bench/textbook_flip.h"

#include <stdbool.h>
#include <stddef.h>

enum { AIR = 0, LIQUID = 1, SOLID = 2, FRINGE = 3 }; ///< fringe: has particles, but its centre is in the air
enum { LAYER_KNOWN = 0, LAYERS = 3, LAYER_UNKNOWN = 100, LAYER_BORDER = 101 };
enum { GRIDS_MAX = 32 };

#define WALL_MARGIN (1.0f / 64.0f) ///< cells that particles keep from walls, as in Tarn

typedef struct flip_particle {
    float at[3];       ///< cells
    float velocity[3]; ///< cells/s
} flip_particle;

/// Cells of a row along x from the first liquid one to the last.
typedef struct flip_row {
    size_t first, end;
} flip_row;

struct textbook_flip {
    textbook_accuracy accuracy;
    int size[3]; ///< with the border
    ptrdiff_t stride[3];
    size_t cells; ///< with the border
    float cell_m, dt_s, gravity_s2, flip_ratio, tolerance, cfl;
    float density_gain, rest_density; ///< particles in a full cell
    uint32_t substeps_max;

    uint32_t particle_count;
    flip_particle *particles, *start;
    float speed_max; ///< at which particles moved, of the fastest component, cells/s

    uint8_t *type, *empty; ///< empty: with air in all the tank
    float *u[3], *u_old[3], *weight[3];
    uint8_t *layer; ///< of the extrapolation
    uint32_t *front;

    // of TEXTBOOK_FULL only
    float *density;  ///< at centres, smoothed, over that at rest
    float *shift[3]; ///< by which the correction of the volume moves what is there, cells

    // the system of the pressure; `plus`: the coefficient towards the next cell, positive, the matrix has its negative
    float *diagonal, *plus[3], *precon;
    float *p, *r, *z, *s;
    flip_row *rows;
    uint32_t row_count;

    void *grids[GRIDS_MAX];
    uint32_t grid_count;
    textbook_report report;
    double stage_s[TEXTBOOK_STAGE_COUNT], mark_s;
};

// fminf and fmaxf treat NaN and are calls of a library for that.
static inline float min_of(float a, float b)
{
    return a < b ? a : b;
}

static inline float max_of(float a, float b)
{
    return a > b ? a : b;
}

/// Whether pressure acts on the face between a cell and the one before it.
static inline bool is_open(const textbook_flip *f, size_t cell, size_t before)
{
    const uint8_t a = f->type[before], b = f->type[cell];
    return a != SOLID && b != SOLID && (a == LIQUID || b == LIQUID);
}

/// Takes cells out of the liquid whose centre is in the air, next to such whose centre is not and to empty ones:
/// between the two centres passes the surface.
void textbook_mark_fringe(textbook_flip *f);

/// The matrix of the liquid cells and its preconditioner, the same for both solves.
void textbook_build_system(textbook_flip *f);

/// Makes the velocities free of divergence, to the tolerance over the substep.
void textbook_project(textbook_flip *f, float dt_s);

/// Finds the shift that takes crowded cells and thin ones back to the density at rest.
void textbook_correct_volume(textbook_flip *f);

#endif
