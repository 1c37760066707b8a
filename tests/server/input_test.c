// Rays, presses and pushes of the worker, and its clock: pure code against small cases worked out by hand.
#include "server/worker/turns.h"
#include "tests/server/input_fixture.h"

#include <math.h>
#include <string.h>

static void test_a_ray_enters_and_leaves_the_tank(void **unused)
{
    (void)unused;
    const float size[3] = {4, 4, 4};
    tarn_ray ray = {{1, 1, -3}, {0, 0, 1}};
    float enter, leave;
    assert_true(tarn_ray_box(&ray, size, &enter, &leave));
    assert_float_equal(enter, 3, 1e-6);
    assert_float_equal(leave, 7, 1e-6);
    ray.origin_m[2] = 2; // from inside
    assert_true(tarn_ray_box(&ray, size, &enter, &leave));
    assert_float_equal(enter, 0, 1e-6);
    assert_float_equal(leave, 2, 1e-6);
    ray.origin_m[2] = 5; // behind it
    assert_false(tarn_ray_box(&ray, size, &enter, &leave));
    ray = (tarn_ray){{-1, 5, 1}, {1, 0, 0}}; // passes above
    assert_false(tarn_ray_box(&ray, size, &enter, &leave));
}

static void test_a_press_takes_hold_where_the_ray_meets_liquid(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    fill_map(&map);
    // Straight down through the air of y 2..4 into the first tile of liquid, y 1..2.
    tarn_ray down = {{2.5f, 6, 2.5f}, {0, -1, 0}};
    assert_float_equal(tarn_ray_depth(&down, &map), 4.5f, 0.1);
    // Level through the air: the middle of the way through the tank.
    tarn_ray level = {{-2, 3, 2}, {1, 0, 0}};
    assert_float_equal(tarn_ray_depth(&level, &map), 4, 1e-3);
    // Past the tank: the point nearest to its centre.
    tarn_ray past = {{-2, 9, 2}, {1, 0, 0}};
    assert_float_equal(tarn_ray_depth(&past, &map), 4, 1e-3);
    // Away from it: not behind the viewer.
    tarn_ray away = {{-2, 9, 2}, {-1, 0, 0}};
    assert_float_equal(tarn_ray_depth(&away, &map), 0, 0);
    tarn_tile_map_free(&map);
}

static void test_a_drag_pushes_along_its_motion(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input input = pointer(1, TARN_PHASE_DOWN, 1, 1);
    assert_int_equal(take(&state, 9, &input, &map), TARN_OK);
    assert_int_equal(latch(&state, pushes), 0); // pressed, but it does not move
    for (uint32_t i = 0; i < 8; i++) {
        input = pointer(2 + i, TARN_PHASE_MOVE, 1 + 0.02f * (float)(i + 1), 1);
        assert_int_equal(take(&state, 9, &input, &map), TARN_OK);
        assert_int_equal(latch(&state, pushes), 1);
    }
    // 0.02 m in each 1/64 s; the smoothing has come close to it after 8 steps.
    assert_float_equal(pushes[0].velocity_m_s[0], 0.02 * 64, 0.02);
    assert_float_equal(pushes[0].velocity_m_s[1], 0, 1e-6);
    assert_float_equal(pushes[0].center_m[0], 1.16, 1e-4);
    assert_float_equal(pushes[0].center_m[2], 0.5, 0.1); // where it took hold: in the first tile
    assert_float_equal(pushes[0].radius_m, 0.25, 0);
    assert_float_equal(pushes[0].strength, 0.5, 0);
    tarn_tile_map_free(&map);
}

static void test_a_hand_is_no_faster_in_a_slow_tank(void **unused)
{
    (void)unused;
    enum { SLOWER = 8 }; // than real time
    tarn_tile_map map;
    static tarn_input_state state;
    static tarn_step_tools step;
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input input = pointer(1, TARN_PHASE_DOWN, 1, 1);
    assert_int_equal(take(&state, 9, &input, &map), TARN_OK);
    for (uint32_t i = 0; i < 8; i++) {
        input = pointer(2 + i, TARN_PHASE_MOVE, 1 + 0.04f * SLOWER * (float)(i + 1), 1);
        assert_int_equal(take(&state, 9, &input, &map), TARN_OK);
        tarn_input_state_latch(&state, map.size_m, SLOWER * dt_s, &step);
    }
    // It goes eight times as far in a step, all along the way as fast as the hand.
    assert_true(step.push_count > 1);
    for (uint32_t i = 0; i < step.push_count; i++) {
        assert_float_equal(step.pushes[i].velocity_m_s[0], 0.04 * 64, 0.04);
    }
    assert_float_equal(step.pushes[step.push_count - 1].center_m[0], 1 + 0.04 * SLOWER * 8, 1e-3);
    tarn_tile_map_free(&map);
}

