// A tank goes from one worker to another while it is watched, and what goes wrong on the way is nobody's loss.
#include "server/base/clock.h"
#include "tests/server/server_process.h"
#include "tests/server/stream_client.h"
#include "tests/server/test_cmocka.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWER_BYTES = 65536 };

static const char json[] = "Content-Type: application/json\r\n";

static server_process server;
static char answer[ANSWER_BYTES];

/// Ten frames a second: none is an extra one, which a viewer that is late for a moment may be spared.
static void start_with(const char *moving, const char *scenes, const char *scene, const char *devices)
{
    const char *const arguments[] = {"--scenes",
                                     scenes,
                                     "--scene",
                                     scene,
                                     "--devices",
                                     devices,
                                     "--fps",
                                     "10",
                                     "--worker",
                                     TARN_TEST_MOVING_WORKER,
                                     "--worker-timeout",
                                     "30",
                                     NULL};
    setenv("TARN_TEST_MOVING", moving, 1);
    server_start(&server, arguments);
}

static void start(const char *moving)
{
    start_with(moving, TARN_TEST_SCENES, "small-pool", "cpu,cpu");
}

static double metric(const char *name)
{
    return server_metric(server.port, name);
}

/// Asks for a move. @return the status
static int ask(const char *session, const char *body, const char *headers)
{
    char target[120], all[256];
    snprintf(target, sizeof target, "/sessions/%s/move", session);
    snprintf(all, sizeof all, "%s%s", body != NULL ? json : "", headers);
    return server_request(server.port, "POST", target, all, body, answer, sizeof answer);
}

/// The worker of the first tank, as the list says.
static int worker_of_main(void)
{
    int worker = -1;
    assert_int_equal(server_http(server.port, "GET", "/sessions", NULL, answer, sizeof answer), 200);
    const char *found = strstr(answer, "{\"session\":\"main\"");
    assert_non_null(found);
    assert_non_null(found = strstr(found, "\"worker\":"));
    assert_int_equal(sscanf(found, "\"worker\":%d", &worker), 1);
    return worker;
}

static void expect_on_worker(int worker)
{
    const int found = worker_of_main();
    if (found != worker) {
        fail_msg("the tank is on worker %d, not on %d; %g moves, %g failed; the server said:\n%s", found, worker,
                 metric("tarn_moves_total"), metric("tarn_moves_failed_total"), server_said(&server));
    }
}

static void enter(stream_client *client, const char *session)
{
    memset(client, 0, sizeof *client);
    assert_int_equal(ws_client_open(&client->ws, server.port, "/ws", "tarn.v1", NULL), 101);
    assert_int_equal(ws_client_hello(&client->ws), 0);
    assert_int_equal(ws_client_join(&client->ws, session), 0);
    stream_client_see(client);
}

/// Sees so many frames, each the one after the other, and of a later step.
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

/// Sees frames until one contains an input. @return its place in what came
static void wait_contained(stream_client *client, uint32_t sequence)
{
    for (;;) {
        for (uint32_t i = 0; i < client->frame.head.input_count; i++) {
            const tarn_frame_input input = tarn_stream_input_at(&client->frame, i);
            if (input.viewer_id == client->ws.viewer_id && input.sequence >= sequence) {
                return;
            }
        }
        stream_client_see(client);
    }
}

static void point(ws_client *client, uint32_t pointer, tarn_tool tool, tarn_phase phase, float x, float z)
{
    assert_int_equal(
        ws_client_point(client, pointer, tool, phase, (const float[]){x, z}, tool == TARN_TOOL_PUSH ? 0.3f : 0.15f), 0);
}

static float parameter_of(const stream_client *client, const char *name)
{
    for (uint32_t i = 0; i < client->ws.state.parameter_count; i++) {
        if (strcmp(client->ws.state.parameters[i].name, name) == 0) {
            return client->ws.state.parameters[i].value;
        }
    }
    fail_msg("there is no %s", name);
    return 0;
}

static double speed_x(const stream_client *client)
{
    double velocity[3];
    ws_client_velocity(&client->ws, velocity);
    return velocity[0];
}

