// A tank's life: description, memory, parameters.
#include "kernels/liquid/tank_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CAPACITY_WITH_EMITTERS = 1 << 20, // particles, where a description names none
    ROOM_LEAST = 4096,                // particles that a tank without emitters has room for at least
    ROOM_LEAST_RESEEDED = 1024,
};

static const tarn_parameter_spec parameter_specs[TARN_PARAMETER_COUNT] = {
#define PARAMETER_SPEC(id, name, value, min, max, text) {name, value, min, max, text},
    TARN_PARAMETER_LIST(PARAMETER_SPEC)
#undef PARAMETER_SPEC
};

const tarn_parameter_spec *tarn_tank_parameter_spec(tarn_parameter id)
{
    return (unsigned)id < TARN_PARAMETER_COUNT ? &parameter_specs[id] : NULL;
}

int tarn_tank_parameter_find(const char *name)
{
    for (int i = 0; i < TARN_PARAMETER_COUNT; i++) {
        if (strcmp(name, parameter_specs[i].name) == 0) {
            return i;
        }
    }
    return -1;
}

void tarn_tank_desc_default(tarn_tank_desc *desc)
{
    memset(desc, 0, sizeof *desc);
    desc->cells[0] = desc->cells[1] = desc->cells[2] = 32;
    desc->cell_m = 1.0f / 32.0f;
    desc->dt_s = 1.0f / 60.0f;
    desc->particles_per_axis = 2;
    desc->seed = 1;
    desc->jitter = 0.5f;
    desc->liquid_count = 1;
    desc->liquids[0] = (tarn_liquid){.density_kg_m3 = 1000.0f, .colour = {38, 110, 190}};
    for (int i = 0; i < TARN_PARAMETER_COUNT; i++) {
        desc->parameters[i] = parameter_specs[i].initial;
    }
}

// ---------------------------------------------------------------------------------------------------------- validation

tarn_status tank_refuse(const tank_complaint *why, tarn_status status, const char *format, ...)
{
    if (why->text != NULL && why->bytes > 0) {
        va_list list;
        va_start(list, format);
        vsnprintf(why->text, why->bytes, format, list);
        va_end(list);
    }
    return status;
}

static tarn_status check_range(const tank_complaint *why, const char *field, float value, float min, float max)
{
    if (value >= min && value <= max) { // false for NaN
        return TARN_OK;
    }
    return tank_refuse(why, TARN_E_ARGUMENT, "%s is %g; allowed is %g to %g", field, (double)value, (double)min,
                       (double)max);
}

static tarn_status check_liquids(const tank_complaint *why, const tarn_tank_desc *desc)
{
    if (desc->liquid_count < 1 || desc->liquid_count > TARN_TANK_LIQUIDS_MAX) {
        return tank_refuse(why, TARN_E_LIMIT, "there are %u liquids; allowed are 1 to %d", desc->liquid_count,
                           TARN_TANK_LIQUIDS_MAX);
    }
    float lightest = INFINITY, heaviest = 0.0f;
    for (uint32_t i = 0; i < desc->liquid_count; i++) {
        char field[48];
        snprintf(field, sizeof field, "liquids[%u].density_kg_m3", i);
        tarn_status status = check_range(why, field, desc->liquids[i].density_kg_m3, 0.01f, 20000.0f);
        snprintf(field, sizeof field, "liquids[%u].viscosity_m2_s", i);
        if (status == TARN_OK) {
            status = check_range(why, field, desc->liquids[i].viscosity_m2_s, 0.0f, 100.0f);
        }
        if (status != TARN_OK) {
            return status;
        }
        lightest = fminf(lightest, desc->liquids[i].density_kg_m3);
        heaviest = fmaxf(heaviest, desc->liquids[i].density_kg_m3);
    }
    if (heaviest > TARN_TANK_DENSITY_RATIO_MAX * lightest) {
        return tank_refuse(why, TARN_E_ARGUMENT, "the liquids' densities are %g to %g kg/m3; allowed is a ratio of %g",
                           (double)lightest, (double)heaviest, (double)TARN_TANK_DENSITY_RATIO_MAX);
    }
    if ((unsigned)desc->transfer >= TARN_TRANSFER_COUNT) {
        return tank_refuse(why, TARN_E_ARGUMENT, "transfer is %d; allowed is 0 to %d", (int)desc->transfer,
                           TARN_TRANSFER_COUNT - 1);
    }
    if ((unsigned)desc->weights >= TARN_WEIGHTS_COUNT) {
        return tank_refuse(why, TARN_E_ARGUMENT, "weights is %d; allowed is 0 to %d", (int)desc->weights,
                           TARN_WEIGHTS_COUNT - 1);
    }
    return TARN_OK;
}

