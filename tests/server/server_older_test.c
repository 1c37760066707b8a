// Kept states that kill the workers which go on from them: they are set aside, older ones are taken, then the scene.
// And those that can't be loaded.
#include "server/base/limits.h"
#include "server/log/follow.h"
#include "server/log/session_file.h"
#include "server/log/session_scene.h"
#include "tests/server/server_process.h"
#include "tests/server/stream_client.h"
#include "tests/server/test_cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATES_MAX = 16, COMMIT_MS = 50, BETWEEN_STATES_MS = TARN_GATEWAY_STORE_STATE_MS_MAX + 200, AT_ONCE = 10 };

static char dir[64];
static server_process server;

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/tarn-older-XXXXXX");
    assert_non_null(mkdtemp(dir));
    unsetenv("TARN_TEST_DEADLY_STEP");
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    return server_remove_store(dir);
}

static void start(void)
{
    const char *const options[] = {"--scenes",
                                   TARN_TEST_SCENES,
                                   "--scene",
                                   "small-dam",
                                   "--worker",
                                   TARN_TEST_DEADLY_WORKER,
                                   "--store",
                                   dir,
                                   "--guests",
                                   "own",
                                   "--durability",
                                   "50",
                                   NULL};
    server_start(&server, options);
}

/// Waits until the first tank's file has this epoch's state of a step, and what happened up to where the client saw the
/// tank.
static void wait_until_kept(const stream_client *client, uint64_t state_step)
{
    const tarn_stream_head *seen = &client->frame.head;
    char path[128];
    uint64_t steps = 0;
    tarn_session_rest rest = {0};
    snprintf(path, sizeof path, "%s/main.tank", dir);
    for (int ms = 0; ms < WS_CLIENT_WAIT_MS; ms += COMMIT_MS) {
        tarn_session_file *file;
        tarn_text why;
        if (tarn_session_file_open_to_read(path, &file, why) == TARN_OK) {
            const bool is_read = tarn_session_file_rest(file, &rest, why) == TARN_OK;
            if (is_read) {
                steps = rest.state.step + tarn_box_log_steps(rest.log.bytes, rest.log.count);
                tarn_session_rest_free(&rest);
            }
            tarn_session_file_close(file);
            if (is_read && rest.epoch == seen->epoch && rest.state.step >= state_step && steps >= seen->step) {
                return;
            }
        }
        usleep(COMMIT_MS * 1000);
    }
    fail_msg("kept is step %llu of epoch %u, behind a state of step %llu; seen was step %llu of epoch %u",
             (unsigned long long)steps, rest.epoch, (unsigned long long)rest.state.step, (unsigned long long)seen->step,
             seen->epoch);
}

static void kill_server(stream_client *client)
{
    assert_int_equal(kill(server.pid, SIGKILL), 0);
    assert_int_equal(server_wait(&server), 128 + SIGKILL);
    stream_client_close(client);
}

static void pause_tank(stream_client *client)
{
    ws_client_control(&client->ws, TARN_CONTROL_PAUSE, NULL);
    do {
        stream_client_see(client);
    } while ((client->frame.head.flags & TARN_FRAME_FLAG_PAUSED) == 0);
    const uint32_t epoch = client->frame.head.epoch;
    ws_client_control(&client->ws, TARN_CONTROL_RESET, NULL);
    while (client->frame.head.epoch == epoch) {
        stream_client_see(client);
    }
}

static void step_to(stream_client *client, uint64_t step)
{
    while (client->frame.head.step < step) {
        uint64_t next = client->frame.head.step;
        for (int i = 0; i < AT_ONCE && next < step; i++, next++) {
            ws_client_control(&client->ws, TARN_CONTROL_STEP, NULL);
        }
        while (client->frame.head.step < next) {
            stream_client_see(client);
        }
    }
}