static void test_two_watch_and_one_holds_a_push(void **state)
{
    (void)state;
    stream_client clients[2];
    start("");
    enter(&clients[0], "");
    enter(&clients[1], "");
    ws_client *holder = &clients[0].ws;
    ws_client_parameter(holder, "gravity_m_s2", 7);
    point(holder, 0, TARN_TOOL_PUSH, TARN_PHASE_DOWN, 0.3f, 0.5f);
    wait_contained(&clients[0], holder->sequence);
    const uint32_t particles = clients[0].frame.head.layers[0].particles;
    for (int to = 1; to >= 0; to--) { // there, and back
        while (clients[1].frame.head.step < clients[0].frame.head.step) {
            expect_no_gap(&clients[1], 1);
        }
        assert_int_equal(ask("main", NULL, ""), 202);
        snprintf(answer + ANSWER_BYTES / 2, 64, "{\"session\":\"main\",\"worker\":%d}", to);
        assert_non_null(strstr(answer, answer + ANSWER_BYTES / 2));
        for (int i = 0; i < 100 && worker_of_main() != to; i++) {
            expect_no_gap(&clients[0], 1);
            expect_no_gap(&clients[1], 1);
        }
        expect_on_worker(to);
        // The press goes on where it is: what only moves now drags the water along.
        const float way = to == 1 ? 0.12f : -0.12f;
        double most = 0;
        for (int i = 1; i <= 4; i++) {
            point(holder, 0, TARN_TOOL_PUSH, TARN_PHASE_MOVE, (to == 1 ? 0.3f : 0.78f) + way * (float)i, 0.5f);
            for (int c = 0; c < 2; c++) {
                expect_no_gap(&clients[c], 1);
            }
            most = fmax(most, speed_x(&clients[0]) * (to == 1 ? 1 : -1));
        }
        if (most < 0.01) {
            fail_msg("dragged on worker %d: %g m/s", to, most);
        }
        wait_contained(&clients[0], holder->sequence);
        assert_int_equal(clients[0].frame.head.layers[0].particles, particles);
        assert_float_equal(parameter_of(&clients[1], "gravity_m_s2"), 7, 1e-6);
    }
    assert_true(metric("tarn_moves_total") == 2 && metric("tarn_moves_failed_total") == 0);
    assert_true(metric("tarn_worker_tanks{worker=\"0\"}") == 1);
    assert_true(metric("tarn_session_frames_skipped_total{session=\"main\",worker=\"0\"}") == 0);
    for (int c = 0; c < 2; c++) {
        assert_int_equal(clients[c].ws.close_code, 0);
        stream_client_close(&clients[c]);
    }
    server_stop(&server);
}

/// Pauses and starts afresh.
static void begin_paused(stream_client *client, const char *session)
{
    enter(client, session);
    ws_client_control(&client->ws, TARN_CONTROL_PAUSE, NULL);
    while ((client->frame.head.flags & TARN_FRAME_FLAG_PAUSED) == 0) {
        stream_client_see(client);
    }
    const uint32_t epoch = client->frame.head.epoch;
    ws_client_control(&client->ws, TARN_CONTROL_RESET, NULL);
    while (client->frame.head.epoch == epoch) {
        stream_client_see(client);
    }
    assert_int_equal(client->frame.head.step, 0);
}

/// What somebody does before the n-th step: a wall is drawn, a body thrown in and held, water pushed.
static void act(ws_client *ws, int n)
{
    const float x = 0.3f + 0.03f * (float)n;
    if (n == 1 || n == 2) {
        point(ws, 2, TARN_TOOL_WALL, n == 1 ? TARN_PHASE_DOWN : TARN_PHASE_UP, 0.7f, 0.25f);
    }
    if (n == 3) {
        ws_client_parameter(ws, "gravity_m_s2", 4);
        point(ws, 1, TARN_TOOL_THROW, TARN_PHASE_DOWN, x, 0.25f);
    } else if (n > 3 && n % 2 == 0) {
        point(ws, 1, TARN_TOOL_THROW, n == 14 ? TARN_PHASE_UP : TARN_PHASE_MOVE, x, 0.25f);
    }
    if (n == 4 || n % 3 == 0) {
        point(ws, 0, TARN_TOOL_PUSH, n == 3 ? TARN_PHASE_DOWN : TARN_PHASE_MOVE, x - 0.15f, 0.2f);
    }
}