static tarn_status check_block(const tank_complaint *why, const tarn_tank_desc *desc, uint32_t index)
{
    const tarn_fluid_block *block = &desc->blocks[index];
    for (int a = 0; a < 3; a++) {
        const float size = (float)desc->cells[a] * desc->cell_m, slack = 1e-4f * desc->cell_m;
        if (!(block->min_m[a] >= -slack && block->max_m[a] <= size + slack && block->min_m[a] < block->max_m[a])) {
            return tank_refuse(why, TARN_E_ARGUMENT,
                               "blocks[%u] spans %g to %g m on axis %c; it must have a size and lie inside 0 to %g m",
                               index, (double)block->min_m[a], (double)block->max_m[a], "xyz"[a], (double)size);
        }
        if (!isfinite(block->velocity_m_s[a])) {
            return tank_refuse(why, TARN_E_ARGUMENT, "blocks[%u].velocity_m_s[%d] is not a finite number", index, a);
        }
    }
    if (block->liquid >= desc->liquid_count) {
        return tank_refuse(why, TARN_E_ARGUMENT, "blocks[%u].liquid is %u; allowed is 0 to %u", index, block->liquid,
                           desc->liquid_count - 1);
    }
    return TARN_OK;
}

static tarn_status check_desc(const tank_complaint *why, const tarn_tank_desc *desc)
{
    uint64_t cells = 1;
    for (int a = 0; a < 3; a++) {
        const int flat = a == 2 && desc->cells[a] == 1;
        if ((desc->cells[a] < TARN_TANK_CELLS_MIN && !flat) || desc->cells[a] > TARN_TANK_CELLS_MAX) {
            return tank_refuse(why, TARN_E_ARGUMENT, "cells[%d] is %u; allowed is %d to %d", a, desc->cells[a],
                               TARN_TANK_CELLS_MIN, TARN_TANK_CELLS_MAX);
        }
        cells *= desc->cells[a];
    }
    if (cells > TARN_TANK_CELL_COUNT_MAX) {
        return tank_refuse(why, TARN_E_LIMIT, "the tank has %llu cells; allowed are %d", (unsigned long long)cells,
                           TARN_TANK_CELL_COUNT_MAX);
    }
    tarn_status status = check_range(why, "cell_m", desc->cell_m, 1e-4f, 10.0f);
    if (status == TARN_OK) {
        status = check_range(why, "dt_s", desc->dt_s, 1e-4f, 0.1f);
    }
    if (status == TARN_OK) {
        status = check_range(why, "particles_per_axis", (float)desc->particles_per_axis, 1.0f, 4.0f);
    }
    if (status == TARN_OK) {
        status = check_range(why, "jitter", desc->jitter, 0.0f, 1.0f);
    }
    for (int a = 0; a < 3 && status == TARN_OK; a++) {
        status =
            check_range(why, "spin_rad_s", desc->spin_rad_s[a], -TARN_TANK_TURN_MAX_RAD_S, TARN_TANK_TURN_MAX_RAD_S);
    }
    for (int i = 0; i < TARN_PARAMETER_COUNT && status == TARN_OK; i++) {
        status = check_range(why, parameter_specs[i].name, desc->parameters[i], parameter_specs[i].min,
                             parameter_specs[i].max);
    }
    if (status == TARN_OK) {
        status = check_liquids(why, desc);
    }
    if (status == TARN_OK && (unsigned)desc->solver >= TARN_SOLVER_COUNT) {
        status = tank_refuse(why, TARN_E_ARGUMENT, "solver is %u; allowed is 0 to %d", (unsigned)desc->solver,
                             TARN_SOLVER_COUNT - 1);
    }
    if (status == TARN_OK && desc->block_count > TARN_TANK_BLOCKS_MAX) {
        status = tank_refuse(why, TARN_E_LIMIT, "there are %u blocks; allowed are %d", desc->block_count,
                             TARN_TANK_BLOCKS_MAX);
    }
    for (uint32_t i = 0; status == TARN_OK && i < desc->block_count; i++) {
        status = check_block(why, desc, i);
    }
    return status == TARN_OK ? tank_solids_check(desc, why) : status;
}

