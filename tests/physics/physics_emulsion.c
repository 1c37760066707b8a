// Oil on water, shaken to an emulsion, which then is to part. Of an emulsion are cells in which either liquid has
// between 10 % and 90 % of the particles. Where the two lie in layers, such cells are one deep at the interface: those
// that have a cell of each liquid alone on opposite sides don't count.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/step_input.h"
#include "tests/physics/physics.h"
#include <cmocka.h> // needs those above

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 40, HEIGHT = 24, WIDTH = 16, DEPTH = 16, CELLS = LENGTH * HEIGHT * WIDTH, STEPS_PER_S = 60 };
enum { SHAKE_S = 6, REST_S = 10 };

typedef struct cell_count {
    uint32_t of[2]; ///< particles of each liquid
} cell_count;

static double heavy_share(const cell_count *c)
{
    return c->of[0] / fmax(c->of[0] + c->of[1], 1.0);
}

static bool is_mixed(const cell_count *c)
{
    return heavy_share(c) > 0.1 && heavy_share(c) < 0.9 && c->of[0] + c->of[1] > 0;
}

/// Whether a cell has one of each liquid alone on opposite sides.
static bool is_interface(const cell_count *cells, size_t at)
{
    const size_t place[3] = {at % LENGTH, at / LENGTH % HEIGHT, at / LENGTH / HEIGHT};
    const size_t extent[3] = {LENGTH, HEIGHT, WIDTH}, stride[3] = {1, LENGTH, (size_t)LENGTH * HEIGHT};
    bool is = false;
    for (int a = 0; a < 3; a++) {
        if (place[a] > 0 && place[a] + 1 < extent[a]) {
            const cell_count *low = cells + at - stride[a], *high = cells + at + stride[a];
            is = is || (low->of[0] + low->of[1] > 0 && high->of[0] + high->of[1] > 0 &&
                        fabs(heavy_share(high) - heavy_share(low)) > 0.8 && !is_mixed(low) && !is_mixed(high));
        }
    }
    return is;
}

typedef struct mixed_shares {
    double all, emulsion; ///< %: of the particles in mixed cells; and without those at the interface
} mixed_shares;

static mixed_shares measure(physics_tank *t, physics_particles *p)
{
    cell_count *cells = calloc(CELLS, sizeof *cells);
    assert_non_null(cells);
    physics_particles_read(t, p);
    const float cell_m = tarn_tank_desc_of(t->tank)->cell_m;
    for (size_t i = 0; i < p->count; i++) {
        const float *at = p->position_m + 3 * i;
        const size_t cell =
            ((size_t)(at[2] / cell_m) * HEIGHT + (size_t)(at[1] / cell_m)) * LENGTH + (size_t)(at[0] / cell_m);
        cells[cell].of[p->liquid[i]]++;
    }
    double all = 0.0, emulsion = 0.0;
    for (size_t i = 0; i < CELLS; i++) {
        if (is_mixed(&cells[i])) {
            const double in = cells[i].of[0] + cells[i].of[1];
            all += in;
            emulsion += is_interface(cells, i) ? 0.0 : in;
        }
    }
    free(cells);
    return (mixed_shares){100.0 * all / p->count, 100.0 * emulsion / p->count};
}

static void fill(tarn_tank_desc *desc)
{
    tarn_tank_desc_default(desc);
    const uint16_t cells[3] = {LENGTH, HEIGHT, WIDTH};
    memcpy(desc->cells, cells, sizeof cells);
    desc->cell_m = 1.0f / 32.0f;
    desc->dt_s = 1.0f / STEPS_PER_S;
    desc->liquid_count = 2;
    desc->liquids[0] = (tarn_liquid){.density_kg_m3 = 1000.0f, .viscosity_m2_s = 1e-6f};
    desc->liquids[1] = (tarn_liquid){.density_kg_m3 = 800.0f, .viscosity_m2_s = 5e-5f};
}

/// To and fro along x and z, by a tenth of the tank.
static void shake(physics_tank *t)
{
    const double pi = 3.14159265358979323846, along_m = 0.12, across_m = 0.05;
    for (int step = 1; step <= (SHAKE_S + 1) * STEPS_PER_S; step++) {
        const double turns = fmin((double)step / STEPS_PER_S, SHAKE_S);
        const tarn_step_input input = {.poser = TARN_STEP_POSER_HAND,
                                       .pose = {.position_m = {(float)(along_m * sin(2.0 * pi * turns)), 0.0f,
                                                               (float)(across_m * sin(3.0 * pi * turns))},
                                                .rotation = {0.0f, 0.0f, 0.0f, 1.0f}}};
        assert_int_equal(tarn_tank_step(t->tank, &input), TARN_OK);
    }
}

/// Height of the middle of all particles, which only moves where volume does, cells.
static double middle_cells(const physics_tank *t, const physics_particles *p)
{
    double sum = 0.0;
    for (size_t i = 0; i < p->count; i++) {
        sum += (double)p->position_m[3 * i + 1];
    }
    return sum / p->count / (double)tarn_tank_desc_of(t->tank)->cell_m;
}

static void shaken(void)
{
    tarn_tank_desc desc;
    fill(&desc);
    const float x = LENGTH * desc.cell_m, middle = 0.5f * DEPTH * desc.cell_m, z = WIDTH * desc.cell_m;
    desc.blocks[0] = (tarn_fluid_block){.max_m = {x, middle, z}};
    desc.blocks[1] = (tarn_fluid_block){.min_m = {0.0f, middle, 0.0f}, .max_m = {x, 2.0f * middle, z}, .liquid = 1};
    desc.block_count = 2;
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    shake(&t);
    physics_figure("emulsion: in mixed cells once shaken", measure(&t, &p).all, "%");
    physics_steps(&t, REST_S * STEPS_PER_S);
    const mixed_shares rest = measure(&t, &p);
    physics_at_most(PHYSICS_REQUIRED, "emulsion: in those of an emulsion, 10 s later", rest.emulsion, 5.0, "%");
    physics_at_most(PHYSICS_REPORTED, "emulsion: in all mixed cells, 10 s later", rest.all, 5.0, "%");
    physics_particles_close(&p);
    physics_close(&t);
}

/// Layers of half a cell, of one liquid and the other in turn: every cell is half of each.
static void layered(void)
{
    tarn_tank_desc desc;
    fill(&desc);
    const float x = LENGTH * desc.cell_m, half = 0.5f * desc.cell_m, z = WIDTH * desc.cell_m;
    desc.block_count = 2 * DEPTH;
    for (uint32_t i = 0; i < desc.block_count; i++) {
        desc.blocks[i] = (tarn_fluid_block){
            .min_m = {0.0f, (float)i * half, 0.0f}, .max_m = {x, (float)(i + 1) * half, z}, .liquid = (uint8_t)(i & 1)};
    }
    physics_tank t = physics_open(&desc);
    physics_particles p = physics_particles_open(&t);
    physics_figure("emulsion: layers of half a cell, in mixed cells", measure(&t, &p).all, "%");
    const double before = middle_cells(&t, &p);
    physics_steps(&t, REST_S * STEPS_PER_S);
    const mixed_shares rest = measure(&t, &p);
    physics_at_most(PHYSICS_REQUIRED, "emulsion: layers of half a cell, after 10 s", rest.all, 5.0, "%");
    physics_within(PHYSICS_REQUIRED, "emulsion: change of the height of all volume's middle",
                   middle_cells(&t, &p) - before, 0.0, 0.1, "cells");
    physics_particles_close(&p);
    physics_close(&t);
}

void physics_emulsion(void)
{
    shaken();
    layered();
}