static void move_paused(stream_client *client, int to)
{
    const uint64_t step = client->frame.head.step;
    assert_int_equal(ask("main", NULL, ""), 202);
    for (int i = 0; i < WS_CLIENT_WAIT_MS / 10 && worker_of_main() != to; i++) {
        usleep(10000);
    }
    expect_on_worker(to);
    stream_client_see(client); // the new worker's first frame: nothing has moved
    assert_int_equal(client->frame.head.kind, TARN_STREAM_KEY);
    assert_int_equal(client->frame.head.step, step);
    assert_true(client->frame.head.flags & TARN_FRAME_FLAG_PAUSED);
}

/// One that was moved there and back in the middle of what somebody does has the bits of one that wasn't.
static void test_a_paused_tank_has_the_same_water_wherever_it_goes(void **state)
{
    (void)state;
    enum { STEPS = 18 };
    static stream_client clients[2];
    tarn_name other;
    start_with("", TARN_TEST_SCENES, "small-dam", "cpu,cpu");
    assert_int_equal(
        server_request(server.port, "POST", "/sessions", json, "{\"scene\":\"small-dam\"}", answer, sizeof answer),
        201);
    assert_int_equal(sscanf(strstr(answer, "\"session\":\""), "\"session\":\"%63[^\"]\"", other), 1);
    begin_paused(&clients[0], "");
    begin_paused(&clients[1], other);
    for (int n = 1; n <= STEPS; n++) {
        for (int c = 0; c < 2; c++) {
            act(&clients[c].ws, n);
            ws_client_control(&clients[c].ws, TARN_CONTROL_STEP, NULL);
            wait_contained(&clients[c], clients[c].ws.sequence);
            assert_int_equal(clients[c].frame.head.step, n);
        }
        if (n == 7 || n == 11) {
            move_paused(&clients[0], n == 7);
        }
    }
    for (int c = 0; c < 2; c++) {
        while (clients[c].frame.head.kind != TARN_STREAM_KEY) {
            stream_client_see(&clients[c]);
        }
        assert_int_equal(clients[c].frame.head.step, STEPS);
        assert_int_equal(clients[c].frame.head.body_count, 1);
        assert_int_equal(clients[c].ws.state.added_count, 2);
        assert_float_equal(parameter_of(&clients[c], "gravity_m_s2"), 4, 1e-6);
        assert_true(clients[c].ws.state.paused);
    }
    const tarn_stream_particles *a = &clients[0].particles, *b = &clients[1].particles;
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->positions, b->positions, 8 * (size_t)a->count);
    assert_memory_equal(a->velocities, b->velocities, 4 * (size_t)a->count);
    assert_memory_equal(clients[0].frame.head.bodies, clients[1].frame.head.bodies, sizeof(tarn_frame_body));
    assert_true(metric("tarn_moves_total") == 2);
    for (int c = 0; c < 2; c++) {
        stream_client_close(&clients[c]);
    }
    server_stop(&server);
}

/// Waits until so many moves have failed, while nothing is missed.
static void expect_failed(stream_client *client, int count)
{
    for (int i = 0; i < 600 && metric("tarn_moves_failed_total") < count; i++) {
        expect_no_gap(client, 1);
    }
    assert_true(metric("tarn_moves_failed_total") == count && metric("tarn_moves_total") == 0);
    expect_no_gap(client, 5);
    expect_on_worker(0);
}

static void test_a_worker_that_cannot_make_the_tank_leaves_it_where_it_is(void **state)
{
    (void)state;
    char path[] = "/tmp/tarn-moves-XXXXXX";
    stream_client client;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(unlink(path), 0);
    start(path);
    enter(&client, "");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(ask("main", NULL, ""), 202);
    expect_failed(&client, 1);
    stream_client_close(&client);
    server_stop(&server);
    assert_int_equal(unlink(path), 0);
}

