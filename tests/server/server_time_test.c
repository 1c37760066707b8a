// The time machine: a tank is gone back with, forked, marked and slowed down, and its bits are those that it had.
#include "server/base/clock.h"
#include "tests/sanitized.h"
#include "tests/server/kept_tank.h"
#include "tests/server/test_cmocka.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void start(const char *scene, const char *minutes)
{
    kept_start(scene, (const char *const[]){"--history", minutes, NULL});
}

static void kill_server(void)
{
    assert_int_equal(kill(kept.server.pid, SIGKILL), 0);
    assert_int_equal(server_wait(&kept.server), 128 + SIGKILL);
}

static void text_of(const char *field, char *text, size_t text_bytes)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "\"%s\":\"", field);
    const char *at = strstr(kept.answer, pattern);
    assert_non_null(at);
    at += strlen(pattern);
    snprintf(text, text_bytes, "%.*s", (int)strcspn(at, "\""), at);
}

static void push(ws_client *client, uint64_t step)
{
    const float origin_m[3] = {0.2f + 0.02f * (float)(step % 20), 3, 0.3f}, down[3] = {0, -1, 0};
    ws_client_pointer(client, step % 20 == 1 ? TARN_PHASE_DOWN : TARN_PHASE_MOVE, origin_m, down, 0.3f);
}

/// Steps a paused tank, pushed.
static void play(stream_client *client, uint64_t steps)
{
    const uint64_t until = client->frame.head.step + steps;
    while (client->frame.head.step < until) {
        const uint64_t step = client->frame.head.step + 1;
        push(&client->ws, step);
        ws_client_control(&client->ws, TARN_CONTROL_STEP, NULL);
        while (client->frame.head.step < step) {
            stream_client_see(client);
        }
    }
}

static void reset_tank(stream_client *client)
{
    const uint32_t epoch = client->frame.head.epoch;
    ws_client_control(&client->ws, TARN_CONTROL_RESET, NULL);
    while (client->frame.head.epoch == epoch) {
        stream_client_see(client);
    }
}

static void expect(stream_client *client, const kept_moment *noted)
{
    char hash[KEPT_HASH_DIGITS + 1];
    const uint64_t step = kept_go_back(client, noted->t_s, "");
    assert_int_equal(step, noted->step);
    assert_true(client->frame.head.flags & TARN_FRAME_FLAG_PAUSED); // as it was just now
    kept_hash(client, "main", hash);
    assert_string_equal(hash, noted->hash);
}

static void test_a_tank_is_as_it_was(void **state)
{
    (void)state;
    enum { MOMENTS = 5 };
    static kept_moment moments[MOMENTS + 1];
    stream_client client, other, second;
    char fork[64], fork_own[64], hash[KEPT_HASH_DIGITS + 1];
    start("small-dam", "60");
    assert_int_equal(kept_join(&client, "main", kept.own, NULL), TARN_ROLE_OWN);
    kept_pause(&client);
    for (int i = 0; i < MOMENTS; i++) {
        play(&client, 17 + 45 * (uint64_t)i); // 535 in all: across states, and a hash
        kept_note(&client, &moments[i]);
        assert_true(i == 0 ||
                    (moments[i].t_s > moments[i - 1].t_s && strcmp(moments[i].hash, moments[i - 1].hash) != 0));
    }
    // To each, in any order; what is left lies in the past, too.
    expect(&client, &moments[1]);
    expect(&client, &moments[3]);
    play(&client, 12); // another future
    kept_note(&client, &moments[MOMENTS]);
    assert_string_not_equal(moments[MOMENTS].hash, moments[4].hash);
    expect(&client, &moments[4]);
    expect(&client, &moments[0]);
    expect(&client, &moments[MOMENTS]);
    // A single step between two states.
    const double step_s = (moments[1].t_s - moments[0].t_s) / (double)(moments[1].step - moments[0].step);
    assert_int_equal(kept_go_back(&client, moments[1].t_s + 3.0 * step_s, ""), moments[1].step + 3);
    // Another session goes on from one of them.
    assert_int_equal(kept_ask_t("fork", moments[2].t_s, ",\"name\":\"another way\""), 201);
    text_of("session", fork, sizeof fork);
    text_of("own", fork_own, sizeof fork_own);
    assert_string_not_equal(fork_own, kept.own);
    assert_int_equal(kept_join(&other, fork, fork_own, NULL), TARN_ROLE_OWN);
    stream_client_see(&other);
    assert_int_equal(other.frame.head.step, moments[2].step);
    kept_hash(&other, fork, hash);
    assert_string_equal(hash, moments[2].hash);
    play(&other, 5);
    kept_hash(&other, fork, hash);
    assert_int_equal(kept_ask_t("marks", moments[2].t_s, ",\"name\":\"before the wave\""), 202);
    expect(&client, &moments[2]);
    // All of it outlives the server.
    for (int round = 0; round < 2; round++) {
        char again[KEPT_HASH_DIGITS + 1];
        if (round == 0) {
            kill_server();
        } else {
            server_stop(&kept.server);
        }
        stream_client_close(&client);
        stream_client_close(&other);
        start("small-dam", "60");
        assert_int_equal(kept_join(&client, "main", kept.own, NULL), TARN_ROLE_OWN);
        assert_int_equal(kept_join(&other, fork, fork_own, NULL), TARN_ROLE_OWN);
        stream_client_see(&client);
        stream_client_see(&other);
        assert_int_equal(client.frame.head.step, moments[2 + round].step);
        assert_int_equal(other.frame.head.step, moments[2].step + 5);
        kept_hash(&client, "main", again);
        assert_string_equal(again, moments[2 + round].hash);
        kept_hash(&other, fork, again);
        assert_string_equal(again, hash);
        assert_int_equal(kept_ask("main", "history", kept.own, NULL), 200);
        assert_non_null(strstr(kept.answer, "before the wave"));
        expect(&client, &moments[3]);
    }
    // Its viewers stay, and see where it went.
    assert_int_equal(kept_join(&second, "main", "", NULL), TARN_ROLE_WATCH);
    stream_client_see(&second);
    kept_go_back(&client, moments[0].t_s, "");
    while (second.frame.head.epoch != client.frame.head.epoch) {
        stream_client_see(&second);
    }
    assert_int_equal(second.frame.head.step, moments[0].step);
    stream_client_close(&second);
    stream_client_close(&client);
    stream_client_close(&other);
    server_stop(&kept.server);
    kept_expect_verified();
}

