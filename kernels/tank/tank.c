// A tank's life: description, memory, parameters.
#include "kernels/tank/probe_surface.h"
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CAPACITY_WITH_EMITTERS = 1 << 20, // particles, where a description names none
    ROOM_LEAST = 4096,                // particles that a tank without emitters has room for at least
    ROOM_LEAST_RESEEDED = 1024,
};

void tarn_tank_desc_default(tarn_tank_desc *desc)
{
    tarn_tank_desc_default_of(desc, tarn_model_at(0));
}

void tarn_tank_desc_default_of(tarn_tank_desc *desc, const tarn_model *model)
{
    memset(desc, 0, sizeof *desc);
    desc->cells[0] = desc->cells[1] = desc->cells[2] = 32;
    desc->cell_m = 1.0f / 32.0f;
    desc->dt_s = 1.0f / 60.0f;
    desc->particles_per_axis = 2;
    desc->seed = 1;
    desc->jitter = 0.5f;
    desc->gravity_direction[1] = -1.0f;
    desc->liquid_count = 1;
    desc->liquids[0] = (tarn_liquid){.density_kg_m3 = 1000.0f, .colour = {38, 110, 190}};
    desc->model = model->number;
    for (uint32_t i = 0; i < model->parameter_count; i++) {
        desc->parameters[i] = model->parameters[i].initial;
    }
}

// ---------------------------------------------------------------------------------------------------------- validation

tarn_status tank_check_range(const grid_complaint *why, const char *field, float value, float min, float max)
{
    if (value >= min && value <= max) { // false for NaN
        return TARN_OK;
    }
    return grid_refuse(why, TARN_E_ARGUMENT, "%s is %g; allowed is %g to %g", field, (double)value, (double)min,
                       (double)max);
}

static tarn_status check_block(const grid_complaint *why, const tarn_tank_desc *desc, uint32_t index)
{
    const tarn_fluid_block *block = &desc->blocks[index];
    for (int a = 0; a < 3; a++) {
        const float size = (float)desc->cells[a] * desc->cell_m, slack = 1e-4f * desc->cell_m;
        if (!(block->min_m[a] >= -slack && block->max_m[a] <= size + slack && block->min_m[a] < block->max_m[a])) {
            return grid_refuse(why, TARN_E_ARGUMENT,
                               "blocks[%u] spans %g to %g m on axis %c; it must have a size and lie inside 0 to %g m",
                               index, (double)block->min_m[a], (double)block->max_m[a], "xyz"[a], (double)size);
        }
        if (!isfinite(block->velocity_m_s[a])) {
            return grid_refuse(why, TARN_E_ARGUMENT, "blocks[%u].velocity_m_s[%d] is not a finite number", index, a);
        }
    }
    if (block->liquid >= desc->liquid_count) {
        return grid_refuse(why, TARN_E_ARGUMENT, "blocks[%u].liquid is %u; allowed is 0 to %u", index, block->liquid,
                           desc->liquid_count - 1);
    }
    return TARN_OK;
}

static bool has_friction(const tarn_tank_desc *desc)
{
    bool rubs = desc->wall_friction != 0.0f;
    for (uint32_t i = 0; i < desc->solid_count && i < TARN_TANK_SOLIDS_MAX; i++) {
        rubs |= desc->solids[i].friction != 0.0f;
    }
    return rubs;
}

/// Whether a description asks for nothing that its model can't.
static tarn_status check_model(const grid_complaint *why, const tarn_tank_desc *desc, const tarn_model *model)
{
    const struct {
        bool asked;
        uint32_t needs;
        const char *what;
    } asks[] = {
        {desc->emitter_count > 0, TARN_MODEL_POURS, "emitters"}, {desc->drain_count > 0, TARN_MODEL_DRAINS, "drains"},
        {desc->solid_count > 0, TARN_MODEL_SOLIDS, "solids"},    {has_friction(desc), TARN_MODEL_RUBS, "friction"},
        {desc->liquid_count > 1, TARN_MODEL_LIQUIDS, "liquids"}, {desc->reseed != 0, TARN_MODEL_SOLVER, "reseeding"}};
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        if (asks[i].asked && (model->can & asks[i].needs) == 0) {
            return grid_refuse(why, TARN_E_ARGUMENT, "the model \"%s\" has no use for %s", model->name, asks[i].what);
        }
    }
    return TARN_OK;
}