/// The tank has its scene with it.
static void test_a_tank_is_moved_whose_scene_is_there_no_more(void **state)
{
    (void)state;
    char folder[] = "/tmp/tarn-moves-XXXXXX", path[64], command[256];
    stream_client client;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/small-pool.json", folder);
    snprintf(command, sizeof command, "cp '%s/small-pool.json' '%s'", TARN_TEST_SCENES, path);
    assert_int_equal(system(command), 0);
    start_with("", folder, "small-pool", "cpu,cpu");
    enter(&client, "");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ask("main", NULL, ""), 202);
    for (int i = 0; i < 600 && metric("tarn_moves_total") + metric("tarn_moves_failed_total") < 1; i++) {
        expect_no_gap(&client, 1);
    }
    assert_true(metric("tarn_moves_total") == 1);
    expect_on_worker(1);
    stream_client_close(&client);
    server_stop(&server);
    rmdir(folder);
}

static void test_a_worker_that_ends_while_it_makes_the_tank_leaves_it_where_it_is(void **state)
{
    (void)state;
    stream_client client;
    start("");
    enter(&client, "");
    const pid_t other = server_worker_at(&server, 1);
    assert_int_equal(kill(other, SIGSTOP), 0);
    assert_int_equal(ask("main", NULL, ""), 202);
    assert_int_equal(ask("main", NULL, ""), 409);
    assert_non_null(strstr(answer, "is being moved already"));
    expect_no_gap(&client, 5);
    // Another scene would be none of what the other worker makes.
    ws_client_control(&client.ws, TARN_CONTROL_LOAD, "small-dam");
    tarn_message message;
    assert_true(ws_client_wait(&client.ws, TARN_MESSAGE_ERROR, &message));
    assert_non_null(strstr(message.error.text, "being moved"));
    stream_client_see(&client);
    assert_int_equal(kill(other, SIGKILL), 0);
    expect_failed(&client, 1);
    stream_client_close(&client);
    server_stop(&server);
}

/// The state can't be loaded, or the worker ends by it: this one's tank stands meanwhile.
static void test_a_worker_that_fails_to_take_the_tank_leaves_it_where_it_is(void **state)
{
    (void)state;
    static const char *const ways[] = {"refuse", "die"};
    for (int way = 0; way < 2; way++) {
        stream_client client;
        start(ways[way]);
        enter(&client, "");
        for (int count = 1; count <= 2; count++) {
            for (int i = 0; metric("tarn_worker_ready{worker=\"1\"}") != 1 && i < WS_CLIENT_WAIT_MS / 10; i++) {
                expect_no_gap(&client, 1);
            }
            assert_int_equal(ask("main", "{\"worker\":1}", ""), 202);
            expect_failed(&client, count);
            // That the worker has ended may be seen after what was sent to it failed.
            for (int i = 0; metric("tarn_worker_failures_total{worker=\"1\"}") < count * way && i < 100; i++) {
                expect_no_gap(&client, 1);
            }
            ws_client_parameter(&client.ws, "gravity_m_s2", (float)count);
            wait_contained(&client, client.ws.sequence);
        }
        assert_true(metric("tarn_worker_failures_total{worker=\"1\"}") == 2 * way);
        assert_true(metric("tarn_worker_failures_total{worker=\"0\"}") == 0);
        stream_client_close(&client);
        server_stop(&server);
    }
}

/// Waits until a worker has stopped itself.
static void wait_stopped(pid_t worker)
{
    char path[64], text[256];
    for (int i = 0; i < 6000; i++) {
        snprintf(path, sizeof path, "/proc/%d/stat", (int)worker);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        const bool is_read = fgets(text, sizeof text, file) != NULL;
        fclose(file);
        if (is_read && strstr(text, ") T ") != NULL) {
            return;
        }
        usleep(10000);
    }
    fail_msg("the worker did not stop; the server said:\n%s", server_said(&server));
}

