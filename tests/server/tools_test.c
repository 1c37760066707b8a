// What each tool does in a step, and where: pure code against small cases worked out by hand.
#include "server/worker/input/tools.h"
#include "tests/server/input_fixture.h"

#include <math.h>
#include <string.h>

static tarn_input tool_press(uint32_t sequence, tarn_tool tool, float x, float y)
{
    tarn_input input = pointer(sequence, TARN_PHASE_DOWN, x, y);
    input.pointer.tool = tool;
    return input;
}

static void test_pull_and_vortex_are_pushes_that_swirl(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    static tarn_step_tools step;
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input input = tool_press(1, TARN_TOOL_PULL, 1, 1);
    assert_int_equal(take(&state, 1, &input, &map), TARN_OK);
    input = tool_press(2, TARN_TOOL_VORTEX, 2, 1);
    input.pointer.pointer_id = 1;
    assert_int_equal(take(&state, 1, &input, &map), TARN_OK);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step); // at rest they act, too
    assert_int_equal(step.push_count, 2);
    const tarn_push *pull = &step.pushes[0], *vortex = &step.pushes[1];
    assert_float_equal(pull->center_m[0], 1, 1e-6);
    assert_float_equal(pull->inward_m_s, 0.5 * TARN_INPUT_PULL_M_S, 1e-6);
    assert_float_equal(pull->spin_rad_s[2], 0, 0);
    assert_float_equal(pull->radius_m, 0.25, 0);
    // The ray goes along z, away from the viewer: against the clock for them is about -z.
    assert_float_equal(vortex->spin_rad_s[2] * 0.125f, -0.5 * TARN_INPUT_VORTEX_M_S, 1e-5);
    assert_float_equal(vortex->spin_rad_s[0], 0, 1e-6);
    assert_true(vortex->inward_m_s > 0 && vortex->inward_m_s < pull->inward_m_s);
    assert_int_equal(step.tank.pour_count + step.tank.sink_count + step.tank.dye_count, 0);

    // A headset's axes: the controller's length, turned to up here; and the palm's normal, which is up anyway.
    tarn_input_state_release(&state);
    tarn_input held = {.sequence = 3, .kind = TARN_INPUT_CONTROLLER};
    held.controller = (tarn_input_controller){.tracked = 1,
                                              .tool = TARN_TOOL_VORTEX,
                                              .orientation = {-sqrtf(0.5f), 0, 0, sqrtf(0.5f)},
                                              .trigger = 1,
                                              .radius_m = 0.25f,
                                              .strength = 1};
    take(&state, 1, &held, &map);
    tarn_input palm = {.sequence = 4, .kind = TARN_INPUT_HAND};
    palm.hand = (tarn_input_hand){.tracked = 1,
                                  .tool = TARN_TOOL_VORTEX,
                                  .orientation = {0, 0, 0, 1},
                                  .pinch = 1,
                                  .radius_m = 0.25f,
                                  .strength = 1};
    take(&state, 1, &palm, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.push_count, 2);
    for (int i = 0; i < 2; i++) {
        assert_float_equal(step.pushes[i].spin_rad_s[1], TARN_INPUT_VORTEX_M_S / 0.125, 1e-3);
    }
    tarn_tile_map_free(&map);
}

