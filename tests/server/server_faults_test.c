// What goes wrong around the server: its worker dies or hangs, it is started wrongly, it is told to end.
#include "server/base/clock.h"
#include "server/log/black_box.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const small_pool[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", NULL};

/// Waits until the viewer has seen the worker go and come back, and a frame of the tank: the same water, no earlier
/// than what the viewer saw last.
static void expect_recovery(ws_client *client, ws_frame *frame)
{
    tarn_message message;
    const ws_frame seen = *frame;
    do { // others tell of what changed before
        assert_true(ws_client_wait(client, TARN_MESSAGE_STATE, &message));
    } while (message.state.worker_ready);
    assert_true(ws_client_wait(client, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, TARN_ERROR_WORKER);
    assert_non_null(strstr(message.error.text, "the tank goes on"));
    do {
        assert_true(ws_client_wait_frame(client, frame));
    } while (!client->state.worker_ready);
    assert_int_equal(frame->epoch, seen.epoch);
    assert_true(frame->step >= seen.step);
    assert_int_equal(client->close_code, 0);
}

static float gravity_of(const ws_client *client)
{
    for (uint32_t i = 0; i < client->state.parameter_count; i++) {
        if (strcmp(client->state.parameters[i].name, "gravity_m_s2") == 0) {
            return client->state.parameters[i].value;
        }
    }
    return 0;
}

static void test_a_killed_worker_is_replaced_while_viewers_stay(void **state)
{
    (void)state;
    static server_process server;
    ws_client clients[2];
    ws_frame frames[2];
    server_start(&server, small_pool);
    for (int i = 0; i < 2; i++) {
        ws_client_enter(&clients[i], server.port);
        assert_true(ws_client_wait_frame(&clients[i], &frames[i]));
    }
    ws_client_parameter(&clients[0], "gravity_m_s2", 4);
    do {
        assert_true(ws_client_wait_frame(&clients[0], &frames[0]));
    } while (gravity_of(&clients[0]) != 4);
    for (int round = 0; round < 3; round++) {
        pid_t worker = server_worker(&server);
        assert_true(worker > 0);
        assert_int_equal(kill(worker, SIGKILL), 0);
        for (int i = 0; i < 2; i++) {
            expect_recovery(&clients[i], &frames[i]);
            assert_true(gravity_of(&clients[i]) == 4);
        }
        assert_true(server_worker(&server) != worker);
        for (int k = 0; k < 5 + 40 * round; k++) {
            assert_true(ws_client_wait_frame(&clients[0], &frames[0]));
        }
    }
    assert_true(server_metric(server.port, "tarn_worker_failures_total{worker=\"0\"}") == 3);
    assert_non_null(strstr(server_said(&server), "somebody ended the worker by signal 9 (Killed)"));
    for (int i = 0; i < 2; i++) {
        ws_client_close(&clients[i]);
    }
    server_stop(&server);
}

/// While there is no worker, what viewers do waits for the tank.
static void test_what_viewers_do_meanwhile_reaches_the_tank(void **state)
{
    (void)state;
    static server_process server;
    ws_client client;
    ws_frame frame;
    tarn_message message;
    server_start(&server, small_pool);
    ws_client_enter(&client, server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    kill(server_worker(&server), SIGKILL);
    do {
        assert_true(ws_client_wait(&client, TARN_MESSAGE_STATE, &message));
    } while (message.state.worker_ready);
    ws_client_parameter(&client, "gravity_m_s2", 3);
    for (int i = 0; i < 200 && gravity_of(&client) != 3; i++) {
        assert_true(ws_client_wait_frame(&client, &frame));
    }
    assert_true(gravity_of(&client) == 3);
    assert_int_equal(client.close_code, 0);
    ws_client_close(&client);
    server_stop(&server);
}

static void test_what_was_loaded_and_paused_outlives_the_worker(void **state)
{
    (void)state;
    static server_process server;
    ws_client client;
    ws_frame frame;
    server_start(&server, small_pool);
    ws_client_enter(&client, server.port);
    ws_client_control(&client, TARN_CONTROL_LOAD, "small-dam");
    ws_client_control(&client, TARN_CONTROL_PAUSE, NULL);
    do {
        assert_true(ws_client_wait_frame(&client, &frame));
    } while (!(frame.flags & TARN_FRAME_FLAG_PAUSED));
    kill(server_worker(&server), SIGKILL);
    expect_recovery(&client, &frame);
    assert_string_equal(client.state.scene, "small-dam");
    assert_true(client.state.paused);
    ws_client_close(&client);
    server_stop(&server);
}

/// Steps that are asked for one by one, some of them when the worker dies: each is made, and made once.
static void test_what_a_dead_worker_had_not_taken_is_done_once(void **state)
{
    (void)state;
    enum { KILLS = 5, ROUNDS = 12, BURST = 6 };
    static server_process server;
    ws_client client;
    ws_frame frame;
    uint64_t steps = 0;
    unsigned seed = 17;
    server_start(&server, small_pool);
    ws_client_enter(&client, server.port);
    ws_client_control(&client, TARN_CONTROL_PAUSE, NULL);
    do {
        assert_true(ws_client_wait_frame(&client, &frame));
    } while (!(frame.flags & TARN_FRAME_FLAG_PAUSED));
    const uint32_t epoch = frame.epoch;
    ws_client_control(&client, TARN_CONTROL_RESET, NULL);
    while (frame.epoch == epoch) {
        assert_true(ws_client_wait_frame(&client, &frame));
    }
    assert_true(frame.step == 0 && (frame.flags & TARN_FRAME_FLAG_PAUSED) != 0);
    for (int round = 0; round < ROUNDS * KILLS; round++) {
        if (round % ROUNDS == ROUNDS / 2) {
            assert_int_equal(kill(server_worker(&server), SIGKILL), 0);
        }
        for (int i = 0; i < BURST; i++, steps++) {
            ws_client_control(&client, TARN_CONTROL_STEP, NULL);
            usleep((useconds_t)(rand_r(&seed) % 4000));
        }
        const unsigned left = round % 2 == 0 ? 0 : BURST; // of which some may be on their way
        while (frame.step + left < steps) {
            if (!ws_client_wait_frame(&client, &frame)) {
                fail_msg("round %d: %llu steps of %llu; the server said:\n%s", round, (unsigned long long)frame.step,
                         (unsigned long long)steps, server_said(&server));
            }
        }
        assert_true(frame.step <= steps);
    }
    while (frame.step < steps) {
        assert_true(ws_client_wait_frame(&client, &frame));
    }
    ws_client_control(&client, TARN_CONTROL_STEP, NULL);
    while (frame.step == steps) {
        assert_true(ws_client_wait_frame(&client, &frame));
    }
    assert_true(frame.step == steps + 1); // none was made twice
    assert_true(server_metric(server.port, "tarn_worker_failures_total{worker=\"0\"}") == KILLS);
    ws_client_close(&client);
    server_stop(&server);
}

/// A reset is done once, too, and the steps that are asked for behind it are of the tank as it is then.
static void test_a_reset_is_not_done_again(void **state)
{
    (void)state;
    static server_process server;
    ws_client client;
    ws_frame frame;
    server_start(&server, small_pool);
    ws_client_enter(&client, server.port);
    ws_client_control(&client, TARN_CONTROL_PAUSE, NULL);
    do {
        assert_true(ws_client_wait_frame(&client, &frame));
    } while (!(frame.flags & TARN_FRAME_FLAG_PAUSED));
    for (int round = 0; round < 3; round++) {
        const uint32_t epoch = frame.epoch;
        ws_client_control(&client, TARN_CONTROL_RESET, NULL);
        if (round > 0) {
            ws_client_control(&client, TARN_CONTROL_STEP, NULL);
        }
        while (frame.epoch == epoch || frame.step < (round > 0)) {
            assert_true(ws_client_wait_frame(&client, &frame));
        }
        const uint32_t epoch_after = frame.epoch;
        assert_int_equal(kill(server_worker(&server), SIGKILL), 0);
        ws_client_control(&client, TARN_CONTROL_STEP, NULL);
        while (frame.step < 1u + (round > 0)) {
            assert_true(ws_client_wait_frame(&client, &frame));
        }
        assert_int_equal(frame.epoch, epoch_after);
    }
    ws_client_close(&client);
    server_stop(&server);
}

static void test_a_hanging_worker_is_killed_and_replaced(void **state)
{
    (void)state;
    static const char *const arguments[] = {
        "--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--worker-timeout", "2", NULL};
    static server_process server;
    ws_client client;
    ws_frame frame;
    server_start(&server, arguments);
    ws_client_enter(&client, server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    kill(server_worker(&server), SIGSTOP);
    expect_recovery(&client, &frame);
    assert_non_null(strstr(server_said(&server), "and was killed; it had been stopped by a signal"));
    ws_client_close(&client);
    server_stop(&server);
}

static void test_a_worker_that_keeps_failing_is_given_up_and_tried_again(void **state)
{
    (void)state;
    static server_process server;
    ws_client client;
    tarn_message message;
    ws_frame frame;
    server_start(&server, small_pool);
    ws_client_enter(&client, server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    int failures = 0;
    pid_t worker = 0;
    do {
        const pid_t killed = worker; // which may be listed for a moment
        for (int i = 0; i < WS_CLIENT_WAIT_MS / 10 && ((worker = server_worker(&server)) == 0 || worker == killed);
             i++) {
            usleep(10000);
        }
        assert_true(worker > 0 && worker != killed);
        kill(worker, SIGABRT); // as if an assertion of its own had failed
        failures++;
        do {
            assert_true(ws_client_wait(&client, TARN_MESSAGE_ERROR, &message));
        } while (message.error.code != TARN_ERROR_WORKER);
    } while (strstr(message.error.text, "it failed too often, and is tried again in 10 s") == NULL && failures < 20);
    assert_true(failures > 2 && failures < 20);
    char answer[4096];
    assert_int_equal(server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer), 503);
    assert_non_null(strstr(answer, "worker 0, auto: failed too often, tried again in "));
    assert_true(server_metric(server.port, "tarn_worker_retry_seconds{worker=\"0\"}") > 0);
    assert_non_null(strstr(server_said(&server), "it failed too often, and is tried again in 10 s"));
    assert_int_equal(server_http(server.port, "GET", "/readyz", NULL, answer, sizeof answer), 503);
    assert_non_null(strstr(answer, "a worker failed too often"));
    assert_int_equal(server_request(server.port, "POST", "/sessions", "Content-Type: application/json\r\n",
                                    "{\"scene\":\"small-dam\"}", answer, sizeof answer),
                     503);
    assert_non_null(
        strstr(answer, "{\"error\":\"nothing is up to simulate it: it failed too often, and is tried again"));
    uint32_t epoch = frame.epoch;
    ws_client_control(&client, TARN_CONTROL_RESET, NULL);
    do {
        assert_true(ws_client_wait_frame(&client, &frame));
    } while (frame.epoch == epoch);
    ws_client_close(&client);
    server_stop(&server);
}

static void test_health_means_that_watched_tanks_make_frames(void **state)
{
    (void)state;
    static server_process server;
    char answer[4096];
    ws_client client;
    ws_frame frame;
    int status = 200;
    server_start(&server, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--worker-timeout",
                                           "600", NULL});
    ws_client_enter(&client, server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    const pid_t worker = server_worker(&server);
    kill(worker, SIGSTOP);
    for (int i = 0; i < 600 && status == 200; i++) {
        usleep(100000);
        status = server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer);
    }
    kill(worker, SIGCONT);
    assert_int_equal(status, 503);
    assert_non_null(
        strstr(answer, "a tank that is watched makes no frames\nsession main: watched, and no frame for 1"));
    for (int i = 0; i < 600 && status != 200; i++) {
        usleep(100000);
        status = server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer);
    }
    assert_int_equal(status, 200);
    // A tank that is paused owes no frames.
    ws_client_control(&client, TARN_CONTROL_PAUSE, NULL);
    sleep(11);
    assert_int_equal(server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer), 200);
    ws_client_close(&client);
    server_stop(&server);
}