static void test_what_is_done_while_the_tank_stands_reaches_it(void **state)
{
    (void)state;
    stream_client client;
    tarn_message message;
    start("slow");
    enter(&client, "");
    ws_client *ws = &client.ws;
    assert_int_equal(ask("main", NULL, ""), 202);
    while (stream_client_next(&client, 200)) { // frames that were on their way
    }
    const uint64_t step = client.frame.head.step;
    const uint32_t number = client.frame.head.number;
    for (int i = 1; i <= 40; i++) {
        ws_client_parameter(ws, "gravity_m_s2", (float)i * 0.25f);
    }
    point(ws, 0, TARN_TOOL_WALL, TARN_PHASE_DOWN, 0.5f, 0.5f);
    point(ws, 0, TARN_TOOL_WALL, TARN_PHASE_UP, 0.5f, 0.5f);
    stream_client_see(&client);
    assert_int_equal(client.frame.head.number, number + 1);
    assert_true(client.frame.head.step > step);
    wait_contained(&client, ws->sequence);
    while (ws->state.added_count != 1) {
        assert_true(ws_client_wait(ws, TARN_MESSAGE_STATE, &message));
    }
    assert_float_equal(parameter_of(&client, "gravity_m_s2"), 10, 1e-6);
    expect_on_worker(1);
    assert_int_equal(ws->close_code, 0);
    stream_client_close(&client);
    server_stop(&server);
}

/// A worker that stops in the middle of taking the tank: after a time limit that goes on where it was, with what was
/// done meanwhile. When the worker wakes up again, it is told that the tank isn't its own.
static void test_a_tank_stands_for_a_limited_time(void **state)
{
    (void)state;
    stream_client client;
    start("stop");
    enter(&client, "");
    assert_int_equal(ask("main", NULL, ""), 202);
    const pid_t other = server_worker_at(&server, 1);
    wait_stopped(other);
    while (stream_client_next(&client, 200)) {
    }
    ws_client_parameter(&client.ws, "gravity_m_s2", 3);
    expect_no_gap(&client, 1);
    expect_failed(&client, 1);
    wait_contained(&client, client.ws.sequence);
    assert_float_equal(parameter_of(&client, "gravity_m_s2"), 3, 1e-6);
    assert_int_equal(kill(other, SIGCONT), 0);
    expect_no_gap(&client, 5);
    assert_true(metric("tarn_worker_failures_total{worker=\"1\"}") == 0);
    stream_client_close(&client);
    server_stop(&server);
}

static void test_a_worker_that_ends_while_its_tank_is_moved_is_restarted_as_ever(void **state)
{
    (void)state;
    stream_client client;
    start("stop");
    enter(&client, "");
    const uint32_t epoch = client.frame.head.epoch;
    assert_int_equal(ask("main", NULL, ""), 202);
    const pid_t other = server_worker_at(&server, 1);
    wait_stopped(other);
    const pid_t first = server_worker_at(&server, 0);
    assert_int_equal(kill(first, SIGKILL), 0);
    pid_t next = first;
    for (int i = 0; (next == first || next == 0) && i < WS_CLIENT_WAIT_MS / 10; i++) {
        usleep(10000);
        next = server_worker_at(&server, 0);
    }
    wait_stopped(next); // it takes what the first one left over, too
    assert_int_equal(kill(next, SIGCONT), 0);
    stream_client_see(&client);
    expect_no_gap(&client, 5);
    assert_int_equal(client.frame.head.epoch, epoch); // it goes on where it was
    expect_on_worker(0);
    assert_int_equal(kill(other, SIGCONT), 0);
    expect_no_gap(&client, 5);
    expect_on_worker(0);
    assert_true(metric("tarn_moves_total") == 0);
    stream_client_close(&client);
    server_stop(&server);
}

