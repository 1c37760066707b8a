// The whole state as bytes. Little-endian, in this order:
//
//     head        magic, version, cells, particle count, step, the counters that later steps depend on, parameters
//     motion      the tank in the room
//     bodies      where they are and how they move
//     added       solids that came while the tank ran, where there are or were any
//     particles   by arrays, in the order of the device: tiles ascending, and stable within a tile, on which the next
//                 move depends
//
// The description is not part of it: a state is restored into a tank that was made from the same one.
#include "kernels/grid/solids.h"
#include "kernels/tank/tank_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATE_VERSION = 3, STATE_MAGIC = 0x534e5254 }; // "TRNS"

/// Fixed-size part, by value: 8-byte fields first, no padding.
typedef struct state_head {
    uint64_t step, seeded, born;
    double position_m[3], rotation[4], target_m[3], target_rotation[4], velocity_m_s[3], spin[3];
    uint32_t magic, version, head_bytes, cells[3], particle_count, array_count, body_count;
    uint32_t next_id, births_refused, speed_max_bits, liquid_cells;
    uint32_t reseed_debt;
    float parameters[TARN_PARAMETER_COUNT];
    uint32_t added_bytes; ///< 0 or those of grid_added
    uint32_t reserved[1 + TARN_PARAMETER_COUNT % 2];
} state_head;

_Static_assert(sizeof(state_head) % 8 == 0, "no padding at the end");

/// The particles' arrays in the order of the file; returns how many.
static uint32_t list_arrays(tank_arrays *arrays, uint32_t **list)
{
    uint32_t count = 0;
    for (int a = 0; a < 3; a++) {
        list[count++] = arrays->position[a];
    }
    for (int a = 0; a < 3; a++) {
        list[count++] = (uint32_t *)arrays->velocity[a];
    }
    list[count++] = arrays->id;
    if (arrays->attribute != NULL) {
        list[count++] = arrays->attribute;
    }
    for (int i = 0; i < 9 && arrays->affine[0] != NULL; i++) {
        list[count++] = (uint32_t *)arrays->affine[i];
    }
    return count;
}

enum { ARRAYS_MAX = 17 };

/// Where these arrays lie on the device.
static uint32_t list_device(const tarn_tank *tank, void **list)
{
    const store_memory *m = &tank->args->store;
    uint32_t count = 0;
    for (int a = 0; a < 3; a++) {
        list[count++] = m->position[a];
    }
    for (int a = 0; a < 3; a++) {
        list[count++] = m->velocity[a];
    }
    list[count++] = m->id;
    if (m->attribute != NULL) {
        list[count++] = m->attribute;
    }
    for (int i = 0; i < 9 && m->affine[0] != NULL; i++) {
        list[count++] = m->affine[i];
    }
    return count;
}

size_t tarn_tank_save_bytes_max(const tarn_tank *tank)
{
    return sizeof(state_head) + sizeof(tank->grid.body_state) + sizeof(tank->grid.added) +
           (size_t)tank->args->scale.particles_max * ARRAYS_MAX * 4;
}

static size_t bodies_bytes(const tarn_tank *tank)
{
    return tank->grid.body_count * sizeof tank->grid.body_state[0];
}

static size_t added_bytes(const tarn_tank *tank)
{
    return tank->grid.added.thrown_total > 0 || tank->grid.added.wall_count > 0 ? sizeof tank->grid.added : 0;
}

static void fill_head(const tarn_tank *tank, uint32_t array_count, state_head *head)
{
    const tank_motion *motion = &tank->motion;
    memset(head, 0, sizeof *head);
    head->magic = STATE_MAGIC;
    head->version = STATE_VERSION;
    head->head_bytes = sizeof *head;
    head->step = tank->grid.step;
    head->seeded = tank->seeded;
    head->born = tank->born;
    head->particle_count = tank->particle_count;
    head->array_count = array_count;
    head->body_count = tank->grid.body_count;
    head->added_bytes = (uint32_t)added_bytes(tank);
    head->next_id = tank->counters.next_id;
    head->births_refused = tank->counters.births_refused;
    head->reseed_debt = tank->counters.reseed_debt;
    head->speed_max_bits = tank->counters.grid.speed_max_bits;
    head->liquid_cells = tank->counters.grid.liquid_cells_last;
    memcpy(head->position_m, motion->position_m, sizeof head->position_m);
    memcpy(head->rotation, motion->rotation, sizeof head->rotation);
    memcpy(head->target_m, motion->target_m, sizeof head->target_m);
    memcpy(head->target_rotation, motion->target_rotation, sizeof head->target_rotation);
    memcpy(head->velocity_m_s, motion->velocity_m_s, sizeof head->velocity_m_s);
    memcpy(head->spin, motion->spin, sizeof head->spin);
    memcpy(head->parameters, tank->parameters, sizeof head->parameters);
    for (int a = 0; a < 3; a++) {
        head->cells[a] = tank->grid.desc.cells[a];
    }
}

