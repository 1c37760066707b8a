// Two viewers, random input, for some seconds: valid inputs of every kind, inputs out of range, cut-off and mangled
// messages, wrong WebSocket frames, reconnects, readers that stop reading, odd HTTP requests. The server must come out
// of it with the same worker, serving, and ending cleanly; sanitizers must have found nothing.
//
//     server_stress [SECONDS [SEED [SERVER]]]
#include "protocol/motion_code.h"
#include "server/base/clock.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VIEWERS = 2, MESSAGE_BYTES_MAX = 4096 };

static uint64_t random_state = 1;
static double run_s = 5;
static server_process server;
static ws_client clients[VIEWERS];
static uint64_t told, reconnected, frames_seen;

/// xorshift64*: the same sequence for the same seed, everywhere.
static uint32_t random_below(uint32_t bound)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * 0x2545f4914f6cdd1du) >> 32) % bound;
}

static float random_between(float min, float max)
{
    return min + (max - min) * (float)random_below(1 << 20) / (float)(1 << 20);
}

static void random_vector(float *values, int count, float max)
{
    for (int i = 0; i < count; i++) {
        values[i] = random_between(-max, max);
    }
}

static void random_pointer(tarn_input *input)
{
    tarn_input_pointer *pointer = &input->pointer;
    pointer->pointer_id = random_below(3);
    pointer->phase = random_below(8) ? TARN_PHASE_MOVE : (tarn_phase)random_below(TARN_PHASE_COUNT);
    pointer->tool = random_below(10) ? TARN_TOOL_PUSH : (tarn_tool)random_below(TARN_TOOL_COUNT);
    pointer->colour = random_below(2) ? TARN_COLOUR_GIVEN | random_below(1 << 24) : 0;
    random_vector(pointer->origin_m, 3, random_below(20) ? 3 : 1000);
    random_vector(pointer->direction, 3, 1);
    pointer->direction[1] -= 0.1f;
    pointer->radius_m = random_between(0.001f, random_below(20) ? 0.5f : 10);
    pointer->strength = random_between(0, 1);
}

static void random_controller(tarn_input *input)
{
    tarn_input_controller *controller = &input->controller;
    controller->side = (tarn_side)random_below(2);
    controller->tracked = random_below(5) > 0;
    random_vector(controller->position_m, 3, 2);
    controller->orientation[random_below(4)] = 1;
    random_vector(controller->velocity_m_s, 3, random_below(10) ? 3 : 100);
    controller->trigger = random_between(0, 1);
    controller->radius_m = random_between(0.01f, 0.5f);
    controller->strength = random_between(0, 1);
}

static void random_hand(tarn_input *input)
{
    tarn_input_hand *hand = &input->hand;
    hand->side = (tarn_side)random_below(2);
    hand->tracked = random_below(5) > 0;
    random_vector(hand->position_m, 3, 2);
    hand->orientation[random_below(4)] = 1;
    random_vector(hand->velocity_m_s, 3, 3);
    hand->grip = random_between(0, 1);
    hand->joint_count = random_below(2) ? TARN_HAND_JOINTS : 0;
    random_vector(&hand->joints_m[0][0], 3 * TARN_HAND_JOINTS, 2);
    hand->radius_m = random_between(0.01f, 0.5f);
}

static void random_parameter(tarn_input *input)
{
    static const char *const names[] = {"gravity_m_s2", "flip_ratio", "cfl", "substeps_max", "nonsense"};
    snprintf(input->parameter.name, sizeof input->parameter.name, "%s", names[random_below(5)]);
    input->parameter.value = random_below(5) ? random_between(0, 3) : random_between(-1e30f, 1e30f);
}

static void random_motion(tarn_input *input)
{
    static uint8_t planes[TARN_MOTION_BYTES_MAX], code[TARN_MOTION_CODE_BYTES_MAX];
    tarn_input_motion *motion = &input->motion;
    motion->source = random_below(TARN_MOTION_SOURCES_MAX);
    motion->columns = 1 + random_below(TARN_MOTION_COLUMNS_MAX);
    motion->rows = 1 + random_below(TARN_MOTION_ROWS_MAX);
    for (int a = 0; a < 3; a++) {
        motion->corner_m[a] = random_between(-1, 2);
        motion->across_m[a] = random_between(-2, 2);
        motion->up_m[a] = random_between(-2, 2);
    }
    motion->depth_m = random_below(2) ? 0.0f : random_between(0, 1);
    motion->speed_m_s = random_between(0.01f, 100);
    motion->strength = random_between(0, 1);
    motion->solid = (uint8_t)random_below(2);
    const size_t count = (size_t)TARN_MOTION_PLANES * motion->columns * motion->rows;
    for (size_t at = 0; at < count;) {
        const uint8_t value = (uint8_t)random_below(256);
        for (uint32_t left = random_below(200); left > 0 && at < count; left--) {
            planes[at++] = value;
        }
    }
    motion->cell_bytes = (uint32_t)tarn_motion_encode(planes, count, code, sizeof code);
    motion->cells = code;
}

