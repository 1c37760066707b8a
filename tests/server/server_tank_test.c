// What viewers do to the tank, through gateway and worker: the same bytes for all, pushes, parameters, pause, step,
// reset, load.
#include "protocol/motion_code.h"
#include "server/base/clock.h"
#include "tests/sanitized.h"
#include "tests/server/pool_server.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Every test begins with a running tank of the small pool.
static int begin(void **state)
{
    static ws_client client;
    tarn_message message;
    ws_client_enter(&client, pool_server.port);
    ws_client_control(&client, TARN_CONTROL_LOAD, "small-pool");
    do {
        if (!ws_client_wait(&client, TARN_MESSAGE_STATE, &message)) {
            return -1;
        }
    } while (strcmp(message.state.scene, "small-pool") != 0 || message.state.paused);
    *state = &client;
    return 0;
}

static int end(void **state)
{
    ws_client_close(*state);
    return 0;
}

/// Waits for a frame that contains this client's inputs up to a sequence number.
static void wait_contained(ws_client *client, uint32_t sequence, ws_frame *frame)
{
    for (int i = 0; i < 1000; i++) {
        assert_true(ws_client_wait_frame(client, frame));
        for (uint32_t k = 0; k < frame->input_count; k++) {
            tarn_frame_input input = frame->inputs[k];
            if (input.viewer_id == client->viewer_id && input.sequence >= sequence) {
                return;
            }
        }
    }
    fail_msg("no frame contained input %u", sequence);
}

typedef struct kept_frame {
    uint32_t epoch;
    uint64_t step;
    uint8_t *bytes;
    size_t byte_count;
    uint32_t layers;
} kept_frame;

static int collect(ws_client *client, kept_frame *kept, int count)
{
    int n = 0;
    ws_message raw;
    ws_frame frame;
    while (n < count && ws_client_next(client, &raw, WS_CLIENT_WAIT_MS) == 1) {
        if (raw.opcode != WS_BINARY || ws_frame_open(raw.bytes, raw.byte_count, &frame) != TARN_OK) {
            continue;
        }
        kept[n] = (kept_frame){frame.epoch, frame.step, malloc(raw.byte_count), raw.byte_count, frame.layers};
        memcpy(kept[n++].bytes, raw.bytes, raw.byte_count);
        tarn_message ack = {.kind = TARN_MESSAGE_ACK, .ack = {.epoch = frame.epoch, .step = frame.step}};
        ws_client_tell(client, &ack);
    }
    return n;
}

static void test_two_viewers_see_the_same_bytes_for_the_same_step(void **state)
{
    enum { FRAMES = 40 };
    static kept_frame a[FRAMES], b[FRAMES];
    ws_client other;
    int same = 0;
    ws_client_enter(&other, pool_server.port);
    for (int i = 0; i < FRAMES; i++) { // in turns, so that neither falls behind
        assert_int_equal(collect(*state, &a[i], 1), 1);
        assert_int_equal(collect(&other, &b[i], 1), 1);
    }
    for (int i = 0; i < FRAMES; i++) {
        for (int k = 0; k < FRAMES; k++) {
            if (a[i].epoch != b[k].epoch || a[i].step != b[k].step) {
                continue;
            }
            same++;
            const size_t shorter = a[i].byte_count < b[k].byte_count ? a[i].byte_count : b[k].byte_count;
            if (a[i].layers == b[k].layers) {
                assert_int_equal(a[i].byte_count, b[k].byte_count);
            }
            assert_memory_equal(a[i].bytes, b[k].bytes, shorter);
        }
    }
    assert_true(same >= 5);
    for (int i = 0; i < FRAMES; i++) {
        free(a[i].bytes);
        free(b[i].bytes);
    }
    ws_client_close(&other);
}

/// Drags through the pool from above, along x or against it.
/// @return the water's mean speed along x afterwards, over the hand's, which is a person's also where the tank is slow
static double drag(ws_client *client, float direction)
{
    ws_frame frame;
    double velocity[3];
    const float down[3] = {0, -1, 0};
    float at[3] = {0.5f - 0.35f * direction, 3, 0.5f};
    ws_client_pointer(client, TARN_PHASE_DOWN, at, down, 0.3f);
    wait_contained(client, client->sequence, &frame);
    uint64_t steps[3];
    const uint64_t begun_ns = tarn_clock_monotonic_ns();
    for (int i = 0; i < 3; i++) { // three frames' worth of motion
        at[0] += 0.12f * direction;
        ws_client_pointer(client, TARN_PHASE_MOVE, at, down, 0.3f);
        wait_contained(client, client->sequence, &frame);
        steps[i] = frame.step;
    }
    const double taken_s = (double)(tarn_clock_monotonic_ns() - begun_ns) * 1e-9;
    assert_true(steps[2] > steps[0]);
    ws_client_velocity(client, velocity);
    ws_client_pointer(client, TARN_PHASE_UP, at, down, 0.3f);
    return velocity[0] / (3 * 0.12 / taken_s);
}