static void test_pour_drain_and_dye_act_where_they_are_held(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    static tarn_step_tools step;
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input inputs[3] = {tool_press(1, TARN_TOOL_POUR, 1, 3), tool_press(2, TARN_TOOL_DRAIN, 2, 1),
                            tool_press(3, TARN_TOOL_DYE, 3, 1)};
    inputs[0].pointer.colour = TARN_COLOUR_GIVEN | 0x102030;
    for (uint32_t i = 0; i < 3; i++) {
        inputs[i].pointer.pointer_id = i;
        assert_int_equal(take(&state, 1, &inputs[i], &map), TARN_OK);
    }
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.push_count, 0);
    assert_int_equal(step.tank.pour_count, 1);
    const tarn_pour *pour = &step.tank.pours[0];
    assert_float_equal(pour->center_m[1], 3, 1e-6); // on the ray, through air: the middle of its way
    assert_float_equal(pour->center_m[2], 2, 1e-6);
    assert_float_equal(pour->velocity_m_s[1], -(TARN_INPUT_POUR_MIN_M_S + 0.5 * TARN_INPUT_POUR_M_S), 1e-6);
    assert_memory_equal(pour->colour, ((uint8_t[4]){0x10, 0x20, 0x30, 255}), 4);
    assert_int_equal(step.tank.sink_count, 1);
    assert_float_equal(step.tank.sinks[0].center_m[0], 2, 1e-6);
    assert_float_equal(step.tank.sinks[0].radius_m, 0.25, 0);
    assert_int_equal(step.tank.dye_count, 1);
    assert_float_equal(step.tank.dyes[0].share, 0.5, 0);
    assert_int_equal(step.tank.dyes[0].colour[0], TARN_INPUT_DYE_COLOUR >> 16);
    // Dye that moves fast leaves no gaps; what pours has its tool's speed.
    for (uint32_t i = 0; i < 3; i++) {
        inputs[i].pointer.phase = TARN_PHASE_MOVE;
        inputs[i].pointer.origin_m[0] -= 0.7f;
        inputs[i].pointer.colour = 0;
        take(&state, 1, &inputs[i], &map);
    }
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.tank.dye_count, 3);
    assert_true(step.tank.pours[0].velocity_m_s[0] < -1.0f);
    assert_int_equal(step.tank.pours[0].colour[3], 0);
    for (uint32_t i = 0; i < 3; i++) {
        inputs[i].pointer.phase = TARN_PHASE_UP;
        inputs[i].pointer.origin_m[0] = 30.0f; // far beside the tank
        take(&state, 1, &inputs[i], &map);
    }
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.tank.pour_count, 0);
    assert_int_equal(step.tank.sink_count, 1);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step); // released
    assert_int_equal(step.tank.sink_count + step.tank.dye_count, 0);
    tarn_tile_map_free(&map);
}

static void test_a_pour_stays_out_of_the_liquid_and_on_the_ray(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    const float up[3] = {0, 1, 0}, down[3] = {0, -1, 0};
    float lift[3];
    fill_map(&map);
    // Straight down: a radius above the tiles with liquid, which end at y = 2.
    const tarn_ray falling = {{2.5f, 6, 2.5f}, {0, -1, 0}};
    assert_float_equal(tarn_ray_pour(&falling, &map, up, 0.25f, lift), 3.75, 0.15);
    assert_float_equal(lift[1], 0, 0);
    // Level, through the glass into the liquid: above it.
    const tarn_ray level = {{2.5f, 0.5f, -1}, {0, 0, 1}};
    assert_float_equal(tarn_ray_pour(&level, &map, up, 0.25f, lift), 1.5, 0.1);
    assert_float_equal(0.5f + lift[1], 2.25, 0.15);
    // In a tank on its head up is down there: no air on that side, so it stays in the tank.
    tarn_ray_pour(&level, &map, down, 0.25f, lift);
    assert_true(lift[1] < 0 && 0.5f + lift[1] >= 0);
    // Past the tank.
    const tarn_ray past = {{-2, 9, 2}, {1, 0, 0}};
    assert_float_equal(tarn_ray_pour(&past, &map, up, 0.25f, lift), 4, 1e-3);
    assert_float_equal(lift[1], 0, 0);

    // In a turned tank it falls down in the room.
    static tarn_input_state state;
    static tarn_step_tools step;
    tarn_input_state_init(&state);
    tarn_input_state_turn(&state, (const float[4]){0, 0, sqrtf(0.5f), sqrtf(0.5f)},
                          (const float[3]){0, -1, 0}); // x is up
    tarn_input input = tool_press(1, TARN_TOOL_POUR, 2, 3);
    take(&state, 1, &input, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_true(step.tank.pours[0].velocity_m_s[0] < -1.0f);
    assert_float_equal(step.tank.pours[0].velocity_m_s[1], 0, 1e-5);
    tarn_tile_map_free(&map);
}

static void test_as_many_pour_as_there_is_room_for(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    static tarn_step_tools step;
    fill_map(&map);
    tarn_input_state_init(&state);
    for (uint32_t viewer = 1; viewer <= TARN_TANK_POURS_MAX; viewer++) {
        tarn_input input = tool_press(1, TARN_TOOL_POUR, 0.2f * (float)viewer, 3);
        assert_int_equal(take(&state, viewer, &input, &map), TARN_OK);
    }
    tarn_input input = tool_press(1, TARN_TOOL_POUR, 1, 3);
    assert_int_equal(take(&state, 100, &input, &map), TARN_E_LIMIT);
    // A controller is told once, though it goes on sending; another tool has room.
    tarn_input held = {.sequence = 2, .kind = TARN_INPUT_CONTROLLER};
    held.controller =
        (tarn_input_controller){.tracked = 1, .tool = TARN_TOOL_POUR, .orientation = {0, 0, 0, 1}, .radius_m = 0.1f};
    held.controller.trigger = 1;
    assert_int_equal(take(&state, 101, &held, &map), TARN_E_LIMIT);
    assert_int_equal(take(&state, 101, &held, &map), TARN_OK);
    held.controller.tool = TARN_TOOL_DRAIN;
    assert_int_equal(take(&state, 101, &held, &map), TARN_OK);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.tank.pour_count, TARN_TANK_POURS_MAX);
    assert_int_equal(step.tank.sink_count, 1);
    tarn_input_state_viewer_gone(&state, 1);
    held.controller.tool = TARN_TOOL_POUR;
    assert_int_equal(take(&state, 101, &held, &map), TARN_OK);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.tank.pour_count, TARN_TANK_POURS_MAX);
    assert_int_equal(step.tank.sink_count, 0);
    tarn_tile_map_free(&map);
}