/// A press meets the water of a tank that is being set back as it will be.
static void test_a_press_is_made_again_where_the_water_is_now(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    float center_m[2][3];
    for (int later = 0; later < 2; later++) { // in the present water, and in what was none at first
        fill_map(&map);
        tarn_input_state_init(&state);
        if (later) {
            memset(map.bits, 0, map.bits_bytes);
        }
        tarn_input input = pointer(1, TARN_PHASE_DOWN, 1, 1);
        assert_int_equal(take(&state, 9, &input, &map), TARN_OK);
        tarn_tile_map_free(&map);
        fill_map(&map);
        tarn_input_state_press_again(&state, &map, &no_bodies);
        input = pointer(2, TARN_PHASE_MOVE, 1.02f, 1);
        assert_int_equal(take(&state, 9, &input, &map), TARN_OK);
        assert_int_equal(latch(&state, pushes), 1);
        memcpy(center_m[later], pushes[0].center_m, sizeof center_m[later]);
        tarn_tile_map_free(&map);
    }
    assert_memory_equal(center_m[0], center_m[1], sizeof center_m[0]);
}

static void test_a_press_moves_in_the_plane_that_faces_the_viewer(void **unused)
{
    (void)unused;
    // From straight above: moving the ray moves the sphere level, at the depth where it took hold.
    tarn_tile_map map;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input input = pointer(1, TARN_PHASE_DOWN, 0, 0);
    memcpy(input.pointer.origin_m, (float[3]){2, 6, 2}, sizeof input.pointer.origin_m);
    memcpy(input.pointer.direction, (float[3]){0, -1, 0}, sizeof input.pointer.direction);
    take(&state, 1, &input, &map);
    input.pointer.phase = TARN_PHASE_MOVE;
    memcpy(input.pointer.direction, (float[3]){0.6f, -0.8f, 0}, sizeof input.pointer.direction);
    take(&state, 1, &input, &map);
    uint32_t count = latch(&state, pushes);
    assert_true(count > 1); // a long way leaves several spheres
    assert_float_equal(pushes[count - 1].center_m[1], 1.5f, 0.1);
    assert_float_equal(pushes[count - 1].center_m[0], 2 + 4.5f * 0.75f, 0.1);
    assert_float_equal(pushes[count - 1].velocity_m_s[1], 0, 1e-3);
    tarn_tile_map_free(&map);
}

static void test_no_push_is_faster_than_the_cap(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input input = pointer(1, TARN_PHASE_DOWN, 1, 1);
    take(&state, 1, &input, &map);
    input = pointer(2, TARN_PHASE_MOVE, 900, -900);
    take(&state, 1, &input, &map);
    uint32_t count = latch(&state, pushes);
    assert_int_equal(count, TARN_INPUT_SWEEP_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const float *v = pushes[i].velocity_m_s;
        assert_float_equal(sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), TARN_TANK_PUSH_SPEED_MAX_M_S, 1e-3);
        assert_true(pushes[i].center_m[0] <= 8 && pushes[i].center_m[1] >= -4);
    }
    tarn_input hand = {.sequence = 3, .kind = TARN_INPUT_HAND};
    hand.hand.tracked = 1;
    hand.hand.velocity_m_s[1] = 100;
    hand.hand.radius_m = 0.1f;
    hand.hand.strength = 1;
    tarn_input_state_release(&state);
    take(&state, 1, &hand, &map);
    assert_int_equal(latch(&state, pushes), 1);
    assert_float_equal(pushes[0].velocity_m_s[1], TARN_TANK_PUSH_SPEED_MAX_M_S, 1e-3);
    tarn_tile_map_free(&map);
}

