// Tanks that outlive the program: it is killed, ended and started again, on disks that work and on others.
#include "server/base/clock.h"
#include "tests/server/server_process.h"
#include "tests/server/stream_client.h"
#include "tests/server/test_cmocka.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWER_BYTES = 8192, OPTIONS_MAX = 16, COMMIT_MS = 50 };

static const char json[] = "Content-Type: application/json\r\n";

static char dir[80];
static server_process server;
static char answer[ANSWER_BYTES];

static char *in_dir(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/tarn-store-XXXXXX");
    assert_non_null(mkdtemp(dir));
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    return server_remove_store(dir);
}

static void start(const char *scene, const char *guests)
{
    const char *const options[] = {"--scenes", TARN_TEST_SCENES, "--scene", scene, "--guests", guests, "--store",
                                   dir,        "--durability",   "50",      NULL};
    server_start(&server, options);
}

/// @return the role that was given; -1: the server said no
static int join(stream_client *client, const char *session, const char *key)
{
    tarn_message message;
    memset(client, 0, sizeof *client);
    assert_int_equal(ws_client_open(&client->ws, server.port, "/ws", "tarn.v1", NULL), 101);
    assert_int_equal(ws_client_hello(&client->ws), 0);
    assert_int_equal(ws_client_join_by(&client->ws, session, key), 0);
    for (;;) {
        ws_message raw;
        assert_int_equal(ws_client_next(&client->ws, &raw, WS_CLIENT_WAIT_MS), 1);
        if (raw.opcode == WS_BINARY && tarn_message_read(raw.bytes, raw.byte_count, &message, NULL) == TARN_OK) {
            if (message.kind == TARN_MESSAGE_JOINED) {
                return (int)message.joined.role;
            }
            if (message.kind == TARN_MESSAGE_ERROR) {
                return -1;
            }
        }
    }
}

/// A string of the newest answer.
static void text_of(const char *field, char *text, size_t text_bytes)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "\"%s\":\"", field);
    const char *at = strstr(answer, pattern);
    assert_non_null(at);
    at += strlen(pattern);
    snprintf(text, text_bytes, "%.*s", (int)strcspn(at, "\""), at);
}

static void push(ws_client *client, int step)
{
    const float origin_m[3] = {0.2f + 0.02f * (float)(step % 20), 3, 0.3f}, down[3] = {0, -1, 0};
    ws_client_pointer(client, step == 1 ? TARN_PHASE_DOWN : TARN_PHASE_MOVE, origin_m, down, 0.3f);
}

/// Pauses a tank and steps it, pushed. A key frame of the last step is the client's newest.
static void play(stream_client *client, int steps)
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
    for (int step = 1; step <= steps; step++) {
        push(&client->ws, step);
        ws_client_control(&client->ws, TARN_CONTROL_STEP, NULL);
        while (client->frame.head.step < (uint64_t)step) {
            stream_client_see(client);
        }
    }
    while (client->frame.head.kind != TARN_STREAM_KEY) {
        stream_client_see(client);
    }
}

typedef struct water {
    uint64_t step;
    uint32_t epoch, count;
    uint16_t positions[4 << 15];
} water;

static void keep_water(const stream_client *client, water *seen)
{
    seen->step = client->frame.head.step;
    seen->epoch = client->frame.head.epoch;
    seen->count = client->particles.count;
    assert_true(seen->count > 1000 && 8 * (size_t)seen->count <= sizeof seen->positions);
    memcpy(seen->positions, client->particles.positions, 8 * (size_t)seen->count);
}

/// What a tank shows first is what it showed last. @param starts  of the server since
static void expect_water(stream_client *client, const water *seen, uint32_t starts)
{
    stream_client_see(client);
    assert_int_equal(client->frame.head.kind, TARN_STREAM_KEY);
    assert_int_equal(client->frame.head.step, seen->step);
    assert_int_equal(client->frame.head.epoch, seen->epoch + starts); // what came behind it may have been lost
    assert_int_equal(client->particles.count, seen->count);
    assert_memory_equal(client->particles.positions, seen->positions, 8 * (size_t)seen->count);
}