static void test_a_tool_that_the_tank_lacks_is_refused_by_name(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    static tarn_step_tools step;
    tarn_text why = "";
    fill_map(&map);
    tarn_input_state_init(&state);
    state.tools = TARN_TOOL_BIT(PUSH) | TARN_TOOL_BIT(DYE);
    tarn_input input = tool_press(1, TARN_TOOL_POUR, 2, 3);
    assert_int_equal(tarn_input_state_put(&state, 1, &input, &map, &no_bodies, why), TARN_E_LIMIT);
    assert_string_equal(why, "input.tool: this tank has no \"pour\"; it has push, dye");
    // A controller says it with every message, and is told once.
    tarn_input held = {.sequence = 2, .kind = TARN_INPUT_CONTROLLER};
    held.controller = (tarn_input_controller){.tracked = 1,
                                              .tool = TARN_TOOL_DRAIN,
                                              .orientation = {0, 0, 0, 1},
                                              .radius_m = 0.1f,
                                              .trigger = 1,
                                              .strength = 1};
    assert_int_equal(take(&state, 1, &held, &map), TARN_E_LIMIT);
    assert_int_equal(take(&state, 1, &held, &map), TARN_OK);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.tank.pour_count + step.tank.sink_count, 0);
    held.controller.tool = TARN_TOOL_DYE;
    assert_int_equal(take(&state, 1, &held, &map), TARN_OK);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.tank.dye_count, 1);
    state.tools = 0;
    assert_int_equal(tarn_input_state_put(&state, 1, &input, &map, &no_bodies, why), TARN_E_LIMIT);
    assert_string_equal(why, "input.tool: this tank has no \"pour\"; it has none");
    tarn_tile_map_free(&map);
}

static void test_other_tools_act_by_the_trigger_and_the_pinch(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    static tarn_step_tools step;
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input held = {.sequence = 1, .kind = TARN_INPUT_CONTROLLER};
    held.controller =
        (tarn_input_controller){.tracked = 1, .tool = TARN_TOOL_DYE, .orientation = {0, 0, 0, 1}, .radius_m = 0.1f};
    held.controller.strength = 0.8f;
    held.controller.grip = 1; // which would take hold of a body
    take(&state, 1, &held, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.tank.dye_count, 0);
    held.controller.trigger = 0.5f;
    take(&state, 1, &held, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.tank.dye_count, 1);
    assert_float_equal(step.tank.dyes[0].share, 0.4, 1e-6);
    tarn_input_state_release(&state);
    tarn_input palm = {.sequence = 2, .kind = TARN_INPUT_HAND};
    palm.hand = (tarn_input_hand){.tracked = 1, .tool = TARN_TOOL_DRAIN, .orientation = {0, 0, 0, 1}, .radius_m = 0.1f};
    take(&state, 1, &palm, &map); // open
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.tank.sink_count, 0);
    palm.hand.pinch = 0.9f;
    take(&state, 1, &palm, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.tank.sink_count, 1);
    palm.hand.grip = 1; // a fist
    take(&state, 1, &palm, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.tank.sink_count, 0);
    tarn_tile_map_free(&map);
}

