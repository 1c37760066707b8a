// Scenes that owners upload: what comes of them, who may, what is refused and why, and what is left of it.
#include "server/base/clock.h"
#include "server/base/limits.h"
#include "tests/sanitized.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/tls_client.h"
#include "tests/server/upload_kit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char ducks[] = TARN_TEST_SHIPPED "/floating-ducks.json", duck[] = TARN_TEST_SHIPPED "/duck.obj";

static void make_ducks(void)
{
    archive_free(&made);
    archive_add_file(&made, "mine/duck.obj", duck);
    archive_add_file(&made, "mine/floating-ducks.json", ducks);
    archive_add_text(&made, "mine/other.obj", "v 0 0 0\n");
    archive_end(&made);
}

static void test_a_scene_becomes_a_tank_and_comes_back_as_it_was(void **state)
{
    (void)state;
    char body[256], target[256], session[64];
    tarn_name id;
    ws_client client;
    start("--uploads", "64M");
    make_ducks();
    expect(upload(), 201, "\"name\":\"floating-ducks\",\"title\":\"Floating ducks\"");
    assert_non_null(strstr(answer, "\"files\":2")); // but for what the scene doesn't name
    snprintf(id, sizeof id, "%s", text_of("scene"));
    assert_int_equal(strlen(id), strlen("upload-") + TARN_GATEWAY_UPLOADS_ID_LETTERS);
    expect(ask("GET", "/sessions/main/scenes", own, NULL), 200, id);
    assert_int_equal(ask("GET", "/sessions", own, NULL), 200);
    assert_null(strstr(answer, id)); // nobody else is told of it
    assert_null(strstr(answer, "floating-ducks"));

    enter(&client);
    ws_client_control(&client, TARN_CONTROL_LOAD, id);
    expect_scene(&client, "floating-ducks");
    snprintf(body, sizeof body, "{\"scene\": \"%s\", \"listed\": false}", id);
    expect(ask("POST", "/sessions", own, body), 201, "keys");
    snprintf(session, sizeof session, "%s", text_of("session"));

    snprintf(target, sizeof target, "/sessions/main/scenes/%s", id);
    assert_int_equal(ask("DELETE", target, own, NULL), 200);
    assert_int_equal(count_files(folder), 0);
    expect(ask("DELETE", target, own, NULL), 404, "no such scene");
    expect(ask("POST", "/sessions", own, body), 400, "there is no scene");
    expect(ask("POST", "/sessions", own, "{\"scene\": \"smal-pool\"}"), 400,
           "there is no scene \\\"smal-pool\\\"; did you mean \\\"small-pool\\\"?");
    ws_frame frame;
    assert_true(ws_client_wait_frame(&client, &frame));
    const uint32_t epoch = frame.epoch;
    ws_client_control(&client, TARN_CONTROL_RESET, NULL);
    while (frame.epoch == epoch) { // the tank has its own copy
        assert_true(ws_client_wait_frame(&client, &frame));
    }
    assert_string_equal(client.state.scene, "floating-ducks");
    ws_client_close(&client);

    // What it was made from is what was uploaded, and may be again.
    take_archive("/sessions/main/scene/made.tar", own);
    expect(upload(), 201, "\"files\":2");
    assert_null(strstr(server_said(&server), id)); // which opens the scene
    server_stop(&server);
}

static void test_who_may(void **state)
{
    (void)state;
    ws_client client;
    tarn_message joined;
    start("--uploads", "64M");
    enter(&client);
    assert_true(ws_client_wait(&client, TARN_MESSAGE_JOINED, &joined));
    make_pool();
    expect(upload_by("main", joined.joined.watch_key, ""), 403, "only with the owners' key");
    expect(upload_by("main", joined.joined.play_key, ""), 403, "only with the owners' key");
    expect(upload_by("main", "", ""), 403, "only with the owners' key");
    expect(upload_by("other", own, ""), 404, "no such session");
    expect(upload_by("main", own, "Origin: http://else.example\r\n"), 403, "origin");
    expect(ask("GET", "/sessions/main/scenes", joined.joined.play_key, NULL), 403, "only with the owners' key");
    expect(ask("DELETE", "/sessions/main/scenes/a", joined.joined.play_key, NULL), 403, "only with the owners' key");
    assert_int_equal(ask("POST", "/sessions/main/scene", own, "{}"), 405);
    assert_int_equal(ask("POST", "/sessions/main/scenes/a", own, "{}"), 405);
    assert_int_equal(ask("DELETE", "/sessions/main/scenes", own, NULL), 405);
    assert_int_equal(count_files(folder), 0);
    expect(upload_by("main", joined.joined.visit_key, ""), 201, "My pool"); // of a viewer who owns it
    ws_client_close(&client);
    server_stop(&server);
}