/// Shorter than between two pings, again and again: a proxy would end the connection of who looks at a paused tank.
static void test_a_server_that_stands_now_and_then_sends_pings_all_the_same(void **state)
{
    (void)state;
    enum { EVERY_MS = 2000, STANDS_MS = 500, SILENT_MS = 15000 };
    static server_process server;
    ws_client client;
    ws_frame frame;
    ws_message message;
    int pings = 0;
    server_start(&server, small_pool);
    ws_client_enter(&client, server.port);
    ws_client_control(&client, TARN_CONTROL_PAUSE, NULL);
    do {
        assert_true(ws_client_wait_frame(&client, &frame));
    } while ((frame.flags & TARN_FRAME_FLAG_PAUSED) == 0);
    for (int ms = 0; ms < SILENT_MS; ms += EVERY_MS) {
        kill(server.pid, SIGSTOP);
        usleep(STANDS_MS * 1000);
        kill(server.pid, SIGCONT);
        const uint64_t until_ns = tarn_clock_monotonic_ns() + (EVERY_MS - STANDS_MS) * (uint64_t)1000000;
        while (tarn_clock_monotonic_ns() < until_ns) {
            pings += ws_client_next(&client, &message, 100) == 1 && message.opcode == WS_PING;
        }
    }
    assert_true(pings >= 1);
    ws_client_close(&client);
    server_stop(&server);
}