static tarn_status check_desc(const grid_complaint *why, const tarn_tank_desc *desc)
{
    uint64_t cells = 1;
    if (desc->model >= tank_model_count) {
        return grid_refuse(why, TARN_E_ARGUMENT, "model is %u; allowed is 0 to %u", desc->model, tank_model_count - 1);
    }
    for (int a = 0; a < 3; a++) {
        const bool flat = a == 2 && desc->cells[a] == 1;
        if ((desc->cells[a] < TARN_TANK_CELLS_MIN && !flat) || desc->cells[a] > TARN_TANK_CELLS_MAX) {
            return grid_refuse(why, TARN_E_ARGUMENT, "cells[%d] is %u; allowed is %d to %d", a, desc->cells[a],
                               TARN_TANK_CELLS_MIN, TARN_TANK_CELLS_MAX);
        }
        cells *= desc->cells[a];
    }
    if (cells > TARN_TANK_CELL_COUNT_MAX) {
        return grid_refuse(why, TARN_E_LIMIT, "the tank has %llu cells; allowed are %d", (unsigned long long)cells,
                           TARN_TANK_CELL_COUNT_MAX);
    }
    tarn_status status = tank_check_range(why, "cell_m", desc->cell_m, 1e-4f, 10.0f);
    if (status == TARN_OK) {
        status = tank_check_range(why, "dt_s", desc->dt_s, 1e-4f, 0.1f);
    }
    if (status == TARN_OK) {
        status = tank_check_range(why, "particles_per_axis", (float)desc->particles_per_axis, 1.0f, 4.0f);
    }
    if (status == TARN_OK) {
        status = tank_check_range(why, "jitter", desc->jitter, 0.0f, 1.0f);
    }
    if (status == TARN_OK) {
        status = tank_check_range(why, "wall_friction", desc->wall_friction, 0.0f, 1.0f);
    }
    const float *down = desc->gravity_direction;
    if (status == TARN_OK) {
        status = tank_check_range(why, "gravity_direction's length",
                                  sqrtf(down[0] * down[0] + down[1] * down[1] + down[2] * down[2]), 0.999f, 1.001f);
    }
    for (int i = 0; i < 4 && status == TARN_OK; i++) {
        status = tank_check_range(why, "start_pose.rotation", desc->start_pose.rotation[i], -1.0f, 1.0f);
    }
    for (int a = 0; a < 3 && status == TARN_OK; a++) {
        status = tank_check_range(why, "start_pose.position_m", desc->start_pose.position_m[a], -1e4f, 1e4f);
    }
    for (int a = 0; a < 3 && status == TARN_OK; a++) {
        status = tank_check_range(why, "spin_rad_s", desc->spin_rad_s[a], -TARN_TANK_TURN_MAX_RAD_S,
                                  TARN_TANK_TURN_MAX_RAD_S);
    }
    const tarn_model *model = &tank_model_of(desc)->shown;
    for (uint32_t i = 0; i < model->parameter_count && status == TARN_OK; i++) {
        const tarn_parameter_spec *spec = &model->parameters[i];
        status = tank_check_range(why, spec->name, desc->parameters[i], spec->min, spec->max);
    }
    if (status == TARN_OK) {
        status = check_model(why, desc, model);
    }
    if (status == TARN_OK && desc->block_count > TARN_TANK_BLOCKS_MAX) {
        status = grid_refuse(why, TARN_E_LIMIT, "there are %u blocks; allowed are %d", desc->block_count,
                             TARN_TANK_BLOCKS_MAX);
    }
    for (uint32_t i = 0; status == TARN_OK && i < desc->block_count; i++) {
        status = check_block(why, desc, i);
    }
    if (status == TARN_OK) {
        status = tank_particles_check(why, desc);
    }
    if (status == TARN_OK) {
        status = grid_solids_check(desc, why);
    }
    return status == TARN_OK ? tank_model_of(desc)->check(desc, why) : status;
}

static uint32_t automatic_capacity(const tarn_tank_desc *desc, uint64_t seeded)
{
    const uint64_t per_axis = desc->particles_per_axis,
                   full = per_axis * per_axis * per_axis * ((uint64_t)desc->cells[0] * desc->cells[1]) * desc->cells[2];
    TARN_ASSERT(seeded <= TARN_TANK_PARTICLES_MAX);
    const uint64_t least = seeded > 0 ? seeded : 1;
    uint64_t most = least;
    if (desc->reseed) {
        most += least / 4 + ROOM_LEAST_RESEEDED;
    } else if (desc->emitter_count == 0) {
        most += least / 4 + ROOM_LEAST;
    }
    most += tank_model_of(desc)->room;
    if (desc->emitter_count > 0) {
        const uint64_t limited = full < CAPACITY_WITH_EMITTERS ? full : CAPACITY_WITH_EMITTERS;
        most = most > limited ? most : limited;
    }
    return (uint32_t)(most < TARN_TANK_PARTICLES_MAX ? most : TARN_TANK_PARTICLES_MAX);
}