static void test_a_server_takes_none_unless_it_is_told_to(void **state)
{
    (void)state;
    start(NULL, NULL);
    make_pool();
    expect(upload(), 409, "started without --uploads");
    expect(ask("GET", "/sessions/main/scenes", own, NULL), 200, "\"upload_bytes_max\":0");
    assert_int_equal(access(folder, F_OK), -1);
    server_stop(&server);
}

static void test_wrong_scenes_are_named_and_not_kept(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *says;
    } wrong[] = {
        {"pool.json", "{", "pool.json: line 1"},
        {"pool.json", "{\"size_m\": [1, -1, 1]}", "pool.json: size_m[1]: found -1"},
        {"Pool.json", pool, "found the name \\\"Pool\\\""},
        {"pool.obj", "v 0 0 0\n", "found no .json"},
        {"../pool.json", pool, "found no .json"},
    };
    start("--uploads", "64M");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        archive_free(&made);
        archive_add_text(&made, wrong[i].name, wrong[i].text);
        archive_end(&made);
        expect(upload(), 400, wrong[i].says);
    }
    archive_free(&made);
    archive_add_file(&made, "floating-ducks.json", ducks);
    archive_end(&made);
    expect(upload(), 400, "allowed is a file that came along with the scene");
    archive_add_text(&made, "duck.obj", "v 0 0 0\nf 1 2 3\n");
    memmove(made.bytes + made.byte_count - 2048, made.bytes + made.byte_count - 1024, 1024);
    memset(made.bytes + made.byte_count - 1024, 0, 1024);
    expect(upload(), 400, "duck.obj: line 2");
    for (int i = 0; i < 2; i++) { // the rate is limited
        make_pool();
        made.byte_count = 700;
        expect(upload(), 400, "isn't whole");
    }
    assert_int_equal(count_files(folder), 0);
    server_stop(&server);
}

/// The processes that check a scene now. @return how many; the first's pid goes to `pid`
static int find_checks(pid_t *pid)
{
    char path[64], line[512] = "", *at = line;
    int count = 0, used;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)server.pid, (int)server.pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    (void)!fgets(line, sizeof line, file);
    fclose(file);
    for (int child; sscanf(at, "%d%n", &child, &used) == 1; at += used) {
        char command[512] = "";
        snprintf(path, sizeof path, "/proc/%d/cmdline", child);
        file = fopen(path, "re");
        const size_t got = file != NULL ? fread(command, 1, sizeof command - 1, file) : 0;
        if (file != NULL) {
            fclose(file);
        }
        if (memmem(command, got, "--take-scene", 12) != NULL) {
            *pid = count++ == 0 ? (pid_t)child : *pid;
        }
    }
    return count;
}

static pid_t wait_for_checks(int count)
{
    pid_t pid = 0;
    for (int ms = 0; find_checks(&pid) != count; ms += LOOK_MS) {
        if (ms > WAIT_MS) {
            fail_msg("there are never %d checks", count);
        }
        usleep(LOOK_MS * 1000);
    }
    return pid;
}