/// The steps of the states in the first tank's file. @return how many
static int read_states(uint64_t steps[STATES_MAX])
{
    char path[128];
    tarn_session_file *file;
    tarn_session_row row = {0};
    tarn_text why;
    int count = 0;
    snprintf(path, sizeof path, "%s/main.tank", dir);
    assert_int_equal(tarn_session_file_open_to_read(path, &file, why), TARN_OK);
    while (count < STATES_MAX && tarn_session_file_next_state(file, &row, why) == TARN_OK) {
        steps[count++] = row.head.step;
    }
    tarn_session_file_close(file);
    return count;
}

/// The steps of the states that were set aside. @return how many
static int read_aside(uint64_t steps[STATES_MAX])
{
    char path[128];
    tarn_session_file *file;
    tarn_session_aside aside = {0};
    tarn_text why;
    int count = 0;
    snprintf(path, sizeof path, "%s/main.tank", dir);
    assert_int_equal(tarn_session_file_open_to_read(path, &file, why), TARN_OK);
    while (count < STATES_MAX && tarn_session_aside_next(file, &aside, why) == TARN_OK) {
        assert_true(aside.is_whole);
        assert_non_null(strstr(aside.reason, "times in a row"));
        steps[count++] = aside.step;
    }
    tarn_session_file_close(file);
    return count;
}

static void set_deadly(uint64_t step)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)step);
    assert_int_equal(setenv("TARN_TEST_DEADLY_STEP", text, 1), 0);
}

/// Now, or before the frames that were waited for.
static void expect_told(stream_client *client, const char *words)
{
    tarn_message message;
    while (strstr(client->ws.told, words) == NULL) {
        if (!ws_client_wait(&client->ws, TARN_MESSAGE_ERROR, &message)) {
            fprintf(stderr, "%s", server_said(&server));
            fail_msg("nobody said \"%s\"", words);
        }
    }
}

static void test_a_state_that_kills_is_set_aside(void **state)
{
    (void)state;
    uint64_t steps[STATES_MAX], aside[STATES_MAX];
    stream_client client;
    start();
    stream_client_enter(&client, server.port);
    pause_tank(&client);
    wait_until_kept(&client, 0);
    usleep(BETWEEN_STATES_MS * 1000); // it has begun twice
    for (uint64_t i = 1; i <= 2; i++) {
        usleep(BETWEEN_STATES_MS * 1000);
        step_to(&client, i * 60 + 20);
        wait_until_kept(&client, i * 60);
    }
    kill_server(&client);
    const int count = read_states(steps);
    assert_true(count >= 3);
    const uint64_t newest = steps[count - 1], older = steps[count - 2];
    assert_true(newest == 120 && older == 60);

    // The newest one kills: the one before and its log, which leads to it.
    set_deadly(newest);
    start();
    stream_client_enter(&client, server.port);
    stream_client_see(&client);
    assert_int_equal(client.frame.head.step, newest);
    expect_told(&client,
                "its state of step 120 ended the worker again and again; it is set aside in the session's file, "
                "and this tank goes on from its state of step 60");
    assert_true(server_metric(server.port, "tarn_store_states_set_aside_total") == 1);
    step_to(&client, newest + 10);
    wait_until_kept(&client, 0);
    kill_server(&client);
    assert_int_equal(read_aside(aside), 1);
    assert_int_equal(aside[0], newest);

    // It isn't taken again: the state that was put since is another one, of the same step.
    assert_int_equal(unsetenv("TARN_TEST_DEADLY_STEP"), 0);
    start();
    stream_client_enter(&client, server.port);
    stream_client_see(&client);
    assert_int_equal(client.frame.head.step, newest + 10);
    assert_true(server_metric(server.port, "tarn_store_states_set_aside_total") == 0);
    kill_server(&client);

    // All kill: after two of them the scene.
    set_deadly(1);
    start();
    stream_client_enter(&client, server.port);
    stream_client_see(&client);
    assert_true(client.frame.head.step < newest);
    expect_told(&client, "this tank goes on from its scene's beginning");
    assert_true(server_metric(server.port, "tarn_store_states_set_aside_total") == 2);
    const uint64_t step = client.frame.head.step;
    while (client.frame.head.step < step + 10) {
        stream_client_see(&client);
    }
    pause_tank(&client);
    wait_until_kept(&client, 0); // from there on as any other
    kill_server(&client);
    assert_true(read_aside(aside) == TARN_SESSION_ASIDE_MAX);
}