static tarn_status check_particles(const grid_complaint *why, const tarn_tank_desc *desc, uint32_t *particles_max)
{
    const uint64_t seeded = tarn_tank_desc_particles(desc);
    if (desc->particles_max > TARN_TANK_PARTICLES_MAX) {
        return grid_refuse(why, TARN_E_LIMIT, "particles_max is %u; allowed is 0 to %d", desc->particles_max,
                           TARN_TANK_PARTICLES_MAX);
    }
    const uint64_t most = desc->particles_max != 0 ? desc->particles_max : TARN_TANK_PARTICLES_MAX;
    if (seeded > most) {
        return grid_refuse(why, TARN_E_LIMIT, "the blocks hold %llu particles; allowed are %llu",
                           (unsigned long long)seeded, (unsigned long long)most);
    }
    *particles_max = desc->particles_max != 0 ? desc->particles_max : automatic_capacity(desc, seeded);
    return TARN_OK;
}

// --------------------------------------------------------------------------------------------------------------- shape

static void fill_shape(const tarn_tank_desc *desc, grid_shape *shape)
{
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
    TARN_ASSERT(shape->tile_total[level] == 1); // the top level is solved by one tile
    shape->level_count = level + 1;
}

// ---------------------------------------------------------------------------------------------------------------- life

const tank_model *tank_model_of(const tarn_tank_desc *desc)
{
    TARN_ASSERT(desc->model < tank_model_count);
    return tank_models[desc->model];
}

uint64_t tarn_tank_desc_particles(const tarn_tank_desc *desc)
{
    return tank_model_of(desc)->particles(desc);
}

/// With how many particles the tank is full of liquid, beside the solids that stay where they are; at most the
/// capacity.
static void find_filled(tarn_tank *tank)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    const uint32_t capacity = tank->args->scale.particles_max;
    double most = (double)tank->args->scale.rest_density;
    for (int a = 0; a < 3; a++) {
        most *= desc->cells[a];
    }
    tank->args->scale.filled = capacity;
    if (!tank->grid.corrects_density || most > (double)capacity) {
        return; // a model that is full at all times, or there is room for no more
    }
    tarn_tank_desc *full = desc->emitter_count > 0 && desc->solid_count > 0 ? malloc(sizeof *full) : NULL;
    if (full != NULL) {
        *full = *desc;
        full->particle_count = full->fluid_count = full->solid_count = 0;
        for (uint32_t i = 0; i < desc->solid_count; i++) {
            if (desc->solids[i].motion == TARN_MOTION_STATIC) {
                full->solids[full->solid_count++] = desc->solids[i];
            }
        }
        full->block_count = 1;
        full->blocks[0] = (tarn_fluid_block){.liquid = 0};
        for (int a = 0; a < 3; a++) {
            full->blocks[0].max_m[a] = (float)desc->cells[a] * desc->cell_m;
        }
        most = (double)tarn_tank_desc_particles(full);
        free(full);
    }
    tank->args->scale.filled = (uint32_t)most;
    tank->is_volume = true;
}

void tank_describe(tarn_tank *tank)
{
    const tarn_tank_desc *desc = &tank->grid.desc;
    tank->model = tank_model_of(desc);
    memcpy(tank->parameters, desc->parameters, sizeof tank->parameters);
    for (int role = 0; role < TARN_PLAYS_COUNT; role++) {
        tank->role[role] = TARN_MODEL_PARAMETERS_MAX;
    }
    for (uint32_t i = 0; i < tank->model->shown.parameter_count; i++) {
        TARN_ASSERT((unsigned)tank->model->shown.parameters[i].role < TARN_PLAYS_COUNT);
        tank->role[tank->model->shown.parameters[i].role] = i;
    }
    for (uint32_t i = 0; i < desc->solid_count; i++) {
        if (desc->solids[i].motion != TARN_MOTION_STATIC) {
            TARN_ASSERT(tank->grid.own_body_count < BODIES_MAX);
            tank->grid.body_solid[tank->grid.own_body_count++] = i;
        }
    }
}