/// A worker that ends on the way leaves the tank as it was, or as it was to be.
static void test_a_worker_may_end_meanwhile(void **state)
{
    (void)state;
    static kept_moment first, last;
    stream_client client;
    start("small-dam", "60");
    assert_int_equal(kept_join(&client, "main", kept.own, NULL), TARN_ROLE_OWN);
    kept_pause(&client);
    play(&client, 40);
    kept_note(&client, &first);
    play(&client, 40);
    kept_note(&client, &last);
    for (int round = 0; round < 4; round++) {
        char hash[KEPT_HASH_DIGITS + 1];
        const pid_t worker = server_worker(&kept.server);
        assert_true(worker > 0);
        assert_int_equal(kept_ask_t("rewind", round % 2 == 0 ? first.t_s : last.t_s, ""), 202);
        usleep(15000 * (unsigned)round);
        assert_int_equal(kill(worker, SIGKILL), 0);
        kept_see_next_worker(worker);
        kept_wait_for_commit();
        kept_wait_for_commit();
        kept_hash_now("main", hash);
        assert_true(strcmp(hash, first.hash) == 0 || strcmp(hash, last.hash) == 0);
    }
    stream_client_close(&client);
    assert_int_equal(kept_join(&client, "main", kept.own, NULL), TARN_ROLE_OWN);
    stream_client_see(&client);
    if (client.frame.head.step != first.step) { // else it would be seen nowhere
        expect(&client, &first);
    }
    expect(&client, &last);
    stream_client_close(&client);
    server_stop(&kept.server);
}

/// Across a scene that was loaded, and a fresh start.
static void test_another_scene_is_gone_back_to(void **state)
{
    (void)state;
    static kept_moment before, after;
    stream_client client;
    start("small-dam", "60");
    assert_int_equal(kept_join(&client, "main", kept.own, NULL), TARN_ROLE_OWN);
    kept_pause(&client);
    play(&client, 30);
    kept_note(&client, &before);
    const uint32_t epoch = client.frame.head.epoch;
    ws_client_control(&client.ws, TARN_CONTROL_LOAD, "small-pool");
    while (client.frame.head.epoch == epoch) {
        stream_client_see(&client);
    }
    kept_pause(&client);
    play(&client, 30);
    kept_note(&client, &after);
    expect(&client, &before);
    assert_int_equal(server_request(kept.server.port, "GET", "/sessions", "", NULL, kept.answer, sizeof kept.answer),
                     200);
    assert_non_null(strstr(kept.answer, "\"scene\":\"small-dam\""));
    expect(&client, &after);
    stream_client_close(&client);
    server_stop(&kept.server);
}