static void test_a_session_that_ends_while_it_is_moved_leaves_nothing_behind(void **state)
{
    (void)state;
    tarn_name made;
    char key[64], headers[120], target[120];
    stream_client client, guest;
    start("slow");
    enter(&client, "");
    assert_int_equal(
        server_request(server.port, "POST", "/sessions", json, "{\"scene\":\"small-dam\"}", answer, sizeof answer),
        201);
    assert_int_equal(sscanf(strstr(answer, "\"session\":\""), "\"session\":\"%63[^\"]\"", made), 1);
    assert_int_equal(sscanf(strstr(answer, "\"own\":\""), "\"own\":\"%63[^\"]\"", key), 1);
    enter(&guest, made);
    assert_int_equal(ask(made, NULL, ""), 202);
    assert_int_equal(ask("main", NULL, ""), 409);
    assert_non_null(strstr(answer, "another tank is being moved"));
    expect_no_gap(&client, 2);
    ws_client_parameter(&guest.ws, "gravity_m_s2", 3); // is held
    expect_no_gap(&client, 1);
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", key);
    snprintf(target, sizeof target, "/sessions/%s", made);
    assert_int_equal(server_http(server.port, "DELETE", target, headers, answer, sizeof answer), 200);
    expect_no_gap(&client, 7);
    assert_int_equal(ask("main", NULL, ""), 202);
    for (int i = 0; i < 100 && worker_of_main() != 1; i++) {
        expect_no_gap(&client, 1);
    }
    expect_no_gap(&client, 5);
    expect_on_worker(1);
    stream_client_close(&client);
    stream_client_close(&guest);
    server_stop(&server);
}

/// Pools that differ by less than a piece of a state.
static void write_pools(const char *folder, int count)
{
    for (int i = 0; i < count; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/pool-%d.json", folder, i);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file,
                "{\"title\": \"Pool\", \"size_m\": [1, 1, 1], \"cell_m\": 0.0625,"
                " \"blocks\": [{\"min_m\": [0, 0, 0], \"max_m\": [1, %g, 1]}]}",
                0.3 + 0.01 * i);
        assert_int_equal(fclose(file), 0);
    }
}

