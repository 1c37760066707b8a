// A tank that was gone back with is done again what was done to it then: to the same bits, until somebody acts, and
// through the ends of workers and of the server.
#include "server/base/clock.h"
#include "tests/server/kept_tank.h"
#include "tests/server/test_cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STEPS_MANY = 540, ///< that are played back: across states, and a hash in the log
    STEPS = 180,
    BEGIN_STEP = 9, ///< from where
};

static void start_on(const char *devices)
{
    kept_start("small-dam", (const char *const[]){"--devices", devices, NULL});
}

static void start(void)
{
    start_on("cpu");
}

static void join(stream_client *client)
{
    (void)kept_join(client, "main", kept.own, NULL);
    stream_client_see(client);
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

/// What people do to a tank that stands: pushes, and a parameter between two steps. It stands at the end, too.
static void live_a_little(stream_client *client, uint64_t steps, kept_moment *begin, kept_moment *end)
{
    kept_pause(client);
    while (client->frame.head.step < BEGIN_STEP) {
        push(client);
        make_step(client);
    }
    kept_note(client, begin);
    while (client->frame.head.step < BEGIN_STEP + steps) {
        if (client->frame.head.step % 100 == 50) {
            ws_client_parameter(&client->ws, "gravity_m_s2", 9.0f - 0.01f * (float)client->frame.head.step);
        }
        push(client);
        make_step(client);
    }
    let_go(client);
    kept_note(client, end);
}

/// Waits until the state says whether something is played back.
static void see_replay(stream_client *client, uint64_t until)
{
    for (int i = 0; i < 10 * KEPT_TRIES && client->ws.state.replay_until != until; i++) {
        (void)stream_client_next(client, 20); // a tank that stands makes no frames
    }
    assert_int_equal(client->ws.state.replay_until, until);
}

/// The tank ends where it ended then: it is gone back with to the step that is as old as the other's end.
static void expect_end(stream_client *client, const kept_moment *begin, const kept_moment *end)
{
    char hash[KEPT_HASH_DIGITS + 1];
    const double step_s = (end->t_s - begin->t_s) / (double)(end->step - begin->step);
    kept_pause(client);
    const double beyond_s = (double)(client->frame.head.step - end->step) * step_s;
    assert_true(client->frame.head.step >= end->step);
    kept_go_back(client, kept_now_s(client) - beyond_s, "");
    assert_int_equal(client->frame.head.step, end->step);
    kept_hash(client, "main", hash);
    assert_string_equal(hash, end->hash);
}

static void test_what_was_done_is_done_again_to_the_same_bits(void **state)
{
    (void)state;
    static kept_moment begin, end;
    stream_client client;
    char hash[KEPT_HASH_DIGITS + 1];
    start();
    join(&client);
    live_a_little(&client, STEPS_MANY, &begin, &end);
    // Step by step, while it is paused, to the very end.
    kept_go_back(&client, begin.t_s, ",\"replay\":true");
    assert_int_equal(client.frame.head.step, begin.step);
    see_replay(&client, end.step);
    while (client.frame.head.step < end.step) {
        assert_int_equal(client.ws.state.replay_until, end.step);
        make_step(&client);
    }
    see_replay(&client, 0);
    kept_hash(&client, "main", hash);
    assert_string_equal(hash, end.hash);
    // As fast as the tank's clock goes; a pause on the way keeps it.
    assert_int_equal(kept_ask("main", "speed", kept.own, "{\"speed\":4}"), 202);
    kept_go_back(&client, begin.t_s, ",\"replay\":true");
    see_replay(&client, end.step);
    resume_tank(&client);
    see_step(&client, begin.step + STEPS_MANY / 3);
    kept_pause(&client);
    assert_int_equal(client.ws.state.replay_until, end.step);
    resume_tank(&client);
    see_replay(&client, 0);
    expect_end(&client, &begin, &end);
    // Of nothing that came behind nothing is played.
    kept_go_back(&client, kept_now_s(&client), ",\"replay\":true");
    assert_int_equal(client.ws.state.replay_until, 0);
    kept_go_back(&client, begin.t_s, ",\"replay\":false");
    assert_int_equal(client.ws.state.replay_until, 0);
    make_step(&client);
    stream_client_close(&client);
    assert_null(strstr(server_said(&kept.server), "other water"));
    server_stop(&kept.server);
    kept_expect_verified();
}

/// @param act  what somebody does; once it is done the tank is live
static void expect_ended_by(stream_client *client, const kept_moment *begin, const kept_moment *end,
                            void (*act)(stream_client *client))
{
    char hash[KEPT_HASH_DIGITS + 1];
    kept_go_back(client, begin->t_s, ",\"replay\":true");
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
    kept_hash(client, "main", hash);
    kept_go_back(client, begin->t_s + (double)20 * (end->t_s - begin->t_s) / (double)(end->step - begin->step), "");
    assert_int_equal(client->frame.head.step, begin->step + 20);
    char then[KEPT_HASH_DIGITS + 1];
    kept_hash(client, "main", then);
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
    static kept_moment begin, end;
    stream_client client;
    start();
    join(&client);
    live_a_little(&client, STEPS, &begin, &end);
    expect_ended_by(&client, &begin, &end, act_by_push);
    expect_ended_by(&client, &begin, &end, act_by_parameter);
    // A fresh start, too.
    kept_go_back(&client, begin.t_s, ",\"replay\":true");
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
    server_stop(&kept.server);
}

static void kill_worker(void)
{
    const pid_t worker = server_worker(&kept.server);
    assert_true(worker > 0);
    assert_int_equal(kill(worker, SIGKILL), 0);
    kept_see_next_worker(worker);
}

/// The next worker plays on from the very step; the next server has the tank live, at the very step.
static void test_a_kill_on_the_way_loses_nothing(void **state)
{
    (void)state;
    static kept_moment begin, end, stood;
    stream_client client;
    char hash[KEPT_HASH_DIGITS + 1];
    start();
    join(&client);
    live_a_little(&client, STEPS, &begin, &end);
    kept_go_back(&client, begin.t_s, ",\"replay\":true");
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
    kept_go_back(&client, begin.t_s, ",\"replay\":true");
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
    kept_go_back(&client, begin.t_s, ",\"replay\":true");
    see_replay(&client, end.step);
    resume_tank(&client);
    see_step(&client, begin.step + STEPS / 5);
    kept_pause(&client);
    assert_int_equal(client.ws.state.replay_until, end.step);
    kept_note(&client, &stood);
    assert_int_equal(kill(kept.server.pid, SIGKILL), 0);
    assert_int_equal(server_wait(&kept.server), 128 + SIGKILL);
    stream_client_close(&client);
    start();
    join(&client);
    assert_int_equal(client.frame.head.step, stood.step);
    assert_int_equal(client.ws.state.replay_until, 0);
    kept_hash(&client, "main", hash);
    assert_string_equal(hash, stood.hash);
    // What was there then is there still, to be played back.
    kept_go_back(&client, begin.t_s, ",\"replay\":true");
    see_replay(&client, end.step);
    stream_client_close(&client);
    server_stop(&kept.server);
}

/// A tank that is moved on the way plays on where it is then.
static void test_it_moves_along(void **state)
{
    (void)state;
    static kept_moment begin, end;
    stream_client client;
    start_on("cpu,cpu");
    join(&client);
    live_a_little(&client, STEPS, &begin, &end);
    kept_go_back(&client, begin.t_s, ",\"replay\":true");
    see_replay(&client, end.step);
    resume_tank(&client);
    see_step(&client, begin.step + STEPS / 4);
    assert_int_equal(kept_ask("main", "move", kept.own, "{}"), 202);
    for (int i = 0; i < 10 * KEPT_TRIES && server_metric(kept.server.port, "tarn_moves_total") != 1; i++) {
        (void)stream_client_next(&client, 20);
    }
    assert_true(server_metric(kept.server.port, "tarn_moves_total") == 1);
    assert_int_equal(client.ws.state.replay_until, end.step);
    see_replay(&client, 0);
    expect_end(&client, &begin, &end);
    stream_client_close(&client);
    server_stop(&kept.server);
}

static void expect_refused(const char *page, const char *key, const char *body, int status, const char *words)
{
    assert_int_equal(kept_ask("main", page, key, body), status);
    if (strstr(kept.answer, words) == NULL) {
        fail_msg("%s: \"%s\" says nothing of \"%s\"", body, kept.answer, words);
    }
}

static void test_what_is_wrong_is_refused(void **state)
{
    (void)state;
    stream_client client;
    start();
    join(&client);
    kept_pause(&client);
    for (int i = 0; i < 5; i++) {
        make_step(&client);
    }
    kept_now_s(&client);
    const uint32_t epoch = client.frame.head.epoch;
    expect_refused("rewind", kept.own, "{\"t\":0,\"replay\":\"yes\"}", 400,
                   "replay: found a string, allowed are true and");
    expect_refused("rewind", kept.own, "{\"t\":0,\"replay\":1}", 400,
                   "replay: found a number, allowed are true and false");
    expect_refused("rewind", kept.own, "{\"t\":0,\"replay\":null}", 400, "replay: found null");
    expect_refused("rewind", kept.own, "{\"t\":0,\"replay\":[true]}", 400, "replay: found an array");
    expect_refused("rewind", kept.own, "{\"replay\":true}", 400, "t: found none");
    expect_refused("fork", kept.own, "{\"t\":0,\"replay\":true}", 400, "allowed are t, name and listed");
    expect_refused("rewind", "wrong", "{\"t\":0,\"replay\":true}", 403, "owners");
    make_step(&client);
    assert_int_equal(client.frame.head.epoch, epoch);
    stream_client_close(&client);
    server_stop(&kept.server);
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_was_done_is_done_again_to_the_same_bits, kept_make_dir,
                                        kept_remove_dir),
        cmocka_unit_test_setup_teardown(test_whoever_acts_ends_it, kept_make_dir, kept_remove_dir),
        cmocka_unit_test_setup_teardown(test_a_kill_on_the_way_loses_nothing, kept_make_dir, kept_remove_dir),
        cmocka_unit_test_setup_teardown(test_it_moves_along, kept_make_dir, kept_remove_dir),
        cmocka_unit_test_setup_teardown(test_what_is_wrong_is_refused, kept_make_dir, kept_remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