static void test_moves_coalesce_and_a_short_press_still_acts(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    tarn_frame_input contained[TARN_FRAME_INPUTS_MAX];
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input inputs[4] = {pointer(1, TARN_PHASE_DOWN, 1, 1), pointer(2, TARN_PHASE_MOVE, 1.5f, 1),
                            pointer(3, TARN_PHASE_MOVE, 1.1f, 1), pointer(4, TARN_PHASE_UP, 1.1f, 1)};
    for (int i = 0; i < 4; i++) {
        take(&state, 1, &inputs[i], &map);
    }
    assert_int_equal(tarn_input_state_contained(&state, contained), 0);
    assert_int_equal(latch(&state, pushes), 1);
    assert_float_equal(pushes[0].center_m[0], 1.1, 1e-5);
    assert_true(pushes[0].velocity_m_s[0] > 0);
    assert_int_equal(tarn_input_state_contained(&state, contained), 1);
    assert_int_equal(contained[0].sequence, 4);
    assert_int_equal(latch(&state, pushes), 0); // it was released
    tarn_tile_map_free(&map);
}

static void test_hovering_does_nothing(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input input = pointer(1, TARN_PHASE_MOVE, 1, 1);
    take(&state, 1, &input, &map);
    input = pointer(2, TARN_PHASE_UP, 3, 1);
    take(&state, 1, &input, &map);
    assert_int_equal(latch(&state, pushes), 0);
    tarn_tile_map_free(&map);
}

static void test_controllers_push_while_pressed_and_hands_while_open(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input input = {.sequence = 1, .kind = TARN_INPUT_CONTROLLER};
    input.controller.tracked = 1;
    input.controller.velocity_m_s[0] = 2;
    input.controller.radius_m = 0.1f;
    input.controller.strength = 0.5f;
    take(&state, 1, &input, &map);
    assert_int_equal(latch(&state, pushes), 0);
    input.controller.trigger = 0.5f;
    take(&state, 1, &input, &map);
    assert_int_equal(latch(&state, pushes), 1);
    assert_float_equal(pushes[0].velocity_m_s[0], 2, 1e-6);
    assert_float_equal(pushes[0].strength, 0.25, 1e-6);
    input.controller.tracked = 0;
    take(&state, 1, &input, &map);
    assert_int_equal(latch(&state, pushes), 0);

    tarn_input hand = {.sequence = 2, .kind = TARN_INPUT_HAND};
    hand.hand.tracked = 1;
    hand.hand.velocity_m_s[2] = 1;
    hand.hand.radius_m = 0.1f;
    hand.hand.strength = 1;
    take(&state, 1, &hand, &map);
    assert_int_equal(latch(&state, pushes), 1);
    hand.hand.grip = 1;
    take(&state, 1, &hand, &map);
    assert_int_equal(latch(&state, pushes), 0);
    tarn_tile_map_free(&map);
}

static void test_a_fast_hand_leaves_no_gaps(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    fill_map(&map);
    for (int kind = TARN_INPUT_CONTROLLER; kind <= TARN_INPUT_HAND; kind++) {
        tarn_input_state_init(&state);
        tarn_input input = {.sequence = 1, .kind = (tarn_input_kind)kind};
        float *position_m = input.controller.position_m;
        if (kind == TARN_INPUT_HAND) {
            position_m = input.hand.position_m;
            input.hand.tracked = 1;
            input.hand.radius_m = 0.1f;
            input.hand.velocity_m_s[0] = 10;
        } else {
            input.controller.tracked = 1;
            input.controller.trigger = 1;
            input.controller.radius_m = 0.1f;
            input.controller.velocity_m_s[0] = 10;
        }
        position_m[0] = 2;
        take(&state, 1, &input, &map);
        assert_int_equal(latch(&state, pushes), 1); // it comes into sight: from nowhere
        assert_float_equal(pushes[0].center_m[0], 2, 1e-6);
        position_m[0] = 2.3f;
        take(&state, 1, &input, &map);
        assert_int_equal(latch(&state, pushes), 3);
        for (int i = 0; i < 3; i++) {
            assert_float_equal(pushes[i].center_m[0], 2.1f + 0.1f * (float)i, 1e-5);
        }
        assert_int_equal(latch(&state, pushes), 1); // no message between two steps
        assert_float_equal(pushes[0].center_m[0], 2.3, 1e-6);
    }
    tarn_tile_map_free(&map);
}

static void test_a_silent_controller_stops_acting(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input hand = {.sequence = 1, .kind = TARN_INPUT_HAND};
    hand.hand.tracked = 1;
    hand.hand.velocity_m_s[2] = 1;
    hand.hand.radius_m = 0.1f;
    take(&state, 1, &hand, &map);
    for (int i = 0; i < TARN_INPUT_STALE_STEPS; i++) {
        assert_int_equal(latch(&state, pushes), 1);
    }
    latch(&state, pushes);
    assert_int_equal(latch(&state, pushes), 0);
    tarn_tile_map_free(&map);
}