static void test_a_drag_moves_the_water_along_within_three_frames(void **state)
{
    double right = drag(*state, 1);
    ws_client_control(*state, TARN_CONTROL_RESET, NULL);
    double left = drag(*state, -1);
    if (right < 0.02 || left > -0.02) {
        fail_msg("the water's speed over the hand's: %g to the right, %g to the left", right, left);
    }
}

/// A tool held straight down into the pool, until a frame contains it.
static void use_tool(ws_client *client, tarn_phase phase, tarn_tool tool, uint32_t colour, ws_frame *frame)
{
    tarn_message message = {.kind = TARN_MESSAGE_INPUT};
    message.input.sequence = ++client->sequence;
    message.input.kind = TARN_INPUT_POINTER;
    message.input.pointer = (tarn_input_pointer){.phase = phase,
                                                 .tool = tool,
                                                 .origin_m = {0.5f, 3, 0.5f},
                                                 .direction = {0, -1, 0},
                                                 .radius_m = 0.25f,
                                                 .strength = 1,
                                                 .colour = colour};
    assert_int_equal(ws_client_tell(client, &message), 0);
    wait_contained(client, client->sequence, frame);
}

static uint32_t count_coloured(const ws_client *client, uint16_t colour)
{
    const tarn_stream_particles *particles = &client->decoder.particles;
    uint32_t count = 0;
    assert_int_equal(client->decoder.status, TARN_OK);
    for (uint32_t i = 0; i < particles->count; i++) {
        count += particles->positions[4 * (size_t)i + 3] == colour;
    }
    return count;
}

/// Particles of the newest frame in a column of a cell's width around the middle of the tank.
static uint32_t count_in_middle(const ws_client *client)
{
    const tarn_stream_particles *seen = &client->decoder.particles;
    const uint32_t middle = 8u << seen->unit_bits, half = 1u << seen->unit_bits;
    uint32_t count = 0;
    assert_int_equal(client->decoder.status, TARN_OK);
    for (uint32_t i = 0; i < seen->count; i++) {
        const uint32_t x = seen->positions[4 * (size_t)i], z = seen->positions[4 * (size_t)i + 2];
        count += x + half >= middle && x < middle + half && z + half >= middle && z < middle + half;
    }
    return count;
}

static void wait_added(ws_client *client, uint32_t count)
{
    tarn_message message;
    while (client->state.added_count != count) {
        assert_true(ws_client_wait(client, TARN_MESSAGE_STATE, &message));
    }
}

/// A post in the middle of the pool, a ball beside nobody's hand, and all of it gone again.
static void test_what_is_put_in_is_seen_by_everybody(void **state)
{
    ws_client *client = *state, later;
    ws_frame frame;
    use_tool(client, TARN_PHASE_DOWN, TARN_TOOL_WALL, 0, &frame);
    use_tool(client, TARN_PHASE_UP, TARN_TOOL_WALL, 0, &frame);
    wait_added(client, 1);
    assert_int_equal(client->state.added[0].number, 0);
    assert_int_equal(client->state.added[0].shape, TARN_ADDED_BOX);
    assert_float_equal(client->state.added[0].half_m[0], 0.1, 1e-6);
    do {
        assert_true(ws_client_wait_frame(client, &frame));
    } while (count_in_middle(client) > 0);
    use_tool(client, TARN_PHASE_DOWN, TARN_TOOL_THROW, 0, &frame);
    use_tool(client, TARN_PHASE_UP, TARN_TOOL_THROW, 0, &frame);
    wait_added(client, 2);
    const uint32_t number = client->state.added[0].number;
    assert_int_equal(number, TARN_ADDED_NUMBER_MIN);
    ws_client_enter(&later, pool_server.port);
    assert_int_equal(later.state.added_count, 2);
    do { // the newest key frame, and what moves it
        assert_true(ws_client_wait_frame(&later, &frame));
    } while (frame.body_count == 0);
    assert_int_equal(frame.body_count, 1);
    assert_int_equal(frame.bodies[0].solid, number);
    use_tool(client, TARN_PHASE_DOWN, TARN_TOOL_ERASE, 0, &frame);
    use_tool(client, TARN_PHASE_UP, TARN_TOOL_ERASE, 0, &frame);
    wait_added(&later, 1);
    assert_int_equal(later.state.added[0].number, number);
    do {
        assert_true(ws_client_wait_frame(client, &frame));
    } while (count_in_middle(client) == 0);
    ws_client_control(client, TARN_CONTROL_RESET, NULL);
    wait_added(&later, 0);
    do {
        assert_true(ws_client_wait_frame(&later, &frame));
    } while (frame.body_count > 0);
    ws_client_close(&later);
}

