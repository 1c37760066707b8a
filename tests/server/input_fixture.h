/// What tests of the worker's inputs share: a tank, presses and steps.
#ifndef TARN_TESTS_SERVER_INPUT_FIXTURE_H
#define TARN_TESTS_SERVER_INPUT_FIXTURE_H

#include "server/worker/input/state.h"
#include "tests/server/test_cmocka.h"

#include <string.h>

static const float dt_s = 1.0f / 64;

/// A tank of 4 x 4 x 4 m in cells of 1/8 m: tiles of 1 m. Liquid in the tiles with y < 2.
static inline void fill_map(tarn_tile_map *map)
{
    uint16_t cells[3] = {32, 32, 32};
    assert_int_equal(tarn_tile_map_init(map, cells, 0.125f), TARN_OK);
    assert_int_equal(map->tiles[0], 4);
    for (uint32_t z = 0; z < 4; z++) {
        for (uint32_t y = 0; y < 2; y++) {
            for (uint32_t x = 0; x < 4; x++) {
                uint32_t index = (z * 4 + y) * 4 + x;
                map->bits[index / 8] |= (uint8_t)(1u << index % 8);
            }
        }
    }
}

static inline tarn_input pointer(uint32_t sequence, tarn_phase phase, float x, float y)
{
    tarn_input input = {.sequence = sequence, .kind = TARN_INPUT_POINTER};
    input.pointer.phase = phase;
    input.pointer.origin_m[0] = x;
    input.pointer.origin_m[1] = y;
    input.pointer.origin_m[2] = -3;
    input.pointer.direction[2] = 1;
    input.pointer.radius_m = 0.25f;
    input.pointer.strength = 0.5f;
    return input;
}

static const tarn_body_map no_bodies;

/// The pushes of a step. @return how many
static inline uint32_t latch(tarn_input_state *state, tarn_push pushes[TARN_TANK_PUSHES_MAX])
{
    static tarn_step_tools step;
    const float size_m[3] = {4, 4, 4};
    tarn_input_state_latch(state, size_m, dt_s, &step);
    memcpy(pushes, step.pushes, sizeof step.pushes);
    return step.push_count;
}

static inline tarn_status take_with(tarn_input_state *state, uint32_t viewer, const tarn_input *input,
                                    const tarn_tile_map *map, const tarn_body_map *bodies)
{
    tarn_text why = "";
    tarn_input_state_note(state, viewer, input->sequence);
    tarn_status status = tarn_input_state_put(state, viewer, input, map, bodies, why);
    assert_true((status == TARN_OK) == (why[0] == 0));
    return status;
}

static inline tarn_status take(tarn_input_state *state, uint32_t viewer, const tarn_input *input,
                               const tarn_tile_map *map)
{
    return take_with(state, viewer, input, map, &no_bodies);
}

#endif