static void test_more_presses_than_fit_are_refused_and_all_get_a_sphere(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    fill_map(&map);
    tarn_input_state_init(&state);
    for (uint32_t viewer = 1; viewer <= TARN_INPUT_SOURCES_MAX; viewer++) {
        tarn_input input = pointer(1, TARN_PHASE_DOWN, 1, 1);
        assert_int_equal(take(&state, viewer, &input, &map), TARN_OK);
        input = pointer(2, TARN_PHASE_MOVE, 3, 1); // a long way: wants several spheres
        take(&state, viewer, &input, &map);
    }
    tarn_input input = pointer(1, TARN_PHASE_DOWN, 1, 1);
    assert_int_equal(take(&state, 1000, &input, &map), TARN_E_LIMIT);
    assert_int_equal(latch(&state, pushes), TARN_TANK_PUSHES_MAX);
    tarn_input_state_viewer_gone(&state, 1);
    assert_int_equal(take(&state, 1000, &input, &map), TARN_OK);
    // A pointer that was silent for long gives its place to another.
    assert_int_equal(take(&state, 1001, &input, &map), TARN_E_LIMIT);
    for (int i = 0; i <= TARN_INPUT_SILENT_STEPS; i++) {
        latch(&state, pushes);
    }
    assert_int_equal(take(&state, 1001, &input, &map), TARN_OK);
    tarn_tile_map_free(&map);
}

static void test_frames_name_the_newest_inputs_of_the_most_recent_viewers(void **unused)
{
    (void)unused;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    tarn_frame_input contained[TARN_FRAME_INPUTS_MAX];
    tarn_input_state_init(&state);
    for (uint32_t viewer = 1; viewer <= 100; viewer++) {
        tarn_input_state_note(&state, viewer, viewer * 10);
        latch(&state, pushes);
    }
    tarn_input_state_note(&state, 1, 11);
    latch(&state, pushes);
    tarn_input_state_note(&state, 2, 21); // noted, not yet in a step
    assert_int_equal(tarn_input_state_contained(&state, contained), TARN_FRAME_INPUTS_MAX);
    assert_int_equal(contained[0].viewer_id, 1);
    assert_int_equal(contained[0].sequence, 11);
    for (uint32_t i = 1; i < TARN_FRAME_INPUTS_MAX; i++) {
        assert_int_equal(contained[i].viewer_id, 101 - i);
    }
    tarn_input_state_viewer_gone(&state, 1);
    tarn_input_state_contained(&state, contained);
    assert_int_equal(contained[0].viewer_id, 100);
}

enum { MS = 1000000 };

static void test_a_tank_that_keeps_up_runs_at_one(void **unused)
{
    (void)unused;
    tarn_pace pace;
    uint64_t now = 1000 * (uint64_t)MS;
    tarn_pace_start(&pace, 0.01f, 1, now);
    assert_float_equal(tarn_pace_factor(&pace, now), 1, 0);
    for (int i = 0; i < 300; i++) {
        now = pace.due_ns + 2 * MS; // each step takes 2 ms
        tarn_pace_stepped(&pace, now);
    }
    assert_float_equal(tarn_pace_factor(&pace, now), 1, 0.03);
}

static void test_a_slow_tank_slows_its_clock_and_says_so(void **unused)
{
    (void)unused;
    tarn_pace pace;
    uint64_t now = 1000 * (uint64_t)MS;
    tarn_pace_start(&pace, 0.01f, 1, now);
    for (int i = 0; i < 200; i++) {
        now += 40 * MS;
        tarn_pace_stepped(&pace, now);
        assert_true(pace.due_ns + TARN_WORKER_LAG_MS_MAX * (uint64_t)MS >= now); // never owes more than the lag
    }
    assert_float_equal(tarn_pace_factor(&pace, now), 0.25, 0.01);
}

static void test_a_hiccup_is_made_up_for(void **unused)
{
    (void)unused;
    tarn_pace pace;
    uint64_t start = 1000 * (uint64_t)MS, now = start;
    tarn_pace_start(&pace, 0.01f, 1, now);
    now += 45 * MS;
    tarn_pace_stepped(&pace, now);
    assert_true(pace.due_ns == start + 10 * MS); // the next steps are due at once
    now += 60 * MS;
    tarn_pace_stepped(&pace, now);
    assert_true(pace.due_ns == now); // too late: let go
}