/// Waits until the store has had time to commit.
static void wait_for_commit(void)
{
    usleep(4 * COMMIT_MS * 1000);
}

static void kill_server(void)
{
    assert_int_equal(kill(server.pid, SIGKILL), 0);
    assert_int_equal(server_wait(&server), 128 + SIGKILL);
}

static void test_a_killed_server_comes_back_with_its_tanks_and_links(void **state)
{
    (void)state;
    enum { STEPS = 90 };
    static water mine_seen, first_seen;
    stream_client first, mine;
    char name[64], own[64], play_key[64], first_own[64];
    start("small-dam", "watch");
    server_owners_key(dir, first_own, sizeof first_own);
    assert_int_equal(server_request(server.port, "POST", "/sessions", json,
                                    "{\"scene\":\"small-pool\",\"name\":\"Ada's\",\"listed\":true}", answer,
                                    sizeof answer),
                     201);
    text_of("session", name, sizeof name);
    text_of("own", own, sizeof own);
    text_of("play", play_key, sizeof play_key);
    assert_int_equal(join(&first, "main", first_own), TARN_ROLE_OWN);
    play(&first, STEPS);
    assert_int_equal(join(&mine, name, own), TARN_ROLE_OWN); // who reads nothing for 25 s is let go
    play(&mine, STEPS + 7);
    keep_water(&first, &first_seen);
    keep_water(&mine, &mine_seen);
    wait_for_commit();
    for (int round = 0; round < 2; round++) {
        if (round == 0) {
            kill_server();
        } else {
            server_stop(&server);
        }
        stream_client_close(&first);
        stream_client_close(&mine);
        start("small-dam", "watch");
        assert_int_equal(server_request(server.port, "GET", "/sessions", "", NULL, answer, sizeof answer), 200);
        assert_non_null(strstr(answer, "Ada's"));
        assert_int_equal(join(&first, name, ""), TARN_ROLE_WATCH);
        stream_client_close(&first);
        assert_int_equal(join(&first, name, "0123456789abcdef0123456789abcdef"), -1);
        stream_client_close(&first);
        assert_int_equal(join(&first, "main", first_own), TARN_ROLE_OWN);
        assert_int_equal(join(&mine, name, play_key), TARN_ROLE_PLAY);
        expect_water(&first, &first_seen, 1 + (uint32_t)round);
        expect_water(&mine, &mine_seen, 1 + (uint32_t)round);
    }
    // It goes on from there, and what a new viewer does counts.
    for (uint32_t sequence = 0; sequence < 3; sequence++) {
        push(&first.ws, 1);
        ws_client_control(&first.ws, TARN_CONTROL_STEP, NULL);
    }
    while (first.frame.head.step < first_seen.step + 3) {
        stream_client_see(&first);
    }
    // A session that its owner ends is no more, nor is its file.
    char path[128];
    snprintf(path, sizeof path, "%s.tank", name);
    assert_int_equal(access(in_dir(path), F_OK), 0);
    char request[256], headers[256];
    snprintf(request, sizeof request, "/sessions/%s", name);
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", own);
    assert_int_equal(server_request(server.port, "DELETE", request, headers, NULL, answer, sizeof answer), 200);
    for (int i = 0; i < 100 && access(in_dir(path), F_OK) == 0; i++) {
        usleep(20000);
    }
    assert_int_equal(access(in_dir(path), F_OK), -1);
    stream_client_close(&first);
    stream_client_close(&mine);
    server_stop(&server);
}

