// A tank that was gone back with is done again what was done to it then: to the same bits, until somebody acts, and
// through the ends of workers and of the server.
#include "server/common/clock.h"
#include "tests/server/server_process.h"
#include "tests/server/stream_client.h"
#include "tests/server/test_cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ANSWER_BYTES = 16384,
    COMMIT_MS = 50,
    HASH_DIGITS = 32,
    TRIES = 200,
    STEPS_MANY = 540, ///< that are played back: across states, and a hash in the log
    STEPS = 180,
    BEGIN_STEP = 9, ///< from where
};

static char dir[64];
static char own[64];
static server_process server;
static char answer[ANSWER_BYTES];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/tarn-replay-XXXXXX");
    assert_non_null(mkdtemp(dir));
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    return server_remove_store(dir);
}

static void start_on(const char *devices)
{
    const char *const options[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-dam", "--guests", "watch", "--store",
                                   dir,        "--durability",   "50",      "--devices", devices,    NULL};
    server_start(&server, options);
    server_owners_key(dir, own, sizeof own);
}

static void start(void)
{
    start_on("cpu");
}

static void join(stream_client *client)
{
    tarn_message message = {.kind = TARN_MESSAGE_JOIN};
    memset(client, 0, sizeof *client);
    assert_int_equal(ws_client_open(&client->ws, server.port, "/ws", "tarn.v1", NULL), 101);
    assert_int_equal(ws_client_hello(&client->ws), 0);
    snprintf(message.join.session, sizeof message.join.session, "main");
    snprintf(message.join.key, sizeof message.join.key, "%s", own);
    assert_int_equal(ws_client_tell(&client->ws, &message), 0);
    stream_client_see(client);
}

static int ask(const char *page, const char *key, const char *body)
{
    char target[128], headers[256];
    snprintf(target, sizeof target, "/sessions/main/%s", page);
    snprintf(headers, sizeof headers, "Content-Type: application/json\r\nAuthorization: Bearer %s\r\n", key);
    return server_request(server.port, body != NULL ? "POST" : "GET", target, headers, body, answer, sizeof answer);
}

static double number_of(const char *field)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "\"%s\":", field);
    const char *at = strstr(answer, pattern);
    assert_non_null(at);
    return strtod(at + strlen(pattern), NULL);
}

static void wait_for_commit(void)
{
    usleep(6 * COMMIT_MS * 1000);
}

/// The newest moment, all of which is committed.
static double now_s(void)
{
    wait_for_commit();
    assert_int_equal(ask("history", own, NULL), 200);
    return number_of("until");
}

/// What a kept tank goes on with, bit for bit.
static void hash_now(char hash[HASH_DIGITS + 1])
{
    char command[512], line[256] = "";
    snprintf(command, sizeof command, "%s session export %s/main.tank --hash --quiet --scenes %s", TARN_TEST_TOOL, dir,
             TARN_TEST_SCENES);
    wait_for_commit();
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_int_equal(pclose(pipe), 0);
    snprintf(hash, HASH_DIGITS + 1, "%.*s", HASH_DIGITS, line);
    assert_int_equal(strlen(hash), HASH_DIGITS);
}

static void pause_tank(stream_client *client)
{
    ws_client_control(&client->ws, TARN_CONTROL_PAUSE, NULL);
    do {
        stream_client_see(client);
    } while ((client->frame.head.flags & TARN_FRAME_FLAG_PAUSED) == 0);
}

static void resume_tank(stream_client *client)
{
    ws_client_control(&client->ws, TARN_CONTROL_RESUME, NULL);
}

static void see_step(stream_client *client, uint64_t step)
{
    while (client->frame.head.step < step) {
        stream_client_see(client);
    }
}

/// Lets a paused tank make one step.
static void make_step(stream_client *client)
{
    const uint64_t step = client->frame.head.step + 1;
    ws_client_control(&client->ws, TARN_CONTROL_STEP, NULL);
    see_step(client, step);
}

enum { HANDS = 16 }; ///< so many that what they do comes in several pieces

/// Pushes here and there.
static void push(stream_client *client)
{
    const uint64_t step = client->frame.head.step;
    for (uint32_t hand = 0; hand < HANDS; hand++) {
        const float at_m[2] = {0.2f + 0.02f * (float)((step + 5 * hand) % 20), 0.05f + 0.03f * (float)hand};
        ws_client_point(&client->ws, hand, TARN_TOOL_PUSH, step % 20 == 0 ? TARN_PHASE_DOWN : TARN_PHASE_MOVE, at_m,
                        0.3f);
    }
}

