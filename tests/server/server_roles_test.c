// Roles, cell by cell: every message of each role to a running server, and every method of each role at every kind of
// path. Messages are the golden vectors.
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_BYTES = 16384, GUEST = TARN_ROLE_COUNT };

static server_process server;
static char answer[ANSWER_BYTES];
static char store[] = "/tmp/tarn-roles-XXXXXX";
static tarn_key keys[TARN_ROLE_COUNT + 1]; ///< the last: none

/// Joins. @param pass  empty: as a guest
static tarn_message come(ws_client *client, const char *pass)
{
    tarn_message message = {.kind = TARN_MESSAGE_JOIN};
    assert_int_equal(ws_client_open(client, server.port, "/ws", "tarn.v1", NULL), 101);
    ws_client_hello(client);
    snprintf(message.join.session, sizeof message.join.session, "main");
    snprintf(message.join.key, sizeof message.join.key, "%s", pass);
    assert_int_equal(ws_client_tell(client, &message), 0);
    assert_true(ws_client_wait(client, TARN_MESSAGE_JOINED, &message));
    return message;
}

static int start(void **state)
{
    (void)state;
    ws_client client;
    const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--guests",       "watch",
                                     "--create", "owners",         "--store", store,        "--sessions-max", "20",
                                     NULL};
    assert_non_null(mkdtemp(store));
    server_start(&server, arguments);
    server_owners_key(store, keys[TARN_ROLE_OWN], sizeof(tarn_key));
    const tarn_message joined = come(&client, keys[TARN_ROLE_OWN]);
    memcpy(keys[TARN_ROLE_WATCH], joined.joined.watch_key, sizeof(tarn_key));
    memcpy(keys[TARN_ROLE_PLAY], joined.joined.play_key, sizeof(tarn_key));
    ws_client_close(&client);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    server_stop(&server);
    return server_remove_store(store);
}