/// Sends what the other side takes within a moment. @return bytes
static size_t send_what_goes(int fd, const uint8_t *bytes, size_t byte_count)
{
    size_t sent = 0;
    struct pollfd pollfd = {.fd = fd, .events = POLLOUT};
    while (sent < byte_count && poll(&pollfd, 1, 300) > 0) {
        const ssize_t got = send(fd, bytes + sent, byte_count - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        assert_true(got > 0 || errno == EAGAIN);
        sent += got > 0 ? (size_t)got : 0;
    }
    return sent;
}

/// A pool with much beside it that nobody needs.
static void make_large(void)
{
    static uint8_t nothing[8000000];
    archive_free(&made);
    archive_add_text(&made, "pool.json", pool);
    archive_add(&made, "a.stl", '0', nothing, sizeof nothing);
    archive_add(&made, "b.txt", '0', nothing, sizeof nothing);
    archive_add(&made, "c.stl", '0', nothing, sizeof nothing);
    archive_end(&made);
}

/// Whether a line of a process's file says this.
static bool says_line(pid_t pid, const char *file_name, const char *begins, const char *has)
{
    char path[64], line[512];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file_name);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        found |= strncmp(line, begins, strlen(begins)) == 0 && strstr(line, has) != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

/// Waits until a file of the check says so: it limits itself before it reads, and may come to that late.
static void wait_for_line(pid_t check, const char *file_name, const char *begins, const char *has)
{
    for (int ms = 0; !says_line(check, file_name, begins, has); ms += LOOK_MS) {
        if (ms > WAIT_MS) {
            fail_msg("the check's %s never says \"%s%s\"", file_name, begins, has);
        }
        usleep(LOOK_MS * 1000);
    }
}

/// What a check may have and do.
static void expect_confined(pid_t check)
{
    wait_for_line(check, "status", "NoNewPrivs:", "1");
    wait_for_line(check, "status", "Seccomp:", TEST_IS_SANITIZED ? "0" : "2");
    wait_for_line(check, "limits", "Max cpu time", " 20 ");
    wait_for_line(check, "limits", "Max file size", " 33554432 ");
    wait_for_line(check, "limits", "Max core file size", " 0 ");
    if (!TEST_IS_SANITIZED) { // whose shadow takes terabytes
        wait_for_line(check, "limits", "Max address space", " 1073741824 ");
        wait_for_line(check, "limits", "Max open files", " 4 ");
    }
}

static void stop_halfway(void)
{
    make_large();
    const int fd = open_upload("main", own, "", made.byte_count);
    const pid_t check = wait_for_checks(1);
    expect_confined(check);
    kill(check, SIGSTOP);
    const size_t sent = send_what_goes(fd, made.bytes, made.byte_count);
    if (ws_connect_by == NULL) {                 // else another process holds some, too
        assert_true(sent < made.byte_count / 2); // nobody holds the rest
    }
    double resident = server_metric(server.port, "process_resident_memory_bytes"); // which it answers meanwhile
    assert_true(resident > 0);
    kill(check, SIGCONT);
    assert_int_equal(ws_send_raw(fd, made.bytes + sent, made.byte_count - sent), 0);
    expect(close_upload(fd), 201, "\"files\":1");
}

static void test_a_client_waits_where_the_check_does(void **state)
{
    (void)state;
    start("--uploads", "128M");
    stop_halfway();
    server_stop(&server);
}

static void test_the_same_over_tls(void **state)
{
    (void)state;
    char tls[128];
    snprintf(tls, sizeof tls, "%s/tls", store);
    const char *const arguments[] = {
        "--scenes",  TARN_TEST_SCENES, "--scene",  "small-pool", "--guests",          "watch",     "--store", store,
        "--uploads", "128M",           "--create", "owners",     "--tls-self-signed", "--tls-dir", tls,       NULL};
    server_start(&server, arguments);
    server_owners_key(store, own, sizeof own);
    ws_connect_by = tls_connect;
    stop_halfway();
    for (int i = 0; i < 3; i++) {
        expect(upload(), 201, "\"files\":1");
    }
    expect(upload_by("main", "nobody's", ""), 403, "only with");
    ws_connect_by = NULL;
    server_stop(&server);
    assert_int_equal(server_remove_store(tls), 0);
}

/// A drain thinner than a cell, and a parameter beyond what acts: to whom uploads, in the list of tanks, and to
/// viewers.
static void test_what_acts_otherwise_is_told(void **state)
{
    (void)state;
    static const char odd[] = "{\"size_m\": [1, 1, 1], \"cell_m\": 0.0625, \"solver\": {\"kind\": \"jacobi\"}, "
                              "\"blocks\": [{\"min_m\": [0, 0, 0], \"max_m\": [1, 0.25, 1]}], "
                              "\"drains\": [{\"shape\": {\"cylinder\": {\"radius_m\": 0.1, \"height_m\": 0.01}}, "
                              "\"position_m\": [0.5, 0.005, 0.5]}]}";
    static const char drain[] = "drains[0] is 0.01 m thin: it drains as if it were as thick as a cell of 0.0625 m";
    ws_client client;
    tarn_message message;
    char scene[128];
    start("--uploads", "128M");
    enter(&client);
    archive_free(&made);
    archive_add_text(&made, "odd.json", odd);
    archive_end(&made);
    expect(upload(), 201, drain);
    snprintf(scene, sizeof scene, "%s", text_of("scene"));
    ws_client_control(&client, TARN_CONTROL_LOAD, scene);
    do {
        assert_true(ws_client_wait(&client, TARN_MESSAGE_STATE, &message));
    } while (message.state.remark_count == 0);
    assert_int_equal(message.state.remark_count, 1);
    assert_string_equal(message.state.remarks[0], drain);
    expect(ask("GET", "/sessions", own, NULL), 200, drain);
    ws_client_parameter(&client, "relaxation", 1.5f);
    do {
        assert_true(ws_client_wait(&client, TARN_MESSAGE_STATE, &message));
    } while (message.state.remark_count < 2);
    assert_string_equal(message.state.remarks[0], "relaxation: asked for is 1.5, but 1 is what acts");
    ws_client_parameter(&client, "relaxation", 0.5f);
    do {
        assert_true(ws_client_wait(&client, TARN_MESSAGE_STATE, &message));
    } while (message.state.remark_count > 1);
    ws_client_close(&client);
    server_stop(&server);
}

static void test_the_end_of_a_check_harms_nobody(void **state)
{
    (void)state;
    static const struct {
        int signal;
        const char *says;
    } ends[] = {
        {SIGABRT, "the scene's check failed"}, {SIGKILL, "took longer, or more memory"}, {SIGXCPU, "took longer"}};
    ws_client client;
    ws_frame frame;
    start("--uploads", "128M");
    enter(&client);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        make_large();
        const int fd = open_upload("main", own, "", made.byte_count);
        assert_int_equal(ws_send_raw(fd, made.bytes, 100000), 0);
        kill(wait_for_checks(1), ends[i].signal);
        (void)wait_for_checks(0);
        assert_int_equal(ws_send_raw(fd, made.bytes + 100000, made.byte_count - 100000), 0);
        expect(close_upload(fd), 400, ends[i].says);
        assert_true(ws_client_wait_frame(&client, &frame));
    }
    assert_int_equal(count_files(folder), 0);
    make_pool();
    expect(upload(), 201, "My pool");
    ws_client_close(&client);
    server_stop(&server);
}