static void random_input(ws_client *client, tarn_message *message)
{
    tarn_input *input = &message->input;
    message->kind = TARN_MESSAGE_INPUT;
    input->sequence = random_below(50) ? ++client->sequence : random_below(1000) + 1;
    input->kind = random_below(3) ? TARN_INPUT_POINTER : (tarn_input_kind)random_below(TARN_INPUT_COUNT);
    if (input->kind == TARN_INPUT_POINTER) {
        random_pointer(input);
    } else if (input->kind == TARN_INPUT_CONTROLLER) {
        random_controller(input);
    } else if (input->kind == TARN_INPUT_HAND) {
        random_hand(input);
    } else if (input->kind == TARN_INPUT_ORIENTATION) {
        input->orientation.orientation[random_below(4)] = 1;
    } else if (input->kind == TARN_INPUT_MOTION) {
        random_motion(input);
    } else {
        random_parameter(input);
    }
}

static void random_control(ws_client *client, tarn_message *message)
{
    static const char *const scenes[] = {"small-pool", "small-dam", "no-such-scene", "../etc"};
    message->kind = TARN_MESSAGE_CONTROL;
    message->control.sequence = ++client->sequence;
    message->control.action = (tarn_control_action)random_below(TARN_CONTROL_COUNT);
    if (message->control.action == TARN_CONTROL_PAUSE && random_below(2)) {
        message->control.action = TARN_CONTROL_RESUME;
    }
    snprintf(message->control.scene, sizeof message->control.scene, "%s", scenes[random_below(4)]);
}

static void random_message(ws_client *client, tarn_message *message)
{
    memset(message, 0, sizeof *message);
    uint32_t which = random_below(100);
    if (which < 80) {
        random_input(client, message);
    } else if (which < 84) {
        random_control(client, message);
    } else if (which < 92) {
        message->kind = TARN_MESSAGE_PING;
        message->ping.id = random_below(1000);
    } else if (which < 99) {
        message->kind = TARN_MESSAGE_ACK;
        message->ack.step = random_below(1000);
    } else {
        message->kind = random_below(2) ? TARN_MESSAGE_HELLO : TARN_MESSAGE_JOIN;
        message->hello.version_count = 1;
        message->hello.versions[0] = 1;
    }
}

/// Changes, cuts or lengthens a message.
static size_t mangle(uint8_t *bytes, size_t count)
{
    uint32_t changes = 1 + random_below(4);
    for (uint32_t i = 0; i < changes && count; i++) {
        bytes[random_below((uint32_t)count)] = (uint8_t)random_below(256);
    }
    if (random_below(3) == 0) {
        count = random_below((uint32_t)count + 1);
    }
    return count;
}

static void send_wrong_frame(ws_client *client)
{
    static const uint64_t lengths[] = {0, 125, 126, 65535, 65536, 1u << 30, UINT64_MAX};
    uint8_t noise[200];
    for (size_t i = 0; i < sizeof noise; i++) {
        noise[i] = (uint8_t)random_below(256);
    }
    ws_client_send_header(client, (uint8_t)random_below(256), lengths[random_below(7)], random_below(4) > 0);
    ws_send_raw(client->fd, noise, random_below(sizeof noise));
}

/// Who comes back too often is told so (JOIN_BURST), and tries again.
static void reconnect(ws_client *client)
{
    tarn_message message;
    ws_client_close(client);
    for (;;) {
        if (!server_runs(&server)) {
            fail_msg("the server has ended:\n%s", server_said(&server));
        }
        assert_int_equal(ws_client_open(client, server.port, "/ws", "tarn.v1", NULL), 101);
        assert_int_equal(ws_client_hello(client), 0);
        assert_int_equal(ws_client_join(client, ""), 0);
        if (ws_client_wait(client, TARN_MESSAGE_JOINED, &message)) {
            break;
        }
        if (client->close_code != 4000 + TARN_ERROR_FULL) {
            fail_msg("nobody said joined; closed with %u: %s", client->close_code, client->close_reason);
        }
        ws_client_close(client);
        usleep(50000);
    }
    reconnected++;
}

