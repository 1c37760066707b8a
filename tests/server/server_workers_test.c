// Two workers behind one server: where tanks go, and that one worker's end is nothing to the other's viewers.
#include "tests/server/server_process.h"
#include "tests/server/stream_client.h"
#include "tests/server/test_cmocka.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 65536 };

static const char json[] = "Content-Type: application/json\r\n";

static server_process server;
static char answer[ANSWER_BYTES];

/// Ten frames a second: none is an extra one, which a viewer that is late for a moment may be spared.
static int start(void **state)
{
    (void)state;
    static const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--devices",
                                            "cpu,cpu",  "--fps",          "10",      NULL};
    server_start(&server, arguments);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    server_stop(&server);
    return 0;
}

static void make_tank(const char *body, tarn_name session)
{
    assert_int_equal(server_request(server.port, "POST", "/sessions", json, body, answer, sizeof answer), 201);
    const char *found = strstr(answer, "\"session\":\"");
    assert_non_null(found);
    assert_int_equal(sscanf(found, "\"session\":\"%63[^\"]\"", session), 1);
}

static double session_metric(const char *what, const char *session, int worker)
{
    char name[120];
    snprintf(name, sizeof name, "tarn_session_%s{session=\"%s\",worker=\"%d\"}", what, session, worker);
    return server_metric(server.port, name);
}

static double worker_metric(const char *what, int worker)
{
    char name[64];
    snprintf(name, sizeof name, "tarn_worker_%s{worker=\"%d\"}", what, worker);
    return server_metric(server.port, name);
}

static void enter(stream_client *client, const char *session)
{
    memset(client, 0, sizeof *client);
    assert_int_equal(ws_client_open(&client->ws, server.port, "/ws", "tarn.v1", NULL), 101);
    assert_int_equal(ws_client_hello(&client->ws), 0);
    assert_int_equal(ws_client_join(&client->ws, session), 0);
    stream_client_see(client);
}

/// Sees so many frames, each the one after the other, while nothing is said of a failure.
static void expect_no_gap(stream_client *client, int frames)
{
    const uint32_t epoch = client->frame.head.epoch;
    for (int i = 0; i < frames; i++) {
        const uint32_t number = client->frame.head.number;
        const uint64_t step = client->frame.head.step;
        stream_client_see(client);
        assert_int_equal(client->frame.head.epoch, epoch);
        assert_int_equal(client->frame.head.number, number + 1);
        assert_true(client->frame.head.step > step);
        assert_true(client->ws.state.worker_ready);
    }
}

static void test_tanks_are_divided_among_workers(void **state)
{
    (void)state;
    tarn_name second, third;
    char form[256];
    make_tank("{\"scene\":\"small-dam\"}", second);
    assert_true(session_metric("viewers", "main", 0) == 0);
    assert_true(session_metric("viewers", second, 1) == 0);
    stream_client client;
    enter(&client, second);
    // Who watches one takes the other worker's time, not this one's.
    for (int i = 0; worker_metric("tanks", 1) < 2 && i < 6; i++) {
        make_tank("{\"scene\":\"small-dam\",\"listed\":false}", third);
    }
    assert_true(worker_metric("tanks", 0) >= 1);
    assert_int_equal(server_http(server.port, "GET", "/sessions", NULL, answer, sizeof answer), 200);
    snprintf(form, sizeof form, "{\"session\":\"%s\"", second);
    const char *listed = strstr(answer, form);
    assert_non_null(listed);
    assert_non_null(strstr(listed, "\"viewers\":1"));
    assert_non_null(strstr(listed, "\"worker\":1,\"device\":\"CPU, 1 thread"));
    assert_true(session_metric("viewers", second, 1) == 1);
    assert_true(session_metric("frames_sent_total", second, 1) >= 1);
    assert_true(session_metric("bytes_sent_total", second, 1) > 1000);
    assert_true(session_metric("frames_sent_total", "main", 0) == 0);
    // Whoever knows a session's name may join it.
    assert_int_equal(server_http(server.port, "GET", "/metrics", NULL, answer, sizeof answer), 200);
    assert_null(strstr(answer, third));
    assert_non_null(strstr(answer, "{session=\"unlisted-3\",worker=\""));
    stream_client_close(&client);
}

static void test_a_lost_worker_costs_the_others_viewers_no_frame(void **state)
{
    (void)state;
    tarn_name name;
    stream_client watching, losing;
    make_tank("{\"scene\":\"small-dam\"}", name);
    enter(&watching, "main");
    enter(&losing, name);
    const uint32_t epoch = losing.frame.head.epoch;
    expect_no_gap(&watching, 3);
    for (int round = 1; round <= 2; round++) {
        const pid_t worker = server_worker_at(&server, 1);
        assert_true(worker > 0);
        assert_int_equal(kill(worker, SIGKILL), 0);
        expect_no_gap(&watching, 15);
        for (int i = 0; worker_metric("ready", 1) != 1 && i < 1000; i++) {
            expect_no_gap(&watching, 1);
        }
        assert_true(worker_metric("failures_total", 1) == round);
    }
    const uint64_t step = losing.frame.head.step;
    do {
        stream_client_see(&losing);
    } while (!losing.ws.state.worker_ready || losing.frame.head.step == step);
    assert_int_equal(losing.frame.head.epoch, epoch); // the same water
    expect_no_gap(&watching, 3);
    assert_true(worker_metric("failures_total", 0) == 0);
    assert_true(session_metric("frames_skipped_total", "main", 0) == 0);
    assert_true(server_worker_at(&server, 0) != server_worker_at(&server, 1));
    stream_client_close(&watching);
    stream_client_close(&losing);
}