static void test_the_worker_ends_with_a_killed_gateway(void **state)
{
    (void)state;
    static server_process server;
    server_start(&server, small_pool);
    pid_t worker = server_worker(&server);
    assert_true(worker > 0);
    kill(server.pid, SIGKILL);
    assert_int_equal(server_wait(&server), 128 + SIGKILL);
    bool gone = false;
    for (int i = 0; i < WS_CLIENT_WAIT_MS / 10 && !gone; i++) {
        char path[64], line[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)worker);
        FILE *file = fopen(path, "r");
        if (file != NULL && fgets(line, sizeof line, file) != NULL) {
            gone = strstr(line, ") Z ") != NULL; // whoever inherited it may be slow to collect it
        } else {
            gone = true;
        }
        if (file != NULL) {
            fclose(file);
        }
        usleep(10000);
    }
    assert_true(gone);
}

/// Starts with arguments that are wrong: one clear sentence, a status, nothing on stdout.
static void expect_refusal_with(int wanted, const char *const *arguments, const char *part, const char *other_part)
{
    static server_process server;
    server_spawn(&server, arguments);
    int status = server_wait(&server);
    if (status != wanted || strstr(server.err, part) == NULL || strstr(server.err, other_part) == NULL ||
        server.out[0]) {
        fail_msg("expected a refusal with \"%s\" and \"%s\"; status %d\nstdout: %s\nstderr: %s", part, other_part,
                 status, server.out, server.err);
    }
}