static void test_another_scene_begins_afresh_with_the_same_links(void **state)
{
    (void)state;
    static water seen;
    stream_client client;
    char own[64];
    start("small-dam", "watch");
    server_owners_key(dir, own, sizeof own);
    assert_int_equal(join(&client, "main", own), TARN_ROLE_OWN);
    play(&client, 20);
    // A scene that an owner loads is kept like any other.
    ws_client_control(&client.ws, TARN_CONTROL_LOAD, "small-pool");
    const uint32_t epoch = client.frame.head.epoch;
    while (client.frame.head.epoch == epoch) {
        stream_client_see(&client);
    }
    ws_client_control(&client.ws, TARN_CONTROL_PAUSE, NULL);
    do {
        stream_client_see(&client);
    } while ((client.frame.head.flags & TARN_FRAME_FLAG_PAUSED) == 0 || client.frame.head.kind != TARN_STREAM_KEY);
    keep_water(&client, &seen);
    stream_client_close(&client);
    server_stop(&server);

    start("small-dam", "watch");
    assert_int_equal(join(&client, "main", own), TARN_ROLE_OWN);
    expect_water(&client, &seen, 1);
    stream_client_close(&client);
    server_stop(&server);

    start("small-pool", "watch");
    assert_int_equal(join(&client, "main", own), TARN_ROLE_OWN);
    stream_client_see(&client);
    assert_true(client.frame.head.step < seen.step + 600 && (client.frame.head.flags & TARN_FRAME_FLAG_PAUSED) == 0);
    assert_non_null(strstr(server_said(&server), "starts afresh with small-pool"));
    stream_client_close(&client);
    server_stop(&server);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/// A scene with a file of its own, which lies in a folder of its own.
static void write_own_scene(const char *folder, double height_m)
{
    static const char box[] = "v 0 0 0\nv .2 0 0\nv 0 .2 0\nv .2 .2 0\nv 0 0 .2\nv .2 0 .2\nv 0 .2 .2\nv .2 .2 .2\n"
                              "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n";
    char scene[512];
    snprintf(scene, sizeof scene,
             "{\"title\": \"Own\", \"size_m\": [1, 0.5, 0.5], \"cell_m\": 0.0625, \"particles_per_axis\": 2, "
             "\"blocks\": [{\"min_m\": [0, 0, 0], \"max_m\": [0.5, %.2f, 0.5]}], "
             "\"solids\": [{\"shape\": {\"mesh\": {\"file\": \"box.obj\"}}, \"position_m\": [0.7, 0.1, 0.25]}]}",
             height_m);
    write_text(folder, "own.json", scene);
    write_text(folder, "box.obj", box);
}

static void start_with_scenes(const char *scenes)
{
    const char *const options[] = {"--scenes", scenes,         "--scene", "small-dam", "--guests", "watch", "--store",
                                   dir,        "--durability", "50",      "--devices", "cpu,cpu",  NULL};
    server_start(&server, options);
}

static int count_said(const char *words)
{
    int count = 0;
    for (const char *at = server_said(&server); (at = strstr(at, words)) != NULL; at++) {
        count++;
    }
    return count;
}

/// The water after the same steps from the scene's beginning, with the same pushes.
static void expect_beginning(stream_client *client, const water *seen)
{
    play(client, (int)seen->step);
    assert_int_equal(client->frame.head.step, seen->step);
    assert_int_equal(client->particles.count, seen->count);
    assert_memory_equal(client->particles.positions, seen->positions, 8 * (size_t)seen->count);
}

/// What a page draws: the scene that the tank was made from, for whoever may join it.
static void expect_own_scene(const char *session, const char *key, const char *height)
{
    char target[160], header[128] = "", found[64];
    if (key != NULL) {
        snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", key);
    }
    snprintf(target, sizeof target, "/sessions/%s/scene/own.json", session);
    snprintf(found, sizeof found, "\"max_m\": [0.5, %s, 0.5]", height);
    assert_int_equal(server_request(server.port, "GET", target, header, NULL, answer, sizeof answer), 200);
    assert_non_null(strstr(answer, found));
    snprintf(target, sizeof target, "/sessions/%s/scene/box.obj", session);
    assert_int_equal(server_request(server.port, "GET", target, header, NULL, answer, sizeof answer), 200);
    assert_non_null(strstr(answer, "f 1 3 4 2"));
}

static void expect_no_own_scene(const char *session, const char *file, const char *key, int status)
{
    char target[256], header[128] = "";
    if (key != NULL) {
        snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", key);
    }
    snprintf(target, sizeof target, "/sessions/%s/scene/%s", session, file);
    assert_int_equal(server_request(server.port, "GET", target, header, NULL, answer, sizeof answer), status);
}

/// A file that is carried to where its scene isn't, or is another one, goes on at the same step with the scene as it
/// was, also where the tank starts afresh, loses its worker or moves to another one.
static void test_a_tank_has_its_scene_with_it(void **state)
{
    (void)state;
    enum { STEPS = 40 };
    static water seen;
    stream_client client;
    char scenes[64] = "/tmp/tarn-own-XXXXXX", elsewhere[96], name[64], own[64], request[128], headers[160];
    assert_non_null(mkdtemp(scenes));
    write_own_scene(scenes, 0.4);
    write_text(scenes, "small-dam.json",
               "{\"size_m\": [1, 0.5, 0.5], \"cell_m\": 0.0625, \"blocks\": [{\"min_m\": [0, 0, 0], \"max_m\": [0.5, "
               "0.4, 0.5]}]}");
    start_with_scenes(scenes);
    char key[64];
    server_owners_key(dir, key, sizeof key);
    snprintf(headers, sizeof headers, "%sAuthorization: Bearer %s\r\n", json, key);
    assert_int_equal(server_request(server.port, "POST", "/sessions", headers, "{\"scene\":\"own\",\"listed\":false}",
                                    answer, sizeof answer),
                     201);
    text_of("session", name, sizeof name);
    text_of("own", own, sizeof own);
    assert_int_equal(join(&client, name, own), TARN_ROLE_OWN);
    play(&client, STEPS);
    keep_water(&client, &seen);
    wait_for_commit();
    kill_server();
    stream_client_close(&client);
    snprintf(elsewhere, sizeof elsewhere, "%s-moved", dir);
    assert_int_equal(rename(dir, elsewhere), 0);
    snprintf(dir, sizeof dir, "%.79s", elsewhere);

    // There is no scene of that name.
    start_with_scenes(TARN_TEST_SCENES);
    assert_int_equal(join(&client, name, own), TARN_ROLE_OWN);
    expect_water(&client, &seen, 1);
    assert_int_equal(count_said("it is there no more"), 1);
    expect_own_scene(name, own, "0.40");
    expect_own_scene(name, NULL, "0.40"); // guests watch
    expect_no_own_scene(name, "own.json", "no-key", 403);
    expect_no_own_scene(name, "other.json", own, 404);
    expect_no_own_scene(name, "../own.json", own, 400); // no path of a request has one
    expect_no_own_scene(name, "", own, 404);
    expect_no_own_scene("no-such", "own.json", NULL, 404);
    assert_null(strstr(server_said(&server), name)); // which opens it
    expect_beginning(&client, &seen);
    wait_for_commit();
    assert_int_equal(kill(server_worker_at(&server, 1), SIGKILL), 0);
    assert_int_equal(kill(server_worker_at(&server, 0), SIGKILL), 0);
    tarn_message message;
    do {
        assert_true(ws_client_wait(&client.ws, TARN_MESSAGE_STATE, &message));
    } while (message.state.worker_ready == 0);
    expect_beginning(&client, &seen);
    snprintf(request, sizeof request, "/sessions/%s/move", name);
    for (int tries = 0;; tries++) { // its worker may have moved it just now
        const unsigned status = server_request(server.port, "POST", request, "", NULL, answer, sizeof answer);
        if (status == 202 || tries == 50) {
            assert_int_equal(status, 202);
            break;
        }
        usleep(100000);
    }
    for (int i = 0; i < 200 && server_metric(server.port, "tarn_moves_total") == 0; i++) {
        usleep(50000);
    }
    assert_true(server_metric(server.port, "tarn_moves_total") == 1);
    expect_own_scene(name, own, "0.40");
    expect_beginning(&client, &seen);
    wait_for_commit();
    stream_client_close(&client);
    server_stop(&server);

    // There is another one of that name.
    write_own_scene(scenes, 0.3);
    start_with_scenes(scenes);
    assert_int_equal(join(&client, name, own), TARN_ROLE_OWN);
    stream_client_see(&client);
    assert_int_equal(count_said("it has changed"), 1);
    expect_own_scene(name, own, "0.40");
    assert_int_equal(client.frame.head.step, seen.step);
    expect_beginning(&client, &seen);
    assert_null(strstr(server_said(&server), name)); // which opens it
    // Whoever loads it means the one that is there.
    ws_client_control(&client.ws, TARN_CONTROL_LOAD, "own");
    const uint32_t epoch = client.frame.head.epoch;
    while (client.frame.head.epoch == epoch) {
        stream_client_see(&client);
    }
    assert_true(client.particles.count < seen.count);
    expect_own_scene(name, own, "0.30");
    stream_client_close(&client);
    server_stop(&server);
    assert_int_equal(server_remove_store(scenes), 0);
}

static void damage(const char *name, off_t at)
{
    static const char garbage[256] = "garbage";
    const int fd = open(in_dir(name), O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, garbage, sizeof garbage, at), sizeof garbage);
    close(fd);
}