static void expect_refused(int status, int expected, const char *words)
{
    assert_int_equal(status, expected);
    if (strstr(kept.answer, words) == NULL) {
        fail_msg("\"%s\" says nothing of \"%s\"", kept.answer, words);
    }
}

static void test_what_is_wrong_is_refused(void **state)
{
    (void)state;
    stream_client client;
    tarn_joined joined;
    char body[256];
    start("small-dam", "60");
    assert_int_equal(kept_join(&client, "main", kept.own, &joined), TARN_ROLE_OWN);
    kept_pause(&client);
    play(&client, 20);
    const double until_s = kept_now_s(&client);
    const char *const pages[] = {"rewind", "fork", "marks", "speed"};
    const char *const bodies[] = {"{\"t\":0.1}", "{\"t\":0.1}", "{\"t\":0.1,\"name\":\"a\"}", "{\"speed\":2}"};
    for (int i = 0; i < 4; i++) {
        expect_refused(kept_ask("main", pages[i], joined.play_key, bodies[i]), 403, "owners");
        expect_refused(kept_ask("main", pages[i], joined.watch_key, bodies[i]), 403, "owners");
        expect_refused(kept_ask("main", pages[i], NULL, bodies[i]), 403, "owners");
        expect_refused(kept_ask("main", pages[i], kept.own, "[]"), 400, "JSON object");
        expect_refused(kept_ask("main", pages[i], kept.own, "{\"x\":1}"), 400,
                       "found the unknown field \\\"x\\\", allowed");
        expect_refused(kept_ask("nowhere", pages[i], kept.own, bodies[i]), 404, "no such session");
        assert_int_equal(kept_ask("main", pages[i], kept.own, NULL), 405);
    }
    expect_refused(kept_ask("main", "history", joined.play_key, NULL), 403, "owners");
    expect_refused(kept_ask("main", "history", NULL, NULL), 403, "owners");
    assert_int_equal(kept_ask("main", "history", kept.own, "{}"), 405);
    expect_refused(kept_ask_t("rewind", until_s + 1.0, ""), 400, "allowed are");
    expect_refused(kept_ask_t("rewind", -0.5, ""), 400, "allowed are");
    expect_refused(kept_ask("main", "rewind", kept.own, "{\"t\":1e308}"), 400, "t: found 1e+308, allowed are 0.000 to");
    expect_refused(kept_ask_t("fork", until_s + 1.0, ""), 400, "allowed are");
    expect_refused(kept_ask_t("marks", until_s + 1.0, ",\"name\":\"a\""), 400, "allowed are");
    expect_refused(kept_ask("main", "rewind", kept.own, "{}"), 400, "t: found none");
    expect_refused(kept_ask("main", "rewind", kept.own, "{\"t\":\"0\"}"), 400, "t: found a string, allowed is");
    expect_refused(kept_ask("main", "rewind", kept.own, "{\"t\":0,\"t\":1}"), 400,
                   "a field twice, the second time up to its byte 10;");
    expect_refused(kept_ask("main", "rewind", kept.own, "{\"t\":0"), 400, "it ends too early");
    expect_refused(kept_ask("main", "rewind", kept.own, "{\"t\":no}"), 400, "what is wrong ends at its byte 7");
    expect_refused(kept_ask("main", "fork", kept.own, "{\"t\":0,\"name\":7}"), 400, "name: found a number, allowed is");
    expect_refused(kept_ask("main", "fork", kept.own, "{\"t\":0,\"listed\":null}"), 400, "listed: found null, allowed");
    expect_refused(kept_ask("main", "marks", kept.own, "{\"t\":0}"), 400, "name");
    expect_refused(kept_ask("main", "marks", kept.own, "{\"t\":0,\"name\":\"a\\u0007\"}"), 400, "control character");
    expect_refused(kept_ask("main", "marks", kept.own, "{\"remove\":0}"), 400, "id of a mark");
    snprintf(body, sizeof body, "{\"t\":0,\"name\":\"%.41s\"}", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    expect_refused(kept_ask("main", "marks", kept.own, body), 400, "found 41 bytes");
    for (int i = 0; i < 4; i++) {
        const char *const speeds[] = {"0.04", "4.01", "-1", "1e300"};
        snprintf(body, sizeof body, "{\"speed\":%s}", speeds[i]);
        expect_refused(kept_ask("main", "speed", kept.own, body), 400, "allowed are 0.05 to 4");
    }
    // A fork keeps the limits of sessions; the refused ones left none.
    assert_int_equal(server_request(kept.server.port, "GET", "/sessions", "", NULL, kept.answer, sizeof kept.answer),
                     200);
    assert_null(strstr(strstr(kept.answer, "\"session\":") + 1, "\"session\":"));
    // As many marks as are kept, and one more.
    for (int i = 0; i < 64; i++) {
        snprintf(body, sizeof body, ",\"name\":\"mark %d\"", i);
        assert_int_equal(kept_ask_t("marks", until_s * (double)i / 64.0, body), 202);
    }
    assert_int_equal(kept_ask_t("marks", until_s, ",\"name\":\"too many\""), 202);
    tarn_message message;
    do {
        assert_true(ws_client_wait(&client.ws, TARN_MESSAGE_ERROR, &message));
    } while (strstr(message.error.text, "64 marks") == NULL);
    assert_int_equal(kept_ask("main", "history", kept.own, NULL), 200);
    assert_non_null(strstr(kept.answer, "mark 63"));
    assert_null(strstr(kept.answer, "too many"));
    snprintf(body, sizeof body, "{\"remove\":%d}", (int)kept_number("id"));
    assert_int_equal(kept_ask("main", "marks", kept.own, body), 202);
    do {
        usleep(20000);
        assert_int_equal(kept_ask("main", "history", kept.own, NULL), 200);
    } while (strstr(kept.answer, "\"mark 0\"") != NULL);
    // None of all this touched the tank.
    ws_client_control(&client.ws, TARN_CONTROL_STEP, NULL);
    const uint32_t epoch = client.frame.head.epoch;
    while (client.frame.head.step < 21) {
        stream_client_see(&client);
    }
    assert_int_equal(client.frame.head.epoch, epoch);
    stream_client_close(&client);
    server_stop(&kept.server);
    assert_null(strstr(kept.server.err, "64 marks")); // who asks for too much is told, and fills no log
}

static void moderate(stream_client *owner, uint32_t viewer_id, tarn_moderation action)
{
    const tarn_message message = {.kind = TARN_MESSAGE_MODERATE,
                                  .moderate = {.viewer_id = viewer_id, .action = action}};
    assert_int_equal(ws_client_tell(&owner->ws, &message), 0);
}

/// What an owner has just done takes hold.
static void expect_soon(const char *key, int status)
{
    int got = 0;
    for (int i = 0; i < KEPT_TRIES && (got = kept_ask("main", "history", key, NULL)) != status; i++) {
        usleep(20000);
    }
    assert_int_equal(got, status);
}

/// Whom an owner gives the role sees the past at once, by the key of its connection, which opens nothing else.
static void test_an_owner_for_now_sees_the_past_while_it_is_one(void **state)
{
    (void)state;
    stream_client owner, guest, other;
    tarn_joined joined, joined_owner;
    start("small-dam", "60");
    assert_int_equal(kept_join(&owner, "main", kept.own, &joined_owner), TARN_ROLE_OWN);
    assert_int_equal(kept_join(&guest, "main", "", &joined), TARN_ROLE_WATCH);
    assert_int_equal(kept_join(&other, "main", "", NULL), TARN_ROLE_WATCH);
    assert_int_equal(strlen(joined.visit_key), TARN_KEY_BYTES);
    assert_string_not_equal(joined.visit_key, joined_owner.visit_key);
    assert_int_equal(joined.past, 0);
    assert_int_equal(joined.own_key[0], 0);
    assert_int_equal(kept_ask("main", "history", joined_owner.visit_key, NULL), 200);
    assert_int_equal(kept_ask("main", "history", joined.visit_key, NULL), 403);
    moderate(&owner, joined.viewer_id, TARN_MODERATE_OWN);
    expect_soon(joined.visit_key, 200);
    int status = 409;
    for (int i = 0; i < KEPT_TRIES && status == 409; i++) { // until there is a past
        usleep(20000);
        status = kept_ask("main", "marks", joined.visit_key, "{\"t\":0,\"name\":\"mine\"}");
    }
    assert_int_equal(status, 202);
    char headers[128];
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", joined.visit_key);
    assert_int_equal(
        server_request(kept.server.port, "DELETE", "/sessions/main", headers, NULL, kept.answer, sizeof kept.answer),
        403);
    moderate(&owner, joined.viewer_id, TARN_MODERATE_MUTE);
    expect_soon(joined.visit_key, 403);
    moderate(&owner, joined.viewer_id, TARN_MODERATE_UNMUTE);
    expect_soon(joined.visit_key, 200);
    moderate(&owner, joined.viewer_id, TARN_MODERATE_PLAY);
    expect_soon(joined.visit_key, 403);
    moderate(&owner, joined.viewer_id, TARN_MODERATE_OWN);
    expect_soon(joined.visit_key, 200);
    stream_client_close(&guest);
    expect_soon(joined.visit_key, 403);
    joined_owner.visit_key[3] ^= 1;
    assert_int_equal(kept_ask("main", "history", joined_owner.visit_key, NULL), 403);
    stream_client_close(&other);
    stream_client_close(&owner);
    server_stop(&kept.server);
}

static int free_descriptors; ///< that the server is left with, once it is connected to
static struct rlimit descriptors;

static bool has_descriptor(int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)kept.server.pid, fd);
    return access(path, F_OK) == 0 || errno != ENOENT;
}