static size_t read_vector(const char *name, uint8_t *bytes, size_t bytes_max)
{
    char path[512];
    snprintf(path, sizeof path, "%s/message-%s.bin", TARN_TEST_GOLDEN, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    const size_t got = fread(bytes, 1, bytes_max, file);
    fclose(file);
    assert_true(got > 0 && got < bytes_max);
    return got;
}

/// Says something and waits for the answer to a ping behind it. @return whether the role was refused
static bool is_refused(const char *pass, const char *vector)
{
    static uint8_t bytes[TARN_MESSAGE_BYTES_MAX];
    ws_client client;
    tarn_message message = {.kind = TARN_MESSAGE_PING};
    bool refused = false;
    int pongs = 0;
    come(&client, pass);
    const size_t byte_count = read_vector(vector, bytes, sizeof bytes);
    assert_int_equal(ws_client_send(&client, WS_BINARY, bytes, byte_count), 0);
    assert_int_equal(ws_client_tell(&client, &message), 0);
    while (pongs < 2) { // what was queued before the first has come before the second
        ws_message raw;
        assert_int_equal(ws_client_next(&client, &raw, WS_CLIENT_WAIT_MS), 1);
        if (raw.opcode != WS_BINARY || tarn_message_read(raw.bytes, raw.byte_count, &message, NULL) != TARN_OK) {
            continue;
        }
        refused |= message.kind == TARN_MESSAGE_ERROR && message.error.code == TARN_ERROR_ROLE;
        if (message.kind == TARN_MESSAGE_PONG) {
            pongs++;
            message = (tarn_message){.kind = TARN_MESSAGE_PING};
            assert_int_equal(ws_client_tell(&client, &message), 0);
        }
    }
    ws_client_close(&client);
    return refused;
}

static void test_each_message_of_each_role(void **state)
{
    (void)state;
    static const struct {
        const char *vector;
        const char *may; ///< watch, play, own, guests, who watch here
    } cases[] = {
        {"ack", "yyyy"},
        {"ping", "yyyy"},
        {"view", "yyyy"},
        {"presence", "yyyy"},
        {"profile", "yyyy"},
        {"input-pointer", "nyyn"},
        {"input-pointer-dye", "nyyn"},
        {"input-controller", "nyyn"},
        {"input-hand", "nyyn"},
        {"input-orientation", "nyyn"},
        {"input-motion", "nyyn"},
        {"input-parameter", "nnyn"},
        {"control-pause", "nnyn"},
        {"control-load", "nnyn"},
        {"control-speed", "nnyn"},
        {"moderate", "nnyn"},
        {"lock-nothing", "nnyn"},
    };
    static const struct {
        const char *vector, *may;
    } locked_cases[] = {
        {"lock", "nnyn"}, // dye, wall, tilt and camera; parameters are open
        {"input-pointer", "nyyn"},
        {"input-pointer-dye", "nnyn"},
        {"input-controller", "nyyn"},
        {"input-hand", "nyyn"},
        {"input-orientation", "nnyn"},
        {"input-motion", "nnyn"},
        {"input-motion-gone", "nyyn"},
        {"input-parameter", "nyyn"},
        {"control-pause", "nnyn"},
        {"lock-nothing", "nnyn"},
        {"input-pointer-dye", "nyyn"},
        {"input-parameter", "nnyn"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int role = 0; role <= GUEST; role++) {
            if (is_refused(keys[role], cases[i].vector) != (cases[i].may[role] == 'n')) {
                fail_msg("%s of role %d: expected %c", cases[i].vector, role, cases[i].may[role]);
            }
        }
    }
    for (size_t i = 0; i < sizeof locked_cases / sizeof locked_cases[0]; i++) {
        for (int role = 0; role <= GUEST; role++) {
            if (is_refused(keys[role], locked_cases[i].vector) != (locked_cases[i].may[role] == 'n')) {
                fail_msg("%s of role %d, %zu with locks: expected %c", locked_cases[i].vector, role, i,
                         locked_cases[i].may[role]);
            }
        }
    }
}

static void test_each_method_of_each_role(void **state)
{
    (void)state;
    static const struct {
        const char *method, *path, *body;
        int status[TARN_ROLE_COUNT + 1]; ///< watch, play, own, no key
    } cases[] = {
        {"GET", "/healthz", NULL, {200, 200, 200, 200}},
        {"HEAD", "/healthz", NULL, {200, 200, 200, 200}},
        {"POST", "/healthz", "{}", {405, 405, 405, 405}},
        {"DELETE", "/healthz", NULL, {405, 405, 405, 405}},
        {"GET", "/metrics", NULL, {200, 200, 200, 200}},
        {"GET", "/sessions", NULL, {200, 200, 200, 200}},
        {"HEAD", "/sessions", NULL, {200, 200, 200, 200}},
        {"POST", "/sessions", "{\"scene\":\"small-pool\"}", {403, 403, 201, 403}},
        {"DELETE", "/sessions", NULL, {405, 405, 405, 405}},
        {"GET", "/sessions/main", NULL, {405, 405, 405, 405}},
        {"DELETE", "/sessions/main", NULL, {403, 403, 409, 403}}, // it lasts
        {"GET", "/sessions/main/move", NULL, {405, 405, 405, 405}},
        {"POST", "/sessions/main/move", "{}", {403, 403, 409, 403}}, // there is no other worker
        {"DELETE", "/sessions/main/move", NULL, {405, 405, 405, 405}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int role = 0; role <= GUEST; role++) {
            char headers[512];
            // From elsewhere: who sits at this machine may move tanks.
            snprintf(headers, sizeof headers, "Content-Type: application/json\r\nX-Forwarded-For: 192.0.2.1\r\n%s%s%s",
                     role < GUEST ? "Authorization: Bearer " : "", keys[role], role < GUEST ? "\r\n" : "");
            const int status = server_request(server.port, cases[i].method, cases[i].path, headers, cases[i].body,
                                              answer, sizeof answer);
            if (status != cases[i].status[role]) {
                fail_msg("%s %s of role %d: %d instead of %d", cases[i].method, cases[i].path, role, status,
                         cases[i].status[role]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_message_of_each_role),
        cmocka_unit_test(test_each_method_of_each_role),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