static void test_a_damaged_file_is_set_aside_and_named(void **state)
{
    (void)state;
    char name[64];
    start("small-dam", "own");
    assert_int_equal(server_request(server.port, "POST", "/sessions", json,
                                    "{\"scene\":\"small-pool\",\"listed\":true}", answer, sizeof answer),
                     201);
    text_of("session", name, sizeof name);
    wait_for_commit();
    server_stop(&server);
    char file[128], aside[128];
    snprintf(file, sizeof file, "%s.tank", name);
    snprintf(aside, sizeof aside, "%s.damaged", name);
    damage(file, 0);
    start("small-dam", "own");
    char said[64]; // nobody knows whether its name may be said
    snprintf(said, sizeof said, "/%.2s....damaged", name);
    assert_non_null(strstr(server_said(&server), said));
    assert_null(strstr(server_said(&server), name));
    assert_int_equal(access(in_dir(aside), F_OK), 0);
    assert_int_equal(access(in_dir(file), F_OK), -1);
    assert_int_equal(server_request(server.port, "GET", "/sessions", "", NULL, answer, sizeof answer), 200);
    assert_non_null(strstr(answer, "\"main\""));
    server_stop(&server);
}

/// A file whose session isn't listed: whatever befalls it, its name stays out of the log.
static void test_the_log_keeps_a_link_to_itself(void **state)
{
    (void)state;
    static const char *const besides[] = {"", "-wal"};
    char name[64], file[128];
    start("small-dam", "own");
    assert_int_equal(server_request(server.port, "POST", "/sessions", json,
                                    "{\"scene\":\"small-pool\",\"listed\":false}", answer, sizeof answer),
                     201);
    text_of("session", name, sizeof name);
    wait_for_commit();
    // It can't be written any more, nor read by the next one.
    snprintf(file, sizeof file, "%s.tank", name);
    for (int i = 0; i < 2; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s%s", file, besides[i]);
        for (int tries = 0; access(in_dir(path), F_OK) != 0 && tries < 200; tries++) {
            usleep(100000); // on a busy machine the first commit comes later
        }
        const int fd = open(in_dir(path), O_WRONLY);
        assert_int_equal(ftruncate(fd, 5000), 0);
        close(fd);
    }
    usleep(1500000);
    server_stop(&server);
    damage(file, 4096);
    start("small-dam", "own");
    assert_null(strstr(server_said(&server), name));
    server_stop(&server);
    close(open(in_dir(file), O_WRONLY | O_CREAT, 0600));
    snprintf(file, sizeof file, "%s.tank-journal", name);
    assert_int_equal(mkfifo(in_dir(file), 0600), 0);
    start("small-dam", "own");
    assert_int_equal(count_said("it is no regular file"), 1);
    assert_null(strstr(server_said(&server), name));
    server_stop(&server);
}

