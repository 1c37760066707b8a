// Saving a tank's whole state as bytes (state_bytes.c), and restoring it into a tank that was made from the same
// description, which is no part of it. The particles' arrays are in the order of the device: tiles ascending, and
// stable within a tile, on which the next move depends.
#include "kernels/tank/state.h"
#include "kernels/grid/solids.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARTICLES_AT_ONCE = 1 << 16, ///< between two yields
    SLOTS_AT_ONCE = 256,         ///< of tiles, in one transfer: each takes a GPU's queue a while
    SLOTS_SPARE = 8,             ///< between two of a download that aren't wanted
};

// -------------------------------------------------------------------------------------------------------------- arrays

/// Where the particles' arrays lie on the device, by what they hold; NULL: they have no such array.
static void list_device(const tarn_tank *tank, void *list[STATE_ARRAY_COUNT])
{
    const store_memory *m = &tank->args->store;
    for (int a = 0; a < 3; a++) {
        list[STATE_POSITION + a] = m->position[a];
        list[STATE_VELOCITY + a] = m->velocity[a];
    }
    list[STATE_ID] = m->id;
    list[STATE_ATTRIBUTE] = m->attribute;
    for (int i = 0; i < 9; i++) {
        list[STATE_AFFINE + i] = m->affine[i];
    }
    for (int k = 0; k < CARRIED_MAX; k++) {
        list[STATE_CARRIED + k] = m->carried[k];
    }
}

/// The same on the host.
static void list_host(tank_arrays *arrays, void *list[STATE_ARRAY_COUNT])
{
    for (int a = 0; a < 3; a++) {
        list[STATE_POSITION + a] = arrays->position[a];
        list[STATE_VELOCITY + a] = arrays->velocity[a];
    }
    list[STATE_ID] = arrays->id;
    list[STATE_ATTRIBUTE] = arrays->attribute;
    for (int i = 0; i < 9; i++) {
        list[STATE_AFFINE + i] = arrays->affine[i];
    }
    for (int k = 0; k < CARRIED_MAX; k++) {
        list[STATE_CARRIED + k] = arrays->carried[k];
    }
}

// ------------------------------------------------------------------------------------------------------------- numbers

/// The largest magnitude of an array's values; 0: they are no fractions.
static float bound_of(int array)
{
    if (array >= STATE_VELOCITY && array < STATE_VELOCITY + 3) {
        return SPEED_MAX;
    }
    if (array >= STATE_AFFINE && array < STATE_AFFINE + 9) {
        return SLOPE_MAX;
    }
    return array >= STATE_CARRIED && array < STATE_CARRIED + CARRIED_MAX ? CARRIED_LIMIT : 0.0f;
}

/// Whether no value is beyond a magnitude, or no number.
static bool values_fit(const tarn_tank *tank, const void *values, size_t count, float bound)
{
    const uint8_t *bytes = values;
    for (size_t first = 0; first < count; first += PARTICLES_AT_ONCE) {
        const size_t end = count - first < PARTICLES_AT_ONCE ? count : first + PARTICLES_AT_ONCE;
        uint32_t most = 0;
        for (size_t i = first; i < end; i++) { // magnitudes order as integers, what is no number last
            uint32_t bits;
            memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
            most = tile_max_u32(most, bits & 0x7fffffffu);
        }
        if (most > tile_bits_f32(bound)) {
            return false;
        }
        tarn_queue_yield(tank->grid.queue);
    }
    return true;
}

/// Whether positions lie in the tank, and in order, tank_place looks.
static bool particles_fit(const tarn_tank *tank, tank_arrays *arrays)
{
    void *list[STATE_ARRAY_COUNT];
    list_host(arrays, list);
    for (int i = 0; i < STATE_ARRAY_COUNT; i++) {
        if (list[i] != NULL && bound_of(i) > 0.0f && !values_fit(tank, list[i], arrays->count, bound_of(i))) {
            return false;
        }
    }
    for (uint32_t i = 0; arrays->attribute != NULL && i < arrays->count; i++) {
        if ((arrays->attribute[i] & 0xff) >= tank_kinds(tank)) {
            return false;
        }
    }
    return true;
}