/// Ends a worker as soon as it is there, until the server gives it up, which a viewer of its tank is told.
static void make_given_up(int index, ws_client *client)
{
    tarn_message message;
    pid_t worker = 0;
    do {
        const pid_t killed = worker; // which may be listed for a moment
        for (int i = 0;
             i < WS_CLIENT_WAIT_MS / 10 && ((worker = server_worker_at(&server, index)) == 0 || worker == killed);
             i++) {
            usleep(10000);
        }
        assert_true(worker > 0 && worker != killed);
        kill(worker, SIGABRT); // as if an assertion of its own had failed
        do {
            assert_true(ws_client_wait(client, TARN_MESSAGE_ERROR, &message));
        } while (message.error.code != TARN_ERROR_WORKER);
    } while (strstr(message.error.text, "failed too often") == NULL);
    assert_non_null(strstr(message.error.text, "the tank goes on on another one"));
}

/// Watched, resting and paused ones, at the very steps that they had come to.
static void test_tanks_of_a_worker_that_was_given_up_go_on_on_another(void **state)
{
    (void)state;
    tarn_name name, resting, later;
    ws_frame frame;
    stream_client watching, losing;
    make_tank("{\"scene\":\"small-dam\"}", name);
    enter(&watching, "main");
    enter(&losing, name);
    make_tank("{\"scene\":\"small-pool\"}", resting);
    for (int i = 0; i < 20; i++) {
        stream_client_see(&losing);
    }
    const uint32_t epoch = losing.frame.head.epoch, watched_epoch = watching.frame.head.epoch;
    const uint64_t step = losing.frame.head.step;
    watching.ws.auto_ack = false; // it is read again when this is over
    make_given_up(1, &losing.ws);
    assert_int_equal(server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer), 200);
    assert_non_null(strstr(answer, "\nok, but not all workers\nworker 0, cpu: ready\nworker 1, cpu: failed too often"));
    assert_int_equal(server_http(server.port, "GET", "/readyz", NULL, answer, sizeof answer), 503);
    do {
        assert_true(ws_client_wait_frame(&losing.ws, &frame));
        assert_int_equal(frame.epoch, epoch);
    } while (!losing.ws.state.worker_ready || frame.step <= step);
    assert_true(session_metric("viewers", name, 0) == 1);
    assert_true(session_metric("viewers", resting, 0) == 0);
    assert_true(session_metric("restarts_total", name, 0) == 0);
    assert_true(worker_metric("tanks", 1) == 0);
    // A new tank goes to the worker that is up.
    make_tank("{\"scene\":\"small-pool\"}", later);
    assert_true(session_metric("viewers", later, 0) == 0);
    assert_true(worker_metric("tanks", 0) == 4);
    watching.ws.auto_ack = true;
    for (int i = 0; i < 20; i++) {
        stream_client_see(&watching);
        assert_int_equal(watching.frame.head.epoch, watched_epoch);
    }
    stream_client_close(&watching);
    stream_client_close(&losing);
}

static int start_allowing_little(void **state)
{
    (void)state;
    static const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--devices",
                                            "cpu",      "--sessions-max", "64",      "--load-max", "1",
                                            NULL};
    server_start(&server, arguments);
    return 0;
}

/// From one of many addresses of this machine, since one may not make so many tanks.
static int connect_from_another(uint16_t port)
{
    static uint32_t count;
    const struct sockaddr_in from = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + count++ % 50)};
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/// A worker takes sixteen tanks whatever they cost, and more only as long as they cost little enough.
static void test_tanks_that_cost_too_much_are_refused(void **state)
{
    (void)state;
    enum { ANYHOW = 16 };
    static stream_client viewers[ANYHOW];
    static const char pool[] = "{\"scene\":\"small-pool\"}";
    tarn_name names[ANYHOW] = {"main"};
    int status = 201;
    ws_connect_by = connect_from_another;
    for (int i = 0; i < ANYHOW; i++) {
        if (i > 0) {
            make_tank(pool, names[i]);
        }
        enter(&viewers[i], names[i]);
    }
    for (int tries = 0; tries < 100 && status == 201; tries++) { // its first report comes after a second
        for (int i = 0; i < ANYHOW; i++) {
            stream_client_see(&viewers[i]);
        }
        assert_int_equal(server_http(server.port, "GET", "/sessions", NULL, answer, sizeof answer), 200);
        status = strstr(answer, "\"create\":true") != NULL ? 201 : 503;
    }
    assert_true(worker_metric("load", 0) > 0.01);
    assert_int_equal(server_request(server.port, "POST", "/sessions", json, pool, answer, sizeof answer), 503);
    assert_non_null(strstr(answer, "above 1 % of their time, which is all that is allowed beyond 16 tanks each"));
    for (int i = 0; i < ANYHOW; i++) {
        stream_client_close(&viewers[i]);
    }
    ws_connect_by = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tanks_are_divided_among_workers, start, stop),
        cmocka_unit_test_setup_teardown(test_a_lost_worker_costs_the_others_viewers_no_frame, start, stop),
        cmocka_unit_test_setup_teardown(test_tanks_of_a_worker_that_was_given_up_go_on_on_another, start, stop),
        cmocka_unit_test_setup_teardown(test_tanks_that_cost_too_much_are_refused, start_allowing_little, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