static void test_tools_change_the_tank_as_frames_show(void **state)
{
    enum { RED = 7 << 5 };
    ws_client *client = *state;
    ws_frame frame;
    assert_true(ws_client_wait_frame(client, &frame));
    assert_int_equal(frame.flags & TARN_FRAME_FLAG_COLOURS, 0);
    const uint32_t seeded = frame.particle_count;
    use_tool(client, TARN_PHASE_DOWN, TARN_TOOL_DYE, TARN_COLOUR_GIVEN | 0xff0000, &frame);
    use_tool(client, TARN_PHASE_UP, TARN_TOOL_DYE, TARN_COLOUR_GIVEN | 0xff0000, &frame);
    while (client->decoder.status != TARN_OK || (frame.flags & TARN_FRAME_FLAG_COLOURS) == 0) {
        assert_true(ws_client_wait_frame(client, &frame));
    }
    const uint32_t red = count_coloured(client, RED);
    assert_true(red > 20 && red < seeded / 2);
    assert_int_equal(frame.particle_count, seeded);

    use_tool(client, TARN_PHASE_DOWN, TARN_TOOL_POUR, 0, &frame);
    for (int i = 0; i < 200 && frame.particle_count < seeded + 100; i++) {
        assert_true(ws_client_wait_frame(client, &frame));
    }
    assert_true(frame.particle_count >= seeded + 100);
    use_tool(client, TARN_PHASE_UP, TARN_TOOL_POUR, 0, &frame);
    const uint32_t poured = frame.particle_count;
    use_tool(client, TARN_PHASE_DOWN, TARN_TOOL_DRAIN, 0, &frame);
    for (int i = 0; i < 200 && frame.particle_count + 200 > poured; i++) {
        assert_true(ws_client_wait_frame(client, &frame));
    }
    assert_true(frame.particle_count + 200 <= poured);
    use_tool(client, TARN_PHASE_UP, TARN_TOOL_DRAIN, 0, &frame);

    const uint32_t epoch = frame.epoch;
    ws_client_control(client, TARN_CONTROL_RESET, NULL);
    do {
        assert_true(ws_client_wait_frame(client, &frame));
    } while (frame.epoch == epoch);
    assert_int_equal(frame.flags & TARN_FRAME_FLAG_COLOURS, 0);
    assert_int_equal(frame.particle_count, seeded);
    assert_int_equal(count_coloured(client, 0), client->decoder.particles.count);
}