#define BODY_VALUE_MAX 1e5f ///< cells, cells per step^2 and the like: more is no state of a body

static bool bodies_fit(const grid_body_state *bodies, uint32_t count)
{
    for (uint32_t b = 0; b < count; b++) {
        const float *values = (const float *)&bodies[b], *q = bodies[b].rotation;
        for (size_t i = 0; i < sizeof bodies[b] / sizeof *values; i++) {
            if (!(fabsf(values[i]) <= BODY_VALUE_MAX)) {
                return false;
            }
        }
        for (int a = 0; a < 3; a++) {
            if (fabsf(bodies[b].velocity[a]) > BODY_SPEED_MAX || fabsf(bodies[b].spin[a]) > BODY_SPIN_MAX) {
                return false;
            }
        }
        if (fabsf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0f) > 1e-4f) {
            return false;
        }
    }
    return true;
}

// -------------------------------------------------------------------------------------------------------------- saving

/// Of a tile's cells, the first ones, those that may lie in the tank: a flat tank has one layer of them.
static uint32_t kept_cells(const tarn_tank *tank)
{
    const int layers = tile_min_i32(tank->args->grid.shape.cells[2], TILE_EDGE);
    return tank->args->store.kept[0] != NULL ? (uint32_t)layers * TILE_ROWS : 0;
}

/// Whether a state names tiles: those that are occupied in a tank that is filled, or else those that what is kept may
/// lie in.
static bool names_tiles(const tarn_tank *tank)
{
    return tank->model->fills || tank->args->store.kept[0] != NULL;
}

size_t tarn_tank_save_bytes_max(const tarn_tank *tank)
{
    const size_t tiles = names_tiles(tank) ? tank->args->grid.shape.active_max : 0;
    return STATE_BYTES_MAX + (size_t)tank->args->scale.particles_max * STATE_ARRAYS_MAX * 4 +
           tiles * 4 * (1 + 3 * (size_t)kept_cells(tank));
}

static void fill(const tarn_tank *tank, tank_state *state)
{
    memset(state, 0, sizeof *state);
    memcpy(state->model, tank->model->shown.name, strlen(tank->model->shown.name));
    for (int a = 0; a < 3; a++) {
        state->cells[a] = tank->grid.desc.cells[a];
    }
    state->step = tank->grid.step;
    state->seeded = tank->seeded;
    state->born = tank->born;
    state->paused = tank->paused;
    state->turned_by_hand = tank->turned_by_hand;
    state->parameter_count = tank->model->shown.parameter_count;
    memcpy(state->parameters, tank->parameters, sizeof state->parameters);
    state->motion = tank->motion;
    state->next_id = tank->counters.next_id;
    state->births_refused = tank->counters.births_refused;
    state->reseed_debt = tank->counters.reseed_debt;
    state->speed_max_bits = tank->counters.grid.speed_max_bits;
    state->liquid_cells = tank->counters.grid.liquid_cells_last;
    state->substeps = tank->grid.substeps;
    state->liquid_speed_bits = tank->counters.grid.liquid_speed_bits;
    state->unconverged = tank->counters.grid.unconverged;
    state->body_count = tank->grid.body_count;
    TARN_ASSERT(tank->grid.body_count <= BODIES_MAX);
    memcpy(state->bodies, tank->grid.body_state, sizeof state->bodies);
    state->added = tank->grid.added;
    state->particle_count = tank->particle_count;
    state->tile_count = tank->model->fills  ? tank->counters.grid.occupied
                        : names_tiles(tank) ? tank->counters.grid.active
                                            : 0;
    state->kept_cells = kept_cells(tank);
}

/// Where tiles have what is kept of their faces on the device, and room on the host for some of these.
typedef struct kept_tiles {
    uint32_t *slot;   ///< [count], ascending
    uint32_t *number; ///< [count] in the state's list
    uint32_t count;   ///< of these that are active
    float *piece;     ///< [SLOTS_AT_ONCE][TILE_CELLS]
} kept_tiles;

