// A tank's life: its memory, a step, its description; what it is asked. A step reads as an algorithm: begin at
// tarn_tank_step; for how a tank is made at tarn_tank_create.
#include "kernels/tank/tank.h"
#include "kernels/step_input.h"
#include "kernels/tank/motion.h"
#include "kernels/tank/probe.h"
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"
#include "protocol/channel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- memory ----
// On the device: the particles', and what grid and model take besides; and how many tiles it is for.

static void carve_particles(grid_carver *t, tarn_tank *tank)
{
    store_memory *m = &tank->args->store;
    t->group = GROUP_PARTICLE;
    for (int a = 0; a < 3; a++) {
        grid_carve(t, &m->position[a], 4);
        grid_carve(t, &m->velocity[a], 4);
        grid_carve(t, &m->moved_position[a], 4);
        grid_carve(t, &m->moved_velocity[a], 4);
    }
    grid_carve(t, &m->id, 4);
    grid_carve(t, &m->moved_id, 4);
    grid_carve(t, &m->moved_to, 1);
    for (int i = 0; i < 2; i++) {
        grid_carve(t, &tank->attributes[i], 4);
    }
    for (uint32_t k = 0; k < tank->model->shown.carried_count; k++) {
        grid_carve(t, &m->carried[k], 4);
        grid_carve(t, &m->moved_carried[k], 4);
    }
    for (int i = 0; i < 9 && tank->grid.desc.transfer == TARN_TRANSFER_APIC; i++) {
        grid_carve(t, &m->affine[i], 4);
        grid_carve(t, &m->moved_affine[i], 4);
    }
}

/// Whether something of the grid goes on from substep to substep.
static bool keeps(const tarn_tank *tank)
{
    return tank->model->keeps_velocity || (tank->model->keeps != NULL && tank->model->keeps(&tank->grid.desc));
}

static void carve_tables(grid_carver *t, tarn_tank *tank)
{
    store_memory *m = &tank->args->store;
    const uint64_t tiles = tank->args->grid.shape.tile_total[0];
    t->group = GROUP_TANK;
    grid_carve(t, &m->control, tank->model->control_bytes);
    grid_carve(t, &m->counters, sizeof *m->counters);
    grid_carve(t, &m->totals, sizeof *m->totals);
    grid_carve(t, &m->motion, TANK_MOTION_CELLS_MAX * sizeof *m->motion);
    grid_carve(t, &m->tile_first, tiles * 4);
    grid_carve(t, &m->tile_count, tiles * 4);
    grid_carve(t, &m->tile_first_next, tiles * 4);
    grid_carve(t, &m->tile_count_next, tiles * 4);
    grid_carve(t, &m->piece_tile, (tiles + (t->particles_max >> PIECE_BITS_MIN)) * 4);
    if (tank->grid.desc.emitter_count > 0) {
        grid_carve(t, &tank->args->grid.m.kept_tile, tiles * 4);
    }
    if (tank->model->fills) {
        grid_carve(t, &m->awake, tiles);
    }
    t->group = GROUP_ACTIVE;
    grid_carve(t, &m->births, 4);
    grid_carve(t, &m->births_first, 4);
    for (int c = 0; c < 3 && keeps(tank); c++) {
        grid_carve(t, &m->kept[c], TILE_CELLS * 4);
    }
    t->group = GROUP_OCCUPIED;
    grid_carve(t, &m->move_count, 27 * 4);
}

static void carve_in_turn(grid_carver *t, void *tank)
{
    ((tarn_tank *)tank)->model->carve_in_turn(t, tank);
}

static void carve_all(grid_carver *t, tarn_tank *tank)
{
    carve_tables(t, tank);
    carve_particles(t, tank);
    grid_carve_all(t);
    tank->model->carve(t, tank);
    grid_carve_in_turn(t, carve_in_turn, tank);
}

/// @return what there is for each thing of a group
static grid_carver carve(tarn_tank *tank)
{
    grid_carver t = {.grid = &tank->grid, .arena = &tank->grid.arena, .particles_max = tank->args->scale.particles_max};
    carve_all(&t, tank);
    return t;
}