static void let_go(stream_client *client)
{
    for (uint32_t hand = 0; hand < HANDS; hand++) {
        ws_client_point(&client->ws, hand, TARN_TOOL_PUSH, TARN_PHASE_UP, (const float[]){0.2f, 0.3f}, 0.3f);
    }
}

typedef struct moment {
    double t_s;
    uint64_t step;
    char hash[HASH_DIGITS + 1];
} moment;

static void note(const stream_client *client, moment *noted)
{
    noted->t_s = now_s();
    noted->step = client->frame.head.step;
    hash_now(noted->hash);
}

/// Goes back, and sees the tank there. @param more  further fields
static void go_back(stream_client *client, double t_s, const char *more)
{
    char body[256];
    int status = 409;
    const uint32_t epoch = client->frame.head.epoch;
    snprintf(body, sizeof body, "{\"t\":%.6f%s}", t_s, more);
    for (int i = 0; i < TRIES && status == 409; i++) {
        status = ask("rewind", own, body);
        usleep(status == 409 ? 20000 : 0);
    }
    assert_int_equal(status, 202);
    while (client->frame.head.epoch == epoch) {
        stream_client_see(client);
    }
}

/// What people do to a tank that stands: pushes, and a parameter between two steps. It stands at the end, too.
static void live_a_little(stream_client *client, uint64_t steps, moment *begin, moment *end)
{
    pause_tank(client);
    while (client->frame.head.step < BEGIN_STEP) {
        push(client);
        make_step(client);
    }
    note(client, begin);
    while (client->frame.head.step < BEGIN_STEP + steps) {
        if (client->frame.head.step % 100 == 50) {
            ws_client_parameter(&client->ws, "gravity_m_s2", 9.0f - 0.01f * (float)client->frame.head.step);
        }
        push(client);
        make_step(client);
    }
    let_go(client);
    note(client, end);
}

/// Waits until the state says whether something is played back.
static void see_replay(stream_client *client, uint64_t until)
{
    for (int i = 0; i < 10 * TRIES && client->ws.state.replay_until != until; i++) {
        (void)stream_client_next(client, 20); // a tank that stands makes no frames
    }
    assert_int_equal(client->ws.state.replay_until, until);
}

/// The tank ends where it ended then: it is gone back with to the step that is as old as the other's end.
static void expect_end(stream_client *client, const moment *begin, const moment *end)
{
    char hash[HASH_DIGITS + 1];
    const double step_s = (end->t_s - begin->t_s) / (double)(end->step - begin->step);
    pause_tank(client);
    const double beyond_s = (double)(client->frame.head.step - end->step) * step_s;
    assert_true(client->frame.head.step >= end->step);
    go_back(client, now_s() - beyond_s, "");
    assert_int_equal(client->frame.head.step, end->step);
    hash_now(hash);
    assert_string_equal(hash, end->hash);
}

/// The steps that are kept come to the states and the hashes that a worker has put between them.
static void expect_verified(void)
{
    char command[512], said[8192] = "";
    snprintf(command, sizeof command, "%s replay %s/main.tank --verify --scenes %s", TARN_TEST_TOOL, dir,
             TARN_TEST_SCENES);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    said[fread(said, 1, sizeof said - 1, pipe)] = 0;
    if (pclose(pipe) != 0 || strstr(said, "in the log compared") == NULL || strstr(said, "\n0 hash") != NULL) {
        fail_msg("tarn replay --verify: %s", said);
    }
}

static void test_what_was_done_is_done_again_to_the_same_bits(void **state)
{
    (void)state;
    static moment begin, end;
    stream_client client;
    char hash[HASH_DIGITS + 1];
    start();
    join(&client);
    live_a_little(&client, STEPS_MANY, &begin, &end);
    // Step by step, while it is paused, to the very end.
    go_back(&client, begin.t_s, ",\"replay\":true");
    assert_int_equal(client.frame.head.step, begin.step);
    see_replay(&client, end.step);
    while (client.frame.head.step < end.step) {
        assert_int_equal(client.ws.state.replay_until, end.step);
        make_step(&client);
    }
    see_replay(&client, 0);
    hash_now(hash);
    assert_string_equal(hash, end.hash);
    // As fast as the tank's clock goes; a pause on the way keeps it.
    assert_int_equal(ask("speed", own, "{\"speed\":4}"), 202);
    go_back(&client, begin.t_s, ",\"replay\":true");
    see_replay(&client, end.step);
    resume_tank(&client);
    see_step(&client, begin.step + STEPS_MANY / 3);
    pause_tank(&client);
    assert_int_equal(client.ws.state.replay_until, end.step);
    resume_tank(&client);
    see_replay(&client, 0);
    expect_end(&client, &begin, &end);
    // Of nothing that came behind nothing is played.
    go_back(&client, now_s(), ",\"replay\":true");
    assert_int_equal(client.ws.state.replay_until, 0);
    go_back(&client, begin.t_s, ",\"replay\":false");
    assert_int_equal(client.ws.state.replay_until, 0);
    make_step(&client);
    stream_client_close(&client);
    assert_null(strstr(server_said(&server), "other water"));
    server_stop(&server);
    expect_verified();
}