/// Options that are right, but ask for what can't be had.
static void expect_refusal(const char *const *arguments, const char *part, const char *other_part)
{
    expect_refusal_with(1, arguments, part, other_part);
}

static void expect_usage(const char *const *arguments, const char *part, const char *other_part)
{
    expect_refusal_with(2, arguments, part, other_part);
}

static void test_wrong_starts_say_what_is_wrong(void **state)
{
    (void)state;
    static const char bad_scene[] = TARN_TEST_SCENES "/../bad_scenes/negative-size.json";
    expect_refusal((const char *[]){"--port", "0", "--scene", "no-such-scene", NULL}, "no-such-scene", "tarnd: ");
    expect_refusal((const char *[]){"--port", "0", "--scene", "/no/such.json", NULL}, "/no/such.json", "tarnd: ");
    expect_refusal((const char *[]){"--port", "0", "--scene", bad_scene, NULL}, "negative-size.json", "size_m");
    expect_refusal((const char *[]){"--port", "0", "--scenes", "/no/such/folder", NULL}, "/no/such/folder", "--scenes");
    expect_refusal((const char *[]){"--port", "0", "--client", "/no/such/folder", NULL}, "/no/such/folder", "client");
    expect_refusal((const char *[]){"--port", "0", "--worker", "/no/such/worker", NULL}, "/no/such/worker", "started");
    expect_refusal((const char *[]){"--port", "0", "--worker", "/bin/false", NULL}, "exit status 1", "worker");
    expect_usage((const char *[]){"--port", "seventy", NULL}, "found \"seventy\"",
                 ", allowed is a whole number from 0 to 65535");
    expect_refusal((const char *[]){"--host", "256.1.1.1", NULL}, "--host 256.1.1.1: ", "allowed is an address");
    // A network for examples (RFC 5737).
    expect_refusal((const char *[]){"--port", "0", "--host", "203.0.113.77", NULL},
                   "--host 203.0.113.77 is no address of this machine", "0.0.0.0");
    expect_usage((const char *[]){"--device", "abacus", NULL}, "found \"abacus\"",
                 "allowed are cpu, cuda, cuda:0 to cuda:63 and auto");
    expect_usage((const char *[]){"--devices", "cuda:0,cpu,cuda", NULL}, "--devices: found \"cuda\" after the same GPU",
                 "each once");
    expect_usage((const char *[]){"--fps", "0", NULL}, "\"0\"", "1 to 120");
    expect_usage((const char *[]){"--origin", "nowhere", NULL}, "nowhere", "scheme://host");
    expect_usage((const char *[]){"--log", "loud", NULL}, "loud", "debug");
    expect_usage((const char *[]){"stray", NULL}, "stray", "options");
    expect_usage((const char *[]){"--frobnicate", NULL}, "which is no option\n", "--frobnicate");
    expect_usage((const char *[]){"--prt", "80", NULL}, "--prt", "which is no option; did you mean --port?");
    expect_refusal((const char *[]){"--port", "0", "--scenes", TARN_TEST_SCENES, "--scene", "smal-pool", NULL},
                   "scene smal-pool: no such file", "did you mean \"small-pool\"?");
}