/// Measures what it takes if so many tiles may be active.
static uint64_t measure(tarn_tank *tank, uint32_t active_max)
{
    grid_shape *shape = &tank->args->grid.shape;
    const uint32_t occupied_max = tank->model->fills ? active_max : tank->args->scale.particles_max;
    shape->active_max = active_max;
    shape->occupied_max = tile_min_u32(active_max, occupied_max);
    tank->grid.arena = (tarn_arena){0};
    const grid_carver t = carve(tank);
    memcpy(tank->grid.group_bytes, t.each_of, sizeof t.each_of);
    return tank->grid.arena.bytes;
}

/// As many tiles as the tank could use, or as memory allows: where it is overcommitted, taking too much succeeds and
/// kills somebody later.
static tarn_status choose_capacity(tarn_tank *tank)
{
    const uint64_t memory = tarn_device_memory_bytes(tank->grid.device);
    uint32_t fits = 0, too_many = tank->args->grid.shape.tile_total[0];
    if (measure(tank, too_many) <= memory) {
        return TARN_OK;
    }
    while (too_many - fits > 1) {
        const uint32_t middle = fits + (too_many - fits) / 2;
        *(measure(tank, middle) <= memory ? &fits : &too_many) = middle;
    }
    (void)measure(tank, tile_max_u32(fits, 1));
    return fits > 0 ? TARN_OK : TARN_E_MEMORY;
}

/// Takes a tank's memory for as many tiles as fit.
static tarn_status tank_carve_memory(tarn_tank *tank)
{
    tarn_status status = choose_capacity(tank);
    if (status == TARN_OK) {
        status = tarn_arena_take(&tank->grid.arena, tank->grid.device, TARN_ARENA_DEVICE);
    }
    if (status != TARN_OK) {
        return status;
    }
    (void)carve(tank);
    tank_args *args = tank->args;
    TARN_ASSERT(args->grid.shape.occupied_max <= args->grid.shape.active_max); // an occupied tile is active
    TARN_ASSERT(args->grid.shape.active_max <= args->grid.shape.tile_total[0]);
    args->grid.m.control = &args->store.control->grid;
    args->grid.m.counters = &args->store.counters->grid;
    for (int c = 0; c < 3 && tank->model->keeps_velocity; c++) {
        args->store.keeping[c] = args->grid.m.u_ext[c];
    }
    status = tank_keep_tiles(tank);
    tank->tiles_host = calloc(args->grid.shape.active_max, sizeof *tank->tiles_host);
    tank->grid.own = args->grid.m;
    tank->motion_cells = calloc(1, sizeof *tank->motion_cells);
    return status == TARN_OK && (tank->tiles_host == NULL || tank->motion_cells == NULL) ? TARN_E_MEMORY : status;
}

/// Gives it back, also what was taken by a call that failed.
static void tank_give_memory(tarn_tank *tank)
{
    grid_give_memory(&tank->grid);
    free(tank->tiles_host);
    free(tank->motion_cells);
}

/// Bytes of device memory that the tank needs at least.
static uint64_t tank_bytes_least(const tarn_tank *tank)
{
    const uint64_t *bytes = tank->grid.group_bytes;
    return bytes[GROUP_TANK] + bytes[GROUP_PARTICLE] * tank->args->scale.particles_max +
           (bytes[GROUP_ACTIVE] + bytes[GROUP_OCCUPIED]) * tile_max_u32(tank->counters.grid.active_next, 1);
}

uint64_t tank_bytes(const tarn_tank *tank)
{
    const uint64_t *bytes = tank->grid.group_bytes, *more = tank->grid.more_bytes;
    const grid_counters *counters = &tank->counters.grid;
    uint64_t coarse = 0;
    for (uint32_t level = 1; level < tank->args->grid.shape.level_count; level++) {
        coarse += counters->level_tiles[level];
    }
    return bytes[GROUP_TANK] + more[GROUP_TANK] + bytes[GROUP_PARTICLE] * tank->args->scale.particles_max +
           (bytes[GROUP_ACTIVE] + more[GROUP_ACTIVE]) * counters->active +
           (bytes[GROUP_OCCUPIED] + more[GROUP_OCCUPIED]) * counters->occupied + bytes[GROUP_COARSE] * coarse;
}