static void test_who_goes_amid_an_upload_leaves_nothing(void **state)
{
    (void)state;
    start("--uploads", "128M");
    make_large();
    for (size_t bytes = 0; bytes <= 2000000; bytes += 1000000) {
        const int fd = open_upload("main", own, "", made.byte_count);
        (void)wait_for_checks(1);
        assert_int_equal(ws_send_raw(fd, made.bytes, bytes), 0);
        close(fd);
        (void)wait_for_checks(0);
    }
    for (int i = 0; i < 1000 && count_files(folder) > 0; i++) { // the server hears of a check's end later
        usleep(10000);
    }
    assert_int_equal(count_files(folder), 0);
    server_stop(&server);
}

/// Makes a session, and tells its name and its owners' key.
static void make_session(char session[64], char key[64])
{
    expect(ask("POST", "/sessions", own, "{\"scene\": \"small-pool\"}"), 201, "keys");
    snprintf(session, 64, "%s", text_of("session"));
    snprintf(key, 64, "%s", text_of("own"));
}

static void test_two_come_at_once_and_one_of_one_owner(void **state)
{
    (void)state;
    int fds[TARN_GATEWAY_UPLOADING_MAX];
    char sessions[TARN_GATEWAY_UPLOADING_MAX][64], keys[TARN_GATEWAY_UPLOADING_MAX][64];
    start("--uploads", "256M");
    for (int i = 0; i < TARN_GATEWAY_UPLOADING_MAX; i++) {
        make_session(sessions[i], keys[i]);
    }
    make_pool();
    for (int i = 0; i < TARN_GATEWAY_UPLOADING_MAX; i++) {
        fds[i] = open_upload(sessions[i], keys[i], "", made.byte_count);
        assert_int_equal(ws_send_raw(fds[i], made.bytes, 10), 0);
        (void)wait_for_checks(i + 1);
        if (i + 1 < TARN_GATEWAY_UPLOADING_MAX) { // who holds one keeps nobody else from the other
            expect(upload_by(sessions[i], keys[i], ""), 503, "1 scene is being uploaded by you");
        }
    }
    expect(upload(), 503, "2 scenes are being uploaded, which is all at once");
    assert_non_null(strstr(answer, "retry-after"));
    for (int i = 0; i < TARN_GATEWAY_UPLOADING_MAX; i++) {
        assert_int_equal(ws_send_raw(fds[i], made.bytes + 10, made.byte_count - 10), 0);
        expect(close_upload(fds[i]), 201, "My pool");
    }
    server_stop(&server);
}

