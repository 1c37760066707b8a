// Who makes room for a viewer where there is no place left, and who doesn't.
#include "server/base/clock.h"
#include "server/base/limits.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DESCRIPTORS = 140, // so that connections run out soon
    HIDDEN = 3,        // whose page is
    CLOSE_FULL = 4006,
    CLOSE_AWAY = 4014,
    SLACK_MS = 500,
};

static server_process server;
static ws_client viewers[TARN_GATEWAY_CONNECTIONS_MAX];
static const char *network; ///< NULL, or the beginning of the addresses that viewers come from, each by one of its own
static int viewer_count, come_count;

static void start(const char *const *options)
{
    const char *list[16] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool"};
    for (int n = 4; *options != NULL; options++) {
        list[n++] = *options;
    }
    server_start(&server, list);
}

static int stop(void **state)
{
    (void)state;
    for (int i = 0; i < viewer_count; i++) {
        ws_client_close(&viewers[i]);
    }
    viewer_count = 0;
    ws_client_headers = "";
    network = NULL;
    server_descriptors_max = 0;
    server_stop(&server);
    return 0;
}

static void hide(ws_client *viewer, bool is_hidden)
{
    const tarn_message message = {.kind = TARN_MESSAGE_VIEW, .view = {.hidden = is_hidden}};
    assert_int_equal(ws_client_tell(viewer, &message), 0);
}

/// Hides one that has joined, and waits until the server knows.
static void hide_now(ws_client *viewer)
{
    tarn_message message = {.kind = TARN_MESSAGE_PING};
    hide(viewer, true);
    assert_int_equal(ws_client_tell(viewer, &message), 0);
    assert_true(ws_client_wait(viewer, TARN_MESSAGE_PONG, &message));
}

/// Comes in. @return 0, or what it was refused with: an HTTP status or a close code
static unsigned come(ws_client *viewer, bool is_hidden)
{
    static char header[64];
    tarn_message message;
    if (network != NULL) {
        snprintf(header, sizeof header, "X-Forwarded-For: %s%x\r\n", network, (unsigned)++come_count);
        ws_client_headers = header;
    }
    const int status = ws_client_open(viewer, server.port, "/ws", "tarn.v1", NULL);
    if (status != 101) {
        return status > 0 ? (unsigned)status : 1;
    }
    viewer->is_blind = true;
    assert_int_equal(ws_client_hello(viewer), 0);
    if (is_hidden) {
        hide(viewer, true);
    }
    assert_int_equal(ws_client_join(viewer, ""), 0);
    if (ws_client_wait(viewer, TARN_MESSAGE_JOINED, &message)) {
        return 0;
    }
    const unsigned code = viewer->close_code;
    ws_client_close(viewer);
    return code;
}

/// Who says nothing for TARN_GATEWAY_AWAY_SILENT_MS makes room, too, and many take long to come.
static void speak_all(void)
{
    for (int i = 0; i < viewer_count; i++) {
        assert_int_equal(ws_client_tell(&viewers[i], &(tarn_message){.kind = TARN_MESSAGE_PING}), 0);
    }
}

/// Viewers come until one is refused. @return with what
static unsigned fill(void)
{
    for (;;) {
        assert_true(viewer_count < TARN_GATEWAY_CONNECTIONS_MAX);
        const unsigned refused = come(&viewers[viewer_count], false);
        if (refused != 0) {
            return refused;
        }
        if (++viewer_count == 1) {
            ws_client_control(&viewers[0], TARN_CONTROL_PAUSE, NULL); // frames are beside the point
        }
        if (viewer_count % 32 == 0) {
            speak_all();
        }
    }
}

/// All take what has come for a while, and answer pings.
static void attend(uint64_t ms)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + ms * 1000000;
    ws_message message;
    do {
        for (int i = 0; i < viewer_count; i++) {
            while (viewers[i].close_code == 0 && ws_client_next(&viewers[i], &message, 0) == 1) {
            }
            if (viewers[i].close_code != 0 && viewers[i].fd >= 0) {
                ws_client_send(&viewers[i], WS_CLOSE, NULL, 0);
                const uint16_t code = viewers[i].close_code;
                ws_client_close(&viewers[i]);
                viewers[i].close_code = code;
            }
        }
        usleep(20000);
    } while (tarn_clock_monotonic_ns() < until_ns);
}