/// What nobody uses any more goes, and the log says so; what a tank uses stays, however old and large.
static void test_the_folder_has_a_limit(void **state)
{
    (void)state;
    static const struct timespec long_ago[2] = {{1000, 0}, {1000, 0}};
    start("small-dam", "own");
    wait_for_commit();
    server_stop(&server);
    static const char *const names[] = {"main.tank", "old.damaged", "new.damaged"};
    for (int i = 0; i < 3; i++) {
        const int fd = open(in_dir(names[i]), O_WRONLY | O_CREAT, 0600);
        assert_true(fd >= 0 && (i == 0 || ftruncate(fd, 1000000) == 0));
        assert_int_equal(i < 2 ? futimens(fd, long_ago) : 0, 0);
        close(fd);
    }
    const char *const options[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-dam", "--store", dir, "--durability",
                                   "50",       "--store-max",    "2k",      NULL};
    for (int round = 0; round < 2; round++) {
        if (round == 0) {
            start("small-dam", "own");
        } else {
            server_start(&server, options);
        }
        wait_for_commit();
        assert_int_equal(access(in_dir("old.damaged"), F_OK), -1);
        assert_int_equal(access(in_dir("new.damaged"), F_OK), round == 0 ? 0 : -1);
        assert_int_equal(access(in_dir("main.tank"), F_OK), 0);
        assert_non_null(strstr(server_said(&server), round == 0 ? "/ol....damaged: deleted: older than --store-age"
                                                                : "/ne....damaged: deleted: more than --store-max"));
        assert_int_equal(strstr(server_said(&server), "more than --store-max; they stay") != NULL, round == 1);
        server_stop(&server);
    }
}