static void test_what_may_be_kept_is_limited(void **state)
{
    (void)state;
    char target[256];
    start("--uploads", "10k"); // a quarter of one owner
    make_pool();
    expect(upload(), 201, "My pool");
    snprintf(target, sizeof target, "/sessions/main/scenes/%s", text_of("scene"));
    int count = 1;
    while (upload() == 201) {
        count++;
    }
    expect(409, 409, "allowed are 2500 for all of them; remove one first");
    assert_in_range(count, 2, 9);
    assert_int_equal(ask("DELETE", target, own, NULL), 200);
    expect(upload(), 201, "My pool");
    const int fd = open_upload("main", own, "", TARN_GATEWAY_UPLOAD_BYTES_MAX + 1);
    expect(close_upload(fd), 413, "allowed are 33554432 bytes");
    server_stop(&server);
}

/// The newest one goes again, so that the limit of those that are kept isn't met.
static void remove_uploaded(void)
{
    char target[256];
    snprintf(target, sizeof target, "/sessions/main/scenes/%s", text_of("scene"));
    assert_int_equal(ask("DELETE", target, own, NULL), 200);
}

static void test_so_many_a_minute(void **state)
{
    (void)state;
    start("--uploads", "64M");
    make_pool();
    const uint64_t begin_ns = tarn_clock_monotonic_ns();
    for (int i = 0; i < TARN_GATEWAY_UPLOADS_PER_MINUTE; i++) {
        expect(upload(), 201, "My pool");
        remove_uploaded();
    }
    // Where the ten take seconds, there is one more for each tenth of a minute that they took.
    int status = upload();
    for (uint64_t more = 1; status == 201; more++) {
        const uint64_t grown = (tarn_clock_monotonic_ns() - begin_ns) * TARN_GATEWAY_UPLOADS_PER_MINUTE / 60000000000u;
        assert_in_range(more, 1, grown);
        remove_uploaded();
        status = upload();
    }
    expect(status, 429, "allowed are 10 a minute");
    server_stop(&server);
}

/// Runs `tarn token` in the store's folder.
static void mint(const char *session, char *token, size_t token_bytes)
{
    char command[512];
    snprintf(command, sizeof command, "%s token mint --session %s --role own --store %s 2>/dev/null", TARN_TEST_TOOL,
             session, store);
    FILE *pipe = popen(command, "re");
    assert_non_null(pipe);
    assert_non_null(fgets(token, (int)token_bytes, pipe));
    token[strcspn(token, "\n")] = 0;
    assert_int_equal(pclose(pipe), 0);
}

static void test_each_token_has_its_own_share(void **state)
{
    (void)state;
    char tokens[2][600];
    start("--uploads", "10k");
    make_pool();
    for (int i = 0; i < 2; i++) {
        mint("main", tokens[i], sizeof tokens[i]);
        expect(upload_by("main", tokens[i], ""), 201, "My pool");
    }
    while (upload_by("main", tokens[0], "") == 201) {
    }
    expect(409, 409, "the others that you have here");
    expect(upload_by("main", tokens[1], ""), 201, "My pool");
    server_stop(&server);
}