/// In slow motion steps are far apart: what the clock says is right at each of them, and between two, too.
static void test_a_slow_clock_says_what_it_goes_by(void **unused)
{
    (void)unused;
    static const float speeds[] = {0.05f, 0.1f, 0.25f, 0.5f, 1, 2, 4};
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        tarn_pace pace;
        uint64_t now = 1000 * (uint64_t)MS;
        tarn_pace_start(&pace, 1.0f / 60, speeds[i], now);
        for (int step = 0; step < 100; step++) {
            now = pace.due_ns;
            tarn_pace_stepped(&pace, now);
            assert_float_equal(tarn_pace_factor(&pace, now), speeds[i], 1e-3 * (double)speeds[i]);
            now += pace.period_ns * 3 / 4;
            assert_float_equal(tarn_pace_factor(&pace, now), speeds[i], 1e-3 * (double)speeds[i]);
        }
        now += 40 * pace.period_ns; // no more steps come
        assert_true(tarn_pace_factor(&pace, now) < 0.8f * speeds[i]);
    }
}

/// What is left until the next step is stretched: whoever changes the speed often makes no steps by it.
static void test_a_change_of_speed_stretches_the_step_that_is_under_way(void **unused)
{
    (void)unused;
    tarn_pace pace;
    uint64_t now = 1000 * (uint64_t)MS;
    tarn_pace_start(&pace, 0.01f, 1, now);
    tarn_pace_stepped(&pace, now);
    now += 5 * MS;
    tarn_pace_set_speed(&pace, 0.125f, now);
    assert_int_equal(pace.due_ns, now + 40 * MS);
    assert_float_equal(tarn_pace_factor(&pace, now), 0.125, 0);
    for (int i = 0; i < 100; i++) {
        tarn_pace_set_speed(&pace, i % 2 == 0 ? 1 : 0.125f, now);
    }
    assert_in_range(pace.due_ns, now + 39 * MS, now + 40 * MS);
    now = pace.due_ns + 100 * MS; // of a late one nothing is left
    tarn_pace_set_speed(&pace, 1, now);
    assert_true(pace.due_ns < now);
}

/// A box that lies still, a paddle that follows a path, and two floating balls: body 1 at (1, 1, 2) with a radius of
/// 1/4 m, body 2 behind it, at (1, 1, 3), with 1/2 m.
static void fill_bodies(tarn_body_map *bodies)
{
    static tarn_tank_desc desc;
    desc.solid_count = 4;
    desc.solids[0] = (tarn_solid){.shape = {.kind = TARN_SHAPE_BOX, .half_m = {9, 9, 9}}};
    desc.solids[1] = desc.solids[0];
    desc.solids[1].motion = TARN_MOTION_KEYFRAMES;
    desc.solids[2] = (tarn_solid){.shape = {.kind = TARN_SHAPE_SPHERE, .half_m = {0.25f}},
                                  .pose = {{0, 0, 0}, {0, 0, 0, 1}},
                                  .motion = TARN_MOTION_FREE};
    desc.solids[3] = desc.solids[2];
    desc.solids[3].shape.half_m[0] = 0.5f;
    tarn_body_map_init(bodies, &desc);
    const float turn = 0.70710678f; // a quarter turn about z
    const tarn_body_state states[3] = {{.solid = 1},
                                       {.solid = 2, .pose = {{1, 1, 2}, {0, 0, turn, turn}}},
                                       {.solid = 3, .pose = {{1, 1, 3}, {0, 0, 0, 1}}}};
    tarn_body_map_update(bodies, states, 3);
}