static void test_inputs_of_every_kind_are_taken(void **state)
{
    ws_client *client = *state;
    ws_frame frame;
    tarn_message message = {.kind = TARN_MESSAGE_INPUT};
    message.input.kind = TARN_INPUT_CONTROLLER;
    message.input.sequence = ++client->sequence;
    message.input.controller.tracked = 1;
    message.input.controller.orientation[3] = 1;
    message.input.controller.trigger = 1;
    message.input.controller.velocity_m_s[1] = 3;
    message.input.controller.radius_m = 0.3f;
    message.input.controller.strength = 1;
    assert_int_equal(ws_client_tell(client, &message), 0);
    wait_contained(client, client->sequence, &frame);
    message = (tarn_message){.kind = TARN_MESSAGE_INPUT};
    message.input.kind = TARN_INPUT_HAND;
    message.input.sequence = ++client->sequence;
    message.input.hand.tracked = 1;
    message.input.hand.orientation[3] = 1;
    message.input.hand.radius_m = 0.3f;
    message.input.hand.joint_count = TARN_HAND_JOINTS;
    assert_int_equal(ws_client_tell(client, &message), 0);
    wait_contained(client, client->sequence, &frame);
    message = (tarn_message){.kind = TARN_MESSAGE_INPUT};
    message.input.kind = TARN_INPUT_ORIENTATION;
    message.input.sequence = ++client->sequence;
    message.input.orientation.orientation[0] = 0.6f;
    message.input.orientation.orientation[3] = 0.8f;
    assert_int_equal(ws_client_tell(client, &message), 0);
    wait_contained(client, client->sequence, &frame);
    // A tank turns no faster than TARN_TANK_TURN_MAX_RAD_S; then it stays.
    for (int there = 0, frames = 0; there < 5 && frames < 600; frames++) {
        assert_true(ws_client_wait_frame(client, &frame));
        there = fabsf(frame.orientation[0] - 0.6f) < 1e-3f ? there + 1 : 0;
    }
    assert_float_equal(frame.orientation[0], 0.6, 1e-3);
    assert_float_equal(frame.orientation[3], 0.8, 1e-3);
}

/// Somebody in all of the picture, who goes to the side; 0 bytes: the camera is switched off.
static void show_motion(ws_client *client, int8_t along, bool is_on)
{
    enum { COLUMNS = 16, ROWS = 12, AREA = COLUMNS * ROWS };
    static uint8_t planes[TARN_MOTION_PLANES * AREA], code[TARN_MOTION_CODE_BYTES_MAX];
    memset(planes, 255, AREA);
    memset(planes + AREA, (uint8_t)along, AREA);
    tarn_message message = {.kind = TARN_MESSAGE_INPUT};
    message.input.kind = TARN_INPUT_MOTION;
    message.input.sequence = ++client->sequence;
    message.input.motion = (tarn_input_motion){.source = 2,
                                               .columns = COLUMNS,
                                               .rows = ROWS,
                                               .corner_m = {0, 0, 1},
                                               .across_m = {1, 0, 0},
                                               .up_m = {0, 1, 0},
                                               .speed_m_s = 2,
                                               .strength = 0.5f};
    if (is_on) {
        message.input.motion.cell_bytes = (uint32_t)tarn_motion_encode(planes, sizeof planes, code, sizeof code);
        message.input.motion.cells = code;
    }
    assert_int_equal(ws_client_tell(client, &message), 0);
}

/// Mean velocity along x of the newest frame's particles, in the frame's units.
static double mean_along(const ws_client *client)
{
    const tarn_stream_particles *seen = &client->decoder.particles;
    double sum = 0;
    for (uint32_t i = 0; i < seen->count; i++) {
        sum += seen->velocities[4 * (size_t)i];
    }
    return sum * (double)seen->velocity_scale_m_s / fmax(seen->count, 1);
}

/// The water goes where a camera sees people go, also for who only watches; and wrong grids end their sender alone.
static void test_motion_moves_the_water_for_everybody(void **state)
{
    enum { WRONG = 50 };
    ws_client *client = *state, other;
    ws_frame frame;
    ws_client_enter(&other, pool_server.port);
    for (int sign = 1; sign >= -1; sign -= 2) {
        double along = 0; // turning the water takes as many messages as a slow machine makes steps without them
        for (int i = 0; i < 200 && along < 0.05; i++) {
            show_motion(client, (int8_t)(100 * sign), true);
            wait_contained(client, client->sequence, &frame);
            assert_int_equal(client->decoder.status, TARN_OK);
            along = sign * mean_along(client);
        }
        assert_true(along >= 0.05);
        const uint64_t step = frame.step;
        do {
            assert_true(ws_client_wait_frame(&other, &frame));
        } while (frame.step < step || other.decoder.status != TARN_OK);
        assert_true(sign * mean_along(&other) > 0.03);
    }
    show_motion(client, 0, false);
    wait_contained(client, client->sequence, &frame);
    for (int i = 0; i < WRONG; i++) {
        // A grid of 2 x 2 whose code gives 17 bytes: the message is one that is sound but for that.
        static const uint8_t wrong[] = "\x8d\xa1t\xa5input\xa3seq\x01\xa1k\xa6motion\xa6source\x00\xa7"
                                       "columns\x02\xa4rows\x02\xa8"
                                       "corner_m\x93\x00\x00\x00\xa8"
                                       "across_m\x93\x01\x00\x00\xa4up_m\x93\x00\x01\x00\xa7"
                                       "depth_m\x00\xa9speed_m_s\x01\xa8strength\x01\xa5"
                                       "cells\xc4\x02\xf0\x07";
        ws_client wrong_client;
        tarn_message message;
        ws_client_enter(&wrong_client, pool_server.port);
        assert_int_equal(ws_client_send(&wrong_client, WS_BINARY, wrong, sizeof wrong - 1), 0);
        assert_true(ws_client_wait(&wrong_client, TARN_MESSAGE_ERROR, &message));
        assert_int_equal(message.error.code, TARN_ERROR_MALFORMED);
        assert_non_null(strstr(message.error.text, "cells is no run-length code of 16 bytes"));
        ws_client_close(&wrong_client);
    }
    assert_true(ws_client_wait_frame(&other, &frame)); // the others' goes on
    assert_true(ws_client_wait_frame(client, &frame));
    ws_client_close(&other);
}