tarn_status tarn_tank_save(tarn_tank *tank, uint8_t *bytes, size_t bytes_max, size_t *byte_count)
{
    void *arrays[ARRAYS_MAX];
    state_head head;
    const uint32_t array_count = list_device(tank, arrays);
    const size_t each = (size_t)tank->particle_count * 4, bodies = bodies_bytes(tank), added = added_bytes(tank);
    const size_t particles_at = sizeof head + bodies + added;
    *byte_count = 0;
    if (bytes_max < particles_at + array_count * each) {
        return TARN_E_SPACE;
    }
    fill_head(tank, array_count, &head);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, tank->grid.body_state, bodies);
    memcpy(bytes + sizeof head + bodies, &tank->grid.added, added);
    tarn_status status = TARN_OK;
    for (uint32_t i = 0; i < array_count && status == TARN_OK; i++) {
        status = tarn_queue_download(tank->grid.queue, bytes + particles_at + i * each, arrays[i], each);
    }
    if (status == TARN_OK) {
        *byte_count = particles_at + array_count * each;
    }
    return status;
}

static int within(const double *vector, double longest)
{
    return vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2] <= longest * longest; // not for NaN
}

#define SPIN_MAX_RAD_S (2.0 * (double)TARN_TANK_TURN_MAX_RAD_S) ///< about a slanted axis a tank may start beyond one
#define SPEED_MAX_M_S 10.0
#define PLACE_MAX_M 2e4 ///< poses that are set end at 1e4 per axis

/// The arrays of a state of such a tank, without colours.
static uint32_t arrays_without_colours(const tarn_tank *tank)
{
    void *arrays[ARRAYS_MAX];
    return list_device(tank, arrays) - (tank->args->store.attribute != NULL);
}

static int head_fits(const tarn_tank *tank, const state_head *head, size_t byte_count)
{
    const uint32_t least = arrays_without_colours(tank) + (tank_has_attributes(&tank->grid.desc) != 0);
    if (head->magic != STATE_MAGIC || head->version != STATE_VERSION || head->head_bytes != sizeof *head) {
        return 0;
    }
    if (head->step > TARN_FRAME_INTEGER_MAX / 2) { // frames have to be able to say it, and those to come
        return 0;
    }
    if (head->array_count < least || head->array_count > arrays_without_colours(tank) + 1) {
        return 0;
    }
    if (head->particle_count > tank->args->scale.particles_max || head->body_count < tank->grid.own_body_count ||
        head->body_count > TARN_TANK_BODIES_MAX ||
        (head->added_bytes != 0 && head->added_bytes != sizeof tank->grid.added)) {
        return 0;
    }
    if (byte_count - sizeof *head != head->body_count * sizeof tank->grid.body_state[0] + head->added_bytes +
                                         (size_t)head->particle_count * 4 * head->array_count) {
        return 0;
    }
    for (int a = 0; a < 3; a++) {
        if (head->cells[a] != tank->grid.desc.cells[a]) {
            return 0;
        }
    }
    for (int i = 0; i < TARN_PARAMETER_COUNT; i++) {
        const tarn_parameter_spec *spec = tarn_tank_parameter_spec((tarn_parameter)i);
        if (!(head->parameters[i] >= spec->min && head->parameters[i] <= spec->max)) {
            return 0;
        }
    }
    const float speed = tile_f32_bits(head->speed_max_bits);
    const double *q = head->rotation, *t = head->target_rotation;
    const double norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3],
                 target_norm = t[0] * t[0] + t[1] * t[1] + t[2] * t[2] + t[3] * t[3];
    return speed >= 0.0f && speed <= SPEED_MAX && norm > 0.99 && norm < 1.01 && target_norm > 0.99 &&
           target_norm < 1.01 && within(head->position_m, PLACE_MAX_M) && within(head->target_m, PLACE_MAX_M) &&
           within(head->velocity_m_s, SPEED_MAX_M_S) && within(head->spin, SPIN_MAX_RAD_S);
}

/// Velocities within bounds; whether positions lie in the tank, and in order, tank_place looks.
static int particles_fit(const tarn_tank *tank, const tank_arrays *arrays)
{
    for (uint32_t i = 0; i < arrays->count; i++) {
        for (int a = 0; a < 3; a++) {
            if (!(fabsf(arrays->velocity[a][i]) <= SPEED_MAX)) {
                return 0;
            }
        }
        for (int k = 0; k < 9 && arrays->affine[0] != NULL; k++) {
            if (!(fabsf(arrays->affine[k][i]) <= 4.0f * SPEED_MAX)) {
                return 0;
            }
        }
        if (arrays->attribute != NULL && (arrays->attribute[i] & 0xff) >= tank->grid.desc.liquid_count) {
            return 0;
        }
    }
    return 1;
}

#define BODY_VALUE_MAX 1e5f ///< cells, cells per step^2 and the like: more is no state of a body