static uint32_t automatic_capacity(const tarn_tank_desc *desc, uint64_t seeded)
{
    const uint64_t per_axis = desc->particles_per_axis,
                   full = per_axis * per_axis * per_axis * ((uint64_t)desc->cells[0] * desc->cells[1]) * desc->cells[2];
    const uint64_t least = seeded > 0 ? seeded : 1;
    uint64_t most = least;
    if (desc->reseed) {
        most += least / 4 + ROOM_LEAST_RESEEDED;
    } else if (desc->emitter_count == 0) {
        most += least / 4 + ROOM_LEAST;
    }
    if (desc->emitter_count > 0) {
        const uint64_t limited = full < CAPACITY_WITH_EMITTERS ? full : CAPACITY_WITH_EMITTERS;
        most = most > limited ? most : limited;
    }
    return (uint32_t)(most < TARN_TANK_PARTICLES_MAX ? most : TARN_TANK_PARTICLES_MAX);
}

static tarn_status check_particles(const tank_complaint *why, const tarn_tank_desc *desc, uint32_t *particles_max)
{
    const uint64_t seeded = tarn_tank_desc_particles(desc);
    if (desc->particles_max > TARN_TANK_PARTICLES_MAX) {
        return tank_refuse(why, TARN_E_LIMIT, "particles_max is %u; allowed is 0 to %d", desc->particles_max,
                           TARN_TANK_PARTICLES_MAX);
    }
    const uint64_t most = desc->particles_max != 0 ? desc->particles_max : TARN_TANK_PARTICLES_MAX;
    if (seeded > most) {
        return tank_refuse(why, TARN_E_LIMIT, "the blocks hold %llu particles; allowed are %llu",
                           (unsigned long long)seeded, (unsigned long long)most);
    }
    *particles_max = desc->particles_max != 0 ? desc->particles_max : automatic_capacity(desc, seeded);
    return TARN_OK;
}

// --------------------------------------------------------------------------------------------------------------- shape

static void fill_liquids(const tarn_tank_desc *desc, liquid_shape *shape)
{
    const int quadratic = desc->weights == TARN_WEIGHTS_QUADRATIC;
    shape->node_edge = quadratic ? NODE_EDGE_QUADRATIC : NODE_EDGE;
    shape->node_count = quadratic ? NODE_COUNT_QUADRATIC : NODE_COUNT;
    float heaviest = 0.0f;
    for (uint32_t i = 0; i < desc->liquid_count; i++) {
        heaviest = fmaxf(heaviest, desc->liquids[i].density_kg_m3);
    }
    shape->lightest = 1.0f;
    for (uint32_t i = 0; i < desc->liquid_count; i++) {
        shape->lightest = fminf(shape->lightest, desc->liquids[i].density_kg_m3 / heaviest);
    }
    const float base = fmaxf(MASS_SHARE_MIN - shape->lightest, 0.0f) / fmaxf(1.0f - shape->lightest, MASS_SHARE_MIN);
    for (uint32_t i = 0; i < LIQUIDS_MAX; i++) {
        shape->liquid_density[i] = i < desc->liquid_count ? desc->liquids[i].density_kg_m3 / heaviest : 1.0f;
        shape->liquid_mass[i] = i < desc->liquid_count ? base + (1.0f - base) * shape->liquid_density[i] : 1.0f;
    }
    shape->mass_base = base;
}