/// Nobody but the hidden one has been let go.
static void check_others(void)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + WS_CLIENT_WAIT_MS * (uint64_t)1000000;
    do { // it hears of it a moment after the newcomer is in
        attend(0);
    } while (viewers[HIDDEN].close_code == 0 && tarn_clock_monotonic_ns() < until_ns);
    for (int i = 0; i < viewer_count; i++) {
        assert_int_equal(viewers[i].close_code, i == HIDDEN ? CLOSE_AWAY : 0);
    }
    assert_non_null(strstr(viewers[HIDDEN].close_reason, "this page was hidden"));
}

static void check_room(void)
{
    ws_client newcomer;
    assert_true(viewer_count > HIDDEN + 2);
    hide(&viewers[HIDDEN + 1], true);
    hide(&viewers[HIDDEN + 1], false);
    hide_now(&viewers[HIDDEN]);
    speak_all();
    assert_int_equal(come(&newcomer, false), CLOSE_FULL); // it may be for a moment
    attend(TARN_GATEWAY_AWAY_HIDDEN_MS + SLACK_MS);
    assert_int_equal(come(&newcomer, true), CLOSE_FULL); // nobody looks by it
    assert_int_equal(come(&newcomer, false), 0);
    check_others();
    assert_int_equal(come(&viewers[viewer_count], false), CLOSE_FULL);
    ws_client_close(&newcomer);
}

static void test_a_hidden_viewer_makes_room_in_a_full_session(void **state)
{
    (void)state;
    start((const char *[]){NULL});
    assert_int_equal(fill(), CLOSE_FULL);
    assert_int_equal(viewer_count, TARN_VIEWERS_MAX);
    check_room();
}

static void test_a_hidden_viewer_makes_room_in_its_address_share(void **state)
{
    (void)state;
    server_descriptors_max = DESCRIPTORS;
    network = "2001:db8::";
    start((const char *[]){"--trusted-proxy", "127.0.0.1", NULL});
    assert_int_equal(fill(), CLOSE_FULL);
    assert_true(viewer_count < DESCRIPTORS / 4);
    check_room();
}

static void test_a_hidden_viewer_makes_room_where_connections_run_out(void **state)
{
    (void)state;
    ws_client newcomer;
    server_descriptors_max = DESCRIPTORS;
    start((const char *[]){NULL});
    assert_int_equal(fill(), 503);
    hide_now(&viewers[HIDDEN]);
    attend(TARN_GATEWAY_AWAY_HIDDEN_MS + SLACK_MS);
    unsigned refused = come(&newcomer, false);
    assert_int_equal(refused, 503); // its place is free when it has heard why
    for (int ms = 0; ms < WS_CLIENT_WAIT_MS && refused == 503; ms += SLACK_MS) {
        attend(SLACK_MS);
        refused = come(&newcomer, false);
    }
    assert_int_equal(refused, 0);
    check_others();
    ws_client_close(&newcomer);
}

/// Comes and is gone before it hears anything.
static void look_in(const char *headers, int times)
{
    ws_client visitor;
    ws_client_headers = headers;
    for (int i = 0; i < times; i++) {
        assert_int_equal(ws_client_open(&visitor, server.port, "/ws", "tarn.v1", NULL), 101);
        assert_int_equal(ws_client_hello(&visitor), 0);
        assert_int_equal(ws_client_join(&visitor, ""), 0);
        ws_client_close(&visitor);
    }
}

static void test_who_comes_and_goes_without_end_keeps_nobody_else_out(void **state)
{
    enum { AT_FIRST = 1500, BETWEEN = 30, OTHERS = 20 };
    static const char first[] = "X-Forwarded-For: 192.0.2.1\r\n";
    static char header[64];
    (void)state;
    ws_client newcomer;
    start((const char *[]){"--trusted-proxy", "127.0.0.1", NULL});
    look_in(first, AT_FIRST);
    for (unsigned i = 0; i < OTHERS; i++) {
        look_in(first, BETWEEN);
        snprintf(header, sizeof header, "X-Forwarded-For: 198.51.100.%u\r\n", i + 1);
        ws_client_headers = header;
        assert_int_equal(come(&newcomer, false), 0);
        ws_client_close(&newcomer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_hidden_viewer_makes_room_in_a_full_session, stop),
        cmocka_unit_test_teardown(test_a_hidden_viewer_makes_room_in_its_address_share, stop),
        cmocka_unit_test_teardown(test_a_hidden_viewer_makes_room_where_connections_run_out, stop),
        cmocka_unit_test_teardown(test_who_comes_and_goes_without_end_keeps_nobody_else_out, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