static void expect_error(ws_client *client, uint32_t code, const char *part)
{
    tarn_message message;
    ws_frame frame;
    assert_true(ws_client_wait(client, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, code);
    if (strstr(message.error.text, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", message.error.text, part);
    }
    assert_true(ws_client_wait_frame(client, &frame)); // the connection goes on
}

static void test_refused_inputs_say_why_and_the_connection_goes_on(void **state)
{
    ws_client *client = *state;
    const float origin[3] = {0.5f, 3, 0.5f}, down[3] = {0, -1, 0};
    ws_client_parameter(client, "no_such_thing", 1);
    expect_error(client, TARN_ERROR_INPUT, "no_such_thing");
    ws_client_parameter(client, "flip_ratio", 7);
    expect_error(client, TARN_ERROR_INPUT, "is 0 to 1");
    client->sequence -= 1; // the number of the one before
    ws_client_pointer(client, TARN_PHASE_DOWN, origin, down, 0.3f);
    expect_error(client, TARN_ERROR_INPUT, "seq");
    ws_client_control(client, TARN_CONTROL_LOAD, "no-such-scene");
    expect_error(client, TARN_ERROR_SCENE, "no-such-scene");
    ws_client_control(client, TARN_CONTROL_LOAD, "../bad_scenes/negative-size");
    expect_error(client, TARN_ERROR_SCENE, "negative-size");
}

/// Whoever presses a tool that acts with another radius than asked for hears of it, once, and nobody else does.
static void test_a_tool_that_the_grid_cannot_see_is_told_to_who_presses_it(void **state)
{
    ws_client *client = *state, other;
    const float at[2] = {0.5f, 0.5f};
    ws_message raw;
    tarn_message message;
    tarn_text why;
    ws_client_enter(&other, pool_server.port);
    ws_client_point(client, 0, TARN_TOOL_DRAIN, TARN_PHASE_DOWN, at, 0.002f);
    expect_error(client, TARN_ERROR_INPUT,
                 "input.radius_m: asked for is 0.002 m, but \"drain\" acts as if it were 0.0312 m");
    ws_client_point(client, 0, TARN_TOOL_DRAIN, TARN_PHASE_UP, at, 0.002f);
    ws_client_point(client, 0, TARN_TOOL_DRAIN, TARN_PHASE_DOWN, at, 0.002f);
    ws_client_point(client, 0, TARN_TOOL_DRAIN, TARN_PHASE_UP, at, 0.002f);
    ws_client_point(client, 0, TARN_TOOL_WALL, TARN_PHASE_DOWN, at, 0.01f);
    expect_error(client, TARN_ERROR_INPUT, "\"wall\" acts as if it were 0.156 m");
    ws_client_point(client, 0, TARN_TOOL_WALL, TARN_PHASE_UP, at, 0.01f);
    do { // what comes to the other until it sees that the wall stands
        assert_int_equal(ws_client_next(&other, &raw, WS_CLIENT_WAIT_MS), 1);
        const bool is_read =
            raw.opcode == WS_BINARY && tarn_message_read(raw.bytes, raw.byte_count, &message, &why) == TARN_OK;
        assert_false(is_read && message.kind == TARN_MESSAGE_ERROR);
        message.kind = is_read ? message.kind : TARN_MESSAGE_NONE;
    } while (message.kind != TARN_MESSAGE_STATE || message.state.added_count == 0);
    ws_client_close(&other);
}

static void test_a_parameter_changes_for_everybody(void **state)
{
    ws_client other;
    tarn_message message;
    ws_client_enter(&other, pool_server.port);
    ws_client_parameter(*state, "gravity_m_s2", 3);
    float value = 0;
    do {
        assert_true(ws_client_wait(&other, TARN_MESSAGE_STATE, &message));
        for (uint32_t i = 0; i < message.state.parameter_count; i++) {
            if (strcmp(message.state.parameters[i].name, "gravity_m_s2") == 0) {
                value = message.state.parameters[i].value;
            }
        }
    } while (value != 3);
    ws_client_close(&other);
}

static void wait_paused(ws_client *client, bool paused, ws_frame *frame)
{
    do {
        assert_true(ws_client_wait_frame(client, frame));
    } while ((frame->flags & TARN_FRAME_FLAG_PAUSED) != (paused ? TARN_FRAME_FLAG_PAUSED : 0u));
}

static void test_pause_stops_and_single_steps_go_one_by_one(void **state)
{
    ws_client *client = *state, other;
    ws_frame frame;
    ws_client_control(client, TARN_CONTROL_PAUSE, NULL);
    wait_paused(client, true, &frame);
    uint64_t step = frame.step;
    assert_true(client->state.paused);
    for (uint64_t i = 1; i <= 3; i++) {
        ws_client_control(client, TARN_CONTROL_STEP, NULL);
        wait_contained(client, client->sequence, &frame);
        assert_int_equal(frame.step, step + i);
        assert_int_equal(frame.flags, TARN_FRAME_FLAG_PAUSED);
    }
    // Who joins a paused tank sees it all the same.
    ws_client_enter(&other, pool_server.port);
    assert_true(other.state.paused);
    do { // a key frame that is kept, and what moves it
        assert_true(ws_client_wait_frame(&other, &frame));
    } while (frame.step < step + 3);
    assert_int_equal(frame.step, step + 3);
    ws_client_close(&other);
    ws_client_control(client, TARN_CONTROL_RESUME, NULL);
    wait_paused(client, false, &frame);
    do {
        assert_true(ws_client_wait_frame(client, &frame));
    } while (frame.step <= step + 5);
}

enum { LOOK_MS = 30 };

/// Counts the steps that are refused, for a moment or until another step is there.
static void count_refused_steps(ws_client *client, uint64_t until_ns, uint64_t *refused, ws_frame *frame)
{
    ws_message raw;
    tarn_message message;
    const uint64_t step = frame->step;
    while (frame->step == step && tarn_clock_monotonic_ns() < until_ns && ws_client_next(client, &raw, 10) == 1) {
        if (raw.opcode != WS_BINARY) {
            continue;
        }
        if (ws_frame_open(raw.bytes, raw.byte_count, frame) == TARN_OK) {
            const tarn_message ack = {.kind = TARN_MESSAGE_ACK, .ack = {.epoch = frame->epoch, .step = frame->step}};
            ws_client_tell(client, &ack);
        } else if (tarn_message_read(raw.bytes, raw.byte_count, &message, NULL) == TARN_OK &&
                   message.kind == TARN_MESSAGE_ERROR) {
            assert_int_equal(message.error.code, TARN_ERROR_LIMIT);
            unsigned long long more;
            if (sscanf(message.error.text, "%llu more errors", &more) == 1) {
                *refused += more;
                continue;
            }
            assert_non_null(strstr(message.error.text, "240 single steps wait to be made, which is all that may"));
            (*refused)++;
        }
    }
}

/// Waits until so many steps are there or were refused: however long a step takes, one follows the other.
static void wait_answered(ws_client *client, uint64_t count, uint64_t *refused, ws_frame *frame)
{
    uint64_t moved_ns = tarn_clock_monotonic_ns();
    while (frame->step + *refused < count) {
        const uint64_t before = frame->step + *refused, now_ns = tarn_clock_monotonic_ns();
        if (now_ns - moved_ns > WS_CLIENT_WAIT_MS * (uint64_t)1000000) {
            fail_msg("step %llu and %llu refused of %llu, and no more", (unsigned long long)frame->step,
                     (unsigned long long)*refused, (unsigned long long)count);
        }
        count_refused_steps(client, now_ns + LOOK_MS * (uint64_t)1000000, refused, frame);
        moved_ns = frame->step + *refused != before ? tarn_clock_monotonic_ns() : moved_ns;
    }
}

/// Whoever asks for more single steps than wait is told of each that isn't made, and stays.
static void test_single_steps_too_many_are_refused(void **state)
{
    enum { BURST = 20, STEPS_MAX = 5000 };
    ws_client *client = *state;
    ws_frame frame;
    uint64_t asked = 0, refused = 0;
    ws_client_control(client, TARN_CONTROL_LOAD, "small-dam"); // whose steps are short
    do {
        assert_true(ws_client_wait_frame(client, &frame));
    } while (frame.cells[1] != 8);
    ws_client_control(client, TARN_CONTROL_STEP, NULL); // the tank isn't paused
    expect_error(client, TARN_ERROR_INPUT, "while the tank is paused, and it isn't");
    ws_client_control(client, TARN_CONTROL_PAUSE, NULL);
    wait_paused(client, true, &frame);
    const uint64_t step = frame.step;
    while (refused == 0 && asked < STEPS_MAX) {
        for (int i = 0; i < BURST; i++, asked++) {
            ws_client_control(client, TARN_CONTROL_STEP, NULL);
        }
        wait_answered(client, frame.step + 1, &refused, &frame); // between steps the worker takes what has come
    }
    assert_true(refused > 0);
    wait_answered(client, step + asked, &refused, &frame);
    assert_int_equal(frame.step, step + asked - refused);
    ws_client_control(client, TARN_CONTROL_STEP, NULL); // and none of them later
    wait_contained(client, client->sequence, &frame);
    assert_int_equal(frame.step, step + asked - refused + 1);
    assert_int_equal(client->close_code, 0);
    ws_client_control(client, TARN_CONTROL_RESUME, NULL);
    wait_paused(client, false, &frame);
}

/// Whether a frame says that time goes slowly: what a busy machine is late by it makes up for in the next step, so that
/// the figure is near a twentieth in the mean alone (worker/turns.h, of which input_test.c knows the exact ones).
static bool is_slow(const ws_frame *frame)
{
    return frame->realtime_factor > 0 && frame->realtime_factor < 0.5f;
}

/// Slow motion, of a server that keeps nothing: a frame of each step, which says how fast time goes; whoever comes
/// later, and the next worker, are told; single steps don't wait for the clock.
static void test_owners_slow_the_clock_down(void **state)
{
    ws_client *client = *state, other;
    ws_frame frame, next;
    ws_client_speed(client, TARN_SPEED_MIN);
    wait_contained(client, client->sequence, &frame);
    assert_true(is_slow(&frame));
    assert_float_equal(client->state.speed, 0.05, 1e-6);
    for (int i = 0; i < 4; i++) {
        assert_true(ws_client_wait_frame(client, &next));
        if (next.step != frame.step + 1 || !is_slow(&next)) {
            fail_msg("step %llu, behind %llu, at %g of real time", (unsigned long long)next.step,
                     (unsigned long long)frame.step, (double)next.realtime_factor);
        }
        frame = next;
    }
    ws_client_control(client, TARN_CONTROL_PAUSE, NULL);
    wait_paused(client, true, &frame);
    const uint64_t step = frame.step, begun_ns = tarn_clock_monotonic_ns();
    for (int i = 0; i < 40; i++) {
        ws_client_control(client, TARN_CONTROL_STEP, NULL);
    }
    while (frame.step < step + 40) {
        assert_true(ws_client_wait_frame(client, &frame));
    }
    // At the clock's speed they would take 13 s; with a sanitizer steps may be as slow as that.
    assert_true(TEST_IS_SANITIZED || tarn_clock_monotonic_ns() - begun_ns < 10000000000u);
    ws_client_control(client, TARN_CONTROL_RESUME, NULL);
    assert_int_equal(kill(server_worker(&pool_server), SIGKILL), 0);
    do {
        assert_true(ws_client_wait_frame(client, &frame));
    } while (client->state.speed == 0 || !client->state.worker_ready || !is_slow(&frame));
    ws_client_enter(&other, pool_server.port);
    assert_float_equal(other.state.speed, 0.05, 1e-6);
    ws_client_speed(client, 1);
    do {
        assert_true(ws_client_wait_frame(&other, &frame));
        // With a sanitizer a step may take longer than it lasts.
    } while (other.state.speed != 0 || (!TEST_IS_SANITIZED && is_slow(&frame)));
    ws_client_close(&other);
}

static void test_reset_starts_afresh_under_a_new_epoch(void **state)
{
    ws_client *client = *state;
    ws_frame frame;
    do {
        assert_true(ws_client_wait_frame(client, &frame));
    } while (frame.step < 20);
    uint32_t epoch = frame.epoch;
    ws_client_control(client, TARN_CONTROL_RESET, NULL);
    do {
        assert_true(ws_client_wait_frame(client, &frame));
    } while (frame.epoch == epoch);
    assert_true(frame.step < 20);
}

/// Fresh starts in a row are refused before they cost everybody their frames. It runs last: it uses them up.
static void test_fresh_starts_in_a_row_are_refused(void **state)
{
    ws_client *client = *state;
    ws_frame frame;
    for (int i = 0; i < 40; i++) { // those that come while one is pending count, too
        ws_client_control(client, TARN_CONTROL_RESET, NULL);
        usleep(20000);
    }
    expect_error(client, TARN_ERROR_INPUT, "afresh");
    assert_true(ws_client_wait_frame(client, &frame));
}

static void test_load_brings_another_scene_for_everybody(void **state)
{
    ws_client *client = *state, other;
    tarn_message message;
    ws_frame frame;
    ws_client_enter(&other, pool_server.port);
    assert_true(ws_client_wait_frame(&other, &frame));
    uint32_t epoch = frame.epoch;
    assert_int_equal(frame.cells[1], 16);
    ws_client_control(client, TARN_CONTROL_LOAD, "small-dam");
    do {
        assert_true(ws_client_wait(&other, TARN_MESSAGE_STATE, &message));
    } while (strcmp(message.state.scene, "small-dam") != 0);
    assert_float_equal(message.state.size_m[1], 0.5, 1e-6);
    do {
        assert_true(ws_client_wait_frame(&other, &frame));
    } while (frame.epoch == epoch);
    assert_int_equal(frame.cells[1], 8);
    ws_client_close(&other);
}

static void test_a_tank_that_nobody_watches_rests(void **state)
{
    (void)state;
    ws_client client;
    ws_frame frame;
    ws_client_close(*state);
    // Rested, when two reports in a row have the same step.
    double before = -1, now = -2;
    for (int i = 0; i < 200 && before != now; i++) {
        before = now;
        usleep(1500000);
        now = server_metric(pool_server.port, "tarn_session_steps{session=\"main\",worker=\"0\"}");
    }
    assert_true(before == now);
    ws_client_enter(&client, pool_server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    uint64_t step = frame.step;
    do {
        assert_true(ws_client_wait_frame(&client, &frame));
    } while (frame.step < step + 5);
    *(ws_client *)*state = client;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_two_viewers_see_the_same_bytes_for_the_same_step, begin, end),
        cmocka_unit_test_setup_teardown(test_a_drag_moves_the_water_along_within_three_frames, begin, end),
        cmocka_unit_test_setup_teardown(test_tools_change_the_tank_as_frames_show, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_put_in_is_seen_by_everybody, begin, end),
        cmocka_unit_test_setup_teardown(test_inputs_of_every_kind_are_taken, begin, end),
        cmocka_unit_test_setup_teardown(test_motion_moves_the_water_for_everybody, begin, end),
        cmocka_unit_test_setup_teardown(test_refused_inputs_say_why_and_the_connection_goes_on, begin, end),
        cmocka_unit_test_setup_teardown(test_a_tool_that_the_grid_cannot_see_is_told_to_who_presses_it, begin, end),
        cmocka_unit_test_setup_teardown(test_a_parameter_changes_for_everybody, begin, end),
        cmocka_unit_test_setup_teardown(test_pause_stops_and_single_steps_go_one_by_one, begin, end),
        cmocka_unit_test_setup_teardown(test_single_steps_too_many_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_owners_slow_the_clock_down, begin, end),
        cmocka_unit_test_setup_teardown(test_reset_starts_afresh_under_a_new_epoch, begin, end),
        cmocka_unit_test_setup_teardown(test_load_brings_another_scene_for_everybody, begin, end),
        cmocka_unit_test_setup_teardown(test_a_tank_that_nobody_watches_rests, begin, end),
        cmocka_unit_test_setup_teardown(test_fresh_starts_in_a_row_are_refused, begin, end),
    };
    return cmocka_run_group_tests(tests, pool_server_start, pool_server_stop);
}