static void test_a_press_throws_one_body_in_and_holds_it(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    static tarn_step_tools step;
    tarn_grab grabs[TARN_TANK_GRABS_MAX];
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input input = tool_press(1, TARN_TOOL_THROW, 2, 1);
    assert_int_equal(take(&state, 1, &input, &map), TARN_OK);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.throw_count, 1);
    assert_float_equal(step.throws[0].center_m[0], 2, 1e-6);
    assert_true(step.throws[0].center_m[1] >= 2 - 1e-5f); // above the liquid
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
    tarn_input_state_throws(&state, &step.throws[0], 1);
    tarn_input_state_thrown(&state, (const uint32_t[]){5}, 1);
    input = tool_press(2, TARN_TOOL_THROW, 3, 1);
    input.pointer.phase = TARN_PHASE_MOVE;
    take(&state, 1, &input, &map);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 1);
    assert_int_equal(grabs[0].body, 5);
    assert_float_equal(grabs[0].target_m[0], 3, 1e-5);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.throw_count, 0);
    // Another one has taken its place: nobody holds that.
    input = tool_press(3, TARN_TOOL_THROW, 1, 1);
    take(&state, 2, &input, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.throw_count, 1);
    tarn_input_state_throws(&state, &step.throws[0], 1);
    tarn_input_state_thrown(&state, (const uint32_t[]){5}, 1);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 1);
    assert_float_equal(grabs[0].target_m[0], 1, 1e-5);
    input.pointer.phase = TARN_PHASE_UP;
    take(&state, 2, &input, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);

    // A click that is over when its body comes: who presses next holds nothing, and throws a body of its own.
    input = tool_press(4, TARN_TOOL_THROW, 1, 1);
    take(&state, 1, &input, &map);
    input.pointer.phase = TARN_PHASE_UP;
    take(&state, 1, &input, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.throw_count, 1);
    assert_int_equal(step.throws[0].viewer_id, 1);
    const tarn_tool_throw thrown = step.throws[0];
    input = tool_press(5, TARN_TOOL_THROW, 2, 1);
    take(&state, 2, &input, &map);
    tarn_input_state_throws(&state, &thrown, 1);
    tarn_input_state_thrown(&state, (const uint32_t[]){7}, 1);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.throw_count, 1);
    assert_int_equal(step.throws[0].viewer_id, 2);
    input.pointer.phase = TARN_PHASE_UP;
    take(&state, 2, &input, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);

    // A controller throws with its own velocity, and holds while the trigger is pressed.
    tarn_input held = {.sequence = 4, .kind = TARN_INPUT_CONTROLLER};
    held.controller = (tarn_input_controller){.tracked = 1,
                                              .tool = TARN_TOOL_THROW,
                                              .position_m = {1, 2, 3},
                                              .orientation = {0, 0, 0, 1},
                                              .velocity_m_s = {0, 3, 0},
                                              .trigger = 1,
                                              .radius_m = 0.25f};
    take(&state, 3, &held, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.throw_count, 1);
    assert_float_equal(step.throws[0].velocity_m_s[1], 3, 0);
    tarn_input_state_throws(&state, &step.throws[0], 1);
    tarn_input_state_thrown(&state, (const uint32_t[]){6}, 1);
    take(&state, 3, &held, &map);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 1);
    held.controller.trigger = 0;
    take(&state, 3, &held, &map);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);

    // From far outside, and too fast: the body is put within reach, no faster than a push.
    held.controller.trigger = 1;
    held.controller.position_m[0] = 1000.0f;
    held.controller.velocity_m_s[1] = 100.0f;
    take(&state, 3, &held, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.throw_count, 1);
    assert_float_equal(step.throws[0].center_m[0], map.size_m[0] * (1.0f + TARN_INPUT_REACH_TANKS), 1e-5);
    assert_float_equal(step.throws[0].velocity_m_s[1], TARN_TANK_PUSH_SPEED_MAX_M_S, 1e-3);
    tarn_tile_map_free(&map);
}

/// From above: a ray straight down meets the tank at x, z.
static tarn_input from_above(uint32_t sequence, tarn_phase phase, tarn_tool tool, float x, float z)
{
    tarn_input input = tool_press(sequence, tool, x, 9);
    input.pointer.phase = phase;
    input.pointer.origin_m[2] = z;
    memcpy(input.pointer.direction, (const float[3]){0, -1, 0}, sizeof input.pointer.direction);
    return input;
}