/// One line, of tarnd or of its worker, not one of each.
static void expect_one_line(const char *const *arguments, const char *part)
{
    static server_process server;
    server_spawn(&server, arguments);
    const int status = server_wait(&server);
    const char *end = strchr(server.err, '\n');
    if (status != 1 || end == NULL || end[1] || strncmp(server.err, "tarnd: ", 7) != 0 ||
        strstr(server.err, part) == NULL) {
        fail_msg("expected one line with \"%s\"; status %d\n%s", part, status, server.err);
    }
}

static void test_what_is_wrong_is_said_once(void **state)
{
    (void)state;
    const char *kept = getenv("TARN_SCENES");
    expect_one_line((const char *[]){"--port", "0", "--client", TARN_TEST_PAGES, "--scenes", "/no/folder", NULL},
                    "--scenes names /no/folder, which cannot be read");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    expect_one_line((const char *[]){"--port", "0", "--client", TARN_TEST_PAGES, "--device", "cuda", NULL},
                    "--device cuda:0: ");
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("TARN_SCENES", "/no/other", 1);
    expect_one_line((const char *[]){"--port", "0", "--client", TARN_TEST_PAGES, NULL},
                    "TARN_SCENES names /no/other, which cannot be read");
    if (kept != NULL) {
        setenv("TARN_SCENES", kept, 1);
    } else {
        unsetenv("TARN_SCENES");
    }
}

static void test_wrong_options_of_a_worker_have_the_same_status(void **state)
{
    (void)state;
    const char *server = getenv("TARN_TEST_SERVER");
    char kept[4096];
    snprintf(kept, sizeof kept, "%s", server != NULL ? server : TARN_TEST_SERVER_BUILT);
    setenv("TARN_TEST_SERVER", TARN_TEST_WORKER, 1);
    expect_usage((const char *[]){NULL}, "--fd is missing", "tarnd");
    expect_usage((const char *[]){"--fd", "3", "--fps", "0", NULL}, "\"0\"", "1 to 120");
    expect_usage((const char *[]){"--frobnicate", NULL}, "which is no option", "--frobnicate");
    setenv("TARN_TEST_SERVER", kept, 1);
}

static void test_a_worker_that_leaves_the_protocol_is_not_believed(void **state)
{
    (void)state;
    static const char *const what[] = {"hello", "state"};
    for (int i = 0; i < 2; i++) {
        setenv("TARN_TEST_FAKE_WORKER", what[i], 1);
        expect_refusal((const char *[]){"--port", "0", "--worker", TARN_TEST_FAKE_WORKER, NULL},
                       "the worker's messages cannot be read", "tarnd: ");
    }
    unsetenv("TARN_TEST_FAKE_WORKER");
}