static void remove_pools(const char *folder, int count)
{
    for (int i = 0; i < count; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/pool-%d.json", folder, i);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

/// What is on the way to a worker that doesn't read waits, and no more is sent than there is room for: however many
/// pieces the state has, and whichever of them are short.
static void test_a_worker_that_reads_late_gets_the_tank(void **state)
{
    (void)state;
    enum { POOLS = 20 };
    char folder[] = "/tmp/tarn-moves-XXXXXX", scene[24];
    assert_non_null(mkdtemp(folder));
    write_pools(folder, POOLS);
    for (int i = 0; i < POOLS; i++) {
        stream_client client;
        snprintf(scene, sizeof scene, "pool-%d", i);
        start_with("deaf", folder, scene, "cpu,cpu");
        enter(&client, "");
        assert_int_equal(ask("main", NULL, ""), 202);
        while (metric("tarn_moves_total") + metric("tarn_moves_failed_total") < 1) {
            stream_client_see(&client);
        }
        expect_on_worker(1);
        stream_client_close(&client);
        server_stop(&server);
    }
    remove_pools(folder, POOLS);
}

static void expect_refused(const char *session, const char *body, const char *headers, int status, const char *part)
{
    assert_int_equal(ask(session, body, headers), status);
    if (strstr(answer, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", answer, part);
    }
}

static void test_refused_moves_say_why(void **state)
{
    (void)state;
    tarn_name made;
    char key[64], headers[160];
    static const char proxied[] = "X-Forwarded-For: 192.0.2.1\r\n";
    start("");
    assert_int_equal(
        server_request(server.port, "POST", "/sessions", json, "{\"scene\":\"small-dam\"}", answer, sizeof answer),
        201);
    assert_int_equal(sscanf(strstr(answer, "\"session\":\""), "\"session\":\"%63[^\"]\"", made), 1);
    assert_int_equal(sscanf(strstr(answer, "\"play\":\""), "\"play\":\"%63[^\"]\"", key), 1);
    expect_refused("nobody", NULL, "", 404, "there is no such session");
    expect_refused("main", "{\"worker\":2}", "", 400, "worker: found 2, allowed is 0 to 1");
    expect_refused("main", "{\"worker\":-1}", "", 400, "worker: found -1, allowed is 0 to 1");
    expect_refused("main", "{\"worker\":\"1\"}", "", 400, "worker: found \\\"1\\\", allowed is 0 to 1");
    expect_refused("main", "{\"workers\":1}", "", 400, "found the unknown field \\\"workers\\\", allowed is worker");
    expect_refused("main", "[1]", "", 400, "no JSON object; allowed is one such as");
    expect_refused("main", "{\"worker\":1,\"worker\":0}", "", 400, "a field twice, the second time up to its byte");
    expect_refused("main", "{\"worker\":0}", "", 409, "this tank is there already");
    expect_refused("main", NULL, proxied, 403, "owners' key");
    expect_refused("main", NULL, "Forwarded: for=192.0.2.1\r\n", 403, "owners' key");
    snprintf(headers, sizeof headers, "%sAuthorization: Bearer %s\r\n", proxied, key);
    expect_refused(made, NULL, headers, 403, "owners' key");
    expect_refused("main", NULL, "Origin: http://elsewhere.example\r\n", 403, "pages of this origin");
    expect_refused("main", "{}", "Origin: http://elsewhere.example\r\n", 403, "pages of this origin");
    assert_int_equal(server_request(server.port, "POST", "/sessions/main/move", "Content-Type: text/plain\r\n", "{}",
                                    answer, sizeof answer),
                     415);
    assert_int_equal(server_http(server.port, "GET", "/sessions/main/move", NULL, answer, sizeof answer), 405);
    assert_true(metric("tarn_moves_total") + metric("tarn_moves_failed_total") == 0);
    server_stop(&server);
    start_with("", TARN_TEST_SCENES, "small-pool", "cpu");
    expect_refused("main", NULL, "", 409, "no other worker is up");
    server_stop(&server);
}

static void test_whoever_owns_a_tank_may_move_it(void **state)
{
    (void)state;
    tarn_name made;
    char key[64], headers[160];
    start("");
    assert_int_equal(
        server_request(server.port, "POST", "/sessions", json, "{\"scene\":\"small-dam\"}", answer, sizeof answer),
        201);
    assert_int_equal(sscanf(strstr(answer, "\"session\":\""), "\"session\":\"%63[^\"]\"", made), 1);
    assert_int_equal(sscanf(strstr(answer, "\"own\":\""), "\"own\":\"%63[^\"]\"", key), 1);
    snprintf(headers, sizeof headers, "X-Forwarded-For: 192.0.2.1\r\nAuthorization: Bearer %s\r\n", key);
    int status = 409;
    for (int i = 0; i < WS_CLIENT_WAIT_MS / 10 && status == 409; i++) {
        usleep(10000);
        status = ask(made, "{}", headers);
    }
    assert_int_equal(status, 202);
    for (int i = 0; i < WS_CLIENT_WAIT_MS / 10 && metric("tarn_moves_total") < 1; i++) {
        usleep(10000);
    }
    assert_true(metric("tarn_moves_total") == 1);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_watch_and_one_holds_a_push),
        cmocka_unit_test(test_a_paused_tank_has_the_same_water_wherever_it_goes),
        cmocka_unit_test(test_what_is_done_while_the_tank_stands_reaches_it),
        cmocka_unit_test(test_a_worker_that_cannot_make_the_tank_leaves_it_where_it_is),
        cmocka_unit_test(test_a_tank_is_moved_whose_scene_is_there_no_more),
        cmocka_unit_test(test_a_worker_that_ends_while_it_makes_the_tank_leaves_it_where_it_is),
        cmocka_unit_test(test_a_worker_that_fails_to_take_the_tank_leaves_it_where_it_is),
        cmocka_unit_test(test_a_tank_stands_for_a_limited_time),
        cmocka_unit_test(test_a_worker_that_ends_while_its_tank_is_moved_is_restarted_as_ever),
        cmocka_unit_test(test_a_session_that_ends_while_it_is_moved_leaves_nothing_behind),
        cmocka_unit_test(test_a_worker_that_reads_late_gets_the_tank),
        cmocka_unit_test(test_refused_moves_say_why),
        cmocka_unit_test(test_whoever_owns_a_tank_may_move_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