/// @param tiles  dense numbers, ascending  @param kept  kept_free takes what failed, too
static tarn_status kept_find(const tarn_tank *tank, const uint8_t *tiles, uint32_t count, kept_tiles *kept)
{
    const size_t total = tank->args->grid.shape.tile_total[0], piece_bytes = (size_t)SLOTS_AT_ONCE * TILE_CELLS * 4;
    *kept = (kept_tiles){.slot = malloc(total * sizeof *kept->slot),
                         .number = malloc(total * sizeof *kept->number),
                         .piece = malloc(piece_bytes)};
    if (kept->slot == NULL || kept->number == NULL || kept->piece == NULL) {
        return TARN_E_MEMORY;
    }
    const tarn_status status =
        tarn_queue_download(tank->grid.queue, kept->slot, tank->args->grid.m.slot, total * sizeof *kept->slot);
    for (uint32_t o = 0; o < count && status == TARN_OK; o++) { // a tile's number is never below its place
        uint32_t dense;
        memcpy(&dense, tiles + (size_t)o * 4, sizeof dense);
        TARN_ASSERT(dense >= o && dense < total);
        const uint32_t slot = kept->slot[dense];
        if (slot == TILE_NONE) {
            continue; // air that was active for a pour: nothing was kept there
        }
        TARN_ASSERT(slot < tank->args->grid.shape.active_max);
        TARN_ASSERT(kept->count == 0 || slot > kept->slot[kept->count - 1]);
        kept->slot[kept->count] = slot;
        kept->number[kept->count++] = o;
    }
    return status;
}

static void kept_free(kept_tiles *kept)
{
    free(kept->slot);
    free(kept->number);
    free(kept->piece);
}

/// Which of the tiles from the o-th on lie close enough to go at once. @param spare  slots between two that may be
/// others' @return the first that doesn't
static uint32_t kept_end(const kept_tiles *kept, uint32_t o, uint32_t spare)
{
    const uint32_t first = kept->slot[o];
    uint32_t end = o + 1;
    while (end < kept->count && kept->slot[end] - first < SLOTS_AT_ONCE &&
           kept->slot[end] - kept->slot[end - 1] <= 1 + spare) {
        end++;
    }
    return end;
}

/// The tiles of a state and what is kept of their faces. @param bytes  of both
static tarn_status save_tiles(tarn_tank *tank, const tank_state *state, uint8_t *bytes)
{
    const size_t cells = (size_t)state->kept_cells * 4, tile_bytes = 3 * cells;
    uint8_t *to = bytes + (size_t)state->tile_count * 4;
    kept_tiles kept = {0};
    const grid_memory *grid = &tank->args->grid.m;
    tarn_status status = tarn_queue_download(tank->grid.queue, tank->tiles_host,
                                             tank->model->fills ? grid->level[0].tile : grid->active_tile,
                                             state->tile_count * sizeof *tank->tiles_host);
    memcpy(bytes, tank->tiles_host, (size_t)state->tile_count * 4);
    if (status == TARN_OK && cells > 0) {
        status = kept_find(tank, bytes, state->tile_count, &kept);
    }
    for (int c = 0; c < 3 && cells > 0; c++) {
        for (uint32_t o = 0, end; o < kept.count && status == TARN_OK; o = end) {
            end = kept_end(&kept, o, SLOTS_SPARE);
            const uint32_t first = kept.slot[o];
            const size_t piece_bytes = (size_t)(kept.slot[end - 1] - first + 1) * TILE_CELLS * 4;
            status = tarn_queue_download(tank->grid.queue, kept.piece,
                                         tank->args->store.kept[c] + (size_t)first * TILE_CELLS, piece_bytes);
            for (uint32_t i = o; i < end && status == TARN_OK; i++) {
                memcpy(to + kept.number[i] * tile_bytes + (size_t)c * cells,
                       kept.piece + (size_t)(kept.slot[i] - first) * TILE_CELLS, cells);
            }
            tarn_queue_yield(tank->grid.queue);
        }
    }
    kept_free(&kept);
    return status;
}

