// A worker that says what it shouldn't, or nothing for long (fake_worker.c): the server goes on.
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_a_frame_of_a_tank_that_will_be_made_is_not_believed(void **state)
{
    (void)state;
    static const char *const arguments[] = {"--scenes", TARN_TEST_SCENES,      "--scene", "small-pool",
                                            "--worker", TARN_TEST_FAKE_WORKER, NULL};
    static server_process server;
    static char answer[4096];
    setenv("TARN_TEST_FAKE_WORKER", "ahead", 1);
    server_start(&server, arguments);
    unsetenv("TARN_TEST_FAKE_WORKER");
    assert_int_equal(server_request(server.port, "POST", "/sessions", "Content-Type: application/json\r\n",
                                    "{\"scene\":\"small-pool\"}", answer, sizeof answer),
                     201);
    for (int i = 0;
         i < WS_CLIENT_WAIT_MS / 20 && strstr(server_said(&server), "cannot be read") == NULL && server_runs(&server);
         i++) {
        usleep(20000);
    }
    assert_true(server_runs(&server));
    server_stop(&server);
}

static void test_viewers_are_told_what_no_text_says(void **state)
{
    (void)state;
    static server_process server;
    ws_client client;
    tarn_message message;
    setenv("TARN_TEST_FAKE_WORKER", "words", 1);
    server_start(&server, (const char *[]){"--scenes", TARN_TEST_SCENES, "--worker", TARN_TEST_FAKE_WORKER, NULL});
    unsetenv("TARN_TEST_FAKE_WORKER");
    ws_client_enter(&client, server.port);
    assert_true(ws_client_wait(&client, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, TARN_ERROR_WORKER);
    assert_string_equal(message.error.text, "? ??? ??? ?[2J ?");
    ws_client_close(&client);
    server_stop(&server);
}

/// What it says of the tank before, or of inputs, is no sign that the next one is made: making one may take long.
static void test_a_worker_may_take_its_time_to_make_a_tank(void **state)
{
    (void)state;
    static server_process server;
    static const char *const arguments[] = {"--worker", TARN_TEST_FAKE_WORKER, NULL};
    setenv("TARN_TEST_FAKE_WORKER", "busy", 1);
    server_start(&server, arguments);
    usleep(4000000);
    assert_true(server_metric(server.port, "tarn_worker_starts_total{worker=\"0\"}") == 1);
    unsetenv("TARN_TEST_FAKE_WORKER");
    server_stop(&server);
}

/// Waits for the notice of a failed step and for a frame from after it; no worker is replaced.

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_frame_of_a_tank_that_will_be_made_is_not_believed),
        cmocka_unit_test(test_viewers_are_told_what_no_text_says),
        cmocka_unit_test(test_a_worker_may_take_its_time_to_make_a_tank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