static void test_a_ray_meets_the_nearest_body(void **unused)
{
    (void)unused;
    tarn_body_map bodies;
    float hit[3];
    fill_bodies(&bodies);
    assert_int_equal(bodies.count, 2);
    tarn_ray ray = {{1.1f, 1, -3}, {0, 0, 1}};
    assert_int_equal(tarn_body_map_ray(&bodies, &ray, hit)->body, 1);
    assert_float_equal(hit[0], 1.1, 1e-6);
    assert_float_equal(hit[2], 2, 1e-6);
    ray.origin_m[0] = 1.3f; // past the small one
    assert_int_equal(tarn_body_map_ray(&bodies, &ray, hit)->body, 2);
    ray.origin_m[0] = 1.6f; // past both
    assert_null(tarn_body_map_ray(&bodies, &ray, hit));
    ray = (tarn_ray){{1, 1, 2.4f}, {0, 0, 1}}; // the small one is behind it
    assert_int_equal(tarn_body_map_ray(&bodies, &ray, hit)->body, 2);
    ray.origin_m[2] = 3.1f; // from inside, beyond the middle: where it begins
    assert_int_equal(tarn_body_map_ray(&bodies, &ray, hit)->body, 2);
    assert_float_equal(hit[2], 3.1, 1e-6);
    ray.origin_m[2] = 3.6f;
    assert_null(tarn_body_map_ray(&bodies, &ray, hit));
}

static void test_a_press_on_a_body_drags_it(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    tarn_body_map bodies;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    tarn_grab grabs[TARN_TANK_GRABS_MAX];
    fill_map(&map);
    fill_bodies(&bodies);
    tarn_input_state_init(&state);
    tarn_input input = pointer(1, TARN_PHASE_DOWN, 1.1f, 1);
    take_with(&state, 9, &input, &map, &bodies);
    input = pointer(2, TARN_PHASE_MOVE, 1.6f, 1.2f);
    take_with(&state, 9, &input, &map, &bodies);
    for (int step = 0; step < 3; step++) {
        assert_int_equal(tarn_input_state_grabs(&state, grabs), 1);
        assert_int_equal(latch(&state, pushes), 0);
    }
    assert_int_equal(grabs[0].body, 1);
    // 0.1 m along x in the tank; the body's own frame is turned by a quarter about z.
    assert_float_equal(grabs[0].point_m[0], 0, 1e-6);
    assert_float_equal(grabs[0].point_m[1], -0.1, 1e-6);
    assert_float_equal(grabs[0].point_m[2], 0, 1e-6);
    // In the plane through the body's middle, wherever the body is by now.
    assert_float_equal(grabs[0].target_m[0], 1.6, 1e-6);
    assert_float_equal(grabs[0].target_m[1], 1.2, 1e-6);
    assert_float_equal(grabs[0].target_m[2], 2, 1e-6);
    assert_true(grabs[0].strength > 0 && grabs[0].strength <= 1);
    // It is held in the step that contains the release, and then no more.
    input = pointer(3, TARN_PHASE_UP, 1.7f, 1.2f);
    take_with(&state, 9, &input, &map, &bodies);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 1);
    assert_float_equal(grabs[0].target_m[0], 1.7, 1e-6);
    assert_int_equal(latch(&state, pushes), 0);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
    // The next press, beside the bodies, pushes.
    input = pointer(4, TARN_PHASE_DOWN, 3, 1);
    take_with(&state, 9, &input, &map, &bodies);
    input = pointer(5, TARN_PHASE_MOVE, 3.2f, 1);
    take_with(&state, 9, &input, &map, &bodies);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
    assert_int_equal(latch(&state, pushes), 1);
    tarn_tile_map_free(&map);
}

static void test_a_controller_holds_what_it_touches_when_it_is_pressed(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    tarn_body_map bodies;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    tarn_grab grabs[TARN_TANK_GRABS_MAX];
    fill_map(&map);
    fill_bodies(&bodies);
    tarn_input_state_init(&state);
    tarn_input input = {.sequence = 1, .kind = TARN_INPUT_CONTROLLER};
    tarn_input_controller *controller = &input.controller;
    controller->tracked = 1;
    controller->trigger = 1;
    controller->radius_m = 0.1f;
    controller->strength = 1;
    controller->velocity_m_s[0] = 1;
    memcpy(controller->position_m, (float[3]){0.6f, 1, 2}, sizeof controller->position_m);
    take_with(&state, 9, &input, &map, &bodies); // 0.15 m beside it
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
    controller->position_m[0] = 0.7f; // pressed already: it pushes against it
    take_with(&state, 9, &input, &map, &bodies);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
    assert_int_equal(latch(&state, pushes), 1);
    controller->trigger = 0;
    take_with(&state, 9, &input, &map, &bodies);
    controller->trigger = 1; // 0.05 m beside it, less than its radius
    take_with(&state, 9, &input, &map, &bodies);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 1);
    assert_int_equal(grabs[0].body, 1);
    assert_float_equal(grabs[0].point_m[1], 0.3, 1e-6);
    assert_int_equal(latch(&state, pushes), 0);
    controller->trigger = 0;
    take_with(&state, 9, &input, &map, &bodies);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
    tarn_tile_map_free(&map);
}

