// V8: a scene mirrored in x, or in z, gives the mirrored state. Several blocks that lie and move without any symmetry
// fall and splash; without jitter a mirrored scene starts as the exact mirror image, so every later difference is the
// solver's. Particles are paired by where they start. Velocities are compared bit by bit; positions up to what their
// copy as floats may round, half a unit of the last place of the tank's length on either side; the centre of mass is a
// sum of integers and has to agree.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>

enum { NX = 64, NY = 32, NZ = 32, STEPS = 200, BLOCKS = 4 };

/// Edges in eighths of a metre, four cells each; velocities in m/s, exact in binary.
static const struct {
    int min[3], max[3];
    float velocity[3];
} blocks[BLOCKS] = {
    {{0, 0, 0}, {5, 5, 3}, {0.0f, 0.0f, 0.0f}},
    {{7, 0, 4}, {12, 1, 8}, {0.5f, 0.0f, -0.25f}},
    {{13, 3, 1}, {15, 6, 4}, {-1.5f, 0.25f, 0.75f}},
    {{8, 5, 5}, {10, 7, 7}, {1.0f, -2.0f, -0.5f}},
};

/// @param axis  that is mirrored, or -1
static tarn_tank_desc scene(int axis)
{
    const int size[3] = {NX / 4, NY / 4, NZ / 4};
    tarn_tank_desc desc;
    tarn_tank_desc_default(&desc);
    desc.cells[0] = NX;
    desc.cells[1] = NY;
    desc.cells[2] = NZ;
    desc.jitter = 0.0f;
    desc.block_count = BLOCKS;
    for (int b = 0; b < BLOCKS; b++) {
        for (int a = 0; a < 3; a++) {
            const int min = a == axis ? size[a] - blocks[b].max[a] : blocks[b].min[a];
            const int max = a == axis ? size[a] - blocks[b].min[a] : blocks[b].max[a];
            desc.blocks[b].min_m[a] = 0.125f * (float)min;
            desc.blocks[b].max_m[a] = 0.125f * (float)max;
            desc.blocks[b].velocity_m_s[a] = a == axis ? -blocks[b].velocity[a] : blocks[b].velocity[a];
        }
    }
    return desc;
}

typedef struct mirror_run {
    physics_particles particles;
    uint32_t *id_at; ///< [z][y][x] of the lattice at the start: id + 1, or 0
    double center_m[3];
} mirror_run;

/// Index in the lattice of two particles per axis and cell that the tank starts as; mirrored in `axis` unless that is
/// -1.
static size_t lattice_index(const float *position_m, double cell_m, int axis)
{
    const int size[3] = {2 * NX, 2 * NY, 2 * NZ};
    size_t index = 0;
    for (int a = 2; a >= 0; a--) {
        const int at = (int)(2.0 * (double)position_m[a] / cell_m);
        index = index * (size_t)size[a] + (size_t)(a == axis ? size[a] - 1 - at : at);
    }
    return index;
}

static mirror_run run(int axis)
{
    const tarn_tank_desc desc = scene(axis);
    physics_tank t = physics_open(&desc);
    mirror_run r = {.particles = physics_particles_open(&t)};
    physics_particles *p = &r.particles;
    r.id_at = calloc((size_t)8 * NX * NY * NZ, sizeof *r.id_at);
    assert_non_null(r.id_at);
    physics_particles_read(&t, p);
    for (uint32_t i = 0; i < p->count; i++) {
        r.id_at[lattice_index(&p->position_m[3 * (size_t)i], (double)desc.cell_m, axis)] = i + 1;
    }
    physics_steps(&t, STEPS);
    physics_particles_read(&t, p);
    const tarn_tank_report report = physics_report(&t);
    for (int a = 0; a < 3; a++) {
        r.center_m[a] = report.center_m[a];
    }
    physics_close(&t);
    return r;
}

static void close_run(mirror_run *r)
{
    physics_particles_close(&r->particles);
    free(r->id_at);
}

/// Whether a particle of the mirrored run is the mirror image; *distance_cells: how far apart they are.
static bool is_mirrored(const tarn_tank_desc *desc, const physics_particles *p, size_t i, const physics_particles *q,
                        size_t j, int axis, double *distance_cells)
{
    bool same = true;
    *distance_cells = 0.0;
    for (size_t a = 0; a < 3; a++) {
        const double size_m = desc->cells[a] * (double)desc->cell_m;
        const float velocity = (int)a == axis ? -p->velocity_m_s[3 * i + a] : p->velocity_m_s[3 * i + a];
        const double position_m = (double)p->position_m[3 * i + a];
        const double there_m = (int)a == axis ? size_m - position_m : position_m;
        const double distance_m = fabs((double)q->position_m[3 * j + a] - there_m);
        same &= velocity == q->velocity_m_s[3 * j + a] && distance_m <= size_m * 0x1p-24;
        *distance_cells = fmax(*distance_cells, distance_m / (double)desc->cell_m);
    }
    return same;
}

static void compare(const mirror_run *plain, int axis, const char *differ_name, const char *far_name,
                    const char *center_name)
{
    const tarn_tank_desc desc = scene(-1);
    mirror_run mirrored = run(axis);
    uint32_t differ = 0;
    double farthest = 0.0, center = 0.0;
    assert_int_equal(mirrored.particles.count, plain->particles.count);
    for (size_t k = 0; k < (size_t)8 * NX * NY * NZ; k++) {
        double distance;
        assert_int_equal(plain->id_at[k] != 0, mirrored.id_at[k] != 0);
        if (plain->id_at[k] == 0) {
            continue;
        }
        differ += !is_mirrored(&desc, &plain->particles, plain->id_at[k] - 1, &mirrored.particles,
                               mirrored.id_at[k] - 1, axis, &distance);
        farthest = fmax(farthest, distance);
    }
    for (int a = 0; a < 3; a++) {
        const double there_m =
            a == axis ? desc.cells[a] * (double)desc.cell_m - plain->center_m[a] : plain->center_m[a];
        center = fmax(center, fabs(mirrored.center_m[a] - there_m) / (double)desc.cell_m);
    }
    physics_at_most(PHYSICS_REQUIRED, differ_name, differ, 0.0, "");
    physics_at_most(PHYSICS_REQUIRED, center_name, center, 1e-9, "cells");
    physics_figure(far_name, farthest, "cells");
    close_run(&mirrored);
}

void physics_mirror(void)
{
    mirror_run plain = run(-1);
    physics_figure("V8 mirror: particles", plain.particles.count, "");
    compare(&plain, 0, "V8 mirror in x: particles that aren't mirrored",
            "V8 mirror in x: largest distance of a particle", "V8 mirror in x: centre of mass, difference");
    compare(&plain, 2, "V8 mirror in z: particles that aren't mirrored",
            "V8 mirror in z: largest distance of a particle", "V8 mirror in z: centre of mass, difference");
    close_run(&plain);
}