/// One random thing. @return false when the connection may be broken by it
static bool act(ws_client *client)
{
    static tarn_message message;
    uint8_t bytes[MESSAGE_BYTES_MAX];
    size_t count;
    uint32_t which = random_below(1000);
    if (which == 0) {
        send_wrong_frame(client);
        return false;
    }
    if (which == 1) {
        return false; // just leaves
    }
    if (which == 2) {
        return ws_client_send(client, WS_TEXT, "hello", 5) && 0;
    }
    random_message(client, &message);
    told++;
    if (tarn_message_write(&message, bytes, sizeof bytes, &count) != TARN_OK) {
        return true;
    }
    if (which < 8) {
        count = mangle(bytes, count);
        return ws_client_send(client, WS_BINARY, bytes, count) && 0;
    }
    ws_client_send(client, WS_BINARY, bytes, count);
    return message.kind != TARN_MESSAGE_HELLO && message.kind != TARN_MESSAGE_JOIN;
}

/// Reads what is there. @return false when the server has closed
static bool listen_to(ws_client *client, int wait_ms)
{
    ws_message raw;
    ws_frame frame;
    int got;
    while ((got = ws_client_next(client, &raw, wait_ms)) == 1) {
        if (raw.opcode == WS_CLOSE) {
            return false;
        }
        if (raw.opcode != WS_BINARY || ws_frame_open(raw.bytes, raw.byte_count, &frame) != TARN_OK) {
            continue;
        }
        frames_seen++;
        tarn_message ack = {.kind = TARN_MESSAGE_ACK, .ack = {.epoch = frame.epoch, .step = frame.step}};
        ws_client_tell(client, &ack);
        wait_ms = 0;
    }
    return got == 0;
}

static void odd_request(void)
{
    static char answer[1 << 16];
    static const char *const targets[] = {"/", "/metrics", "/healthz", "/../x", "/%ff", "/ws", "*"};
    server_http(server.port, random_below(2) ? "GET" : "POST", targets[random_below(7)], NULL, answer, sizeof answer);
}

static void stress(void)
{
    uint64_t until_ns = tarn_clock_monotonic_ns() + (uint64_t)(run_s * 1e9);
    uint64_t quiet_ns[VIEWERS] = {0};
    for (int i = 0; i < VIEWERS; i++) {
        ws_client_enter(&clients[i], server.port);
    }
    for (uint64_t now_ns; (now_ns = tarn_clock_monotonic_ns()) < until_ns;) {
        for (int i = 0; i < VIEWERS; i++) {
            uint32_t burst = random_below(200) ? random_below(4) : random_below(60);
            bool good = true;
            while (good && burst-- > 0) {
                good = act(&clients[i]);
            }
            if (random_below(400) == 0) { // stops reading for a while
                quiet_ns[i] = now_ns + (uint64_t)random_below(500) * 1000000;
            }
            if (!good || (now_ns >= quiet_ns[i] && !listen_to(&clients[i], 1))) {
                reconnect(&clients[i]);
            }
        }
        if (random_below(100) == 0) {
            odd_request();
        }
    }
}

static void test_random_input_leaves_the_server_whole(void **state)
{
    (void)state;
    static const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene",   "small-pool",
                                            "--client", TARN_TEST_PAGES,  "--threads", "2",
                                            "--log",    "warn",           NULL};
    ws_client last;
    ws_frame frame;
    server_start(&server, arguments);
    stress();
    printf("%" PRIu64 " messages, %" PRIu64 " frames, %" PRIu64 " reconnections\n", told, frames_seen, reconnected);
    assert_true(told > 0 && frames_seen > 0);
    double failures = server_metric(server.port, "tarn_worker_failures_total{worker=\"0\"}");
    if (failures != 0) {
        kill(server.pid, SIGTERM);
        int status = server_wait(&server);
        fail_msg("%g failures of the worker; the server ended with %d:\n%s", failures, status, server.err);
    }
    for (int i = 0; i < VIEWERS; i++) {
        ws_client_close(&clients[i]);
    }
    ws_client_enter(&last, server.port);
    ws_client_control(&last, TARN_CONTROL_LOAD, "small-pool");
    assert_true(ws_client_wait_frame(&last, &frame));
    ws_client_close(&last);
    server_stop(&server);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_input_leaves_the_server_whole)};
    if (argc > 1) {
        run_s = atof(argv[1]);
    }
    if (argc > 2) {
        random_state = strtoull(argv[2], NULL, 0) | 1;
    }
    if (argc > 3) {
        setenv("TARN_TEST_SERVER", argv[3], 1);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