static void test_a_hand_holds_what_it_closes_around(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    tarn_body_map bodies;
    static tarn_input_state state;
    tarn_push pushes[TARN_TANK_PUSHES_MAX];
    tarn_grab grabs[TARN_TANK_GRABS_MAX];
    fill_map(&map);
    fill_bodies(&bodies);
    tarn_input_state_init(&state);
    tarn_input input = {.sequence = 1, .kind = TARN_INPUT_HAND};
    tarn_input_hand *hand = &input.hand;
    hand->tracked = 1;
    hand->radius_m = 0.1f;
    hand->strength = 1;
    hand->velocity_m_s[0] = 1;
    memcpy(hand->position_m, (float[3]){1, 1, 2}, sizeof hand->position_m);
    hand->grip = 1; // a fist that comes into sight there
    take_with(&state, 9, &input, &map, &bodies);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
    assert_int_equal(latch(&state, pushes), 0);
    for (int way = 0; way < 2; way++) {
        hand->grip = hand->pinch = 0;
        take_with(&state, 9, &input, &map, &bodies);
        assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
        assert_int_equal(latch(&state, pushes), 1);
        *(way ? &hand->pinch : &hand->grip) = 1;
        take_with(&state, 9, &input, &map, &bodies);
        assert_int_equal(tarn_input_state_grabs(&state, grabs), 1);
        assert_int_equal(latch(&state, pushes), 0);
    }
    // A hand that is out of sight lets go after a while.
    for (int step = 0; step <= TARN_INPUT_STALE_STEPS; step++) {
        latch(&state, pushes);
    }
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
    // A pinch beside every body pushes as an open hand does.
    hand->pinch = 0;
    hand->position_m[0] = 3;
    take_with(&state, 9, &input, &map, &bodies);
    hand->pinch = 1;
    take_with(&state, 9, &input, &map, &bodies);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
    assert_int_equal(latch(&state, pushes), 1);
    tarn_tile_map_free(&map);
}

static void test_a_fist_holds_a_body_whatever_the_tool_is(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    tarn_body_map bodies;
    static tarn_input_state state;
    static tarn_step_tools step;
    const float size_m[3] = {4, 4, 4};
    tarn_grab grabs[TARN_TANK_GRABS_MAX];
    fill_map(&map);
    fill_bodies(&bodies);
    tarn_input_state_init(&state);
    tarn_input input = {.sequence = 1, .kind = TARN_INPUT_HAND};
    tarn_input_hand *hand = &input.hand;
    hand->tracked = 1;
    hand->tool = TARN_TOOL_POUR;
    hand->radius_m = 0.1f;
    hand->strength = 1;
    memcpy(hand->position_m, (float[3]){1, 1, 2}, sizeof hand->position_m);
    hand->grip = 1; // it comes into sight as a fist
    take_with(&state, 9, &input, &map, &bodies);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
    for (int time = 0; time < 2; time++) {
        hand->grip = 0;
        take_with(&state, 9, &input, &map, &bodies);
        assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
        tarn_input_state_latch(&state, size_m, dt_s, &step);
        assert_int_equal(step.tank.pour_count, 0);
        hand->grip = 1;
        for (int message = 0; message < 2; message++) {
            take_with(&state, 9, &input, &map, &bodies);
            assert_int_equal(tarn_input_state_grabs(&state, grabs), 1);
            tarn_input_state_latch(&state, size_m, dt_s, &step);
            assert_int_equal(step.tank.pour_count, 0);
        }
        // Of the other hand and of another viewer nothing was seen.
        hand->side = TARN_SIDE_RIGHT;
        take_with(&state, 9, &input, &map, &bodies);
        hand->side = TARN_SIDE_LEFT;
        take_with(&state, 8, &input, &map, &bodies);
        assert_int_equal(tarn_input_state_grabs(&state, grabs), 1);
    }
    // A fist that closed beside every body holds none that it runs into, nor does one that was lost in between.
    hand->grip = 0;
    take_with(&state, 9, &input, &map, &bodies);
    for (int lost = 0; lost < 2; lost++) {
        hand->grip = 1;
        hand->tracked = !lost;
        hand->position_m[0] = 3;
        take_with(&state, 9, &input, &map, &bodies);
        hand->tracked = 1;
        hand->position_m[0] = 1;
        take_with(&state, 9, &input, &map, &bodies);
        assert_int_equal(tarn_input_state_grabs(&state, grabs), 0);
        hand->grip = 0;
        take_with(&state, 9, &input, &map, &bodies);
    }
    tarn_tile_map_free(&map);
}