/// What has one keeps it.
static int connect_and_leave_few(uint16_t port)
{
    const int fd = ws_connect_plain(port);
    usleep(100000); // until it is taken
    int most = 0;
    for (int left = free_descriptors; left > 0 || has_descriptor(most); most++) {
        left -= !has_descriptor(most);
    }
    const struct rlimit few = {(rlim_t)most, descriptors.rlim_max};
    assert_int_equal(prlimit(kept.server.pid, RLIMIT_NOFILE, &few, NULL), 0);
    return fd;
}

static void go_back_with_few(double t_s)
{
    char body[64];
    int status = 409; // until the next worker has the tank
    snprintf(body, sizeof body, "{\"t\":%.6f}", t_s);
    for (int i = 0; i < KEPT_TRIES && status == 409; i++) {
        usleep(i > 0 ? 20000 : 0);
        assert_int_equal(prlimit(kept.server.pid, RLIMIT_NOFILE, &descriptors, NULL), 0);
        ws_connect_by = connect_and_leave_few;
        status = kept_ask("main", "rewind", kept.own, body);
        ws_connect_by = NULL;
    }
    assert_int_equal(status, 202);
}

/// A past needs a descriptor, its box one to go along with, and the store one of its own. Whatever lacks, the tank is
/// as it was or as it was to be, and goes on from there when its worker ends.
static void test_a_past_without_descriptors(void **state)
{
    (void)state;
    enum { MOST = 3 };
    static kept_moment first, last;
    tarn_message message;
    stream_client client;
    start("small-dam", "60");
    assert_int_equal(kept_join(&client, "main", kept.own, NULL), TARN_ROLE_OWN);
    kept_pause(&client);
    play(&client, 20);
    kept_note(&client, &first);
    play(&client, 20);
    kept_note(&client, &last);
    assert_int_equal(prlimit(kept.server.pid, RLIMIT_NOFILE, NULL, &descriptors), 0);
    for (free_descriptors = 0; free_descriptors < MOST; free_descriptors++) {
        char hash[KEPT_HASH_DIGITS + 1], after[KEPT_HASH_DIGITS + 1];
        const kept_moment *to = free_descriptors < 2 ? &first : &last;
        const uint32_t epoch = client.frame.head.epoch;
        go_back_with_few(to->t_s);
        while (free_descriptors > 0 && client.frame.head.epoch == epoch) {
            stream_client_see(&client);
        }
        // That of the connection may be free by then, and takes the past itself.
        while (free_descriptors == 0) {
            assert_true(ws_client_wait(&client.ws, TARN_MESSAGE_ERROR, &message));
            if (strstr(message.error.text, "there is no descriptor for it") != NULL ||
                strstr(message.error.text, "there is no memory or descriptor") != NULL) {
                break;
            }
        }
        kept_wait_for_commit(); // or not
        assert_int_equal(prlimit(kept.server.pid, RLIMIT_NOFILE, &descriptors, NULL), 0);
        kept_hash(&client, "main", hash);
        assert_string_equal(hash, free_descriptors == 0 ? last.hash : to->hash);
        const pid_t worker = server_worker(&kept.server);
        assert_int_equal(kill(worker, SIGKILL), 0);
        kept_see_next_worker(worker);
        kept_wait_for_commit();
        kept_hash(&client, "main", after);
        assert_string_equal(after, hash);
    }
    stream_client_close(&client);
    assert_int_equal(kept_join(&client, "main", kept.own, NULL), TARN_ROLE_OWN);
    stream_client_see(&client);
    expect(&client, &last);
    stream_client_close(&client);
    server_stop(&kept.server);
}