static void test_wrong_limits_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *option, *value, *sentence;
    } cases[] = {
        {"--store-max", "0", "--store-max: found \"0\""}, {"--store-max", "3T", "allowed is a whole number"},
        {"--store-max", "-1M", "nothing, k, M or G"},     {"--store-age", "30", "--store-age: found \"30\""},
        {"--store-age", "59m", "allowed is 1h and more"}, {"--store-age", "1000001d", "s, m, h or d"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const options[] = {"--store", dir, cases[i].option, cases[i].value, NULL};
        server_spawn(&server, options);
        assert_int_equal(server_wait(&server), 2);
        if (strstr(server.err, cases[i].sentence) == NULL) {
            fail_msg("case %zu: %s", i, server.err);
        }
    }
}

static void test_what_can_not_be_a_store_is_refused_with_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *dir, *durability, *sentence;
        int status;
    } cases[] = {
        {"", "100", "--store: found a path of 0 bytes", 1},
        {"/dev/null", "100", "--store /dev/null", 1},
        {"/tmp/no/such/folder", "100", "it can't be made", 1},
        {NULL, "9", "--durability: found \"9\"", 2},
        {NULL, "10001", "allowed is", 2},
        {NULL, "1e3", "allowed is", 2},
    };
    static server_process second;
    start("small-dam", "own");
    for (size_t i = 0; i <= sizeof cases / sizeof cases[0]; i++) {
        const bool is_taken = i == sizeof cases / sizeof cases[0];
        const char *const options[] = {"--port",
                                       "0",
                                       "--scenes",
                                       TARN_TEST_SCENES,
                                       "--scene",
                                       "small-dam",
                                       "--store",
                                       is_taken || cases[i].dir == NULL ? dir : cases[i].dir,
                                       "--durability",
                                       is_taken ? "100" : cases[i].durability,
                                       NULL};
        server_spawn(&second, options);
        assert_int_equal(server_wait(&second), is_taken ? 1 : cases[i].status);
        if (strstr(second.err, is_taken ? "another tarnd keeps its tanks there" : cases[i].sentence) == NULL) {
            fail_msg("case %zu: %s", i, second.err);
        }
    }
    server_stop(&server);
    // The first tank's file is there and can't be read: nothing is put over it.
    const char *const again[] = {"--port",  "0", "--scenes", TARN_TEST_SCENES, "--scene", "small-dam",
                                 "--store", dir, NULL};
    char away[512];
    snprintf(away, sizeof away, "%s", in_dir("away.tank"));
    assert_int_equal(rename(in_dir("main.tank"), away), 0);
    assert_int_equal(mkdir(in_dir("main.tank"), 0700), 0);
    server_spawn(&second, again);
    assert_int_equal(server_wait(&second), 1);
    assert_non_null(strstr(second.err, "main.tank"));
    assert_int_equal(rmdir(in_dir("main.tank")), 0);
    assert_int_equal(rename(away, in_dir("main.tank")), 0);
    // A secret that others can read is none.
    assert_int_equal(chmod(in_dir("secret"), 0644), 0);
    const char *const options[] = {"--port",  "0", "--scenes", TARN_TEST_SCENES, "--scene", "small-dam",
                                   "--store", dir, NULL};
    server_spawn(&second, options);
    assert_int_equal(server_wait(&second), 1);
    assert_non_null(strstr(second.err, "others may read it"));
}