/// The same while people watch: what the box has is tried first.
static void test_a_live_tank_falls_back_to_its_file(void **state)
{
    (void)state;
    uint64_t aside[STATES_MAX];
    stream_client client;
    start();
    stream_client_enter(&client, server.port);
    pause_tank(&client);
    wait_until_kept(&client, 0);
    kill_server(&client);
    set_deadly(100); // states of steps 120 and 180, which are all that the box has by then
    start();
    stream_client_enter(&client, server.port);
    stream_client_see(&client);
    wait_until_kept(&client, 0);
    usleep(BETWEEN_STATES_MS * 1000);
    step_to(&client, 80);
    wait_until_kept(&client, 60);
    usleep(BETWEEN_STATES_MS * 1000);
    step_to(&client, 190);
    wait_until_kept(&client, 60);
    const uint32_t epoch = client.frame.head.epoch;
    assert_int_equal(kill(server_worker(&server), SIGKILL), 0);
    expect_told(&client, "it is set aside in the session's file, and this tank goes on from its state of step ");
    unsigned killed, next;
    const char *from = strstr(client.ws.told, "from its state of step ");
    assert_int_equal(sscanf(client.ws.told, "its state of step %u ", &killed), 1);
    assert_int_equal(sscanf(from, "from its state of step %u", &next), 1);
    if (killed == 180 && next == 120) { // steps took so long that all states were put: the next one kills, too
        expect_told(&client, "its state of step 120 ended the worker again and again; it is set aside in the session's "
                             "file, and this tank goes on from its scene's beginning");
        kill_server(&client);
        assert_int_equal(read_aside(aside), 2);
        return;
    }
    assert_true((killed == 120 || killed == 180) && next == 60);
    do {
        stream_client_see(&client);
    } while (client.frame.head.epoch == epoch);
    assert_int_equal(client.frame.head.step, killed);
    step_to(&client, killed + 10);
    wait_until_kept(&client, 0);
    kill_server(&client);
    assert_int_equal(read_aside(aside), 1);
    assert_int_equal(aside[0], killed);
}

/// Puts a state into the first tank's file that is none.
static void put_noise(void)
{
    static uint8_t noise[5000];
    char path[128];
    tarn_session_file *file;
    tarn_session_rest rest;
    tarn_text why;
    uint64_t state_bytes;
    memset(noise, 0xaa, sizeof noise);
    snprintf(path, sizeof path, "%s/main.tank", dir);
    assert_int_equal(tarn_session_file_open(path, &file, why), TARN_OK);
    assert_int_equal(tarn_session_file_rest(file, &rest, why), TARN_OK);
    tarn_box_news news = {
        .is_anew = true, .has_state = true, .state = rest.state, .epoch = rest.epoch, .number = rest.number};
    news.state.bytes = (tarn_box_bytes){noise, sizeof noise, sizeof noise};
    assert_int_equal(tarn_session_file_put(file, &news, &state_bytes, why), TARN_OK);
    tarn_session_rest_free(&rest);
    tarn_session_file_close(file);
}

/// The server starts all the same, and its tank goes on from its scene's beginning.
static void test_a_state_that_does_not_load_is_no_end(void **state)
{
    (void)state;
    stream_client client;
    start();
    stream_client_enter(&client, server.port);
    pause_tank(&client);
    step_to(&client, 20);
    wait_until_kept(&client, 0);
    kill_server(&client);
    put_noise();
    for (int again = 0; again < 2; again++) {
        start();
        stream_client_enter(&client, server.port);
        stream_client_see(&client);
        assert_int_equal(strstr(server_said(&server), "is of no use") != NULL, again == 0);
        for (const uint64_t step = client.frame.head.step; client.frame.head.step < step + 5;) { // it isn't paused
            stream_client_see(&client);
        }
        wait_until_kept(&client, 0); // or the next one finds the noise again
        kill_server(&client);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_state_that_kills_is_set_aside, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_live_tank_falls_back_to_its_file, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_state_that_does_not_load_is_no_end, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