/// @param act  what somebody does; once it is done the tank is live
static void expect_ended_by(stream_client *client, const moment *begin, const moment *end,
                            void (*act)(stream_client *client))
{
    char hash[HASH_DIGITS + 1];
    go_back(client, begin->t_s, ",\"replay\":true");
    see_replay(client, end->step);
    for (int i = 0; i < 5; i++) {
        make_step(client);
    }
    assert_int_equal(client->ws.state.replay_until, end->step);
    act(client);
    see_replay(client, 0);
    const uint64_t step = client->frame.head.step;
    assert_in_range(step, begin->step + 5, begin->step + 6);
    while (client->frame.head.step < begin->step + 20) {
        make_step(client);
    }
    // What was done then isn't done any more.
    hash_now(hash);
    go_back(client, begin->t_s + (double)20 * (end->t_s - begin->t_s) / (double)(end->step - begin->step), "");
    assert_int_equal(client->frame.head.step, begin->step + 20);
    char then[HASH_DIGITS + 1];
    hash_now(then);
    assert_string_not_equal(hash, then);
}

static void act_by_push(stream_client *client)
{
    const float origin_m[3] = {0.5f, 3, 0.1f}, down[3] = {0, -1, 0};
    ws_client_pointer(&client->ws, TARN_PHASE_DOWN, origin_m, down, 0.3f);
    const float beside_m[3] = {0.6f, 3, 0.1f};
    ws_client_pointer(&client->ws, TARN_PHASE_MOVE, beside_m, down, 0.3f);
    make_step(client);
    ws_client_pointer(&client->ws, TARN_PHASE_UP, beside_m, down, 0.3f);
}

static void act_by_parameter(stream_client *client)
{
    ws_client_parameter(&client->ws, "gravity_m_s2", 3.0f);
}

static void test_whoever_acts_ends_it(void **state)
{
    (void)state;
    static moment begin, end;
    stream_client client;
    start();
    join(&client);
    live_a_little(&client, STEPS, &begin, &end);
    expect_ended_by(&client, &begin, &end, act_by_push);
    expect_ended_by(&client, &begin, &end, act_by_parameter);
    // A fresh start, too.
    go_back(&client, begin.t_s, ",\"replay\":true");
    see_replay(&client, end.step);
    const uint32_t epoch = client.frame.head.epoch;
    ws_client_control(&client.ws, TARN_CONTROL_RESET, NULL);
    while (client.frame.head.epoch == epoch) {
        stream_client_see(&client);
    }
    see_replay(&client, 0);
    make_step(&client);
    assert_int_equal(client.frame.head.step, 1);
    stream_client_close(&client);
    server_stop(&server);
}

static void kill_worker(void)
{
    const pid_t worker = server_worker(&server);
    assert_true(worker > 0);
    assert_int_equal(kill(worker, SIGKILL), 0);
    for (int i = 0; i < TRIES && (server_worker(&server) == worker || server_worker(&server) == 0); i++) {
        usleep(20000);
    }
}

