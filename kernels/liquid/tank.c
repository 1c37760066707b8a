// A tank's life: description, memory, parameters.
#include "kernels/liquid/tank_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    for (int i = 0; i < TARN_PARAMETER_COUNT; i++)
        if (strcmp(name, parameter_specs[i].name) == 0)
            return i;
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
    for (int i = 0; i < TARN_PARAMETER_COUNT; i++)
        desc->parameters[i] = parameter_specs[i].initial;
}

// ---------------------------------------------------------------------------------------------------------- validation

typedef struct complaint {
    char *text;
    size_t bytes;
} complaint;

__attribute__((format(printf, 3, 4))) static tarn_status refuse(complaint *why, tarn_status status, const char *format,
                                                                ...)
{
    if (why->text != NULL && why->bytes > 0) {
        va_list list;
        va_start(list, format);
        vsnprintf(why->text, why->bytes, format, list);
        va_end(list);
    }
    return status;
}

static tarn_status check_range(complaint *why, const char *field, float value, float min, float max)
{
    if (value >= min && value <= max) // false for NaN
        return TARN_OK;
    return refuse(why, TARN_E_ARGUMENT, "%s is %g; allowed is %g to %g", field, (double)value, (double)min,
                  (double)max);
}

static tarn_status check_block(complaint *why, const tarn_tank_desc *desc, uint32_t index)
{
    const tarn_fluid_block *block = &desc->blocks[index];
    for (int a = 0; a < 3; a++) {
        const float size = (float)desc->cells[a] * desc->cell_m, slack = 1e-4f * desc->cell_m;
        if (!(block->min_m[a] >= -slack && block->max_m[a] <= size + slack && block->min_m[a] < block->max_m[a]))
            return refuse(why, TARN_E_ARGUMENT,
                          "blocks[%u] spans %g to %g m on axis %c; it must have a size and lie inside 0 to %g m", index,
                          (double)block->min_m[a], (double)block->max_m[a], "xyz"[a], (double)size);
        if (!isfinite(block->velocity_m_s[a]))
            return refuse(why, TARN_E_ARGUMENT, "blocks[%u].velocity_m_s[%d] is not a finite number", index, a);
    }
    return TARN_OK;
}

static tarn_status check_desc(complaint *why, const tarn_tank_desc *desc)
{
    uint64_t cells = 1;
    for (int a = 0; a < 3; a++) {
        if (desc->cells[a] < TARN_TANK_CELLS_MIN || desc->cells[a] > TARN_TANK_CELLS_MAX)
            return refuse(why, TARN_E_ARGUMENT, "cells[%d] is %u; allowed is %d to %d", a, desc->cells[a],
                          TARN_TANK_CELLS_MIN, TARN_TANK_CELLS_MAX);
        cells *= desc->cells[a];
    }
    if (cells > TARN_TANK_CELL_COUNT_MAX)
        return refuse(why, TARN_E_LIMIT, "the tank has %llu cells; allowed are %d", (unsigned long long)cells,
                      TARN_TANK_CELL_COUNT_MAX);
    tarn_status status = check_range(why, "cell_m", desc->cell_m, 1e-4f, 10.0f);
    if (status == TARN_OK)
        status = check_range(why, "dt_s", desc->dt_s, 1e-4f, 0.1f);
    if (status == TARN_OK)
        status = check_range(why, "particles_per_axis", (float)desc->particles_per_axis, 1.0f, 4.0f);
    if (status == TARN_OK)
        status = check_range(why, "jitter", desc->jitter, 0.0f, 1.0f);
    for (int i = 0; i < TARN_PARAMETER_COUNT && status == TARN_OK; i++)
        status = check_range(why, parameter_specs[i].name, desc->parameters[i], parameter_specs[i].min,
                             parameter_specs[i].max);
    if (status == TARN_OK && (unsigned)desc->solver >= TARN_SOLVER_COUNT)
        status = refuse(why, TARN_E_ARGUMENT, "solver is %u; allowed is 0 to %d", (unsigned)desc->solver,
                        TARN_SOLVER_COUNT - 1);
    if (status == TARN_OK && desc->block_count > TARN_TANK_BLOCKS_MAX)
        status =
            refuse(why, TARN_E_LIMIT, "there are %u blocks; allowed are %d", desc->block_count, TARN_TANK_BLOCKS_MAX);
    for (uint32_t i = 0; status == TARN_OK && i < desc->block_count; i++)
        status = check_block(why, desc, i);
    return status == TARN_OK ? tank_solids_check(desc, why->text, why->bytes) : status;
}