static void fill_shape(const tarn_tank_desc *desc, uint32_t particles_max, liquid_shape *shape)
{
    shape->particles_max = particles_max;
    shape->rest_density = (float)(desc->particles_per_axis * desc->particles_per_axis * desc->particles_per_axis);
    shape->cell_particles_max = CELL_PARTICLES_MAX_LOWEST;
    while (shape->cell_particles_max < 4.0f * shape->rest_density) {
        shape->cell_particles_max *= 2.0f;
    }
    shape->weight_scale = CELL_WEIGHT_MAX / shape->cell_particles_max;
    shape->weight_min = (int32_t)shape->weight_scale / WEIGHT_MIN_SHARE;
    fill_liquids(desc, shape);
    uint32_t level = 0;
    for (int a = 0; a < 3; a++) {
        shape->cells[a] = desc->cells[a];
        shape->tiles[0][a] = (desc->cells[a] + TILE_EDGE - 1) / TILE_EDGE;
    }
    for (;;) {
        shape->tile_total[level] = (uint32_t)(shape->tiles[level][0] * shape->tiles[level][1] * shape->tiles[level][2]);
        if (shape->tile_total[level] == 1 || level + 1 == LEVELS_MAX) {
            break;
        }
        for (int a = 0; a < 3; a++) {
            shape->tiles[level + 1][a] = (shape->tiles[level][a] + 1) / 2;
        }
        level++;
    }
    shape->level_count = level + 1;
}

// ---------------------------------------------------------------------------------------------------------------- life

tarn_status tarn_tank_create(tarn_device *device, const tarn_tank_desc *desc, tarn_tank **out, char *why,
                             size_t why_bytes)
{
    *out = NULL;
    const tank_complaint c = {why, why_bytes};
    uint32_t particles_max = 0;
    tarn_status status = check_desc(&c, desc);
    if (status == TARN_OK) {
        status = check_particles(&c, desc, &particles_max);
    }
    if (status != TARN_OK) {
        return status;
    }
    tarn_tank *tank = calloc(1, sizeof *tank);
    if (tank == NULL) {
        return tank_refuse(&c, TARN_E_MEMORY, "out of memory");
    }
    tank->device = device;
    tank->desc = *desc;
    memcpy(tank->parameters, desc->parameters, sizeof tank->parameters);
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        if (desc->solids[i].motion != TARN_MOTION_STATIC) {
            tank->body_solid[tank->own_body_count++] = i;
        }
    }
    tank->body_count = tank->own_body_count;
    tank->has_solids = desc->solid_count > 0;
    fill_shape(desc, particles_max, &tank->args.shape);
    tank->args.reseed = desc->reseed;
    const char *fault = "";
    const int wrong = tank_emitters_measure(tank, &fault);
    if (wrong >= 0) {
        free(tank);
        return tank_refuse(&c, TARN_E_ARGUMENT, "emitters[%d] %s", wrong, fault);
    }
    status = tank_fields_copy(tank);
    if (status == TARN_OK && tank->has_solids) {
        status = tank_solids_sample(tank, &tank->samples);
    }
    tank->solid_tiles = tank->samples.count;
    if (status == TARN_OK) {
        status = tarn_queue_create(device, &tank->queue);
    }
    if (status == TARN_OK) {
        status = tank_take_memory(tank);
    }
    if (status == TARN_OK) {
        status = tank_solids_upload(tank);
    }
    if (status == TARN_OK) {
        status = tarn_tank_reset(tank);
    }
    if (status != TARN_OK) {
        status = tank_refuse(&c, status, "the tank needs at least %.1f MiB of device memory, allowed are %.1f MiB: %s",
                             (double)tank_bytes_least(tank) / 1048576.0,
                             (double)tarn_device_memory_bytes(device) / 1048576.0, tarn_status_text(status));
        tarn_tank_destroy(tank);
        return status;
    }
    *out = tank;
    return TARN_OK;
}