/// Waits until the server says so.
static void wait_metric(const char *name, double value)
{
    for (int i = 0; i < 600 && server_metric(server.port, name) != value; i++) {
        usleep(100000);
    }
    if (server_metric(server.port, name) != value) {
        fail_msg("%s is %g, not %g; the server said:\n%s", name, server_metric(server.port, name), value,
                 server_said(&server));
    }
}

static void expect_second_refused(void)
{
    static server_process second;
    const char *const options[] = {"--port", "0", "--scenes", TARN_TEST_SCENES, "--store", dir, NULL};
    server_spawn(&second, options);
    assert_int_equal(server_wait(&second), 1);
    assert_non_null(strstr(second.err, "another tarnd keeps its tanks there"));
}

static void expect_told(stream_client *client, const char *words)
{
    tarn_message message;
    while (strstr(client->ws.told, words) == NULL) {
        assert_true(ws_client_wait(&client->ws, TARN_MESSAGE_ERROR, &message));
    }
}

/// A file without a name takes all that is written: that is noticed, said and mended while the server runs.
static void test_what_vanishes_is_written_anew(void **state)
{
    static const char *const files[][4] = {{"main.tank", "main.tank-wal", "main.tank-shm", NULL},
                                           {"main.tank-wal", NULL},
                                           {"lock", "secret", "owner-link", NULL}};
    static water seen;
    char key[128], again[128], away[128];
    stream_client owner;
    double vanished = 0;
    (void)state;
    start("small-dam", "play");
    server_owners_key(dir, key, sizeof key);
    assert_int_equal(join(&owner, "main", key), TARN_ROLE_OWN);
    play(&owner, 30);
    keep_water(&owner, &seen);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const bool is_tank = strncmp(files[i][0], "main", 4) == 0;
        wait_metric("tarn_store_failing", 0);
        for (int f = 0; files[i][f] != NULL; f++) {
            (void)unlink(in_dir(files[i][f]));
        }
        if (is_tank) {
            wait_metric("tarn_store_vanished_total", ++vanished);
            expect_told(&owner, "this tank's file was removed from the server's disk");
            owner.ws.told[0] = '\0';
        }
        for (int f = 0; !is_tank && files[i][f] != NULL; f++) {
            for (int tries = 0; tries < 600 && access(in_dir(files[i][f]), F_OK) != 0; tries++) {
                usleep(100000);
            }
            assert_int_equal(access(in_dir(files[i][f]), F_OK), 0);
        }
        expect_second_refused();
    }
    // All of it, as if a disk had been taken out.
    snprintf(away, sizeof away, "%s-away", dir);
    assert_int_equal(rename(dir, away), 0);
    wait_metric("tarn_store_failing", 1);
    wait_metric("tarn_store_vanished_total", ++vanished);
    assert_int_equal(server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer), 200);
    assert_non_null(strstr(answer, "store: some tanks can't be kept just now"));
    expect_told(&owner, "or its folder was removed");
    assert_int_equal(mkdir(dir, 0700), 0);
    wait_metric("tarn_store_failing", 0);
    expect_told(&owner, "this tank is kept");
    expect_second_refused();
    for (int tries = 0; tries < 600 && access(in_dir("owner-link"), F_OK) != 0; tries++) {
        usleep(100000);
    }
    usleep(4 * COMMIT_MS * 1000);
    assert_int_equal(server_http(server.port, "GET", "/healthz", NULL, answer, sizeof answer), 200);
    assert_non_null(strstr(answer, "store: ok, but files were removed or moved while they were written"));
    assert_int_equal(kill(server.pid, SIGKILL), 0);
    assert_int_equal(server_wait(&server), 128 + SIGKILL);
    stream_client_close(&owner);
    server_owners_key(dir, again, sizeof again);
    assert_string_equal(again, key);
    start("small-dam", "play");
    assert_int_equal(join(&owner, "main", key), TARN_ROLE_OWN);
    expect_water(&owner, &seen, 1);
    stream_client_close(&owner);
    server_stop(&server);
    assert_int_equal(server_remove_store(away), 0);
}

