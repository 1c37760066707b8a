// tarn.v1 against a real server, right and wrong: who speaks out of turn is closed with the code that SPEC.md names,
// and nobody else notices.
#include "tests/server/pool_server.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Whether the server still serves a well-behaved viewer.
static void assert_server_goes_on(void)
{
    ws_client client;
    ws_frame frame;
    ws_client_enter(&client, pool_server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    ws_client_close(&client);
}

static void open_plain(ws_client *client)
{
    assert_int_equal(ws_client_open(client, pool_server.port, "/ws", "tarn.v1", NULL), 101);
}

static void assert_closed_with(ws_client *client, uint16_t code)
{
    uint16_t found = ws_client_wait_close(client);
    ws_client_close(client);
    assert_int_equal(found, code);
    assert_server_goes_on();
}

static void test_hello_join_and_frames(void **state)
{
    (void)state;
    ws_client client;
    tarn_message message;
    ws_frame frame;
    open_plain(&client);
    ws_client_hello(&client);
    assert_true(ws_client_wait(&client, TARN_MESSAGE_WELCOME, &message));
    assert_int_equal(message.welcome.version, 1);
    assert_int_equal(message.welcome.scene_count, 2);
    assert_string_equal(message.welcome.scenes[0], "small-dam");
    assert_true(message.welcome.device[0] != 0);
    ws_client_join(&client, "main");
    assert_true(ws_client_wait(&client, TARN_MESSAGE_JOINED, &message));
    assert_string_equal(message.joined.session, "main");
    assert_true(message.joined.viewer_id > 0);
    assert_string_equal(message.joined.state.scene, "small-pool");
    assert_true(message.joined.state.worker_ready);
    assert_float_equal(message.joined.state.size_m[0], 1, 1e-6);
    assert_true(message.joined.state.parameter_count > 0);
    assert_string_equal(message.joined.state.parameters[0].label, "Gravity");
    assert_string_equal(message.joined.state.model, "liquid");
    assert_int_equal(message.joined.state.tools, TARN_TOOLS_ALL);
    assert_string_equal(message.joined.state.channels[0].name, "colour");
    uint64_t last_step = 0;
    for (int i = 0; i < 5; i++) {
        assert_true(ws_client_wait_frame(&client, &frame));
        assert_true(frame.particle_count > 1000);
        assert_true(frame.step > last_step || i == 0);
        last_step = frame.step;
    }
    ws_client_close(&client);
}

static void test_viewers_learn_who_is_there(void **state)
{
    (void)state;
    ws_client first, second;
    tarn_message message = {.kind = TARN_MESSAGE_JOIN};
    tarn_viewer_info viewers[TARN_VIEWERS_MAX];
    uint32_t count = 0, found = 0;
    ws_client_enter(&first, pool_server.port);
    assert_true(ws_client_wait(&first, TARN_MESSAGE_VIEWERS, &message));
    open_plain(&second);
    ws_client_hello(&second);
    message = (tarn_message){.kind = TARN_MESSAGE_JOIN};
    strcpy(message.join.viewer, "Zo\xc3\xab");
    ws_client_tell(&second, &message);
    do { // the first viewer hears of the second
        assert_true(ws_client_wait(&first, TARN_MESSAGE_VIEWERS, &message));
    } while (message.viewers.viewer_count < 2);
    // The raw message is still in the client's buffer.
    ws_message raw = {.bytes = first.buffer};
    size_t header = (first.buffer[1] & 0x7f) == 126 ? 4 : 2;
    raw.bytes += header;
    raw.byte_count = first.taken - header;
    assert_int_equal(tarn_message_read_viewers(raw.bytes, raw.byte_count, viewers, TARN_VIEWERS_MAX, &count, NULL),
                     TARN_OK);
    for (uint32_t i = 0; i < count; i++) {
        found += strcmp(viewers[i].name, "Zo\xc3\xab") == 0;
    }
    assert_int_equal(found, 1);
    ws_client_close(&second);
    do { // and of its going
        assert_true(ws_client_wait(&first, TARN_MESSAGE_VIEWERS, &message));
    } while (message.viewers.viewer_count > 1);
    ws_client_close(&first);
}

static void test_ping_is_echoed(void **state)
{
    (void)state;
    ws_client client;
    tarn_message message = {.kind = TARN_MESSAGE_PING, .ping = {.id = 77, .client_time_ms = 1234.5}};
    open_plain(&client);
    ws_client_hello(&client);
    ws_client_tell(&client, &message);
    assert_true(ws_client_wait(&client, TARN_MESSAGE_PONG, &message));
    assert_int_equal(message.pong.id, 77);
    assert_true(message.pong.client_time_ms == 1234.5);
    assert_true(message.pong.server_time_us > 0);
    ws_client_close(&client);
}

static void test_a_wrong_version_is_told_which_one_is_right(void **state)
{
    (void)state;
    ws_client client;
    tarn_message message = {.kind = TARN_MESSAGE_HELLO};
    message.hello.version_count = 2;
    message.hello.versions[0] = 9;
    message.hello.versions[1] = 8;
    open_plain(&client);
    ws_client_tell(&client, &message);
    assert_true(ws_client_wait(&client, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, TARN_ERROR_VERSION);
    assert_non_null(strstr(message.error.text, "speaks version 1"));
    assert_closed_with(&client, 4002);
}

static void test_the_best_common_version_is_taken(void **state)
{
    (void)state;
    ws_client client;
    tarn_message message = {.kind = TARN_MESSAGE_HELLO};
    message.hello.version_count = 3;
    message.hello.versions[0] = 3;
    message.hello.versions[1] = 1;
    message.hello.versions[2] = 2;
    open_plain(&client);
    ws_client_tell(&client, &message);
    assert_true(ws_client_wait(&client, TARN_MESSAGE_WELCOME, &message));
    assert_int_equal(message.welcome.version, 1);
    ws_client_close(&client);
}

static void test_a_close_is_answered_while_frames_flow(void **state)
{
    (void)state;
    static const uint8_t going_away[2] = {1001 >> 8, 1001 & 0xff};
    for (int i = 0; i < 16; i++) {
        ws_client client;
        ws_frame frame;
        ws_client_enter(&client, pool_server.port);
        assert_true(ws_client_wait_frame(&client, &frame));
        usleep((useconds_t)i * 3000); // now before the next frame, now as it comes
        assert_int_equal(ws_client_send(&client, WS_CLOSE, going_away, sizeof going_away), 0);
        uint16_t code = ws_client_wait_close(&client);
        ws_client_close(&client);
        assert_int_equal(code, 1001);
    }
    assert_server_goes_on();
}

static void test_messages_out_of_order_close(void **state)
{
    (void)state;
    ws_client client;
    open_plain(&client); // join before hello
    ws_client_join(&client, "");
    assert_closed_with(&client, 4004);
    open_plain(&client); // control before join
    ws_client_hello(&client);
    ws_client_control(&client, TARN_CONTROL_PAUSE, NULL);
    assert_closed_with(&client, 4004);
    ws_client_enter(&client, pool_server.port); // hello twice
    ws_client_hello(&client);
    assert_closed_with(&client, 4004);
    ws_client_enter(&client, pool_server.port); // join twice
    ws_client_join(&client, "");
    assert_closed_with(&client, 4004);
}

static void test_an_unknown_session_closes(void **state)
{
    (void)state;
    ws_client client;
    open_plain(&client);
    ws_client_hello(&client);
    ws_client_join(&client, "elsewhere");
    assert_int_equal(ws_client_wait_close(&client), 4005);
    assert_non_null(strstr(client.close_reason, "elsewhere"));
    ws_client_close(&client);
}

static void test_a_text_message_closes(void **state)
{
    (void)state;
    ws_client client;
    open_plain(&client);
    ws_client_send(&client, WS_TEXT, "hello", 5);
    assert_closed_with(&client, 1003);
}

static void test_a_message_that_declares_a_gigabyte_closes_at_once(void **state)
{
    (void)state;
    ws_client client;
    uint8_t some[100] = {0};
    ws_client_enter(&client, pool_server.port);
    ws_client_send_header(&client, 0x80 | WS_BINARY, 1u << 30, true);
    ws_send_raw(client.fd, some, sizeof some);
    assert_closed_with(&client, 4003);
}

static void test_a_message_one_byte_too_large_closes(void **state)
{
    (void)state;
    ws_client client;
    static uint8_t large[TARN_MESSAGE_BYTES_MAX + 1];
    open_plain(&client);
    ws_client_send(&client, WS_BINARY, large, sizeof large);
    assert_closed_with(&client, 4003);
}

static void test_a_message_too_large_in_fragments_closes(void **state)
{
    (void)state;
    ws_client client;
    static uint8_t part[6000];
    open_plain(&client);
    for (int i = 0; i < 3; i++) {
        ws_client_send_header(&client, i == 0 ? WS_BINARY : 0, sizeof part, true);
        ws_send_raw(client.fd, part, sizeof part);
    }
    assert_closed_with(&client, 4003);
}

static void test_a_message_in_fragments_is_put_together(void **state)
{
    (void)state;
    ws_client client;
    tarn_message message = {.kind = TARN_MESSAGE_HELLO};
    uint8_t bytes[256];
    size_t count;
    message.hello.version_count = 1;
    message.hello.versions[0] = 1;
    assert_int_equal(tarn_message_write(&message, bytes, sizeof bytes, &count), TARN_OK);
    open_plain(&client);
    for (size_t i = 0; i < count; i++) {
        ws_client_send_header(&client, (uint8_t)((i == 0 ? WS_BINARY : 0) | (i + 1 == count ? 0x80 : 0)), 1, true);
        ws_send_raw(client.fd, bytes + i, 1);
    }
    assert_true(ws_client_wait(&client, TARN_MESSAGE_WELCOME, &message));
    ws_client_close(&client);
}

static void test_malformed_messages_close(void **state)
{
    (void)state;
    static const uint8_t not_a_map[] = {0x93, 1, 2, 3}, cut_off[] = {0x82, 0xa1, 't'},
                         deep[] = {0xdf, 0xff, 0xff, 0xff, 0xff};
    ws_client client;
    open_plain(&client);
    ws_client_send(&client, WS_BINARY, not_a_map, sizeof not_a_map);
    assert_closed_with(&client, 4001);
    open_plain(&client);
    ws_client_send(&client, WS_BINARY, cut_off, sizeof cut_off);
    assert_closed_with(&client, 4001);
    open_plain(&client);
    ws_client_send(&client, WS_BINARY, deep, sizeof deep);
    uint16_t code = ws_client_wait_close(&client);
    assert_true(code == 4001 || code == 4003);
    ws_client_close(&client);
    open_plain(&client);
    ws_client_send(&client, WS_BINARY, "", 0);
    assert_closed_with(&client, 4001);
}

static void test_what_only_a_server_says_closes(void **state)
{
    (void)state;
    ws_client client;
    tarn_message message = {.kind = TARN_MESSAGE_PONG};
    ws_client_enter(&client, pool_server.port);
    ws_client_tell(&client, &message);
    assert_closed_with(&client, 4001);
}

static void test_unknown_kinds_are_ignored(void **state)
{
    (void)state;
    static const uint8_t unknown[] = {0x82, 0xa1, 't', 0xa4, 'd', 'a', 'n', 'c', 0xa1, 'x', 1};
    ws_client client;
    ws_frame frame;
    open_plain(&client);
    ws_client_send(&client, WS_BINARY, unknown, sizeof unknown);
    ws_client_hello(&client);
    ws_client_send(&client, WS_BINARY, unknown, sizeof unknown);
    ws_client_join(&client, "");
    ws_client_send(&client, WS_BINARY, unknown, sizeof unknown);
    assert_true(ws_client_wait_frame(&client, &frame));
    ws_client_close(&client);
}

static void test_too_many_messages_close(void **state)
{
    (void)state;
    ws_client client;
    tarn_message message = {.kind = TARN_MESSAGE_ACK};
    ws_client_enter(&client, pool_server.port);
    for (int i = 0; i < 20000; i++) {
        if (ws_client_tell(&client, &message) != 0) {
            break;
        }
    }
    uint16_t code = ws_client_wait_close(&client);
    // What the client still sends after the server has closed may cost it the reason.
    assert_true(code == 4003 || code == 1006);
    ws_client_close(&client);
    assert_server_goes_on();
}

static void test_a_message_that_never_ends_closes(void **state)
{
    (void)state;
    ws_client client;
    ws_client_enter(&client, pool_server.port);
    ws_client_send_header(&client, WS_BINARY, 0, true);
    for (int i = 0; i < 20000; i++) {
        if (ws_client_send_header(&client, 0, 0, true) != 0) {
            break;
        }
    }
    const uint16_t code = ws_client_wait_close(&client);
    assert_true(code == 4003 || code == 1006); // as above
    ws_client_close(&client);
    assert_server_goes_on();
}

static void test_wrong_websocket_frames_harm_nobody(void **state)
{
    (void)state;
    ws_client client;
    uint8_t some[64] = {0};
    // Reserved bits, reserved opcodes, long control frames, a continuation of nothing, no mask, a huge 64-bit length.
    static const struct {
        uint8_t first;
        uint64_t bytes;
        bool masked;
    } cases[] = {{0xf2, 5, true}, {0x83, 5, true},  {0x8b, 5, true},         {0x89, 126, true},
                 {0x80, 5, true}, {0x82, 5, false}, {0x82, UINT64_MAX, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_plain(&client);
        ws_client_send_header(&client, cases[i].first, cases[i].bytes, cases[i].masked);
        ws_send_raw(client.fd, some, sizeof some);
        ws_client_close(&client);
    }
    assert_server_goes_on();
}

static void test_random_bytes_after_the_upgrade_harm_nobody(void **state)
{
    (void)state;
    srand(4);
    for (int round = 0; round < 20; round++) {
        ws_client client;
        uint8_t noise[2000];
        for (size_t i = 0; i < sizeof noise; i++) {
            noise[i] = (uint8_t)rand();
        }
        open_plain(&client);
        ws_send_raw(client.fd, noise, sizeof noise);
        ws_client_close(&client);
    }
    assert_server_goes_on();
}

static void test_upgrades_that_are_wrong_are_refused(void **state)
{
    (void)state;
    ws_client client;
    char own[64];
    snprintf(own, sizeof own, "http://127.0.0.1:%u", pool_server.port);
    assert_int_equal(ws_client_open(&client, pool_server.port, "/ws", NULL, NULL), 400);
    assert_int_equal(ws_client_open(&client, pool_server.port, "/ws", "chat", NULL), 400);
    assert_int_equal(ws_client_open(&client, pool_server.port, "/elsewhere", "tarn.v1", NULL), 404);
    assert_int_equal(ws_client_open(&client, pool_server.port, "/ws", "tarn.v1", "http://evil.example"), 403);
    assert_int_equal(ws_client_open(&client, pool_server.port, "/ws", "tarn.v1", "null"), 403);
    assert_int_equal(ws_client_open(&client, pool_server.port, "/ws", "chat, tarn.v1", own), 101);
    ws_client_close(&client);
    assert_server_goes_on();
}

static void test_a_viewer_that_does_not_read_holds_nobody_up(void **state)
{
    (void)state;
    ws_client slow, quick;
    ws_frame frame;
    ws_client_enter(&slow, pool_server.port);
    slow.auto_ack = false;
    ws_client_enter(&quick, pool_server.port);
    uint64_t step = 0;
    for (int i = 0; i < 30; i++) {
        assert_true(ws_client_wait_frame(&quick, &frame));
        assert_true(frame.step >= step);
        step = frame.step;
    }
    // Without acknowledgements there are two frames, with key and base frames up to four, and no more.
    assert_true(ws_client_wait_frame(&slow, &frame));
    assert_true(ws_client_wait_frame(&slow, &frame));
    ws_message raw;
    ws_frame late;
    int more = 0;
    for (int i = 0; i < 10; i++) {
        assert_true(ws_client_wait_frame(&quick, &late));
        while (ws_client_next(&slow, &raw, 0) == 1) {
            more += ws_frame_open(raw.bytes, raw.byte_count, &frame) == TARN_OK;
        }
    }
    uint64_t second = frame.step;
    uint32_t epoch = frame.epoch;
    assert_in_range(more, 0, 2);
    // One acknowledgement brings the newest frame, not the next.
    tarn_message ack = {.kind = TARN_MESSAGE_ACK, .ack = {.epoch = epoch, .step = second}};
    ws_client_tell(&slow, &ack);
    assert_true(ws_client_wait_frame(&slow, &frame));
    assert_true(frame.step > second + 10);
    ws_client_close(&slow);
    ws_client_close(&quick);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello_join_and_frames),
        cmocka_unit_test(test_viewers_learn_who_is_there),
        cmocka_unit_test(test_ping_is_echoed),
        cmocka_unit_test(test_a_wrong_version_is_told_which_one_is_right),
        cmocka_unit_test(test_the_best_common_version_is_taken),
        cmocka_unit_test(test_a_close_is_answered_while_frames_flow),
        cmocka_unit_test(test_messages_out_of_order_close),
        cmocka_unit_test(test_an_unknown_session_closes),
        cmocka_unit_test(test_a_text_message_closes),
        cmocka_unit_test(test_a_message_that_declares_a_gigabyte_closes_at_once),
        cmocka_unit_test(test_a_message_one_byte_too_large_closes),
        cmocka_unit_test(test_a_message_too_large_in_fragments_closes),
        cmocka_unit_test(test_a_message_in_fragments_is_put_together),
        cmocka_unit_test(test_malformed_messages_close),
        cmocka_unit_test(test_what_only_a_server_says_closes),
        cmocka_unit_test(test_unknown_kinds_are_ignored),
        cmocka_unit_test(test_too_many_messages_close),
        cmocka_unit_test(test_a_message_that_never_ends_closes),
        cmocka_unit_test(test_wrong_websocket_frames_harm_nobody),
        cmocka_unit_test(test_random_bytes_after_the_upgrade_harm_nobody),
        cmocka_unit_test(test_upgrades_that_are_wrong_are_refused),
        cmocka_unit_test(test_a_viewer_that_does_not_read_holds_nobody_up),
    };
    return cmocka_run_group_tests(tests, pool_server_start, pool_server_stop);
}
