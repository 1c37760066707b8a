// Initial particles that a description tells of one by one. They are put in the order of the tank's tiles once, when it
// is created, so that seeding is a copy, and the same one each time.
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tarn_status tank_particles_check(const grid_complaint *why, const tarn_tank_desc *desc)
{
    if (desc->particle_count == 0) {
        return TARN_OK;
    }
    if ((tank_model_of(desc)->shown.can & TARN_MODEL_LIQUIDS) == 0) {
        return grid_refuse(why, TARN_E_ARGUMENT, "the model \"%s\" has no use for particles",
                           tank_model_of(desc)->shown.name);
    }
    if (desc->block_count + desc->fluid_count > 0) {
        return grid_refuse(why, TARN_E_ARGUMENT, "there are particles, and blocks or fluids; allowed are either");
    }
    for (uint32_t i = 0; i < desc->particle_count; i++) {
        const tarn_seed_particle *particle = &desc->particles[i];
        for (int a = 0; a < 3; a++) {
            const float size_m = (float)desc->cells[a] * desc->cell_m;
            if (!(particle->position_m[a] >= 0.0f && particle->position_m[a] <= size_m)) {
                return grid_refuse(why, TARN_E_ARGUMENT, "particles[%u] is at %g m on axis %c; allowed is 0 to %g m", i,
                                   (double)particle->position_m[a], "xyz"[a], (double)size_m);
            }
            if (!isfinite(particle->velocity_m_s[a])) {
                return grid_refuse(why, TARN_E_ARGUMENT, "particles[%u].velocity_m_s[%d] is not a finite number", i, a);
            }
        }
        if (particle->liquid >= desc->liquid_count) {
            return grid_refuse(why, TARN_E_ARGUMENT, "particles[%u].liquid is %u; allowed is 0 to %u", i,
                               particle->liquid, desc->liquid_count - 1);
        }
    }
    return TARN_OK;
}

static uint32_t position_on(const tarn_tank_desc *desc, const tarn_seed_particle *particle, int a)
{
    const double cells = (double)particle->position_m[a] / (double)desc->cell_m, below = floor(cells);
    return tank_fixed_position((int)below, cells - below, desc->cells[a]);
}

static uint32_t tile_of(const tarn_tank *tank, const tarn_seed_particle *particle)
{
    int at[3];
    for (int a = 0; a < 3; a++) {
        at[a] = (int)(position_on(&tank->grid.desc, particle, a) >> TILE_POSITION_BITS);
    }
    return tile_dense_of(&tank->args->grid.shape, 0, at[0], at[1], at[2]);
}

tarn_status tank_particles_copy(tarn_tank *tank)
{
    tarn_tank_desc *desc = &tank->grid.desc;
    const tarn_seed_particle *borrowed = desc->particles;
    const uint32_t count = desc->particle_count, tiles = tank->args->grid.shape.tile_total[0];
    desc->particles = NULL;
    if (count == 0) {
        return TARN_OK;
    }
    tarn_seed_particle *own = malloc(count * sizeof *own);
    uint32_t *next = calloc((size_t)tiles + 1, sizeof *next); // first how many a tile has, one place behind
    if (own == NULL || next == NULL) {
        free(own);
        free(next);
        return TARN_E_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        next[tile_of(tank, &borrowed[i]) + 1]++;
    }
    for (uint32_t t = 0; t < tiles; t++) {
        next[t + 1] += next[t];
    }
    for (uint32_t i = 0; i < count; i++) {
        own[next[tile_of(tank, &borrowed[i])]++] = borrowed[i];
    }
    free(next);
    desc->particles = own;
    return TARN_OK;
}

void tank_particles_free(tarn_tank *tank)
{
    free((void *)(uintptr_t)tank->grid.desc.particles);
    tank->grid.desc.particles = NULL;
}

void tank_seed_particles(const tarn_tank *tank, tank_arrays *arrays, float *fastest)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    TARN_ASSERT(desc->particle_count <= tank->args->scale.particles_max);
    arrays->count = desc->particle_count;
    *fastest = 0.0f;
    for (uint32_t i = 0; i < arrays->count; i++) {
        const tarn_seed_particle *particle = &desc->particles[i];
        const uint8_t colour[4] = {particle->colour[0], particle->colour[1], particle->colour[2],
                                   desc->particles_have_colours != 0 ? 255 : 0};
        for (int a = 0; a < 3; a++) {
            const float v = particle->velocity_m_s[a] * desc->dt_s / desc->cell_m;
            arrays->position[a][i] = position_on(desc, particle, a);
            arrays->velocity[a][i] = tile_clamp_f32(v, -SPEED_MAX, SPEED_MAX);
            *fastest = tile_max2_f32(*fastest, tile_abs_f32(arrays->velocity[a][i]));
        }
        arrays->id[i] = i;
        if (arrays->attribute != NULL) {
            arrays->attribute[i] = tank_attribute(desc, particle->liquid, colour);
        }
    }
}