/// The tank on the host. @return NULL: there is no memory
static tarn_tank *make(tarn_device *device, const tarn_tank_desc *desc, uint32_t particles_max)
{
    tarn_tank *tank = calloc(1, sizeof *tank);
    if (tank == NULL) {
        return NULL;
    }
    tank->grid.desc = *desc;
    tank_describe(tank);
    TARN_ASSERT(tank->model->part_bytes >= sizeof(tank_args));
    TARN_ASSERT(tank->model->control_bytes >= sizeof(tank_control));
    TARN_ASSERT(tank_model_is_sound(tank->model));
    TARN_ASSERT(tank->model->stage_count <= TARN_TANK_STAGES_MAX - STAGE_COUNT);
    tank->part = calloc(1, tank->model->part_bytes);
    tank->control = calloc(1, tank->model->control_bytes);
    if (tank->part == NULL || tank->control == NULL) {
        free(tank->part);
        free(tank->control);
        free(tank);
        return NULL;
    }
    tank->args = tank->part;
    tank->grid.args = &tank->args->grid;
    tank->grid.device = device;
    tank->grid.body_count = tank->grid.own_body_count;
    tank->grid.has_solids = desc->solid_count > 0;
    TARN_ASSERT(particles_max >= 1 && particles_max <= TARN_TANK_PARTICLES_MAX);
    fill_shape(desc, &tank->args->grid.shape);
    tank->args->scale.particles_max = particles_max;
    tank->args->reseed = desc->reseed;
    tank->args->cuts = !tarn_device_is_host(device); // threads of a processor are few, and find a tile in their caches
    tank->model->scale(tank);
    find_filled(tank);
    return tank;
}

static void unmake(tarn_tank *tank)
{
    probe_solids_forget(tank->probed);
    free(tank->probed);
    free(tank->part);
    free(tank->control);
    free(tank);
}