/// The next worker plays on from the very step; the next server has the tank live, at the very step.
static void test_a_kill_on_the_way_loses_nothing(void **state)
{
    (void)state;
    static moment begin, end, stood;
    stream_client client;
    char hash[HASH_DIGITS + 1];
    start();
    join(&client);
    live_a_little(&client, STEPS, &begin, &end);
    go_back(&client, begin.t_s, ",\"replay\":true");
    see_replay(&client, end.step);
    resume_tank(&client);
    for (uint64_t part = 1; part <= 3; part++) {
        see_step(&client, begin.step + part * STEPS / 5);
        const uint32_t epoch = client.frame.head.epoch;
        kill_worker();
        see_step(&client, client.frame.head.step + 3);
        assert_int_equal(client.frame.head.epoch, epoch);
        assert_int_equal(client.ws.state.replay_until, end.step);
    }
    see_replay(&client, 0);
    expect_end(&client, &begin, &end);
    // Where somebody has acted it doesn't begin again.
    go_back(&client, begin.t_s, ",\"replay\":true");
    see_replay(&client, end.step);
    act_by_push(&client);
    see_replay(&client, 0);
    make_step(&client); // what was pressed is let go of
    make_step(&client);
    const uint64_t step = client.frame.head.step;
    kill_worker();
    make_step(&client);
    assert_int_equal(client.frame.head.step, step + 1);
    assert_int_equal(client.ws.state.replay_until, 0);
    // The server's end.
    go_back(&client, begin.t_s, ",\"replay\":true");
    see_replay(&client, end.step);
    resume_tank(&client);
    see_step(&client, begin.step + STEPS / 5);
    pause_tank(&client);
    assert_int_equal(client.ws.state.replay_until, end.step);
    note(&client, &stood);
    assert_int_equal(kill(server.pid, SIGKILL), 0);
    assert_int_equal(server_wait(&server), 128 + SIGKILL);
    stream_client_close(&client);
    start();
    join(&client);
    assert_int_equal(client.frame.head.step, stood.step);
    assert_int_equal(client.ws.state.replay_until, 0);
    hash_now(hash);
    assert_string_equal(hash, stood.hash);
    // What was there then is there still, to be played back.
    go_back(&client, begin.t_s, ",\"replay\":true");
    see_replay(&client, end.step);
    stream_client_close(&client);
    server_stop(&server);
}

/// A tank that is moved on the way plays on where it is then.
static void test_it_moves_along(void **state)
{
    (void)state;
    static moment begin, end;
    stream_client client;
    start_on("cpu,cpu");
    join(&client);
    live_a_little(&client, STEPS, &begin, &end);
    go_back(&client, begin.t_s, ",\"replay\":true");
    see_replay(&client, end.step);
    resume_tank(&client);
    see_step(&client, begin.step + STEPS / 4);
    assert_int_equal(ask("move", own, "{}"), 202);
    for (int i = 0; i < 10 * TRIES && server_metric(server.port, "tarn_moves_total") != 1; i++) {
        (void)stream_client_next(&client, 20);
    }
    assert_true(server_metric(server.port, "tarn_moves_total") == 1);
    assert_int_equal(client.ws.state.replay_until, end.step);
    see_replay(&client, 0);
    expect_end(&client, &begin, &end);
    stream_client_close(&client);
    server_stop(&server);
}

static void expect_refused(const char *page, const char *key, const char *body, int status, const char *words)
{
    assert_int_equal(ask(page, key, body), status);
    if (strstr(answer, words) == NULL) {
        fail_msg("%s: \"%s\" says nothing of \"%s\"", body, answer, words);
    }
}

static void test_what_is_wrong_is_refused(void **state)
{
    (void)state;
    stream_client client;
    start();
    join(&client);
    pause_tank(&client);
    for (int i = 0; i < 5; i++) {
        make_step(&client);
    }
    now_s();
    const uint32_t epoch = client.frame.head.epoch;
    expect_refused("rewind", own, "{\"t\":0,\"replay\":\"yes\"}", 400, "replay: found a string, allowed are true and");
    expect_refused("rewind", own, "{\"t\":0,\"replay\":1}", 400, "replay: found a number, allowed are true and false");
    expect_refused("rewind", own, "{\"t\":0,\"replay\":null}", 400, "replay: found null");
    expect_refused("rewind", own, "{\"t\":0,\"replay\":[true]}", 400, "replay: found an array");
    expect_refused("rewind", own, "{\"replay\":true}", 400, "t: found none");
    expect_refused("fork", own, "{\"t\":0,\"replay\":true}", 400, "allowed are t, name and listed");
    expect_refused("rewind", "wrong", "{\"t\":0,\"replay\":true}", 403, "owners");
    make_step(&client);
    assert_int_equal(client.frame.head.epoch, epoch);
    stream_client_close(&client);
    server_stop(&server);
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_was_done_is_done_again_to_the_same_bits, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_whoever_acts_ends_it, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_kill_on_the_way_loses_nothing, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_it_moves_along, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_what_is_wrong_is_refused, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