static tarn_status check_particles(complaint *why, const tarn_tank_desc *desc, uint32_t *particles_max)
{
    const uint64_t seeded = tarn_tank_desc_particles(desc);
    if (desc->particles_max > TARN_TANK_PARTICLES_MAX)
        return refuse(why, TARN_E_LIMIT, "particles_max is %u; allowed is 0 to %d", desc->particles_max,
                      TARN_TANK_PARTICLES_MAX);
    const uint64_t most = desc->particles_max != 0 ? desc->particles_max : TARN_TANK_PARTICLES_MAX;
    if (seeded > most)
        return refuse(why, TARN_E_LIMIT, "the blocks hold %llu particles; allowed are %llu", (unsigned long long)seeded,
                      (unsigned long long)most);
    *particles_max = desc->particles_max != 0 ? desc->particles_max : (uint32_t)(seeded > 0 ? seeded : 1);
    return TARN_OK;
}

// -------------------------------------------------------------------------------------------------------------- memory

static void fill_shape(const tarn_tank_desc *desc, uint32_t particles_max, liquid_shape *shape)
{
    shape->particles_max = particles_max;
    shape->rest_density = (float)(desc->particles_per_axis * desc->particles_per_axis * desc->particles_per_axis);
    shape->cell_particles_max = CELL_PARTICLES_MAX_LOWEST;
    while (shape->cell_particles_max < 4.0f * shape->rest_density)
        shape->cell_particles_max *= 2.0f;
    shape->weight_scale = CELL_WEIGHT_MAX / shape->cell_particles_max;
    shape->weight_min = (int32_t)shape->weight_scale / WEIGHT_MIN_SHARE;
    uint32_t level = 0;
    for (int a = 0; a < 3; a++) {
        shape->cells[a] = desc->cells[a];
        shape->tiles[0][a] = (desc->cells[a] + TILE_EDGE - 1) / TILE_EDGE;
    }
    for (;;) {
        shape->tile_total[level] = (uint32_t)(shape->tiles[level][0] * shape->tiles[level][1] * shape->tiles[level][2]);
        if (shape->tile_total[level] == 1 || level + 1 == LEVELS_MAX)
            break;
        for (int a = 0; a < 3; a++)
            shape->tiles[level + 1][a] = (shape->tiles[level][a] + 1) / 2;
        level++;
    }
    shape->level_count = level + 1;
}

/// Takes device memory; remembers failure, so that callers need not check each piece.
typedef struct taker {
    tarn_tank *tank;
    int failed;
    int measuring; ///< adds up what it would take, takes nothing
} taker;

static void *take(taker *t, uint64_t count, size_t size)
{
    t->tank->bytes += count * size;
    if (t->measuring || t->failed)
        return NULL;
    void *memory = tarn_device_alloc(t->tank->device, (size_t)(count * size));
    t->failed = memory == NULL;
    return memory;
}

static void take_particles(taker *t, liquid_memory *m, uint64_t n)
{
    for (int a = 0; a < 3; a++) {
        m->position[a] = take(t, n, sizeof *m->position[a]);
        m->velocity[a] = take(t, n, sizeof *m->velocity[a]);
        m->moved_position[a] = take(t, n, sizeof *m->moved_position[a]);
        m->moved_velocity[a] = take(t, n, sizeof *m->moved_velocity[a]);
    }
    m->id = take(t, n, sizeof *m->id);
    m->moved_id = take(t, n, sizeof *m->moved_id);
    m->moved_to = take(t, n, sizeof *m->moved_to);
}

