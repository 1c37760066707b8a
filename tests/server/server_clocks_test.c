// Clocks jump: the server and its worker have clocks of their own here (tests/faults/moved_clock.h). What runs while
// they do is in tests/faults; these are those who sit still.
#include "tests/faults/moved_clock.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

int main(void)
{
    puts("skipped: a sanitizer's runtime must be loaded first, before a clock");
    return 77;
}

#else

enum { ANSWER_BYTES = 16384, LISTEN_MS = 1500 };

static const int64_t hour_ns = 3600 * (int64_t)1000000000;

static moved_clock *clocks;
static server_process server;
static char answer[ANSWER_BYTES];

/// Listens for a while. @return whether it is still there
static bool stays(ws_client *client)
{
    ws_message message;
    for (int i = 0; i < LISTEN_MS / 50; i++) {
        (void)ws_client_next(client, &message, 50);
    }
    return client->close_code == 0;
}

static void expect_health(void)
{
    if (server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer) != 200) {
        fail_msg("%s\nthe server said:\n%s", answer, server_said(&server));
    }
}

/// One who looks at a paused tank, one who has not said hello, a tank with nobody in it.
static void test_nobody_is_late_and_no_tank_ends(void **state)
{
    (void)state;
    static const struct {
        int64_t wall_h, since_start_h;
    } jumps[] = {{-24, 0}, {24, 0}, {10 * 8766, 0}, {1, 1}, {24 * 30, 24 * 30}, {0, 1}};
    ws_client watching, waiting;
    ws_frame frame;
    clocks = moved_clock_begin();
    server_start(&server, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", NULL});
    moved_clock_leave();
    assert_int_equal(server_request(server.port, "POST", "/sessions", "Content-Type: application/json\r\n",
                                    "{\"scene\":\"small-dam\",\"listed\":true,\"name\":\"Ada\"}", answer,
                                    sizeof answer),
                     201);
    ws_client_enter(&watching, server.port);
    ws_client_control(&watching, TARN_CONTROL_PAUSE, NULL);
    do {
        assert_true(ws_client_wait_frame(&watching, &frame));
    } while (!(frame.flags & TARN_FRAME_FLAG_PAUSED));
    const pid_t worker = server_worker(&server);
    for (size_t i = 0; i < sizeof jumps / sizeof jumps[0]; i++) {
        assert_int_equal(ws_client_open(&waiting, server.port, "/ws", "tarn.v1", NULL), 101);
        moved_clock_jump(clocks, jumps[i].wall_h * hour_ns, jumps[i].since_start_h * hour_ns);
        if (!stays(&watching) || !stays(&waiting) || server_worker(&server) != worker) {
            fail_msg("jump %zu: closed with %u and %u, worker %d, then %d; the server said:\n%s", i,
                     watching.close_code, waiting.close_code, (int)worker, (int)server_worker(&server),
                     server_said(&server));
        }
        expect_health();
        assert_int_equal(server_http(server.port, "GET", "/sessions", NULL, answer, sizeof answer), 200);
        if (strstr(answer, "Ada") == NULL) {
            fail_msg("jump %zu: the tank that nobody looks at is gone; the server said:\n%s", i, server_said(&server));
        }
        assert_int_equal(ws_client_hello(&waiting), 0);
        assert_int_equal(ws_client_join(&waiting, ""), 0);
        assert_true(ws_client_wait_frame(&waiting, &frame));
        ws_client_close(&waiting);
    }
    ws_client_control(&watching, TARN_CONTROL_RESUME, NULL);
    for (int i = 0; i < 30; i++) {
        assert_true(ws_client_wait_frame(&watching, &frame));
    }
    ws_client_close(&watching);
    server_stop(&server);
    moved_clock_end(clocks);
}

static void test_the_store_goes_on(void **state)
{
    (void)state;
    char store[] = "/tmp/tarn-clocks-XXXXXX";
    static const int64_t wall_h[] = {-24, 24, 10 * 8766, 0}, since_start_h[] = {0, 0, 0, 1};
    ws_client client;
    ws_frame frame;
    assert_non_null(mkdtemp(store));
    clocks = moved_clock_begin();
    server_start(&server,
                 (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--store", store, NULL});
    moved_clock_leave();
    ws_client_enter(&client, server.port);
    for (size_t i = 0; i < sizeof wall_h / sizeof wall_h[0]; i++) {
        moved_clock_jump(clocks, wall_h[i] * hour_ns, since_start_h[i] * hour_ns);
        const double before = server_metric(server.port, "tarn_store_commits_total");
        assert_true(before >= 0);
        double after = before;
        for (int k = 0; k < 100 && after < before + 5; k++) {
            assert_true(ws_client_wait_frame(&client, &frame));
            after = server_metric(server.port, "tarn_store_commits_total");
        }
        if (after < before + 5) {
            fail_msg("jump %zu: commits went from %g to %g; the server said:\n%s", i, before, after,
                     server_said(&server));
        }
    }
    assert_true(server_metric(server.port, "tarn_store_failures_total") == 0);
    ws_client_close(&client);
    server_stop(&server);
    moved_clock_end(clocks);
    assert_int_equal(server_remove_store(store), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_is_late_and_no_tank_ends),
        cmocka_unit_test(test_the_store_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