static void test_a_kept_one_outlives_the_server(void **state)
{
    (void)state;
    tarn_name id;
    ws_client client;
    start("--uploads", "64M");
    make_ducks();
    expect(upload(), 201, "Floating");
    snprintf(id, sizeof id, "%s", text_of("scene"));
    enter(&client);
    ws_client_control(&client, TARN_CONTROL_LOAD, id);
    expect_scene(&client, "floating-ducks");
    ws_client_close(&client);
    server_stop(&server);
    char partial[256];
    snprintf(partial, sizeof partial, "%s/main..upload-a.scene-pack.part", folder);
    FILE *file = fopen(partial, "we"); // of one that was killed
    assert_non_null(file);
    fclose(file);

    start("--uploads", "64M");
    expect(ask("GET", "/sessions/main/scenes", own, NULL), 200, id);
    assert_int_equal(count_files(folder), 1);
    enter(&client);
    expect_scene(&client, "floating-ducks"); // its tank, too
    ws_client_control(&client, TARN_CONTROL_LOAD, "small-pool");
    expect_scene(&client, "small-pool");
    ws_client_control(&client, TARN_CONTROL_LOAD, id);
    expect_scene(&client, "floating-ducks");
    ws_client_close(&client);
    server_stop(&server);
}

static void test_a_session_takes_its_scenes_along(void **state)
{
    (void)state;
    char target[256], key[64], session[64];
    start("--uploads", "128M");
    make_session(session, key);
    make_pool();
    expect(upload_by(session, key, ""), 201, "My pool");
    expect(upload_by(session, own, ""), 403, "only with the owners' key");
    expect(upload(), 201, "My pool");
    assert_int_equal(count_files(folder), 2);
    make_large();
    const int fd = open_upload(session, key, "", made.byte_count); // one is on its way
    assert_int_equal(ws_send_raw(fd, made.bytes, 100000), 0);
    (void)wait_for_checks(1);
    snprintf(target, sizeof target, "/sessions/%s", session);
    assert_int_equal(ask("DELETE", target, key, NULL), 200);
    (void)wait_for_checks(0);
    assert_int_equal(ws_send_raw(fd, made.bytes + 100000, made.byte_count - 100000), 0);
    expect(close_upload(fd), 404, "no such session any more");
    assert_int_equal(count_files(folder), 1);
    server_stop(&server);
}

static void test_without_a_store_they_go_with_the_server(void **state)
{
    (void)state;
    ws_client client;
    tarn_message joined;
    assert_int_equal(setenv("TMPDIR", store, 1), 0);
    const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--guests",
                                     "own",      "--uploads",      "64M",     NULL};
    server_start(&server, arguments);
    unsetenv("TMPDIR");
    own[0] = 0; // a guest owns it
    enter(&client);
    assert_true(ws_client_wait(&client, TARN_MESSAGE_JOINED, &joined));
    make_pool();
    expect(upload_by("main", joined.joined.own_key, ""), 201, "My pool");
    assert_int_equal(count_files(store), 1);
    ws_client_control(&client, TARN_CONTROL_LOAD, text_of("scene"));
    expect_scene(&client, "pool");
    ws_client_close(&client);
    server_stop(&server);
    assert_int_equal(count_files(store), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(test_a_scene_becomes_a_tank_and_comes_back_as_it_was),
        WITH_STORE(test_who_may),
        WITH_STORE(test_a_server_takes_none_unless_it_is_told_to),
        WITH_STORE(test_wrong_scenes_are_named_and_not_kept),
        WITH_STORE(test_a_client_waits_where_the_check_does),
        WITH_STORE(test_the_same_over_tls),
        WITH_STORE(test_what_acts_otherwise_is_told),
        WITH_STORE(test_the_end_of_a_check_harms_nobody),
        WITH_STORE(test_who_goes_amid_an_upload_leaves_nothing),
        WITH_STORE(test_two_come_at_once_and_one_of_one_owner),
        WITH_STORE(test_what_may_be_kept_is_limited),
        WITH_STORE(test_so_many_a_minute),
        WITH_STORE(test_each_token_has_its_own_share),
        WITH_STORE(test_a_kept_one_outlives_the_server),
        WITH_STORE(test_a_session_takes_its_scenes_along),
        WITH_STORE(test_without_a_store_they_go_with_the_server),
    };
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
