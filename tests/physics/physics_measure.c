// Figures that only the particles' positions enter, so that they mean the same for every solver and resolution.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>
#include <string.h>

physics_particles physics_particles_open(physics_tank *t)
{
    const uint16_t *cells = tarn_tank_desc_of(t->tank)->cells;
    physics_particles p = {.count = physics_report(t).particle_count};
    p.position_m = calloc((size_t)p.count * 3, sizeof *p.position_m);
    p.velocity_m_s = calloc((size_t)p.count * 3, sizeof *p.velocity_m_s);
    p.liquid = calloc(p.count, sizeof *p.liquid);
    p.density = calloc((size_t)cells[0] * cells[1] * cells[2], sizeof *p.density);
    p.sorted = calloc(p.count, sizeof *p.sorted);
    assert_true(p.position_m != NULL && p.velocity_m_s != NULL && p.liquid != NULL && p.density != NULL &&
                p.sorted != NULL);
    return p;
}

void physics_particles_close(physics_particles *p)
{
    free(p->position_m);
    free(p->velocity_m_s);
    free(p->liquid);
    free(p->density);
    free(p->sorted);
}

void physics_particles_read(physics_tank *t, physics_particles *p)
{
    uint32_t count;
    assert_int_equal(tarn_tank_particles(t->tank, p->position_m, p->velocity_m_s, NULL, p->count, &count), TARN_OK);
    assert_int_equal(count, p->count);
    assert_int_equal(tarn_tank_particle_colours(t->tank, p->liquid, NULL, p->count, &count), TARN_OK);
}

/// Spreads every particle over the eight centres of cells around it; what walls are in the way of stays inside.
static void spread(const tarn_tank_desc *desc, const physics_particles *p)
{
    const uint16_t *n = desc->cells;
    const double share = 1.0 / pow(desc->particles_per_axis, 3.0);
    memset(p->density, 0, (size_t)n[0] * n[1] * n[2] * sizeof *p->density);
    for (size_t i = 0; i < p->count; i++) {
        int at[3][2];
        double weight[3][2];
        for (int a = 0; a < 3; a++) {
            const double x = (double)p->position_m[3 * i + (size_t)a] / (double)desc->cell_m - 0.5;
            const int below = (int)floor(x);
            weight[a][1] = x - below;
            weight[a][0] = 1.0 - weight[a][1];
            at[a][0] = below < 0 ? 0 : below;
            at[a][1] = below + 1 < n[a] ? below + 1 : n[a] - 1;
        }
        for (int c = 0; c < 8; c++) {
            const int x = at[0][c & 1], y = at[1][c >> 1 & 1], z = at[2][c >> 2];
            p->density[((size_t)z * n[1] + (size_t)y) * n[0] + (size_t)x] +=
                (float)(share * weight[0][c & 1] * weight[1][c >> 1 & 1] * weight[2][c >> 2]);
        }
    }
}

/// Share of the way from one density to the next that is at least half full.
static double share_above(double from, double to)
{
    if (from >= 0.5 && to >= 0.5) {
        return 1.0;
    }
    if (from < 0.5 && to < 0.5) {
        return 0.0;
    }
    const double crossing = (0.5 - from) / (to - from);
    return from >= 0.5 ? crossing : 1.0 - crossing;
}

double physics_volume_m3(physics_tank *t, physics_particles *p)
{
    const tarn_tank_desc *desc = tarn_tank_desc_of(t->tank);
    const uint16_t *n = desc->cells;
    spread(desc, p);
    double cells = 0.0;
    for (size_t z = 0; z < n[2]; z++) {
        for (size_t x = 0; x < n[0]; x++) {
            const float *column = &p->density[z * n[1] * n[0] + x];
            cells += column[0] >= 0.5f ? 0.5 : 0.0;
            for (size_t y = 0; y + 1 < n[1]; y++) {
                cells += share_above((double)column[y * n[0]], (double)column[(y + 1) * n[0]]);
            }
            cells += column[(size_t)(n[1] - 1) * n[0]] >= 0.5f ? 0.5 : 0.0;
        }
    }
    return cells * pow((double)desc->cell_m, 3.0);
}

/// Whether all neighbours of a cell are at least half full.
static bool is_enclosed(const uint16_t *n, const float *density, const int *at)
{
    const size_t stride[3] = {1, n[0], (size_t)n[0] * n[1]};
    const float *cell = density + (size_t)at[2] * stride[2] + (size_t)at[1] * stride[1] + (size_t)at[0];
    bool enclosed = true;
    for (int a = 0; a < 3; a++) {
        enclosed = enclosed && (at[a] == 0 || cell[-(ptrdiff_t)stride[a]] >= 0.5f) &&
                   (at[a] == n[a] - 1 || cell[stride[a]] >= 0.5f);
    }
    return enclosed;
}

double physics_occupied_m3(physics_tank *t, const physics_particles *p)
{
    const tarn_tank_desc *desc = tarn_tank_desc_of(t->tank);
    const uint16_t *n = desc->cells;
    const float *cell = p->density;
    double cells = 0.0;
    for (int z = 0; z < n[2]; z++) {
        for (int y = 0; y < n[1]; y++) {
            for (int x = 0; x < n[0]; x++, cell++) {
                cells += is_enclosed(n, p->density, (const int[3]){x, y, z}) ? 1.0 : fmin((double)*cell, 1.0);
            }
        }
    }
    return cells * pow((double)desc->cell_m, 3.0);
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

double physics_percentile_of(float *values, size_t count, double percent)
{
    if (count == 0) {
        return 0.0;
    }
    qsort(values, count, sizeof *values, by_value);
    return (double)values[(size_t)(percent / 100.0 * (double)(count - 1))];
}

double physics_percentile_m(physics_particles *p, int axis, double percent, int among, double below_m)
{
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) {
        if ((double)p->position_m[3 * i + (size_t)among] < below_m) {
            p->sorted[count++] = p->position_m[3 * i + (size_t)axis];
        }
    }
    return physics_percentile_of(p->sorted, count, percent);
}

double physics_slope(const double *x, const double *y, int count)
{
    double mean_x = 0.0, mean_y = 0.0, xy = 0.0, xx = 0.0;
    for (int i = 0; i < count; i++) {
        mean_x += x[i] / count;
        mean_y += y[i] / count;
    }
    for (int i = 0; i < count; i++) {
        xy += (x[i] - mean_x) * (y[i] - mean_y);
        xx += (x[i] - mean_x) * (x[i] - mean_x);
    }
    return xy / xx;
}
