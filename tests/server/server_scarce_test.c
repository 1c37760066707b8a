// What is scarce: the device's memory, and what a process may have of the machine's. What doesn't fit is refused with a
// sentence, and everything else goes on.
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ANSWER_BYTES = 16384, WAIT_MS = 20000 };

static server_process server;
static char answer[ANSWER_BYTES];

static const char json[] = "Content-Type: application/json\r\n";

static void expect_frames(ws_client *client, int count)
{
    ws_frame frame;
    for (int i = 0; i < count; i++) {
        if (!ws_client_wait_frame(client, &frame)) {
            fail_msg("no frame came, %u; the server said:\n%s", client->close_code, server_said(&server));
        }
    }
}

static bool is_listed(const char *title)
{
    assert_int_equal(server_http(server.port, "GET", "/sessions", NULL, answer, sizeof answer), 200);
    return strstr(answer, title) != NULL;
}

static char device_path[64];

static void set_device_bytes(unsigned bytes)
{
    char next[80];
    snprintf(next, sizeof next, "%s-next", device_path);
    FILE *file = fopen(next, "we");
    assert_non_null(file);
    fprintf(file, "%u\n", bytes);
    fclose(file);
    assert_int_equal(rename(next, device_path), 0);
}

static void start_with_device(unsigned bytes)
{
    snprintf(device_path, sizeof device_path, "/tmp/tarn-scarce-%d", (int)getpid());
    set_device_bytes(bytes);
    setenv("TARN_TEST_DEVICE_BYTES", device_path, 1);
    server_start(&server, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--worker",
                                           TARN_TEST_FAILING_DEVICE_WORKER, NULL});
    unsetenv("TARN_TEST_DEVICE_BYTES");
}

static void stop_with_device(void)
{
    server_stop(&server);
    unlink(device_path);
}