void tarn_tank_destroy(tarn_tank *tank)
{
    if (tank == NULL) {
        return;
    }
    tarn_queue_replay_destroy(tank->queue, tank->substep);
    tank_give_memory(tank);
    tank_solids_drop(&tank->samples);
    tank_walls_free(tank);
    for (uint32_t f = 0; f < TARN_TANK_FIELDS_MAX; f++) {
        free(tank->desc.fields[f].distance_m);
    }
    tarn_queue_destroy(tank->queue);
    free(tank);
}

tarn_status tarn_tank_reset(tarn_tank *tank)
{
    tank_set_coloured(tank, 0);
    tank_added_forget(tank);
    tank->had_births = tank_bears(&tank->desc);
    const tarn_status status = tank_seed(tank);
    return status == TARN_OK ? tank_bodies_reset(tank) : status;
}

tarn_status tarn_tank_set_parameter(tarn_tank *tank, tarn_parameter id, float value)
{
    const tarn_parameter_spec *spec = tarn_tank_parameter_spec(id);
    if (spec == NULL || !(value >= spec->min && value <= spec->max)) {
        return TARN_E_ARGUMENT;
    }
    const float before = tank->parameters[id];
    if ((id == TARN_PARAMETER_ITERATIONS && value != before) ||
        (id == TARN_PARAMETER_SURFACE_TENSION && (value > 0.0f) != (before > 0.0f))) { // part of the captured sequence
        tarn_queue_replay_destroy(tank->queue, tank->substep);
        tank->substep = NULL;
    }
    tank->parameters[id] = value;
    return TARN_OK;
}

void tank_set_seats(tarn_tank *tank, uint32_t *seat, uint32_t *moved_seat)
{
    tarn_queue_replay_destroy(tank->queue, tank->substep); // which knows the old ones
    tank->substep = NULL;
    tank->args.m.seat = seat;
    tank->args.m.moved_seat = moved_seat;
}

float tarn_tank_parameter(const tarn_tank *tank, tarn_parameter id)
{
    return (unsigned)id < TARN_PARAMETER_COUNT ? tank->parameters[id] : 0.0f;
}

uint32_t tarn_tank_particles_max(const tarn_tank *tank)
{
    return tank->args.shape.particles_max;
}

const tarn_tank_desc *tarn_tank_desc_of(const tarn_tank *tank)
{
    return &tank->desc;
}

void tarn_tank_profile(tarn_tank *tank, int on)
{
    tank->profiling = on;
}

uint32_t tarn_tank_profile_get(tarn_tank *tank, const char **names, double *seconds, int reset)
{
    static const char *const stage_names[STAGE_COUNT] = {
#define STAGE_NAME(id, name) name,
        TANK_STAGE_LIST(STAGE_NAME)
#undef STAGE_NAME
    };
    for (int i = 0; i < TARN_TANK_STAGES_MAX; i++) {
        names[i] = i < STAGE_COUNT ? stage_names[i] : NULL;
        seconds[i] = i < STAGE_COUNT ? tank->stage_s[i] : 0.0;
    }
    if (reset) {
        memset(tank->stage_s, 0, sizeof tank->stage_s);
    }
    return STAGE_COUNT;
}
