// Views of a tank.
#include "kernels/tank/view.h"
#include "kernels/tank/tank_internal.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void tank_view_open(tarn_tank *tank, tank_view *view)
{
    const tank_args *args = tank->args;
    const grid_shape *shape = &args->grid.shape;
    *view = (tank_view){
        .device = tank->grid.device,
        .queue = tank->grid.queue,
        .cell_m = tank->grid.desc.cell_m,
        .dt_s = tank->grid.desc.dt_s,
        .tile_total = shape->tile_total[0],
        .occupied_max = shape->occupied_max,
        .particles_max = args->scale.particles_max,
        .field_tiles_max = shape->active_max,
        .id = args->store.id,
        .tile = args->grid.m.level[0].tile,
        .tile_index = args->grid.m.level[0].index,
        .tile_first = args->store.tile_first,
        .tile_count = args->store.tile_count,
    };
    for (int a = 0; a < 3; a++) {
        view->cells[a] = tank->grid.desc.cells[a];
        view->tiles[a] = (uint32_t)shape->tiles[0][a];
        view->position[a] = args->store.position[a];
        view->velocity[a] = args->store.velocity[a];
    }
}

/// A unit quaternion as a frame has it; of one without length, no rotation.
static void pack_rotation(const float rotation[4], int16_t packed[4])
{
    float length = 0.0f;
    for (int i = 0; i < 4; i++) {
        length += rotation[i] * rotation[i];
    }
    length = sqrtf(length);
    for (int i = 0; i < 4; i++) {
        const float component = length > 0.0f ? rotation[i] / length : i == 3;
        packed[i] = (int16_t)tile_round_i32(tile_clamp_f32(component, -1.0f, 1.0f) * TARN_FRAME_ROTATION_ONE);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t first = ((const tarn_body_state *)a)->solid, second = ((const tarn_body_state *)b)->solid;
    return first < second ? -1 : first > second;
}

static uint32_t list_bodies(const tarn_tank *tank, tarn_frame_body *bodies)
{
    _Static_assert((int)TARN_TANK_BODIES_MAX <= (int)TARN_FRAME_BODIES_MAX, "a frame holds all bodies");
    tarn_body_state states[TARN_TANK_BODIES_MAX];
    const uint32_t count = tarn_tank_bodies(tank, states);
    TARN_ASSERT(count <= TARN_TANK_BODIES_MAX);
    qsort(states, count, sizeof *states, compare_numbers); // a thrown one takes the place of the oldest
    for (uint32_t i = 0; i < count; i++) {
        tarn_frame_body *body = &bodies[i];
        TARN_ASSERT(states[i].solid <= UINT16_MAX);
        TARN_ASSERT(i == 0 || states[i - 1].solid < states[i].solid); // a frame has each once
        body->solid = (uint16_t)states[i].solid;
        memcpy(body->position_m, states[i].pose.position_m, sizeof body->position_m);
        pack_rotation(states[i].pose.rotation, body->rotation);
    }
    return count;
}

void tank_view_now(const tarn_tank *tank, tank_moment *moment)
{
    moment->step = tank->grid.step;
    moment->sim_time_s = tank->sim_time_s;
    moment->generation = tank->generation;
    TARN_ASSERT(tank->counters.grid.occupied <= tank->args->grid.shape.occupied_max);
    moment->occupied = tank->counters.grid.occupied;
    moment->had_births = tank->had_births;
    moment->attribute = tank->args->store.attribute;
    for (int a = 0; a < 3; a++) {
        moment->gravity_m_s2[a] = (float)tank->motion.gravity_m_s2[a];
    }
    for (int i = 0; i < 4; i++) {
        moment->orientation[i] = (float)tank->motion.rotation[i];
    }
    moment->body_count = list_bodies(tank, moment->bodies);
}

void tank_view_channel(tarn_tank *tank, uint32_t number, float *room, tank_channel *channel)
{
    TARN_ASSERT(number < tank->model->shown.channel_count && tank->model->channel != NULL);
    tank->model->channel(tank, number, room, channel);
    TARN_ASSERT(channel->value != NULL && channel->low <= channel->high);
}

void tank_view_field(tarn_tank *tank, uint32_t number, float *room, tank_field *field)
{
    TARN_ASSERT(number < tank->model->shown.field_count && tank->model->field != NULL);
    tank->model->field(tank, number, room, field);
    TARN_ASSERT(field->count <= tank->args->grid.shape.active_max);
    TARN_ASSERT(field->value != NULL && field->tile != NULL && field->low <= 0.0f && field->high >= 0.0f);
}

tarn_status tank_view_seat(tarn_tank *tank, uint32_t *seat, uint32_t *moved_seat)
{
    store_memory *store = &tank->args->store;
    if (seat != NULL && store->seat != NULL) {
        return TARN_E_STATE;
    }
    TARN_ASSERT((seat == NULL) == (moved_seat == NULL));
    grid_forget_launches(&tank->grid); // which knows the old ones
    store->seat = seat;
    store->moved_seat = moved_seat;
    return TARN_OK;
}

void tank_view_encode_begins(tarn_tank *tank)
{
    tank_mark(tank, STAGE_NONE);
}

void tank_view_encode_ends(tarn_tank *tank)
{
    tank_mark(tank, STAGE_ENCODE);
}