static int bodies_fit(const grid_body_state *bodies, uint32_t count)
{
    for (uint32_t b = 0; b < count; b++) {
        const float *values = (const float *)&bodies[b], *q = bodies[b].rotation;
        for (size_t i = 0; i < sizeof bodies[b] / sizeof *values; i++) {
            if (!(fabsf(values[i]) <= BODY_VALUE_MAX)) {
                return 0;
            }
        }
        for (int a = 0; a < 3; a++) {
            if (fabsf(bodies[b].velocity[a]) > BODY_SPEED_MAX || fabsf(bodies[b].spin[a]) > BODY_SPIN_MAX) {
                return 0;
            }
        }
        if (fabsf(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] - 1.0f) > 1e-4f) {
            return 0;
        }
    }
    return 1;
}

static tarn_status take_bodies(tarn_tank *tank, const grid_body_state *bodies)
{
    if (tank->grid.body_count == 0) {
        return TARN_OK;
    }
    memcpy(tank->grid.body_state, bodies, bodies_bytes(tank));
    for (uint32_t b = 0; b < tank->grid.body_count; b++) {
        set_turn(&tank->grid.body_state[b]); // a matrix that isn't the rotation's would scale the body
    }
    return tarn_queue_upload(tank->grid.queue, tank->args->grid.m.bodies->state, tank->grid.body_state,
                             bodies_bytes(tank));
}

static void take_head(tarn_tank *tank, const state_head *head)
{
    tank_motion *motion = &tank->motion;
    tank_motion_reset(motion);
    memcpy(motion->position_m, head->position_m, sizeof head->position_m);
    memcpy(motion->rotation, head->rotation, sizeof head->rotation);
    memcpy(motion->target_m, head->target_m, sizeof head->target_m);
    memcpy(motion->target_rotation, head->target_rotation, sizeof head->target_rotation);
    memcpy(motion->velocity_m_s, head->velocity_m_s, sizeof head->velocity_m_s);
    memcpy(motion->spin, head->spin, sizeof head->spin);
    tank->grid.step = head->step;
    tank->sim_time_s = (double)head->step * (double)tank->grid.desc.dt_s;
    tank->seeded = head->seeded;
    tank->born = head->born;
    tank->had_births |= head->born > 0;
    for (int i = 0; i < TARN_PARAMETER_COUNT; i++) {
        (void)tarn_tank_set_parameter(tank, (tarn_parameter)i, head->parameters[i]);
    }
    tank_motion_weigh(tank);
    tank->counters.grid.speed_max_bits = head->speed_max_bits;
    tank->counters.births_refused = head->births_refused;
    tank->counters.reseed_debt = head->reseed_debt;
    tank->counters.grid.liquid_cells_last = head->liquid_cells;
}

tarn_status tarn_tank_load(tarn_tank *tank, const uint8_t *bytes, size_t byte_count)
{
    state_head head;
    if (byte_count < sizeof head) {
        return TARN_E_MALFORMED;
    }
    memcpy(&head, bytes, sizeof head);
    if (!head_fits(tank, &head, byte_count)) {
        return TARN_E_MALFORMED;
    }
    tank_arrays arrays;
    grid_added added = {0};
    uint32_t *list[ARRAYS_MAX];
    grid_body_state bodies[BODIES_MAX];
    const size_t added_at = sizeof head + head.body_count * sizeof bodies[0],
                 particles_at = added_at + head.added_bytes;
    memcpy(bodies, bytes + sizeof head, added_at - sizeof head);
    memcpy(&added, bytes + added_at, head.added_bytes);
    if (!bodies_fit(bodies, head.body_count) || !grid_added_fits(&tank->grid, &added) ||
        head.body_count != tank->grid.own_body_count + added.thrown_count) {
        return TARN_E_MALFORMED;
    }
    const int was_coloured = tank->args->store.attribute != NULL;
    tank_set_coloured(tank, head.array_count > arrays_without_colours(tank));
    tarn_status status = tank_arrays_alloc(tank, head.particle_count, &arrays);
    if (status == TARN_OK) {
        const uint32_t array_count = list_arrays(&arrays, list);
        const size_t each = (size_t)head.particle_count * 4;
        for (uint32_t i = 0; i < array_count; i++) {
            memcpy(list[i], bytes + particles_at + i * each, each);
        }
        status = particles_fit(tank, &arrays) ? tank_place(tank, &arrays, head.next_id) : TARN_E_MALFORMED;
    }
    if (status == TARN_OK) {
        take_head(tank, &head);
        status =
            tarn_queue_upload(tank->grid.queue, tank->args->store.counters, &tank->counters, sizeof tank->counters);
    }
    if (status == TARN_OK) {
        status = grid_added_take(&tank->grid, &added);
    }
    if (status == TARN_OK) {
        status = take_bodies(tank, bodies);
    }
    if (status == TARN_E_MALFORMED) {
        tank_set_coloured(tank, was_coloured);
    }
    tank_arrays_free(&arrays);
    return status;
}