// ---- models, by number and by name ----

uint32_t tarn_model_count(void)
{
    return tank_model_count;
}

const tarn_model *tarn_model_at(uint32_t number)
{
    return number < tank_model_count ? &tank_models[number]->shown : NULL;
}

const tarn_model *tarn_model_find(const char *name)
{
    for (uint32_t i = 0; i < tank_model_count; i++) {
        if (strcmp(name, tank_models[i]->shown.name) == 0) {
            return &tank_models[i]->shown;
        }
    }
    return NULL;
}

/// Whether a model's table is within the limits, and its tools are what it can: for assertions.
static bool tank_model_is_sound(const tank_model *model)
{
    static const uint32_t needs[TARN_TOOL_COUNT] = {
        [TARN_TOOL_POUR] = TARN_MODEL_POURS,  [TARN_TOOL_DRAIN] = TARN_MODEL_DRAINS,
        [TARN_TOOL_DYE] = TARN_MODEL_DYES,    [TARN_TOOL_THROW] = TARN_MODEL_SOLIDS,
        [TARN_TOOL_WALL] = TARN_MODEL_SOLIDS, [TARN_TOOL_ERASE] = TARN_MODEL_SOLIDS,
    };
    const tarn_model *shown = &model->shown;
    bool sound = shown->parameter_count <= TARN_MODEL_PARAMETERS_MAX &&
                 shown->channel_count <= TARN_MODEL_CHANNELS_MAX && shown->carried_count <= TARN_MODEL_CARRIED_MAX &&
                 shown->field_count <= TARN_MODEL_FIELDS_MAX && (shown->field_count == 0 || model->field != NULL) &&
                 model->kinds <= LIQUIDS_MAX && (model->fills || !(model->keeps_velocity || model->stays_full)) &&
                 (shown->tools & ~TARN_TOOLS_ALL) == 0;
    for (uint32_t i = 0; i < shown->channel_count; i++) {
        sound = sound && (model->channel != NULL || !tarn_channel_is_carried(shown->channels[i].name));
    }
    for (int tool = 0; tool < TARN_TOOL_COUNT; tool++) {
        sound = sound && ((shown->tools >> tool & 1) == 0 || (shown->can & needs[tool]) == needs[tool]);
    }
    return sound;
}

const tarn_parameter_spec *tarn_model_parameter(const tarn_model *model, uint32_t id)
{
    return id < model->parameter_count ? &model->parameters[id] : NULL;
}