tarn_status tarn_tank_save(tarn_tank *tank, uint8_t *bytes, size_t bytes_max, size_t *byte_count)
{
    void *arrays[STATE_ARRAY_COUNT];
    tank_state state;
    *byte_count = 0;
    fill(tank, &state);
    if (!bodies_fit(state.bodies, state.body_count)) {
        return TARN_E_UNSTABLE;
    }
    list_device(tank, arrays);
    for (int i = 0; i < STATE_ARRAY_COUNT; i++) {
        if (arrays[i] != NULL) {
            state.arrays[state.array_count++] = (uint8_t)i;
        }
    }
    const size_t at = tank_state_write(&state, bytes, bytes_max), each = (size_t)tank->particle_count * 4;
    const size_t tiles = (size_t)state.tile_count * 4 * (1 + 3 * (size_t)state.kept_cells);
    TARN_ASSERT(at <= bytes_max);
    if (at == 0 || bytes_max - at < state.array_count * each + tiles) {
        return TARN_E_SPACE;
    }
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; i < state.array_count && status == TARN_OK; i++) {
        uint8_t *to = bytes + at + i * each;
        const float bound = bound_of(state.arrays[i]);
        status = tarn_queue_download(tank->grid.queue, to, arrays[state.arrays[i]], each);
        if (status == TARN_OK && bound > 0.0f && !values_fit(tank, to, tank->particle_count, bound)) {
            status = TARN_E_UNSTABLE;
        }
    }
    if (status == TARN_OK && tiles > 0) {
        status = save_tiles(tank, &state, bytes + at + state.array_count * each);
    }
    if (status == TARN_OK) {
        *byte_count = at + state.array_count * each + tiles;
    }
    return status;
}

// -------------------------------------------------------------------------------------------------------------- checks

static bool within(const double *vector, double longest)
{
    return vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2] <= longest * longest; // not for NaN
}

static bool is_unit(const double *q)
{
    const double norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    return norm > 0.99 && norm < 1.01;
}

#define SPIN_MAX_RAD_S (2.0 * (double)TARN_TANK_TURN_MAX_RAD_S) ///< about a slanted axis a tank may start beyond one
#define SPEED_MAX_M_S 10.0
#define PLACE_MAX_M 2e4 ///< poses that are set end at 1e4 per axis

static bool motion_fits(const tank_motion *motion)
{
    return is_unit(motion->rotation) && is_unit(motion->target_rotation) && within(motion->position_m, PLACE_MAX_M) &&
           within(motion->target_m, PLACE_MAX_M) && within(motion->velocity_m_s, SPEED_MAX_M_S) &&
           within(motion->spin, SPIN_MAX_RAD_S);
}

/// Whether the state has the arrays that this tank's particles have; colours may be more.
static bool arrays_fit(const tarn_tank *tank, const tank_state *state)
{
    void *device[STATE_ARRAY_COUNT];
    uint32_t has = 0, wants = 0;
    list_device(tank, device);
    for (int i = 0; i < STATE_ARRAY_COUNT; i++) {
        wants |= (uint32_t)(device[i] != NULL && i != STATE_ATTRIBUTE) << i;
    }
    for (uint32_t i = 0; i < state->array_count; i++) {
        has |= 1u << state->arrays[i];
    }
    const uint32_t colours = 1u << STATE_ATTRIBUTE;
    return (has & ~colours) == wants && ((has & colours) != 0 || !tank_has_attributes(&tank->grid.desc));
}

/// Whether so many tiles may be occupied. Kernels of a tank that stays full find tiles by their dense numbers.
static bool tile_count_fits(const tarn_tank *tank, uint32_t count)
{
    const uint32_t most = names_tiles(tank) ? tank->args->grid.shape.tile_total[0] : 0;
    return tank->model->stays_full ? count == most : count <= most;
}

