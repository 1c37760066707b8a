#include "tests/server/kept_tank.h"
#include "tests/server/test_cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char json[] = "Content-Type: application/json\r\n";

kept_tank kept;

int kept_make_dir(void **state)
{
    (void)state;
    snprintf(kept.dir, sizeof kept.dir, "/tmp/tarn-kept-XXXXXX");
    assert_non_null(mkdtemp(kept.dir));
    return 0;
}

int kept_remove_dir(void **state)
{
    (void)state;
    return server_remove_store(kept.dir);
}

void kept_start(const char *scene, const char *const *more)
{
    const char *options[SERVER_ARGUMENTS_MAX] = {"--scenes", TARN_TEST_SCENES, "--scene", scene,          "--guests",
                                                 "watch",    "--store",        kept.dir,  "--durability", "50"};
    int count = 10;
    while (*more != NULL) {
        assert_true(count + 1 < SERVER_ARGUMENTS_MAX);
        options[count++] = *more++;
    }
    options[count] = NULL;
    server_start(&kept.server, options);
    server_owners_key(kept.dir, kept.own, sizeof kept.own);
}

int kept_join(stream_client *client, const char *session, const char *key, tarn_joined *joined)
{
    tarn_message message;
    memset(client, 0, sizeof *client);
    assert_int_equal(ws_client_open(&client->ws, kept.server.port, "/ws", "tarn.v1", NULL), 101);
    assert_int_equal(ws_client_hello(&client->ws), 0);
    assert_int_equal(ws_client_join_by(&client->ws, session, key), 0);
    for (;;) {
        ws_message raw;
        assert_int_equal(ws_client_next(&client->ws, &raw, WS_CLIENT_WAIT_MS), 1);
        if (raw.opcode == WS_BINARY && tarn_message_read(raw.bytes, raw.byte_count, &message, NULL) == TARN_OK &&
            message.kind == TARN_MESSAGE_JOINED) {
            if (joined != NULL) {
                *joined = message.joined;
            }
            return (int)message.joined.role;
        }
    }
}

int kept_ask(const char *session, const char *page, const char *key, const char *body)
{
    char target[128], headers[256] = "";
    snprintf(target, sizeof target, "/sessions/%s/%s", session, page);
    snprintf(headers, sizeof headers, "%s%s%s%s", body != NULL ? json : "", key != NULL ? "Authorization: Bearer " : "",
             key != NULL ? key : "", key != NULL ? "\r\n" : "");
    return server_request(kept.server.port, body != NULL ? "POST" : "GET", target, headers, body, kept.answer,
                          sizeof kept.answer);
}

int kept_ask_t(const char *page, double t_s, const char *more)
{
    char body[512];
    int status = 409;
    snprintf(body, sizeof body, "{\"t\":%.6f%s}", t_s, more);
    for (int i = 0; i < KEPT_TRIES && status == 409; i++) {
        status = kept_ask("main", page, kept.own, body);
        usleep(status == 409 ? 20000 : 0);
    }
    return status;
}

double kept_number(const char *field)
{
    char pattern[64];
    snprintf(pattern, sizeof pattern, "\"%s\":", field);
    const char *at = strstr(kept.answer, pattern);
    assert_non_null(at);
    return strtod(at + strlen(pattern), NULL);
}

void kept_wait_for_commit(void)
{
    usleep(6 * KEPT_COMMIT_MS * 1000);
}

double kept_now_s(void)
{
    kept_wait_for_commit();
    assert_int_equal(kept_ask("main", "history", kept.own, NULL), 200);
    return kept_number("until");
}

void kept_hash(const char *session, char hash[KEPT_HASH_DIGITS + 1])
{
    char command[512], line[256] = "";
    snprintf(command, sizeof command, "%s session export %s/%s.tank --hash --quiet --scenes %s", TARN_TEST_TOOL,
             kept.dir, session, TARN_TEST_SCENES);
    kept_wait_for_commit();
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_int_equal(pclose(pipe), 0);
    snprintf(hash, KEPT_HASH_DIGITS + 1, "%.*s", KEPT_HASH_DIGITS, line);
    assert_int_equal(strlen(hash), KEPT_HASH_DIGITS);
}

void kept_pause(stream_client *client)
{
    ws_client_control(&client->ws, TARN_CONTROL_PAUSE, NULL);
    do {
        stream_client_see(client);
    } while ((client->frame.head.flags & TARN_FRAME_FLAG_PAUSED) == 0);
}

void kept_note(const stream_client *client, kept_moment *noted)
{
    noted->t_s = kept_now_s();
    noted->step = client->frame.head.step;
    kept_hash("main", noted->hash);
}

uint64_t kept_go_back(stream_client *client, double t_s, const char *more)
{
    const uint32_t epoch = client->frame.head.epoch;
    assert_int_equal(kept_ask_t("rewind", t_s, more), 202);
    while (client->frame.head.epoch == epoch) {
        stream_client_see(client);
    }
    assert_int_equal(client->frame.head.kind, TARN_STREAM_KEY);
    assert_true(client->frame.head.epoch > epoch);
    return client->frame.head.step;
}

void kept_see_next_worker(pid_t worker)
{
    for (int i = 0; i < KEPT_TRIES; i++) {
        const pid_t now = server_worker(&kept.server);
        if (now != worker && now != 0) {
            break;
        }
        usleep(20000);
    }
}

void kept_expect_verified(void)
{
    char command[512], said[8192] = "";
    snprintf(command, sizeof command, "%s replay %s/main.tank --verify --scenes %s", TARN_TEST_TOOL, kept.dir,
             TARN_TEST_SCENES);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    said[fread(said, 1, sizeof said - 1, pipe)] = 0;
    if (pclose(pipe) != 0 || strstr(said, "in the log compared") == NULL || strstr(said, "\n0 hash") != NULL) {
        fail_msg("tarn replay --verify: %s", said);
    }
}