/// A pool takes 6.5 MB of the device, a dam 3.5 MB: beside a pool and a dam there is no room for either.
static void test_a_tank_that_the_device_has_no_memory_for_is_refused(void **state)
{
    (void)state;
    ws_client pool, dam, late;
    char third[64];
    ws_frame frame;
    tarn_message message;
    start_with_device(12000000);
    const pid_t worker = server_worker(&server);
    ws_client_enter(&pool, server.port);
    expect_frames(&pool, 1);
    char name[64], key[64], target[96], headers[128];
    assert_int_equal(server_request(server.port, "POST", "/sessions", json,
                                    "{\"scene\":\"small-dam\",\"listed\":true,\"name\":\"Ada\"}", answer,
                                    sizeof answer),
                     201);
    assert_int_equal(sscanf(strstr(answer, "\"session\":\""), "\"session\":\"%63[^\"]\"", name), 1);
    assert_int_equal(sscanf(strstr(answer, "\"own\":\""), "\"own\":\"%63[^\"]\"", key), 1);
    assert_int_equal(ws_client_open(&dam, server.port, "/ws", "tarn.v1", NULL), 101);
    assert_int_equal(ws_client_hello(&dam), 0);
    assert_int_equal(ws_client_join(&dam, name), 0);
    expect_frames(&dam, 1);
    // A third: whoever comes for it is told why it isn't there.
    assert_int_equal(server_request(server.port, "POST", "/sessions", json,
                                    "{\"scene\":\"small-dam\",\"listed\":true,\"name\":\"Bob\"}", answer,
                                    sizeof answer),
                     201);
    assert_int_equal(sscanf(strstr(answer, "\"session\":\""), "\"session\":\"%63[^\"]\"", third), 1);
    for (int i = 0; i < WAIT_MS / 10 && is_listed("Bob"); i++) {
        usleep(10000);
    }
    assert_false(is_listed("Bob"));
    assert_int_equal(ws_client_open(&late, server.port, "/ws", "tarn.v1", NULL), 101);
    assert_int_equal(ws_client_hello(&late), 0);
    assert_int_equal(ws_client_join(&late, third), 0);
    assert_true(ws_client_wait(&late, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, TARN_ERROR_SESSION);
    if (strstr(message.error.text, "has ended: scene \"small-dam\": ") == NULL ||
        strstr(message.error.text, "memory") == NULL) {
        fail_msg("the viewer was told: %s", message.error.text);
    }
    ws_client_close(&late);
    if (strstr(server_said(&server), "scene \"small-dam\": ") == NULL || strstr(server.err, "memory") == NULL) {
        fail_msg("the server said:\n%s", server.err);
    }
    // Another scene: the tank stays what it is.
    assert_true(ws_client_wait_frame(&dam, &frame));
    const uint32_t epoch = frame.epoch;
    ws_client_control(&dam, TARN_CONTROL_LOAD, "small-pool");
    assert_true(ws_client_wait(&dam, TARN_MESSAGE_ERROR, &message));
    assert_int_equal(message.error.code, TARN_ERROR_SCENE);
    if (strstr(message.error.text, "scene \"small-pool\": ") == NULL || strstr(message.error.text, "memory") == NULL) {
        fail_msg("the viewer was told: %s", message.error.text);
    }
    const uint64_t step = frame.step;
    do {
        assert_true(ws_client_wait_frame(&dam, &frame));
        assert_int_equal(frame.epoch, epoch);
    } while (frame.step < step + 20);
    assert_string_equal(dam.state.scene, "small-dam");
    expect_frames(&pool, 20);
    // Room again.
    ws_client_close(&dam);
    snprintf(target, sizeof target, "/sessions/%s", name);
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", key);
    assert_int_equal(server_http(server.port, "DELETE", target, headers, answer, sizeof answer), 200);
    assert_int_equal(server_request(server.port, "POST", "/sessions", json,
                                    "{\"scene\":\"small-dam\",\"listed\":true,\"name\":\"Eve\"}", answer,
                                    sizeof answer),
                     201);
    sleep(1);
    assert_true(is_listed("Eve"));
    assert_int_equal(server_worker(&server), worker);
    assert_int_equal(pool.close_code, 0);
    ws_client_close(&pool);
    stop_with_device();
}

/// The next worker has no room for it, and then it has.
static void test_a_tank_that_cannot_come_back_is_tried_again(void **state)
{
    (void)state;
    enum { SHORT_S = 3 };
    ws_client client;
    ws_frame frame;
    tarn_message message;
    start_with_device(12000000);
    ws_client_enter(&client, server.port);
    expect_frames(&client, 10);
    assert_true(ws_client_wait_frame(&client, &frame));
    const ws_frame seen = frame;
    set_device_bytes(5000000);
    assert_int_equal(kill(server_worker(&server), SIGKILL), 0);
    do {
        assert_true(ws_client_wait(&client, TARN_MESSAGE_ERROR, &message));
    } while (message.error.code != TARN_ERROR_SCENE);
    assert_non_null(strstr(message.error.text, "memory"));
    sleep(SHORT_S);
    const pid_t worker = server_worker(&server);
    assert_int_equal(server_metric(server.port, "tarn_worker_failures_total{worker=\"0\"}"), 1);
    set_device_bytes(12000000);
    assert_true(ws_client_wait_frame(&client, &frame));
    assert_int_equal(frame.epoch, seen.epoch);
    assert_true(frame.step >= seen.step);
    assert_true(client.state.worker_ready);
    assert_int_equal(server_worker(&server), worker);
    expect_frames(&client, 20);
    ws_client_close(&client);
    stop_with_device();
}

static uint64_t mapped_bytes(pid_t pid)
{
    char path[64];
    unsigned long long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu", &pages), 1);
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/// The server may have no more memory than it has before anybody joins.
static void test_frames_that_there_is_no_memory_for_are_left_out(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    puts("skipped: a sanitizer has mapped what it needs and more");
    skip();
#endif
    ws_client client, clients[3];
    ws_message message;
    struct rlimit was;
    server_start(&server, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", NULL});
    const pid_t worker = server_worker(&server);
    for (int i = 0; i < 3; i++) { // what connections take is there
        assert_int_equal(ws_client_open(&clients[i], server.port, "/ws", "tarn.v1", NULL), 101);
        assert_int_equal(ws_client_hello(&clients[i]), 0);
    }
    assert_int_equal(server_http(server.port, "GET", "/metrics", NULL, answer, sizeof answer), 200);
    for (int i = 0; i < 3; i++) {
        ws_client_close(&clients[i]);
    }
    const struct rlimit now = {mapped_bytes(server.pid), RLIM_INFINITY};
    assert_int_equal(prlimit(server.pid, RLIMIT_AS, &now, &was), 0);
    ws_client_enter(&client, server.port);
    int status = 0;
    for (int i = 0; i < WAIT_MS / 100 && status != 503; i++) {
        (void)ws_client_next(&client, &message, 100);
        status = server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer);
    }
    if (status != 503 || strstr(answer, "session main: watched, and no frame for 1") == NULL ||
        server_worker(&server) != worker) {
        fail_msg("%d, worker %d, then %d: %s\nthe server said:\n%s", status, (int)worker, (int)server_worker(&server),
                 answer, server_said(&server));
    }
    assert_non_null(strstr(server_said(&server), "there is no memory for a frame"));
    assert_int_equal(prlimit(server.pid, RLIMIT_AS, &was, NULL), 0);
    expect_frames(&client, 20);
    assert_non_null(strstr(server_said(&server), "there is memory for a frame"));
    assert_int_equal(server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer), 200);
    ws_client_close(&client);
    server_stop(&server);
}

static void test_too_little_memory_to_start_is_said(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    puts("skipped: a sanitizer doesn't start with little");
    skip();
#endif
    struct rlimit was, little = {128 << 20, RLIM_INFINITY};
    assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
    little.rlim_max = was.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    server_spawn(&server, (const char *[]){"--port", "0", "--scenes", TARN_TEST_SCENES, "--scene", "small-pool", NULL});
    assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
    assert_int_equal(server_wait(&server), 1);
    if (strstr(server.err, "tarnd: there is no memory for the largest frame") == NULL) {
        fail_msg("the server said:\n%s", server.err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tank_that_the_device_has_no_memory_for_is_refused),
        cmocka_unit_test(test_a_tank_that_cannot_come_back_is_tried_again),
        cmocka_unit_test(test_frames_that_there_is_no_memory_for_are_left_out),
        cmocka_unit_test(test_too_little_memory_to_start_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