int tarn_model_parameter_find(const tarn_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->parameter_count; i++) {
        if (strcmp(name, model->parameters[i].name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

uint32_t tank_kinds(const tarn_tank *tank)
{
    return tank->model->kinds > 0 ? tank->model->kinds : tank->grid.desc.liquid_count;
}

int tarn_model_field_find(const tarn_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->field_count; i++) {
        if (strcmp(model->fields[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

int tarn_model_channel_find(const tarn_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->channel_count; i++) {
        if (tarn_channel_is_carried(name) && strcmp(model->channels[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

float tank_role(const tarn_tank *tank, tarn_parameter_role role, float otherwise)
{
    return tank->role[role] < TARN_MODEL_PARAMETERS_MAX ? tank->parameters[tank->role[role]] : otherwise;
}

// ---- checks of validating builds ----
// The particles' invariants, one by one, for validating builds: begin at tank_validate. What the sort has made: every
// particle in the tile that lists it, tiles behind each other without gaps.

static void validate_particle(const tarn_tank *tank, uint32_t i, uint32_t dense)
{
    const grid_shape *shape = &tank->args->grid.shape;
    const store_memory *store = &tank->args->store;
    int at[3];
    for (int a = 0; a < 3; a++) {
        TARN_ASSERT(store->position[a][i] >> POSITION_BITS < (uint32_t)shape->cells[a]);
        TARN_ASSERT(fabsf(store->velocity[a][i]) <= SPEED_MAX); // not for NaN
        at[a] = (int)(store->position[a][i] >> TILE_POSITION_BITS);
    }
    TARN_ASSERT(tile_dense_of(shape, 0, at[0], at[1], at[2]) == dense);
    for (uint32_t k = 0; k < tank->model->shown.carried_count; k++) {
        TARN_ASSERT(fabsf(store->carried[k][i]) <= CARRIED_LIMIT);
    }
    TARN_ASSERT(store->attribute == NULL || (store->attribute[i] & 0xff) < tank_kinds(tank));
}

void tank_validate_particles(const tarn_tank *tank)
{
    const store_memory *store = &tank->args->store;
    const uint32_t *tiles = tank->args->grid.m.level[0].tile;
    uint32_t particles = 0;
    if (tank->model->stays_full) {
        TARN_ASSERT(tank->counters.grid.active == tank->args->grid.shape.tile_total[0]);
        TARN_ASSERT(tank->counters.grid.occupied == tank->counters.grid.active);
    }
    if (!tarn_device_is_host(tank->grid.device)) {
        return;
    }
    for (uint32_t o = 0; o < tank->counters.grid.occupied; o++) {
        const uint32_t dense = tiles[o], first = store->tile_first[dense], count = store->tile_count[dense];
        TARN_ASSERT(first == particles);
        TARN_ASSERT(count > 0 || (store->awake != NULL && store->awake[dense] != 0));
        TARN_ASSERT(count <= tank->particle_count - first);
        for (uint32_t i = first; i < first + count; i++) {
            validate_particle(tank, i, dense);
        }
        particles += count;
    }
    TARN_ASSERT(particles == tank->particle_count);
}

void tank_validate(const tarn_tank *tank)
{
    grid_validate(&tank->grid, &tank->counters.grid);
    tank_validate_particles(tank);
}

// ---- a step ----
// A step of any model: what people do, the tank's own motion and the time are set before it, then come the substeps,
// each a fixed sequence of launches that the model makes; the particles' part of these is here:
//
//     g2p + advect ─ collide ─ births, drains ─ sort

void tank_mark(tarn_tank *tank, uint32_t stage)
{
    TARN_ASSERT(stage == STAGE_NONE || stage < STAGE_COUNT + tank->model->stage_count);
    if (tank->profiling == TARN_PROFILE_MARKS) {
        tank->mark_count = stage == STAGE_NONE ? 0 : tank->mark_count;
        if (tank->mark_count < TARN_QUEUE_MARKS_MAX && tarn_queue_mark(tank->grid.queue, tank->mark_count)) {
            tank->mark_stage[tank->mark_count++] = stage;
        }
    }
    if (tank->profiling != TARN_PROFILE_WAITS) {
        return;
    }
    const double now_s = tarn_queue_clock_s(tank->grid.queue);
    if (stage != STAGE_NONE) {
        tank->stage_s[stage] += now_s - tank->stage_mark_s;
    }
    tank->stage_mark_s = now_s;
}

/// Books what the marks of the last substep tell.
static void book_marks(tarn_tank *tank)
{
    for (uint32_t i = 1; i < tank->mark_count && tank->profiling == TARN_PROFILE_MARKS; i++) {
        const double took_s = tarn_queue_between_s(tank->grid.queue, i - 1, i);
        tank->stage_s[tank->mark_stage[i]] += took_s > 0.0 ? took_s : 0.0;
    }
}

/// What becomes of particles besides moving; only launched in tanks where anything may.
static void happen(tarn_tank *tank, const tank_args *args)
{
    if (tank->has_births) {
        grid_launch_occupied(&tank->grid, args, TANK_KERNEL(spray));
        grid_launch(&tank->grid, args, TANK_KERNEL(spray_choose), NULL, 1);
    }
    if (tank->has_births || tank->has_events) {
        grid_launch_occupied(&tank->grid, args, TANK_KERNEL(events));
    }
    if (tank->has_births) {
        grid_launch_active(&tank->grid, args, TANK_KERNEL(births));
        if (tank->model->bear != NULL) {
            tank->model->bear(tank);
        }
        grid_launch(&tank->grid, args, TANK_KERNEL(births_limit), NULL, 1);
    }
}

/// Pieces that there may be, however particles are cut.
static uint32_t pieces_max(const tank_args *args)
{
    return args->grid.shape.occupied_max + (args->scale.particles_max >> PIECE_BITS_MIN);
}

static void launch_pieces(tarn_tank *tank, const tank_args *args, const tarn_kernel *kernel)
{
    grid_launch(&tank->grid, args, kernel, &args->store.counters->pieces, pieces_max(args));
}

static void sort(tarn_tank *tank, const tank_args *args)
{
    grid_launch_active(&tank->grid, args, TANK_KERNEL(arrivals));
    tank_keep_pours(tank, args);
    tank_list_tiles(tank, args);
    if (tank->has_births) {
        grid_launch_active(&tank->grid, args, TANK_KERNEL(spawn));
        if (tank->model->spawn != NULL) {
            tank->model->spawn(tank);
        }
    }
    launch_pieces(tank, args, TANK_KERNEL(scatter));
    tank_adopt_tiles(tank, args);
}

bool tank_launch_gather(tarn_tank *tank, const tank_args *args)
{
    const bool affine = tank->grid.desc.transfer == TARN_TRANSFER_APIC;
    const tarn_kernel *const kernels[TARN_WEIGHTS_COUNT][2] = {
        {NULL, TANK_KERNEL(gather_apic)},
        {TANK_KERNEL(gather_quadratic), TANK_KERNEL(gather_apic_quadratic)},
        {TANK_KERNEL(gather_cubic), TANK_KERNEL(gather_apic_cubic)}};
    const tarn_kernel *kernel = kernels[tank->grid.desc.g2p_weights][affine];
    if (kernel != NULL) {
        grid_launch_occupied(&tank->grid, args, kernel);
    }
    return kernel != NULL;
}

void tank_launch_moves(tarn_tank *tank, const tank_args *args)
{
    const bool gathered = tank_launch_gather(tank, args);
    tank_mark(tank, STAGE_GATHER);
    launch_pieces(tank, args, gathered ? TANK_KERNEL(advect_gathered) : TANK_KERNEL(advect));
    if (tank->grid.body_count > 0) {
        grid_launch(&tank->grid, args, GRID_KERNEL(bodies_end), NULL, 1);
    }
}

void tank_launch_sort(tarn_tank *tank, const tank_args *args)
{
    if (tank->grid.has_solids) {
        grid_launch_occupied(&tank->grid, args, TANK_KERNEL(collide));
    }
    tank_mark(tank, STAGE_ADVECT);
    happen(tank, args);
    sort(tank, args);
    tank_mark(tank, STAGE_SORT);
}

void tank_launch_advection(tarn_tank *tank, const tank_args *args)
{
    tank_launch_moves(tank, args);
    tank_launch_sort(tank, args);
}

// ---- a step: what it is told, and what it comes to ----

float tank_nth_root(float of, uint32_t n)
{
    TARN_ASSERT(n >= 1 && n <= TARN_TANK_SUBSTEPS_MAX);
    TARN_ASSERT(of <= 1.0f);
    if (of <= 0.0f || n == 1) {
        return of;
    }
    double root = 1.0;
    for (int round = 0; round < 200; round++) {
        double power = 1.0;
        for (uint32_t i = 1; i < n; i++) {
            power *= root;
        }
        const double next = root - (power * root - (double)of) / ((double)n * power);
        if (next >= root) {
            break;
        }
        root = next;
    }
    return (float)root;
}

static float length3(const float *v)
{
    return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/// What a push wants to move the fastest point of its sphere with, m/s; infinite where that is more than a float holds.
static float push_speed(const tarn_tank *tank, const tarn_push *push)
{
    const float radius_m =
        tile_clamp_f32(push->radius_m, tank->grid.desc.cell_m, (float)TARN_TANK_CELLS_MAX * tank->grid.desc.cell_m);
    return length3(push->velocity_m_s) + (fabsf(push->inward_m_s) + length3(push->spin_rad_s) * radius_m);
}

/// The push of one substep: what the substeps leave of the difference in speed multiplies to 1 - strength.
static void fill_push(const tarn_tank *tank, const tarn_push *from, tank_push *to)
{
    const float per_cell = 1.0f / tank->grid.desc.cell_m, per_step = tank->grid.desc.dt_s / tank->grid.desc.cell_m;
    const float speed = push_speed(tank, from);
    const float limit = speed > TARN_TANK_PUSH_SPEED_MAX_M_S ? TARN_TANK_PUSH_SPEED_MAX_M_S / speed : 1.0f;
    to->swirls = from->inward_m_s != 0.0f || length3(from->spin_rad_s) > 0.0f;
    to->inward = tile_clamp_f32(from->inward_m_s * limit * per_step, -SPEED_MAX, SPEED_MAX);
    for (int a = 0; a < 3; a++) {
        to->spin[a] = from->spin_rad_s[a] * limit * tank->grid.desc.dt_s;
    }
    for (int a = 0; a < 3; a++) {
        to->center[a] = from->center_m[a] * per_cell;
        to->velocity[a] = tile_clamp_f32(from->velocity_m_s[a] * limit * per_step, -SPEED_MAX, SPEED_MAX);
    }
    to->radius = tile_clamp_f32(from->radius_m * per_cell, 0.0f, (float)TARN_TANK_CELLS_MAX);
    to->step_strength = tile_clamp_f32(from->strength, 0.0f, 1.0f);
    to->strength = 1.0f - tank_nth_root(1.0f - to->step_strength, tank->grid.substeps);
}

/// Speed that pushes may give the water, cells per step.
static float fastest_push(const tarn_tank *tank, const tarn_push *pushes, uint32_t push_count)
{
    float fastest = 0.0f;
    for (uint32_t i = 0; i < push_count; i++) {
        fastest = tile_max2_f32(fastest, tile_min_f32(push_speed(tank, &pushes[i]), TARN_TANK_PUSH_SPEED_MAX_M_S) *
                                             tile_clamp_f32(pushes[i].strength, 0.0f, 1.0f));
    }
    return fastest * tank->grid.desc.dt_s / tank->grid.desc.cell_m;
}

static float fastest_emitter(const tank_control *control)
{
    float fastest = 0.0f;
    for (uint32_t e = 0; e < control->emitter_count; e++) {
        fastest = tile_max2_f32(fastest, length3(control->emitters[e].velocity));
    }
    return fastest;
}

/// Substeps such that the liquid crosses at most cfl cells in each, spray no more than particles can, and ripples no
/// more than one.
static uint32_t substeps_for(const tarn_tank *tank, const tank_control *control, float push)
{
    const float gain = length3(control->grid.gravity);
    const float liquid = tile_f32_bits(tank->counters.grid.liquid_speed_bits) + gain,
                spray = tile_f32_bits(tank->counters.grid.speed_max_bits) + gain;
    const float moving = tile_max2_f32(ceilf(tile_max2_f32(liquid, push) / tank_role(tank, TARN_PLAYS_CFL, 2.0f)),
                                       ceilf(spray / FLIGHT_CELLS_MAX));
    const float wanted = tile_max2_f32(moving, tank->model->substeps(tank));
    const float most = tank_role(tank, TARN_PLAYS_SUBSTEPS, 4.0f);
    return (uint32_t)tile_clamp_f32(wanted, 1.0f, most);
}

/// Which launches this step needs besides those of every step; a captured sequence is one with them or one without.
static void choose_launches(tarn_tank *tank, const tank_control *control)
{
    const bool has_events = control->drain_count > 0 || control->grid.is_turning;
    const bool has_births = control->has_births != 0, has_pours = control->pour_tile_count > 0;
    TARN_ASSERT(!has_pours || has_births); // what is poured is born
    tank->has_events = has_events;
    tank->has_births = has_births;
    tank->has_pours = has_pours;
    tank->had_births |= has_births;
}

static void fill_control(tarn_tank *tank, const tarn_step_input *input)
{
    tank_control *control = tank->control;
    memset(control, 0, tank->model->control_bytes);
    control->seed = (uint32_t)tile_mix_u64(tank->grid.step + 1);
    // What substeps can carry at all, not what the CFL number asks for: else a fine grid would brake a plain fall.
    control->grid.speed_max = tile_min_f32(SPEED_MAX, MOVE_CELLS_MAX * tank_role(tank, TARN_PLAYS_SUBSTEPS, 4.0f));
    tank_motion_step(tank, control);
    tank_sources_fill(tank, control);
    tank_tools_fill(tank, &input->tools, control);
    control->has_births = tank_bears(&tank->grid.desc) || control->pour_tile_count > 0;
    const float swept = tank_motion_fields_unpack(tank, input);
    const float pushed = tile_max2_f32(tile_max2_f32(fastest_push(tank, input->pushes, input->push_count), swept),
                                       fastest_emitter(control));
    const float frac_before = tank->grid.substeps > 0 ? 1.0f / (float)tank->grid.substeps : 0.0f;
    tank->grid.substeps = substeps_for(tank, control, tile_max2_f32(pushed, grid_bodies_speed(&tank->grid)));
    TARN_ASSERT(tank->grid.substeps >= 1 && tank->grid.substeps <= TARN_TANK_SUBSTEPS_MAX);
    control->grid.frac = 1.0f / (float)tank->grid.substeps;
    control->grid.kick = 0.5f * (frac_before + control->grid.frac);
    tank_motion_fill(tank, control);
    TARN_ASSERT(input->push_count <= TANK_PUSHES_MAX);
    control->push_count = input->push_count;
    for (uint32_t i = 0; i < input->push_count; i++) {
        fill_push(tank, &input->pushes[i], &control->pushes[i]);
    }
    tank_motion_fields_fill(tank, control);
    control->dye_share = tank_role(tank, TARN_PLAYS_DYE, 0.0f);
    control->dye_step = (uint32_t)tank->grid.step;
    TARN_ASSERT(control->grid.speed_max > 0.0f && control->grid.speed_max <= SPEED_MAX);
    TARN_ASSERT(control->dye_count <= TANK_DYES_MAX);
    TARN_ASSERT(control->pour_tile_count <= TANK_POUR_TILES_MAX);
    TARN_ASSERT(control->emitter_count <= TANK_REGIONS_MAX && control->drain_count <= TANK_REGIONS_MAX);
    tank->model->begin(tank, control);
    choose_launches(tank, control);
}

/// What the device counted fits what there is memory for.
static void check_counters(const tarn_tank *tank)
{
    const tank_counters *counters = &tank->counters;
    const grid_shape *shape = &tank->args->grid.shape;
    TARN_ASSERT(counters->particles <= tank->args->scale.particles_max);
    TARN_ASSERT(counters->births == 0); // all that were announced have been given their ids
    TARN_ASSERT(counters->spray_age_max <= AGE_CLASSES);
    TARN_ASSERT(counters->grid.active <= shape->active_max);
    TARN_ASSERT(counters->grid.occupied <= shape->occupied_max);
    TARN_ASSERT(counters->grid.occupied <= counters->grid.active);
    TARN_ASSERT(tank->model->fills || counters->grid.occupied <= counters->particles);
    TARN_ASSERT(counters->grid.level_tiles[0] == counters->grid.occupied);
    TARN_ASSERT(counters->pieces >= 1 && counters->pieces <= pieces_max(tank->args));
    TARN_ASSERT(counters->p2g_parts <= P2G_PARTS * counters->grid.occupied);
    for (uint32_t l = 1; l < shape->level_count; l++) {
        TARN_ASSERT(counters->grid.level_tiles[l] <= counters->grid.level_tiles[l - 1]);
    }
}

/// Which taps found no room, by what the last substep counted.
static void watch_taps(tarn_tank *tank)
{
    const bool is_refused = tank->grid.corrects_density && tank->counters.births_refused > 0;
    tank->capped_s = is_refused && !tank->is_volume ? tank->sim_time_s : tank->capped_s;
    for (uint32_t e = 0; e < tank->control->emitter_count; e++) {
        const uint32_t tap = tank->control->tap_of[e];
        const bool is_shut = (tank->counters.grid.watched_last >> e & 1) != 0 || (is_refused && tank->is_volume);
        if (tap < TARN_TANK_EMITTERS_MAX && is_shut) {
            tank->tap_shut_s[tap] = tank->sim_time_s;
        }
    }
}

static tarn_status read_counters(tarn_tank *tank)
{
    const uint32_t next_id = tank->counters.next_id;
    tarn_status status =
        tarn_queue_download(tank->grid.queue, &tank->counters, tank->args->store.counters, sizeof tank->counters);
    tank->born += tank->counters.next_id - next_id;
    tank->particle_count = tank->counters.particles;
    watch_taps(tank);
    if (status == TARN_OK && tank->counters.grid.broken) {
        status = TARN_E_UNSTABLE;
    }
    if (status == TARN_OK && !tank->counters.grid.overflow) {
        check_counters(tank);
    }
    return status == TARN_OK && tank->counters.grid.overflow ? TARN_E_MEMORY : status;
}

static void substep(void *tank)
{
    ((tarn_tank *)tank)->model->substep(tank);
}

/// Whether the tank takes an input as it is.
static tarn_status check(tarn_tank *tank, const tarn_step_input *input)
{
    if (input->admitted == tank->input_count + 1) {
        return TARN_OK;
    }
    tarn_step_input admitted = *input;
    tarn_step_refusals refusals;
    const tarn_status status = tarn_tank_admit(tank, &admitted, &refusals);
    return status == TARN_OK && refusals.count > 0 ? TARN_E_ARGUMENT : status;
}

/// Lets a step's time pass.
static tarn_status advance(tarn_tank *tank, const tarn_step_input *input)
{
    fill_control(tank, input);
    const tank_control *control = tank->control;
    tarn_status status =
        tarn_queue_upload(tank->grid.queue, tank->args->store.control, control, tank->model->control_bytes);
    if (status == TARN_OK) {
        status = tank_motion_fields_upload(tank, control);
    }
    if (status == TARN_OK) {
        status = grid_bodies_before_step(&tank->grid);
    }
    if (status != TARN_OK) {
        return status;
    }
    tank_tools_begin(tank, &input->tools, control);
    // Each of its own, so that a tap that opens and shuts records nothing anew.
    const uint32_t chain_level = tank->grid.chain_level;
    grid_choose_chain(&tank->grid, &tank->counters.grid);
    if (tank->profiling == TARN_PROFILE_MARKS && tank->grid.chain_level != chain_level) {
        grid_forget_launches(&tank->grid); // the tank knows which marks there are of the last one recorded
    }
    tarn_replay **recorded = &tank->grid.substep[tank->has_events | tank->has_births << 1 | tank->has_pours << 2 |
                                                 tank->grid.chain_level * GRID_SUBSTEP_KINDS];
    for (uint32_t i = 0; i < tank->grid.substeps; i++) {
        if (tank->profiling == TARN_PROFILE_WAITS) {
            substep(tank);
        } else {
            tarn_queue_run(tank->grid.queue, recorded, substep, tank);
        }
    }
    if (control->dye_share > 0.0f && tank->args->store.attribute != NULL) {
        grid_launch_occupied(&tank->grid, tank->args, TANK_KERNEL(dye));
    }
    tank_tools_end(tank, control);
    status = read_counters(tank);
    book_marks(tank);
    if (status == TARN_OK) {
        status = grid_bodies_after_step(&tank->grid);
        tank_bodies_watch(tank);
    }
    tank->grid.step++;
    tank->sim_time_s = (double)tank->grid.step * (double)tank->grid.desc.dt_s;
    if (TARN_VALIDATE && status == TARN_OK) {
        tank_validate(tank);
    }
    return status;
}

tarn_status tarn_tank_step(tarn_tank *tank, const tarn_step_input *input)
{
    static const tarn_step_input nothing = {0};
    const tarn_step_input *taken = input != NULL ? input : &nothing;
    tarn_status status = input != NULL ? check(tank, input) : TARN_OK;
    if (status == TARN_OK) {
        status = tank_apply_input(tank, taken);
    }
    return status == TARN_OK && !taken->holds ? advance(tank, taken) : status;
}

// ---- descriptions ----

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

// ---- descriptions, checked ----

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

// ---- the grid's shape ----

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

// ---- made, started and ended ----

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

// ---- what it is asked ----

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