static void expect_notice(ws_client *client, const char *part, ws_frame *frame, tarn_text text)
{
    tarn_message message;
    const uint32_t epoch = frame->epoch;
    assert_true(ws_client_wait(client, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, TARN_ERROR_WORKER);
    if (strstr(message.error.text, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", message.error.text, part);
    }
    snprintf(text, sizeof(tarn_text), "%s", message.error.text);
    do {
        assert_true(ws_client_wait_frame(client, frame));
    } while (frame->epoch == epoch);
    assert_true(frame->epoch > epoch);
    assert_true(client->state.worker_ready);
}

static void test_a_failing_step_sets_the_tank_back(void **state)
{
    (void)state;
    static const char *const arguments[] = {"--scenes", TARN_TEST_SCENES,          "--scene", "small-pool",
                                            "--worker", TARN_TEST_UNSTABLE_WORKER, NULL};
    static server_process server;
    ws_client client;
    ws_frame frame;
    tarn_text text;
    // Snapshots are kept at every 60th step. Call 30 comes before the first of them: the tank starts afresh, at step 0.
    // Call 30 + 75 fails at step 75: back to 60. Call 105 + 20 fails at step 80, too soon after: afresh once more. From
    // there on, call 125 + 190 fails at step 190: back to 180, and then 125 more steps are fine.
    setenv("TARN_TEST_UNSTABLE_CALLS", "30,105,125,315", 1);
    server_start(&server, arguments);
    unsetenv("TARN_TEST_UNSTABLE_CALLS");
    ws_client_enter(&client, server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    assert_true(frame.step < 30);
    pid_t worker = server_worker(&server);
    expect_notice(&client, "starts afresh", &frame, text);
    assert_true(frame.step < 60);
    expect_notice(&client, "set back by 0.25 s", &frame, text);
    assert_in_range(frame.step, 60, 80);
    expect_notice(&client, "starts afresh", &frame, text);
    assert_true(frame.step < 60);
    expect_notice(&client, "set back by 0.17 s", &frame, text);
    assert_in_range(frame.step, 180, 260);
    // Resetting goes on to a newer epoch than the one that the worker chose.
    uint32_t epoch = frame.epoch;
    ws_client_control(&client, TARN_CONTROL_RESET, NULL);
    do {
        assert_true(ws_client_wait_frame(&client, &frame));
    } while (frame.epoch == epoch);
    assert_true(frame.epoch > epoch);
    assert_true(frame.step < 60);
    assert_int_equal(server_worker(&server), worker);
    assert_true(server_metric(server.port, "tarn_worker_failures_total{worker=\"0\"}") == 0);
    assert_int_equal(client.close_code, 0);
    ws_client_close(&client);
    server_stop(&server);
}

/// The kernel kills who takes all memory, and nobody else knows why: what does so each time is left out in the end.
static void test_a_step_that_is_killed_again_and_again_is_left_out(void **state)
{
    (void)state;
    static const char *const arguments[] = {"--scenes", TARN_TEST_SCENES,          "--scene", "small-pool",
                                            "--worker", TARN_TEST_UNSTABLE_WORKER, NULL};
    static server_process server;
    ws_client client;
    ws_frame frame;
    tarn_message message;
    setenv("TARN_TEST_GREEDY", "7.5", 1);
    server_start(&server, arguments);
    unsetenv("TARN_TEST_GREEDY");
    ws_client_enter(&client, server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    ws_client_parameter(&client, "gravity_m_s2", 4);
    ws_client_parameter(&client, "gravity_m_s2", 7.5f);
    do { // others tell of its workers' ends
        assert_true(ws_client_wait(&client, TARN_MESSAGE_ERROR, &message));
    } while (strstr(message.error.text, "ended its process again and again") == NULL);
    assert_true(ws_client_wait_frame(&client, &frame));
    assert_in_range(server_metric(server.port, "tarn_worker_failures_total{worker=\"0\"}"), TARN_BLACK_BOX_KILLS_MAX,
                    TARN_BLACK_BOX_KILLS_MAX + 2);
    for (const uint64_t step = frame.step; frame.step < step + 60;) { // and nobody does it once more
        assert_true(ws_client_wait_frame(&client, &frame));
    }
    ws_client_close(&client);
    server_stop(&server);
}

static void test_a_port_in_use_is_named_and_the_other_server_goes_on(void **state)
{
    (void)state;
    static server_process server;
    ws_client client;
    ws_frame frame;
    char port[8];
    server_start(&server, small_pool);
    snprintf(port, sizeof port, "%u", server.port);
    expect_refusal((const char *[]){"--port", port, NULL}, port, "in use");
    ws_client_enter(&client, server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    ws_client_close(&client);
    server_stop(&server);
}

static void test_signals_end_it_cleanly_and_viewers_are_told(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    for (int i = 0; i < 3; i++) {
        static server_process server;
        ws_client client;
        tarn_message message;
        ws_frame frame;
        server_start(&server, small_pool);
        ws_client_enter(&client, server.port);
        assert_true(ws_client_wait_frame(&client, &frame));
        pid_t worker = server_worker(&server);
        kill(server.pid, signals[i]);
        assert_true(ws_client_wait(&client, TARN_MESSAGE_ERROR, &message));
        assert_int_equal(message.error.code, TARN_ERROR_SHUTDOWN);
        assert_int_equal(ws_client_wait_close(&client), 4010);
        assert_int_equal(server_wait(&server), 0);
        assert_true(kill(worker, 0) != 0);
        ws_client_close(&client);
    }
}

static void test_a_closed_terminal_does_not_end_it_under_nohup(void **state)
{
    (void)state;
    static server_process server;
    ws_client client;
    ws_frame frame;
    signal(SIGHUP, SIG_IGN); // as nohup does
    server_start(&server, small_pool);
    signal(SIGHUP, SIG_DFL);
    ws_client_enter(&client, server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    uint32_t epoch = frame.epoch;
    pid_t worker = server_worker(&server);
    kill(server.pid, SIGHUP);
    kill(worker, SIGHUP);
    for (int i = 0; i < 10; i++) {
        assert_true(ws_client_wait_frame(&client, &frame));
    }
    assert_int_equal(frame.epoch, epoch);
    assert_int_equal(server_worker(&server), worker);
    ws_client_close(&client);
    server_stop(&server);
}

static void test_it_runs_without_standard_files(void **state)
{
    (void)state;
    static server_process server;
    ws_client client;
    ws_frame frame;
    server_start_closed(&server, small_pool);
    ws_client_enter(&client, server.port);
    ws_client_send(&client, WS_TEXT, "x", 1); // is logged
    assert_int_equal(ws_client_wait_close(&client), 1003);
    ws_client_close(&client);
    ws_client_enter(&client, server.port);
    assert_true(ws_client_wait_frame(&client, &frame));
    ws_client_close(&client);
    server_stop(&server);
}

static void test_a_log_that_nobody_reads_stops_nothing(void **state)
{
    (void)state;
    // A line has the name, and as much again around it.
    enum { LINES = 600, LINE_BYTES = 2 * TARN_NAME_BYTES_MAX, PIPE_BYTES = 65536 };
    _Static_assert(LINES * LINE_BYTES > PIPE_BYTES, "more than fits into a pipe");
    static server_process server;
    static char answer[4096];
    tarn_name nowhere = "";
    tarn_message message;
    ws_client client;
    memset(nowhere, 'a', sizeof nowhere - 1);
    server_start(&server, small_pool); // whose output is read again when it ends
    for (int i = 0; i < LINES; i++) {
        assert_int_equal(ws_client_open(&client, server.port, "/ws", "tarn.v1", NULL), 101);
        assert_int_equal(ws_client_hello(&client), 0);
        assert_int_equal(ws_client_join(&client, nowhere), 0);
        assert_true(ws_client_wait(&client, TARN_MESSAGE_ERROR, &message));
        assert_int_equal(message.error.code, TARN_ERROR_SESSION);
        ws_client_close(&client);
    }
    assert_int_equal(server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer), 200);
    server_stop(&server);
}

static void test_a_refused_page_is_told_once(void **state)
{
    (void)state;
    static const char *const origins[] = {"http://a.example", "http://a.example", "http://b.example",
                                          "http://a.example"};
    static server_process server;
    ws_client client;
    int told = 0;
    server_start(&server, small_pool);
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
        assert_int_equal(ws_client_open(&client, server.port, "/ws", "tarn.v1", origins[i]), 403);
    }
    server_stop(&server);
    for (const char *at = server.err; (at = strstr(at, "--origin would allow it")) != NULL; at++) {
        told++;
    }
    assert_int_equal(told, 2);
    assert_non_null(strstr(server.err, "a page of http://b.example was refused"));
}

static void test_a_lack_of_descriptors_turns_connections_away(void **state)
{
    (void)state;
    enum { FEW = 64, PLACES = 8, MANY = 60 };
    static server_process server;
    static char answer[4096];
    ws_client client;
    ws_frame frame;
    int fds[MANY], refused = 0;
    server_descriptors_max = FEW;
    server_start(&server, small_pool);
    server_descriptors_max = 0;
    assert_non_null(strstr(server_said(&server), "connections are limited to 8, not 512"));
    ws_client_enter(&client, server.port);
    for (int i = 0; i < MANY; i++) {
        assert_true((fds[i] = ws_connect(server.port)) >= 0);
    }
    // Refused, or ended to make room for those that came later.
    for (int look = 0; look < WS_CLIENT_WAIT_MS / 10 && refused < MANY - PLACES; look++) {
        usleep(10000);
        for (int i = 0; i < MANY; i++) {
            const ssize_t got = fds[i] >= 0 ? recv(fds[i], answer, sizeof answer, MSG_DONTWAIT) : -1;
            if (got == 0 || (got > 12 && strncmp(answer, "HTTP/1.1 503", 12) == 0)) {
                refused++;
                close(fds[i]);
                fds[i] = -1;
            }
        }
    }
    assert_true(ws_client_wait_frame(&client, &frame));
    for (int i = 0; i < MANY; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    assert_true(refused >= MANY - PLACES);
    for (int i = 0;
         i < WS_CLIENT_WAIT_MS / 10 && server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer) != 200;
         i++) {
        usleep(10000);
    }
    assert_int_equal(server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer), 200);
    ws_client_close(&client);
    server_stop(&server);
}

/// Descriptors are kept back for that.
static void test_a_worker_is_replaced_while_all_places_are_taken(void **state)
{
    (void)state;
    enum { VIEWERS = 20, OTHERS = 80 };
    static server_process server;
    static ws_client viewers[VIEWERS];
    ws_frame frame;
    int others[OTHERS];
    server_descriptors_max = 56 + VIEWERS;
    server_start(&server, small_pool);
    server_descriptors_max = 0;
    const pid_t worker = server_worker(&server);
    for (int i = 0; i < VIEWERS; i++) {
        ws_client_enter(&viewers[i], server.port);
        assert_true(ws_client_wait_frame(&viewers[i], &frame));
    }
    for (int i = 0; i < OTHERS; i++) {
        assert_true((others[i] = ws_connect(server.port)) >= 0);
    }
    for (int round = 0; round < 3; round++) {
        kill(server_worker(&server), SIGKILL);
        for (int i = 0; i < VIEWERS; i++) {
            tarn_message message;
            do { // told that it is gone, and then that it is back
                assert_true(ws_client_wait(&viewers[i], TARN_MESSAGE_STATE, &message));
            } while (!message.state.worker_ready);
            assert_true(ws_client_wait_frame(&viewers[i], &frame));
        }
    }
    assert_int_not_equal(server_worker(&server), worker);
    for (int i = 0; i < OTHERS; i++) {
        close(others[i]);
    }
    for (int i = 0; i < VIEWERS; i++) {
        ws_client_close(&viewers[i]);
    }
    server_stop(&server);
    server_descriptors_max = 60;
    server_spawn(&server, small_pool);
    server_descriptors_max = 0;
    assert_int_equal(server_wait(&server), 1);
    assert_non_null(strstr(server.err, "allowed are 64 or more"));
}

static void test_a_signal_during_the_start_ends_it_too(void **state)
{
    (void)state;
    static server_process server;
    server_spawn(&server, (const char *[]){"--port", "0", "--worker", "/bin/cat", NULL});
    usleep(200000);
    kill(server.pid, SIGTERM);
    int status = server_wait(&server);
    // 1: cat has refused its arguments before; a signal before there are handlers has its usual effect.
    if (status != 0 && status != 1 && status != 128 + SIGTERM) {
        fail_msg("it ended with %d: %s", status, server.err);
    }
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_killed_worker_is_replaced_while_viewers_stay),
        cmocka_unit_test(test_what_viewers_do_meanwhile_reaches_the_tank),
        cmocka_unit_test(test_what_was_loaded_and_paused_outlives_the_worker),
        cmocka_unit_test(test_what_a_dead_worker_had_not_taken_is_done_once),
        cmocka_unit_test(test_a_reset_is_not_done_again),
        cmocka_unit_test(test_a_hanging_worker_is_killed_and_replaced),
        cmocka_unit_test(test_a_worker_that_keeps_failing_is_given_up_and_tried_again),
        cmocka_unit_test(test_health_means_that_watched_tanks_make_frames),
        cmocka_unit_test(test_a_server_that_stands_now_and_then_sends_pings_all_the_same),
        cmocka_unit_test(test_the_worker_ends_with_a_killed_gateway),
        cmocka_unit_test(test_wrong_starts_say_what_is_wrong),
        cmocka_unit_test(test_what_is_wrong_is_said_once),
        cmocka_unit_test(test_wrong_options_of_a_worker_have_the_same_status),
        cmocka_unit_test(test_a_worker_that_leaves_the_protocol_is_not_believed),
        cmocka_unit_test(test_a_failing_step_sets_the_tank_back),
        cmocka_unit_test(test_a_step_that_is_killed_again_and_again_is_left_out),
        cmocka_unit_test(test_a_port_in_use_is_named_and_the_other_server_goes_on),
        cmocka_unit_test(test_signals_end_it_cleanly_and_viewers_are_told),
        cmocka_unit_test(test_a_closed_terminal_does_not_end_it_under_nohup),
        cmocka_unit_test(test_it_runs_without_standard_files),
        cmocka_unit_test(test_a_log_that_nobody_reads_stops_nothing),
        cmocka_unit_test(test_a_refused_page_is_told_once),
        cmocka_unit_test(test_a_lack_of_descriptors_turns_connections_away),
        cmocka_unit_test(test_a_worker_is_replaced_while_all_places_are_taken),
        cmocka_unit_test(test_a_signal_during_the_start_ends_it_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