static void test_without_a_store_there_is_no_past(void **state)
{
    (void)state;
    const char *const options[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-dam", NULL};
    tarn_joined joined;
    stream_client client;
    server_start(&kept.server, options);
    assert_int_equal(kept_join(&client, "main", "", &joined), TARN_ROLE_OWN);
    expect_refused(kept_ask("main", "history", joined.own_key, NULL), 409, "--store");
    expect_refused(kept_ask("main", "rewind", joined.own_key, "{\"t\":0}"), 409, "--store");
    stream_client_close(&client);
    server_stop(&kept.server);
}

/// Runs a statement on the first tank's file while the server has it.
static void change_file(const char *sql)
{
    char path[128];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/main.tank", kept.dir);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/// What can't be read of the past leaves the tank as it is, and its owners are told.
static void test_a_past_that_cant_be_read_leaves_the_tank(void **state)
{
    (void)state;
    static kept_moment first;
    stream_client client;
    tarn_message message;
    char before[KEPT_HASH_DIGITS + 1], after[KEPT_HASH_DIGITS + 1], fork[64];
    start("small-dam", "60");
    assert_int_equal(kept_join(&client, "main", kept.own, NULL), TARN_ROLE_OWN);
    kept_pause(&client);
    play(&client, 30);
    kept_note(&client, &first);
    reset_tank(&client); // which another state begins with
    play(&client, 30);
    kept_hash(&client, "main", before);
    const uint32_t epoch = client.frame.head.epoch;
    change_file("UPDATE states SET frame = substr(frame, 1, 1000) WHERE id = (SELECT min(id) FROM states)");
    assert_int_equal(kept_ask_t("rewind", first.t_s, ""), 202);
    do {
        assert_true(ws_client_wait(&client.ws, TARN_MESSAGE_ERROR, &message));
    } while (strstr(message.error.text, "the tank is as it was") == NULL);
    assert_null(strstr(message.error.text, kept.dir)); // where it lies is the operator's business
    // A fork of it ends with the same sentence.
    assert_int_equal(kept_ask_t("fork", first.t_s, ""), 201);
    text_of("session", fork, sizeof fork);
    for (int i = 0; i < KEPT_TRIES && kept_ask(fork, "history", kept.own, NULL) != 404; i++) {
        usleep(20000);
    }
    assert_int_equal(kept_ask(fork, "history", kept.own, NULL), 404);
    play(&client, 5);
    assert_int_equal(client.frame.head.epoch, epoch);
    ws_client_control(&client.ws, TARN_CONTROL_PAUSE, NULL);
    kept_hash(&client, "main", after);
    assert_string_not_equal(after, before);
    stream_client_close(&client);
    server_stop(&kept.server);
}

/// Old states go, with marks of their time; what is left is gone back to.
static void test_what_is_too_old_goes(void **state)
{
    (void)state;
    stream_client client;
    start("small-dam", "0");
    assert_int_equal(kept_join(&client, "main", kept.own, NULL), TARN_ROLE_OWN);
    kept_pause(&client);
    double from_s = 0;
    for (int i = 0; i < KEPT_TRIES && from_s == 0; i++) { // each begins with a state
        reset_tank(&client);
        play(&client, 10);
        usleep(500000);
        if (i == 0) {
            assert_int_equal(kept_ask_t("marks", 0.0, ",\"name\":\"the start\""), 202);
        }
        from_s = kept_ask("main", "history", kept.own, NULL) == 200 ? kept_number("from") : 0;
    }
    assert_true(from_s > 0);
    assert_int_equal(kept_ask("main", "history", kept.own, NULL), 200);
    assert_null(strstr(kept.answer, "the start"));
    expect_refused(kept_ask_t("rewind", from_s / 2, ""), 400, "allowed are");
    kept_go_back(&client, from_s, "");
    stream_client_close(&client);
    server_stop(&kept.server);
}

/// How far a tank comes in a while, in steps. @param speed  0: as it is
static double steps_per_s(stream_client *client, const char *speed)
{
    char body[64];
    snprintf(body, sizeof body, "{\"speed\":%s}", speed);
    assert_int_equal(kept_ask("main", "speed", kept.own, body), 202);
    const uint64_t settled_ns = tarn_clock_monotonic_ns() + 1500000000u;
    while (tarn_clock_monotonic_ns() < settled_ns) {
        stream_client_see(client);
    }
    const uint64_t step = client->frame.head.step, begun_ns = tarn_clock_monotonic_ns();
    while (tarn_clock_monotonic_ns() < begun_ns + 2000000000u) {
        stream_client_see(client);
    }
    return (double)(client->frame.head.step - step) / (1e-9 * (double)(tarn_clock_monotonic_ns() - begun_ns));
}

/// The clock goes slower; whoever comes later is told, and so is the next worker.
static void test_the_clock_goes_at_another_speed(void **state)
{
    (void)state;
    stream_client client, late;
    tarn_joined joined;
    start("small-dam", "60");
    assert_int_equal(kept_join(&client, "main", kept.own, &joined), TARN_ROLE_OWN);
    assert_float_equal(joined.state.speed, 0, 0);
    const double slow = steps_per_s(&client, "0.1");
    // Of 60: a clock that is late is later, not earlier; with a sanitizer a step may take longer than it lasts.
    assert_in_range(slow * 10, TEST_IS_SANITIZED ? 1 : 45, 75);
    assert_in_range(client.frame.head.realtime_factor * 1000, TEST_IS_SANITIZED ? 1 : 70, 130);
    assert_int_equal(kept_join(&late, "main", "", &joined), TARN_ROLE_WATCH);
    assert_float_equal(joined.state.speed, 0.1, 1e-6);
    stream_client_close(&late);
    assert_int_equal(kill(server_worker(&kept.server), SIGKILL), 0);
    for (int i = 0; i < KEPT_TRIES; i++) {
        assert_int_equal(kept_join(&late, "main", "", &joined), TARN_ROLE_WATCH);
        stream_client_close(&late);
        if (joined.state.worker_ready && joined.state.speed > 0) {
            break;
        }
        usleep(50000);
    }
    assert_float_equal(joined.state.speed, 0.1, 1e-6);
    const double fast = steps_per_s(&client, "2");
    assert_true(TEST_IS_SANITIZED || fast > 3 * slow);
    // It outlives the server, and so does what isn't odd as a float.
    kept_wait_for_commit();
    kill_server();
    stream_client_close(&client);
    start("small-dam", "60");
    assert_int_equal(kept_join(&client, "main", kept.own, NULL), TARN_ROLE_OWN);
    for (int i = 0; i < KEPT_TRIES && client.ws.state.speed != 2; i++) {
        stream_client_see(&client);
    }
    assert_float_equal(client.ws.state.speed, 2, 0);
    assert_int_equal(kept_ask("main", "history", kept.own, NULL), 200);
    assert_float_equal(kept_number("speed"), 2, 0);
    assert_int_equal(kept_ask("main", "speed", kept.own, "{\"speed\":1}"), 202);
    stream_client_close(&client);
    server_stop(&kept.server);
}

static void expect_told(stream_client *client, const char *words)
{
    tarn_message message;
    do {
        assert_true(ws_client_wait(&client->ws, TARN_MESSAGE_ERROR, &message));
    } while (strstr(message.error.text, words) == NULL);
}

/// Whether an owner was told so by now.
static bool hears(stream_client *client, const char *words)
{
    ws_message raw;
    tarn_message message;
    while (ws_client_next(&client->ws, &raw, 20) == 1) {
        if (raw.opcode == WS_BINARY && tarn_message_read(raw.bytes, raw.byte_count, &message, NULL) == TARN_OK &&
            message.kind == TARN_MESSAGE_ERROR && strstr(message.error.text, words) != NULL) {
            return true;
        }
    }
    return false;
}

/// More fresh starts in a row than are kept: owners are told, and what comes after that is kept again.
static void test_owners_hear_when_a_tank_begins_anew_too_often(void **state)
{
    (void)state;
    enum { ANEW = 100 }; // fewer than ten where each takes less than a second
    bool is_told = false;
    static kept_moment last;
    stream_client client, other; // who starts afresh reads over what is said meanwhile
    start("small-dam", "60");
    assert_int_equal(kept_join(&client, "main", kept.own, NULL), TARN_ROLE_OWN);
    assert_int_equal(kept_join(&other, "main", kept.own, NULL), TARN_ROLE_OWN);
    kept_pause(&client);
    for (int i = 0; i < ANEW && !is_told; i++) {
        reset_tank(&client);
        do { // where it takes long it is held back so shortly at first that nobody hears of it
            is_told = hears(&other, "is not kept for another");
        } while (!is_told && !kept_is_committed(&client, "main"));
    }
    assert_true(is_told);
    expect_told(&other, "is kept again");
    stream_client_close(&other);
    assert_true(server_metric(kept.server.port, "tarn_store_held_back") == 0);
    play(&client, 20);
    kept_note(&client, &last);
    play(&client, 20);
    expect(&client, &last);
    stream_client_close(&client);
    server_stop(&kept.server);
}

/// How often a process has a file of the store open.
static int count_open(pid_t pid, const char *path)
{
    char folder[64], there[192];
    int count = 0;
    snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
    DIR *fds = opendir(folder);
    assert_non_null(fds);
    for (const struct dirent *entry; (entry = readdir(fds)) != NULL;) {
        const ssize_t bytes = readlinkat(dirfd(fds), entry->d_name, there, sizeof there - 1);
        there[bytes > 0 ? bytes : 0] = 0;
        count += strcmp(there, path) == 0;
    }
    closedir(fds);
    return count;
}

/// @return the number behind the sentence, where there is one
static uint64_t run_tool(const char *arguments, const char *sentence)
{
    char command[512], said[8192];
    snprintf(command, sizeof command, "%s %s 2>&1", TARN_TEST_TOOL, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    said[fread(said, 1, sizeof said - 1, pipe)] = 0;
    const char *at = strstr(said, sentence);
    if (pclose(pipe) != 0 || at == NULL) {
        fail_msg("tarn %s: \"%s\" should be in: %s", arguments, sentence, said);
        return 0;
    }
    return strtoull(at + strlen(sentence), NULL, 10);
}

/// Somebody pushes, and meanwhile a copy is made: it is whole, and its steps lead to its states. What is put goes on.
static void test_a_running_server_is_backed_up(void **state)
{
    (void)state;
    enum { COPIES = 3 };
    static const uint64_t at_steps[COPIES] = {30, 90, 560}; // the last behind a hash that the worker has put
    stream_client client;
    uint64_t steps[COPIES];
    char arguments[400], path[160];
    start("small-dam", "60");
    assert_int_equal(kept_join(&client, "main", kept.own, NULL), TARN_ROLE_OWN);
    stream_client_see(&client);
    for (uint64_t i = 1, copies = 0; copies < COPIES; i++) {
        push(&client.ws, i);
        stream_client_see(&client);
        if (client.frame.head.step >= at_steps[copies]) {
            snprintf(arguments, sizeof arguments, "session backup %s main %s/copy-%d", kept.dir, kept.dir, (int)copies);
            steps[copies++] = run_tool(arguments, "until step ");
        }
    }
    // One that writes: two that empty a -wal at once may lose what is in it.
    snprintf(path, sizeof path, "%s/main.tank", kept.dir);
    assert_int_equal(count_open(kept.server.pid, path), 1);
    stream_client_close(&client);
    server_stop(&kept.server);
    for (int i = 0; i < COPIES; i++) {
        assert_true(steps[i] > (i > 0 ? steps[i - 1] : 0));
        snprintf(arguments, sizeof arguments, "session verify %s/copy-%d", kept.dir, i);
        run_tool(arguments, ": whole: ");
        snprintf(arguments, sizeof arguments, "replay --verify %s/copy-%d --scenes %s", kept.dir, i, TARN_TEST_SCENES);
        run_tool(arguments, i == COPIES - 1 ? "1 hash in the log compared" : "state 1 (step 0) to ");
    }
    // A server goes on from a copy.
    snprintf(arguments, sizeof arguments, "mv %s/copy-1 %s", kept.dir, path);
    assert_int_equal(system(arguments), 0);
    snprintf(arguments, sizeof arguments, "session verify %s", path);
    run_tool(arguments, "whole");
    start("small-dam", "60");
    assert_int_equal(kept_join(&client, "main", kept.own, NULL), TARN_ROLE_OWN);
    stream_client_see(&client);
    assert_true(client.frame.head.step >= steps[1]);
    stream_client_close(&client);
    server_stop(&kept.server);
    snprintf(arguments, sizeof arguments, "session verify %s", path);
    run_tool(arguments, "whole"); // closed, it lacks nothing
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_tank_is_as_it_was, kept_make_dir, kept_remove_dir),
        cmocka_unit_test_setup_teardown(test_a_worker_may_end_meanwhile, kept_make_dir, kept_remove_dir),
        cmocka_unit_test_setup_teardown(test_another_scene_is_gone_back_to, kept_make_dir, kept_remove_dir),
        cmocka_unit_test_setup_teardown(test_what_is_wrong_is_refused, kept_make_dir, kept_remove_dir),
        cmocka_unit_test_setup_teardown(test_an_owner_for_now_sees_the_past_while_it_is_one, kept_make_dir,
                                        kept_remove_dir),
        cmocka_unit_test_setup_teardown(test_a_past_without_descriptors, kept_make_dir, kept_remove_dir),
        cmocka_unit_test(test_without_a_store_there_is_no_past),
        cmocka_unit_test_setup_teardown(test_a_past_that_cant_be_read_leaves_the_tank, kept_make_dir, kept_remove_dir),
        cmocka_unit_test_setup_teardown(test_what_is_too_old_goes, kept_make_dir, kept_remove_dir),
        cmocka_unit_test_setup_teardown(test_owners_hear_when_a_tank_begins_anew_too_often, kept_make_dir,
                                        kept_remove_dir),
        cmocka_unit_test_setup_teardown(test_the_clock_goes_at_another_speed, kept_make_dir, kept_remove_dir),
        cmocka_unit_test_setup_teardown(test_a_running_server_is_backed_up, kept_make_dir, kept_remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
