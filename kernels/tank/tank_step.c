// A step of any model: what people do, the tank's own motion and the time are set before it, then come the substeps,
// each a fixed sequence of launches that the model makes; the particles' part of these is here:
//
//     g2p + advect ─ collide ─ births, drains ─ sort
#include "kernels/step_input.h"
#include "kernels/tank/motion_field.h"
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <math.h>
#include <string.h>

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

// ------------------------------------------------------------------------------------------------------------- control

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