static bool state_fits(const tarn_tank *tank, const tank_state *state)
{
    char name[STATE_MODEL_NAME_BYTES] = {0};
    memcpy(name, tank->model->shown.name, strlen(tank->model->shown.name));
    bool fits = memcmp(name, state->model, sizeof name) == 0 && motion_fits(&state->motion) && arrays_fit(tank, state);
    fits = fits && state->step <= TARN_FRAME_INTEGER_MAX / 2; // frames have to be able to say it, and those to come
    fits = fits && state->particle_count <= tank->args->scale.particles_max;
    fits = fits && state->substeps <= TARN_TANK_SUBSTEPS_MAX;
    fits = fits && tile_count_fits(tank, state->tile_count);
    fits = fits && (state->tile_count == 0 || state->kept_cells == kept_cells(tank));
    for (int a = 0; a < 3; a++) {
        fits = fits && state->cells[a] == tank->grid.desc.cells[a];
    }
    for (uint32_t i = 0; i < state->parameter_count; i++) {
        const tarn_parameter_spec *spec = &tank->model->shown.parameters[i];
        fits = fits && state->parameters[i] >= spec->min && state->parameters[i] <= spec->max; // not for NaN
    }
    const float speed = tile_f32_bits(state->speed_max_bits), liquid = tile_f32_bits(state->liquid_speed_bits);
    return fits && speed >= 0.0f && speed <= SPEED_MAX && liquid >= 0.0f && liquid <= SPEED_MAX &&
           grid_added_fits(&tank->grid, &state->added) &&
           state->body_count == tank->grid.own_body_count + state->added.thrown_count;
}

// ------------------------------------------------------------------------------------------------------------- loading

static tarn_status apply_bodies(tarn_tank *tank, const grid_body_state *bodies)
{
    if (tank->grid.body_count == 0) {
        return TARN_OK;
    }
    const size_t size = tank->grid.body_count * sizeof *bodies;
    memcpy(tank->grid.body_state, bodies, size);
    for (uint32_t b = 0; b < tank->grid.body_count; b++) {
        set_turn(&tank->grid.body_state[b]); // a matrix that isn't the rotation's would scale the body
    }
    return tarn_queue_upload(tank->grid.queue, tank->args->grid.m.bodies->state, tank->grid.body_state, size);
}

static void apply_state(tarn_tank *tank, const tank_state *state)
{
    tank->motion = state->motion;
    tank->grid.step = state->step;
    tank->sim_time_s = (double)state->step * (double)tank->grid.desc.dt_s;
    tank->seeded = state->seeded;
    tank->born = state->born;
    tank->paused = state->paused;
    tank->turned_by_hand = state->turned_by_hand;
    tank->had_births |= state->born > 0;
    tank_set_parameters(tank, state->parameters);
    tank_motion_weigh(tank);
    tank->counters.grid.speed_max_bits = state->speed_max_bits;
    tank->counters.births_refused = state->births_refused;
    tank->counters.reseed_debt = state->reseed_debt;
    tank->counters.grid.liquid_cells_last = state->liquid_cells;
    tank->grid.substeps = state->substeps;
    tank->counters.grid.liquid_speed_bits = state->liquid_speed_bits;
    tank->counters.grid.unconverged = state->unconverged;
}

/// Copies an array of particles in slices, so that others need not wait for the whole.
static void copy_array(const tarn_tank *tank, void *to, const uint8_t *from, size_t bytes)
{
    enum { SLICE = 4 * PARTICLES_AT_ONCE };
    for (size_t at = 0; at < bytes; at += SLICE) {
        memcpy((uint8_t *)to + at, from + at, bytes - at < SLICE ? bytes - at : SLICE);
        tarn_queue_yield(tank->grid.queue);
    }
}

/// Marks the occupied tiles of a state. @return whether they and what is kept in them are sound
/// @param awake  NULL: other tiles than those that particles lie in are not occupied
static bool tiles_fit(const tarn_tank *tank, const tank_state *state, const uint8_t *tiles, uint8_t *awake)
{
    const size_t values = (size_t)state->tile_count * 3 * state->kept_cells;
    uint32_t last = 0;
    for (uint32_t o = 0; o < state->tile_count; o++) {
        uint32_t dense;
        memcpy(&dense, tiles + (size_t)o * 4, sizeof dense);
        if (dense >= tank->args->grid.shape.tile_total[0] || (o > 0 && dense <= last)) {
            return false;
        }
        if (awake != NULL) {
            awake[dense] = 1;
        }
        last = dense;
    }
    return values_fit(tank, tiles + (size_t)state->tile_count * 4, values, SPEED_MAX);
}