static void test_no_more_hands_act_than_a_step_takes(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    tarn_body_map bodies;
    static tarn_input_state state;
    tarn_grab grabs[TARN_TANK_GRABS_MAX];
    fill_map(&map);
    fill_bodies(&bodies);
    tarn_input_state_init(&state);
    for (uint32_t viewer = 1; viewer <= TARN_TANK_GRABS_MAX + 2; viewer++) {
        tarn_input input = pointer(1, TARN_PHASE_DOWN, 1, 1);
        take_with(&state, viewer, &input, &map, &bodies);
    }
    assert_int_equal(tarn_input_state_grabs(&state, grabs), TARN_TANK_GRABS_MAX);
    tarn_input_state_viewer_gone(&state, 1);
    tarn_input_state_viewer_gone(&state, 2);
    tarn_input_state_viewer_gone(&state, 3);
    assert_int_equal(tarn_input_state_grabs(&state, grabs), TARN_TANK_GRABS_MAX - 1);
    tarn_tile_map_free(&map);
}

static void test_who_lets_go_is_known_still(void **unused)
{
    (void)unused;
    tarn_tile_map map;
    static tarn_input_state state;
    fill_map(&map);
    tarn_input_state_init(&state);
    tarn_input input = pointer(5, TARN_PHASE_DOWN, 1, 1);
    assert_int_equal(take(&state, 1, &input, &map), TARN_OK);
    tarn_input_state_note(&state, 1, 5);
    assert_false(tarn_input_state_let_go(&state, 1, 4)); // it pressed after that
    assert_int_equal(state.sources[0].viewer_id, 1);
    assert_true(tarn_input_state_let_go(&state, 1, 5));
    assert_int_equal(state.sources[0].viewer_id, 0);
    assert_true(tarn_input_state_has(&state, 1, 5)); // or it would be done again when it is sent again
    tarn_tile_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_ray_enters_and_leaves_the_tank),
        cmocka_unit_test(test_a_press_takes_hold_where_the_ray_meets_liquid),
        cmocka_unit_test(test_a_drag_pushes_along_its_motion),
        cmocka_unit_test(test_a_hand_is_no_faster_in_a_slow_tank),
        cmocka_unit_test(test_a_press_is_made_again_where_the_water_is_now),
        cmocka_unit_test(test_a_press_moves_in_the_plane_that_faces_the_viewer),
        cmocka_unit_test(test_no_push_is_faster_than_the_cap),
        cmocka_unit_test(test_moves_coalesce_and_a_short_press_still_acts),
        cmocka_unit_test(test_hovering_does_nothing),
        cmocka_unit_test(test_controllers_push_while_pressed_and_hands_while_open),
        cmocka_unit_test(test_a_fast_hand_leaves_no_gaps),
        cmocka_unit_test(test_a_silent_controller_stops_acting),
        cmocka_unit_test(test_more_presses_than_fit_are_refused_and_all_get_a_sphere),
        cmocka_unit_test(test_frames_name_the_newest_inputs_of_the_most_recent_viewers),
        cmocka_unit_test(test_a_tank_that_keeps_up_runs_at_one),
        cmocka_unit_test(test_a_slow_tank_slows_its_clock_and_says_so),
        cmocka_unit_test(test_a_hiccup_is_made_up_for),
        cmocka_unit_test(test_a_slow_clock_says_what_it_goes_by),
        cmocka_unit_test(test_a_change_of_speed_stretches_the_step_that_is_under_way),
        cmocka_unit_test(test_a_ray_meets_the_nearest_body),
        cmocka_unit_test(test_a_press_on_a_body_drags_it),
        cmocka_unit_test(test_a_controller_holds_what_it_touches_when_it_is_pressed),
        cmocka_unit_test(test_a_hand_holds_what_it_closes_around),
        cmocka_unit_test(test_a_fist_holds_a_body_whatever_the_tool_is),
        cmocka_unit_test(test_no_more_hands_act_than_a_step_takes),
        cmocka_unit_test(test_who_lets_go_is_known_still),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