/// A disk of a few megabytes that something else fills: frames go on, owners are told, and what comes later is kept.
static void test_a_full_disk_stops_nothing(void **state)
{
    (void)state;
    static const char filler[65536];
    static water seen;
    stream_client client;
    tarn_message message;
    if (mount("tarn-test", dir, "tmpfs", 0, "size=6m,mode=0700") != 0) {
        print_message("skipped: no file system of a few megabytes can be mounted here: %s\n", strerror(errno));
        skip();
    }
    start("small-dam", "own");
    assert_int_equal(join(&client, "main", ""), TARN_ROLE_OWN);
    stream_client_see(&client);
    wait_for_commit();
    const int fd = open(in_dir("filler"), O_WRONLY | O_CREAT, 0600);
    while (write(fd, filler, sizeof filler) > 0 || write(fd, filler, 1) > 0) {
    }
    close(fd);
    do {
        assert_true(ws_client_wait(&client.ws, TARN_MESSAGE_ERROR, &message));
    } while (strstr(message.error.text, "not kept just now") == NULL);
    assert_true(server_metric(server.port, "tarn_store_failing") == 1);
    assert_true(server_metric(server.port, "tarn_store_failures_total") > 0);
    const uint64_t step = client.frame.head.step;
    while (client.frame.head.step < step + 120) {
        stream_client_see(&client);
    }
    assert_int_equal(unlink(in_dir("filler")), 0);
    do {
        assert_true(ws_client_wait(&client.ws, TARN_MESSAGE_ERROR, &message));
    } while (strstr(message.error.text, "works again") == NULL);
    assert_true(server_metric(server.port, "tarn_store_failing") == 0);
    play(&client, 30);
    keep_water(&client, &seen);
    wait_for_commit();
    kill_server();
    stream_client_close(&client);
    start("small-dam", "own");
    assert_int_equal(join(&client, "main", ""), TARN_ROLE_OWN);
    expect_water(&client, &seen, 1);
    stream_client_close(&client);
    server_stop(&server);
    assert_int_equal(umount(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_killed_server_comes_back_with_its_tanks_and_links, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_another_scene_begins_afresh_with_the_same_links, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_tank_has_its_scene_with_it, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_damaged_file_is_set_aside_and_named, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_the_log_keeps_a_link_to_itself, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_the_folder_has_a_limit, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_wrong_limits_are_refused, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_what_can_not_be_a_store_is_refused_with_a_sentence, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_what_vanishes_is_written_anew, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_full_disk_stops_nothing, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