/// Brings what is kept to the tiles, which are listed.
static tarn_status place_kept(tarn_tank *tank, const tank_state *state, const uint8_t *tiles)
{
    const size_t cells = (size_t)state->kept_cells * 4, tile_bytes = 3 * cells;
    const uint8_t *from = tiles + (size_t)state->tile_count * 4;
    kept_tiles kept;
    tarn_status status = kept_find(tank, tiles, state->tile_count, &kept);
    for (int c = 0; c < 3; c++) {
        for (uint32_t o = 0, end; o < kept.count && status == TARN_OK; o = end) {
            end = kept_end(&kept, o, 0);
            const size_t piece_bytes = (size_t)(end - o) * TILE_CELLS * 4;
            memset(kept.piece, 0, piece_bytes); // in a flat tank some of a tile's cells lie beyond it
            for (uint32_t i = o; i < end; i++) {
                memcpy(kept.piece + (size_t)(i - o) * TILE_CELLS,
                       from + kept.number[i] * tile_bytes + (size_t)c * cells, cells);
            }
            status = tarn_queue_upload(tank->grid.queue, tank->args->store.kept[c] + (size_t)kept.slot[o] * TILE_CELLS,
                                       kept.piece, piece_bytes);
            tarn_queue_yield(tank->grid.queue);
        }
    }
    kept_free(&kept);
    return status;
}

/// Puts the particles of a state into the tank.
static tarn_status place(tarn_tank *tank, const tank_state *state, const uint8_t *bytes)
{
    tank_arrays arrays;
    void *list[STATE_ARRAY_COUNT];
    const size_t each = (size_t)state->particle_count * 4;
    tarn_status status = tank_arrays_alloc(tank, state->particle_count, &arrays);
    if (status == TARN_OK) {
        list_host(&arrays, list);
        for (uint32_t i = 0; i < state->array_count; i++) {
            copy_array(tank, list[state->arrays[i]], bytes + state->particles_at + i * each, each);
        }
        const uint8_t *tiles = bytes + state->particles_at + state->array_count * each;
        const bool fits = particles_fit(tank, &arrays) && tiles_fit(tank, state, tiles, arrays.awake);
        status = fits ? tank_place(tank, &arrays, state->next_id) : TARN_E_MALFORMED;
        if (status == TARN_OK && state->tile_count > 0 && state->kept_cells > 0) {
            status = place_kept(tank, state, tiles);
        }
    }
    tank_arrays_free(&arrays);
    return status;
}

tarn_status tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count)
{
    tank_state state;
    memset(&state, 0, sizeof state);
    state.parameter_count = tank->model->shown.parameter_count;
    memcpy(state.parameters, tank->grid.desc.parameters, sizeof state.parameters);
    state.substeps = 1;
    state.liquid_speed_bits = tile_bits_f32(SPEED_MAX); // which can't be too few substeps
    if (tank_state_read(bytes, byte_count, &state) != TARN_OK || !state_fits(tank, &state) ||
        !bodies_fit(state.bodies, state.body_count)) {
        return TARN_E_MALFORMED;
    }
    const bool was_coloured = tank->args->store.attribute != NULL;
    bool is_coloured = false;
    for (uint32_t i = 0; i < state.array_count; i++) {
        is_coloured |= state.arrays[i] == STATE_ATTRIBUTE;
    }
    tank_set_coloured(tank, is_coloured);
    tarn_status status = place(tank, &state, bytes);
    if (status == TARN_OK) {
        apply_state(tank, &state);
        status =
            tarn_queue_upload(tank->grid.queue, tank->args->store.counters, &tank->counters, sizeof tank->counters);
    }
    if (status == TARN_OK) {
        status = grid_added_apply(&tank->grid, &state.added);
    }
    if (status == TARN_OK) {
        status = apply_bodies(tank, state.bodies);
    }
    if (status == TARN_E_MALFORMED) {
        tank_set_coloured(tank, was_coloured);
    }
    return status;
}