static void test_a_drag_draws_a_wall_on_the_level(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    static tarn_step_tools step;
    uint32_t pieces = 0;
    float drawn_m = 0;
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input input = from_above(1, TARN_PHASE_DOWN, TARN_TOOL_WALL, 1, 1);
    assert_int_equal(take(&state, 1, &input, &map), TARN_OK);
    for (uint32_t i = 0; i <= 40; i++) { // 2 m along z, 5 cm a step
        input = from_above(2 + i, i < 40 ? TARN_PHASE_MOVE : TARN_PHASE_UP, TARN_TOOL_WALL, 1, 1 + 0.05f * (float)i);
        take(&state, 1, &input, &map);
        tarn_input_state_latch(&state, map.size_m, dt_s, &step);
        for (uint32_t k = 0; k < step.wall_count; k++) {
            assert_float_equal(step.walls[k].height_m, 2, 1e-5); // half the strength, half the tank
            assert_float_equal(step.walls[k].from_m[2], 1 + drawn_m, 1e-4);
            drawn_m += step.walls[k].to_m[2] - step.walls[k].from_m[2];
            pieces++;
        }
    }
    assert_float_equal(drawn_m, 2, 1e-4);
    assert_true(pieces >= 5 && pieces <= 12);
    // A click makes a post.
    input = from_above(90, TARN_PHASE_DOWN, TARN_TOOL_WALL, 3, 3);
    take(&state, 1, &input, &map);
    input.sequence = 91;
    input.pointer.phase = TARN_PHASE_UP;
    take(&state, 1, &input, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.wall_count, 1);
    // Seen from the side it is drawn on the plane that faces the viewer, and stands nowhere.
    input = tool_press(92, TARN_TOOL_WALL, 1, 1);
    take(&state, 1, &input, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    input = tool_press(93, TARN_TOOL_WALL, 1, 3);
    input.pointer.phase = TARN_PHASE_MOVE;
    take(&state, 1, &input, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.wall_count, 1);
    assert_float_equal(step.walls[0].height_m, 0, 0);
    assert_float_equal(step.walls[0].to_m[1], 3, 1e-4);
    // What erases from above does so from the floor to the lid.
    input = from_above(94, TARN_PHASE_DOWN, TARN_TOOL_ERASE, 2, 2);
    take(&state, 1, &input, &map);
    tarn_input_state_latch(&state, map.size_m, dt_s, &step);
    assert_int_equal(step.erase_count, TARN_INPUT_COLUMN_MAX);
    assert_float_equal(step.erases[0].center_m[1], 0, 0);
    assert_float_equal(step.erases[0].center_m[2], 2, 1e-4);
    tarn_tile_map_free(&map);
}

/// Where a point along a solid's axis lies in the tank.
static void place_in(const tarn_solid *solid, int axis, float along_m, double at_m[3])
{
    double local_m[3] = {0, 0, 0};
    local_m[axis] = (double)along_m;
    tarn_pose_from_shape(&solid->pose, local_m, at_m);
}

static void test_walls_lie_where_they_were_drawn(void **unused)
{
    (void)unused;
    static tarn_tank_desc desc;
    tarn_solid solid;
    double at_m[3];
    tarn_tank_desc_default(&desc); // 32 cells of 1/32 m along each axis
    for (int kind = 0; kind < 4; kind++) {
        const float ends[4][3] = {{0.7f, 0.5f, 0.9f}, {0.1f, 0.5f, 0.7f}, {0.2f, 0.1f, 0.1f}, {0.6f, 0.9f, 0.2f}};
        tarn_tool_wall wall = {.from_m = {0.4f, 0.5f, 0.3f}, .radius_m = 0.05f};
        memcpy(wall.to_m, ends[kind], sizeof wall.to_m);
        for (int stands = 0; stands < 2; stands++) {
            wall.height_m = stands ? 0.5f : 0.0f;
            tarn_wall_solid(&desc, &wall, &solid);
            const float half_m = stands ? solid.shape.half_m[0] - 0.05f : solid.shape.half_m[1];
            place_in(&solid, stands ? 0 : 1, half_m, at_m);
            const bool is_end = fabs(at_m[0] - (double)wall.to_m[0]) < 1e-5;
            const float *end_m = is_end ? wall.to_m : wall.from_m; // which end it is doesn't matter
            assert_float_equal(at_m[0], (double)end_m[0], 1e-5);
            assert_float_equal(at_m[2], (double)end_m[2], 1e-5);
            if (!stands) {
                assert_float_equal(at_m[1], (double)end_m[1], 1e-5);
            } else {
                assert_float_equal(solid.pose.position_m[1] + solid.shape.half_m[1], 0.5, 1e-5);
            }
        }
    }
    desc.cells[2] = 1; // flat: along x and y
    const tarn_tool_wall wall = {.from_m = {0.2f, 0.2f, 0}, .to_m = {0.6f, 0.5f, 0}, .radius_m = 1e-4f};
    tarn_wall_solid(&desc, &wall, &solid);
    assert_float_equal(solid.shape.half_m[1], 1.0f / 32, 1e-6); // no thinner than two cells
    place_in(&solid, 0, 0.25f, at_m);
    assert_float_equal(at_m[0], 0.6, 1e-5);
    assert_float_equal(at_m[1], 0.5, 1e-5);
    assert_non_null(tarn_throw_refusal(&desc));
}

static void test_what_is_thrown_is_of_a_sound_size(void **unused)
{
    (void)unused;
    static tarn_tank_desc desc;
    tarn_solid solid;
    tarn_tool_throw thrown = {.center_m = {0.5f, 0.5f, 0.5f}, .radius_m = 9.0f};
    tarn_tank_desc_default(&desc);
    assert_null(tarn_throw_refusal(&desc));
    tarn_thrown_solid(&desc, &thrown, &solid);
    assert_float_equal(solid.shape.half_m[0], 8.0f / 32, 1e-6);
    assert_float_equal(solid.density_kg_m3, 400, 1e-3);
    thrown.radius_m = 0.001f;
    tarn_thrown_solid(&desc, &thrown, &solid);
    assert_float_equal(solid.shape.half_m[0], 2.0f / 32, 1e-6);
    desc.solid_count = 2; // a duck floats in the scene
    desc.solids[1].motion = TARN_MOTION_FREE;
    desc.solids[1].shape = (tarn_shape){.kind = TARN_SHAPE_FIELD, .half_m = {0.3f}, .field = 2};
    tarn_thrown_solid(&desc, &thrown, &solid);
    assert_int_equal(solid.shape.field, 2);
    const tarn_added_solid added[2] = {{64, solid}, {0, {.colour = {1, 2, 3}}}};
    tarn_added_info infos[TARN_ADDED_MAX];
    assert_int_equal(tarn_added_infos(&desc, added, 2, infos), 2);
    assert_int_equal(infos[0].shape, TARN_ADDED_LIKE);
    assert_int_equal(infos[0].like, 1);
    assert_int_equal(infos[0].number, 64);
    assert_int_equal(infos[1].colour, 0x010203);
}

static void test_no_wall_is_longer_than_a_tank_takes(void **unused)
{
    (void)unused;
    static tarn_tank_desc desc;
    tarn_solid solid;
    tarn_tank_desc_default(&desc);
    const float most_m = TARN_TANK_WALL_CELLS_MAX * desc.cell_m;
    tarn_tool_wall wall = {.from_m = {-1000, 0.5f, 0.5f}, .to_m = {1000, 0.5f, 0.5f}, .radius_m = 0.05f};
    for (int stands = 0; stands < 2; stands++) {
        wall.height_m = (float)stands;
        tarn_wall_solid(&desc, &wall, &solid);
        assert_float_equal(solid.shape.half_m[stands ? 0 : 1], most_m, 1e-3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pull_and_vortex_are_pushes_that_swirl),
        cmocka_unit_test(test_pour_drain_and_dye_act_where_they_are_held),
        cmocka_unit_test(test_a_pour_stays_out_of_the_liquid_and_on_the_ray),
        cmocka_unit_test(test_as_many_pour_as_there_is_room_for),
        cmocka_unit_test(test_a_tool_that_the_tank_lacks_is_refused_by_name),
        cmocka_unit_test(test_other_tools_act_by_the_trigger_and_the_pinch),
        cmocka_unit_test(test_a_press_throws_one_body_in_and_holds_it),
        cmocka_unit_test(test_a_drag_draws_a_wall_on_the_level),
        cmocka_unit_test(test_walls_lie_where_they_were_drawn),
        cmocka_unit_test(test_what_is_thrown_is_of_a_sound_size),
        cmocka_unit_test(test_no_wall_is_longer_than_a_tank_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