static void take_tiles(taker *t, liquid_memory *m, uint64_t tiles, uint64_t occupied)
{
    m->tile_first = take(t, tiles, 4);
    m->tile_count = take(t, tiles, 4);
    m->tile_first_next = take(t, tiles, 4);
    m->tile_count_next = take(t, tiles, 4);
    m->slot = take(t, tiles, 4);
    m->active_tile = take(t, tiles, 4);
    for (int a = 0; a < 3; a++) {
        m->u[a] = take(t, tiles * TILE_CELLS, 4);
        m->u_old[a] = take(t, tiles * TILE_CELLS, 4);
        m->u_ext[a] = take(t, tiles * TILE_CELLS, 4);
        m->shift[a] = take(t, tiles * TILE_CELLS, 4);
        m->momentum[a] = take(t, occupied * NODE_COUNT, 4);
        m->weight[a] = take(t, occupied * NODE_COUNT, 4);
    }
    m->density = take(t, occupied * NODE_COUNT, 4);
    m->cell_type = take(t, tiles * TILE_CELLS, 1);
    m->face_valid = take(t, tiles * TILE_CELLS, 1);
    m->cell_count = take(t, occupied * TILE_CELLS, 1);
    m->density_error = take(t, tiles * TILE_CELLS, 4);
    m->move_count = take(t, occupied * 27, 4);
    m->residual = take(t, occupied * TILE_CELLS, 4);
    m->direction = take(t, occupied * TILE_CELLS, 4);
    m->product = take(t, occupied * TILE_CELLS, 4);
    m->pressure = take(t, occupied * TILE_CELLS, 4);
    m->potential = take(t, occupied * TILE_CELLS, 4);
    m->solved_tile = take(t, occupied, 4);
    m->partial = take(t, occupied, 4);
}

static void take_solids(taker *t, liquid_memory *m, uint64_t tiles, uint64_t near)
{
    for (int a = 0; a < 3; a++) {
        m->open[a] = take(t, tiles * TILE_CELLS, 1);
        m->solid_open[a] = take(t, near * TILE_CELLS, 1);
    }
    m->room = take(t, tiles * TILE_CELLS, 1);
    m->sides = take(t, tiles * TILE_CELLS, 1);
    m->solid_flux = take(t, tiles * TILE_CELLS, 4);
    m->solid_tile = take(t, tiles, 4);
    m->solid_dense = take(t, near, 4);
    m->solid_node = take(t, near * SOLID_NODES, 2);
    m->solid_room = take(t, near * TILE_CELLS, 1);
    m->solid_sides = take(t, near * TILE_CELLS, 1);
}

static void take_bodies(taker *t, tarn_tank *tank, uint64_t tiles, uint64_t occupied)
{
    liquid_memory *m = &tank->args.m;
    m->bodies = take(t, 1, sizeof *m->bodies);
    m->body_control = take(t, 1, sizeof *m->body_control);
    m->cover_owner = take(t, tiles * TILE_CELLS, 1);
    for (int a = 0; a < 3; a++)
        m->cover[a] = take(t, tiles * TILE_CELLS, sizeof *m->cover[a]);
    m->body_tile = take(t, occupied, sizeof *m->body_tile);
    m->body_partial = take(t, occupied * BODIES_MAX * 6, sizeof *m->body_partial);
    for (uint32_t f = 0; f < tank->desc.field_count; f++) {
        const uint32_t *nodes = tank->desc.fields[f].nodes;
        tank->field_distance[f] = take(t, (uint64_t)nodes[0] * nodes[1] * nodes[2], sizeof(float));
    }
}