tarn_status tarn_tank_create(tarn_device *device, const tarn_tank_desc *desc, tarn_tank **out, char *why,
                             size_t why_bytes)
{
    *out = NULL;
    const grid_complaint c = {why, why_bytes};
    uint32_t particles_max = 0;
    tarn_status status = check_desc(&c, desc);
    if (status == TARN_OK) {
        status = check_particles(&c, desc, &particles_max);
    }
    if (status != TARN_OK) {
        return status;
    }
    tarn_tank *tank = make(device, desc, particles_max);
    if (tank == NULL) {
        return grid_refuse(&c, TARN_E_MEMORY, "out of memory");
    }
    const char *fault = "";
    const int wrong = tank_emitters_measure(tank, &fault);
    if (wrong >= 0) {
        unmake(tank);
        return grid_refuse(&c, TARN_E_ARGUMENT, "emitters[%d] %s", wrong, fault);
    }
    status = tarn_queue_create(device, &tank->grid.queue);
    if (status == TARN_OK) {
        status = grid_fields_copy(&tank->grid);
    }
    const tarn_status copied = tank_particles_copy(tank); // in any case: what is borrowed isn't to be freed
    status = status == TARN_OK ? copied : status;
    if (status == TARN_OK && tank->grid.has_solids) {
        status = grid_solids_sample(&tank->grid, &tank->grid.samples);
    }
    tank->grid.solid_tiles = tank->grid.samples.count;
    tank_judge(tank);
    if (status == TARN_OK) {
        status = tank_carve_memory(tank);
    }
    if (status == TARN_OK) {
        status = grid_solids_upload(&tank->grid);
    }
    if (status == TARN_OK) {
        status = grid_prepare_solver(&tank->grid);
    }
    if (status == TARN_OK && tank->model->prepare != NULL) {
        status = tank->model->prepare(tank);
    }
    if (status == TARN_OK) {
        status = tarn_tank_reset(tank);
    }
    if (status != TARN_OK) {
        status = grid_refuse(&c, status, "the tank needs at least %.1f MiB of device memory, allowed are %.1f MiB: %s",
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
    grid_forget_launches(&tank->grid);
    tarn_queue_destroy(tank->grid.queue); // waits for what uses the memory
    tank_give_memory(tank);
    grid_solids_drop(&tank->grid.samples);
    grid_walls_free(&tank->grid);
    for (uint32_t f = 0; f < TARN_TANK_FIELDS_MAX; f++) {
        free(tank->grid.desc.fields[f].distance_m);
    }
    tank_particles_free(tank);
    unmake(tank);
}

static bool tank_is_posed(const tarn_tank_desc *desc)
{
    const float *q = desc->start_pose.rotation;
    return q[0] != 0.0f || q[1] != 0.0f || q[2] != 0.0f || q[3] != 0.0f;
}

/// Particles as the model seeds them, the clock and the tank's motion at their start.
static tarn_status seed(tarn_tank *tank)
{
    tank_arrays arrays;
    float fastest = 0.0f;
    tarn_status status = tank_arrays_alloc(tank, tank->args->scale.particles_max, &arrays);
    if (status == TARN_OK && arrays.awake != NULL) {
        memset(arrays.awake, 1, tank->args->grid.shape.tile_total[0]);
    }
    if (status == TARN_OK) {
        tank->model->seed(tank, &arrays, &fastest);
        TARN_ASSERT(arrays.count <= tank->args->scale.particles_max);
        TARN_ASSERT(fastest >= 0.0f && fastest <= SPEED_MAX); // not for NaN
        status = tank_place(tank, &arrays, arrays.count);
    }
    tank_arrays_free(&arrays);
    tank->grid.step = 0;
    tank->grid.substeps = 0;
    tank->sim_time_s = 0.0;
    tank->seeded = arrays.count;
    tank->born = 0;
    tank_motion_reset(&tank->motion);
    if (tank_is_posed(&tank->grid.desc)) {
        tank_motion_aim(&tank->motion, &tank->grid.desc.start_pose);
        memcpy(tank->motion.rotation, tank->motion.target_rotation, sizeof tank->motion.rotation);
        memcpy(tank->motion.position_m, tank->motion.target_m, sizeof tank->motion.position_m);
    }
    for (int a = 0; a < 3; a++) {
        tank->motion.spin[a] = (double)tank->grid.desc.spin_rad_s[a];
    }
    tank_motion_weigh(tank);
    tank->counters.grid.speed_max_bits = tank->counters.grid.liquid_speed_bits = tile_bits_f32(fastest);
    return status;
}

tarn_status tarn_tank_reset(tarn_tank *tank)
{
    tank_set_coloured(tank, false);
    grid_added_forget(&tank->grid);
    tank->had_births = tank_bears(&tank->grid.desc);
    tank->turned_by_hand = false;
    const tarn_status status = seed(tank);
    return status == TARN_OK ? grid_bodies_reset(&tank->grid) : status;
}

float tarn_tank_parameter(const tarn_tank *tank, uint32_t id)
{
    return id < tank->model->shown.parameter_count ? tank->parameters[id] : 0.0f;
}

float tarn_tank_parameter_used(const tarn_tank *tank, uint32_t id)
{
    const bool may_be_limited = id < tank->model->shown.parameter_count && tank->model->used != NULL;
    return may_be_limited ? tank->model->used(tank, id) : tarn_tank_parameter(tank, id);
}

const tarn_model *tarn_tank_model(const tarn_tank *tank)
{
    return &tank->model->shown;
}

uint32_t tarn_tank_particles_max(const tarn_tank *tank)
{
    return tank->args->scale.particles_max;
}

const tarn_tank_desc *tarn_tank_desc_of(const tarn_tank *tank)
{
    return &tank->grid.desc;
}

void tarn_tank_profile(tarn_tank *tank, tarn_tank_profiling how)
{
    if (tank->profiling != how) {
        grid_forget_launches(&tank->grid); // which have marks, or none
    }
    tank->profiling = how;
    tank->mark_count = 0;
}

uint32_t tarn_tank_profile_get(tarn_tank *tank, const char **names, double *seconds, bool reset)
{
    static const char *const common[STAGE_COUNT] = {"g2p", "g2p+advect", "sort", "encode"};
    uint32_t count = 0;
    for (uint32_t i = 0; i < tank->model->stage_count; i++, count++) {
        names[count] = tank->model->stages[i];
        seconds[count] = tank->stage_s[STAGE_COUNT + i];
    }
    for (uint32_t i = 0; i < STAGE_COUNT; i++, count++) {
        names[count] = common[i];
        seconds[count] = tank->stage_s[i];
    }
    for (uint32_t i = count; i < TARN_TANK_STAGES_MAX; i++) {
        names[i] = NULL;
        seconds[i] = 0.0;
    }
    if (reset) {
        memset(tank->stage_s, 0, sizeof tank->stage_s);
    }
    return count;
}

uint32_t tarn_tank_added(const tarn_tank *tank, tarn_added_solid *added)
{
    return grid_added_list(&tank->grid, added);
}

uint32_t tarn_tank_bodies(const tarn_tank *tank, tarn_body_state *bodies)
{
    return grid_bodies_list(&tank->grid, bodies);
}

bool tarn_tank_paused(const tarn_tank *tank)
{
    return tank->paused;
}

uint32_t tarn_tank_added_changes(const tarn_tank *tank)
{
    return tank->grid.added_changes;
}