static void take_level(taker *t, liquid_level *level, uint64_t dense, uint64_t used)
{
    level->tile = take(t, used, 4);
    level->index = take(t, dense, 4);
    level->ax = take(t, used * TILE_FACES, 4);
    level->ay = take(t, used * TILE_FACES, 4);
    level->az = take(t, used * TILE_FACES, 4);
    level->diagonal = take(t, used * TILE_CELLS, 4);
    level->x = take(t, used * TILE_CELLS, 4);
    level->y = take(t, used * TILE_CELLS, 4);
}

static uint64_t occupied_max(const liquid_shape *shape)
{
    return shape->tile_total[0] < shape->particles_max ? shape->tile_total[0] : shape->particles_max;
}

static void take_all(taker *t)
{
    tarn_tank *tank = t->tank;
    const liquid_shape *shape = &tank->args.shape;
    liquid_memory *m = &tank->args.m;
    const uint64_t tiles = shape->tile_total[0], occupied = occupied_max(shape);
    m->control = take(t, 1, sizeof *m->control);
    m->counters = take(t, 1, sizeof *m->counters);
    m->totals = take(t, 1, sizeof *m->totals);
    take_particles(t, m, shape->particles_max);
    take_tiles(t, m, tiles, occupied);
    if (tank->desc.solid_count > 0)
        take_solids(t, m, tiles, tank->solid_tiles > 0 ? tank->solid_tiles : 1);
    if (tank->body_count > 0)
        take_bodies(t, tank, tiles, occupied);
    for (uint32_t l = 0; l < shape->level_count; l++) {
        const uint64_t dense = shape->tile_total[l], used = dense < occupied ? dense : occupied;
        take_level(t, &m->level[l], dense, used);
        m->level[l].b = l == 0 ? m->residual : take(t, used * TILE_CELLS, 4);
    }
    tank->tile_info = take(t, occupied * 2, sizeof *tank->tile_info);
    if (!tarn_device_is_host(tank->device))
        tank->payloads = take(t, (uint64_t)tarn_frame_bound(0, (uint32_t)occupied, shape->particles_max), 1);
}

/// Asks before it takes: where memory is overcommitted, taking too much succeeds and kills somebody later.
static tarn_status take_memory(tarn_tank *tank)
{
    taker measure = {.tank = tank, .measuring = 1};
    take_all(&measure);
    if (tank->bytes > tarn_device_memory_bytes(tank->device))
        return TARN_E_MEMORY;
    tank->bytes = 0;
    taker t = {.tank = tank};
    take_all(&t);
    const uint64_t occupied = occupied_max(&tank->args.shape);
    tank->tile_info_host = calloc(occupied * 2, sizeof *tank->tile_info_host);
    tank->frame_tiles = calloc(occupied, sizeof *tank->frame_tiles);
    return t.failed || tank->tile_info_host == NULL || tank->frame_tiles == NULL ? TARN_E_MEMORY : TARN_OK;
}

static void give_memory(tarn_tank *tank)
{
    tarn_device *device = tank->device;
    liquid_memory *m = &tank->args.m;
    void *const pieces[] = {
        m->control,         m->counters,        m->totals,       m->id,
        m->moved_id,        m->moved_to,        m->tile_first,   m->tile_count,
        m->tile_first_next, m->tile_count_next, m->slot,         m->active_tile,
        m->density,         m->cell_type,       m->face_valid,   m->cell_count,
        m->density_error,   m->move_count,      m->residual,     m->direction,
        m->product,         m->pressure,        m->potential,    m->solved_tile,
        m->partial,         tank->tile_info,    tank->payloads,  m->room,
        m->solid_flux,      m->solid_tile,      m->solid_dense,  m->solid_node,
        m->solid_room,      m->solid_sides,     m->bodies,       m->body_control,
        m->cover_owner,     m->body_tile,       m->body_partial, m->sides,
    };
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        tarn_device_free(device, pieces[i]);
    for (int a = 0; a < 3; a++) {
        void *const fields[] = {m->position[a], m->velocity[a], m->moved_position[a], m->moved_velocity[a],
                                m->u[a],        m->u_old[a],    m->u_ext[a],          m->shift[a],
                                m->momentum[a], m->weight[a],   m->open[a],           m->solid_open[a],
                                m->cover[a]};
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
            tarn_device_free(device, fields[i]);
    }
    for (uint32_t f = 0; f < FIELDS_MAX; f++)
        tarn_device_free(device, tank->field_distance[f]);
    for (uint32_t l = 0; l < LEVELS_MAX; l++) {
        liquid_level *level = &m->level[l];
        void *const fields[] = {level->tile, level->index,    level->ax, level->ay,
                                level->az,   level->diagonal, level->x,  l > 0 ? level->b : NULL,
                                level->y};
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
            tarn_device_free(device, fields[i]);
    }
}

// ---------------------------------------------------------------------------------------------------------------- life

tarn_status tarn_tank_create(tarn_device *device, const tarn_tank_desc *desc, tarn_tank **out, char *why,
                             size_t why_bytes)
{
    *out = NULL;
    complaint c = {why, why_bytes};
    uint32_t particles_max = 0;
    tarn_status status = check_desc(&c, desc);
    if (status == TARN_OK)
        status = check_particles(&c, desc, &particles_max);
    if (status != TARN_OK)
        return status;
    tarn_tank *tank = calloc(1, sizeof *tank);
    if (tank == NULL)
        return refuse(&c, TARN_E_MEMORY, "out of memory");
    tank->device = device;
    tank->desc = *desc;
    memcpy(tank->parameters, desc->parameters, sizeof tank->parameters);
    for (uint32_t i = 0; i < desc->solid_count; i++)
        if (desc->solids[i].motion != TARN_MOTION_STATIC)
            tank->body_solid[tank->body_count++] = i;
    fill_shape(desc, particles_max, &tank->args.shape);
    status = tank_fields_copy(tank);
    if (status == TARN_OK)
        status = tank_solids_sample(tank);
    if (status == TARN_OK)
        status = take_memory(tank);
    if (status == TARN_OK)
        status = tank_solids_upload(tank);
    if (status == TARN_OK)
        status = tarn_tank_reset(tank);
    if (status != TARN_OK) {
        status = refuse(&c, status, "the tank needs %.1f MiB of device memory, allowed are %.1f MiB: %s",
                        (double)tank->bytes / 1048576.0, (double)tarn_device_memory_bytes(device) / 1048576.0,
                        tarn_status_text(status));
        tarn_tank_destroy(tank);
        return status;
    }
    *out = tank;
    return TARN_OK;
}

void tarn_tank_destroy(tarn_tank *tank)
{
    if (tank == NULL)
        return;
    tarn_device_replay_destroy(tank->device, tank->substep);
    give_memory(tank);
    tank_solids_free_samples(tank);
    for (uint32_t f = 0; f < TARN_TANK_FIELDS_MAX; f++)
        free(tank->desc.fields[f].distance_m);
    free(tank->tile_info_host);
    free(tank->frame_tiles);
    free(tank);
}

tarn_status tarn_tank_reset(tarn_tank *tank)
{
    const tarn_status status = tank_seed(tank);
    return status == TARN_OK ? tank_bodies_reset(tank) : status;
}

tarn_status tarn_tank_set_parameter(tarn_tank *tank, tarn_parameter id, float value)
{
    const tarn_parameter_spec *spec = tarn_tank_parameter_spec(id);
    if (spec == NULL || !(value >= spec->min && value <= spec->max))
        return TARN_E_ARGUMENT;
    if (id == TARN_PARAMETER_ITERATIONS && value != tank->parameters[id]) { // part of the captured sequence
        tarn_device_replay_destroy(tank->device, tank->substep);
        tank->substep = NULL;
    }
    tank->parameters[id] = value;
    return TARN_OK;
}

float tarn_tank_parameter(const tarn_tank *tank, tarn_parameter id)
{
    return (unsigned)id < TARN_PARAMETER_COUNT ? tank->parameters[id] : 0.0f;
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
    if (reset)
        memset(tank->stage_s, 0, sizeof tank->stage_s);
    return STAGE_COUNT;
}
