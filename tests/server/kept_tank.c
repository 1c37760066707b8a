#include "tests/server/kept_tank.h"
#include "server/base/clock.h"
#include "server/log/session_history.h"
#include "tests/server/test_cmocka.h"

#include <math.h>
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

/// Where a session's file ends.
typedef struct file_end {
    uint32_t epoch;
    uint64_t step;
    double t_s;
} file_end;

static bool read_end(const char *session, file_end *end)
{
    static tarn_session_rest rest;
    static tarn_session_span span;
    char path[160];
    tarn_session_file *file;
    tarn_text why;
    snprintf(path, sizeof path, "%s/%s.tank", kept.dir, session);
    if (tarn_session_file_open_to_read(path, &file, why) != TARN_OK) {
        return false;
    }
    const bool is_read = tarn_session_file_rest(file, &rest, why) == TARN_OK;
    if (is_read) {
        *end = (file_end){.epoch = rest.epoch,
                          .step = rest.state.step + tarn_box_log_steps(rest.log.bytes, rest.log.count)};
        tarn_session_rest_free(&rest);
    }
    const bool is_dated = tarn_session_history_span(file, &span, why) == TARN_OK;
    end->t_s = 1e-9 * (double)span.until_ns;
    tarn_session_file_close(file);
    return is_read && is_dated;
}

static bool is_where_seen(const stream_client *client, const file_end *end)
{
    return end->epoch == client->frame.head.epoch && end->step == client->frame.head.step;
}

bool kept_is_committed(const stream_client *client, const char *session)
{
    file_end end;
    return read_end(session, &end) && is_where_seen(client, &end);
}

/// A disk may be slow, and a tank that began anew often is held back for seconds.
static file_end wait_until_kept(const stream_client *client, const char *session)
{
    const uint64_t until_ns = tarn_clock_monotonic_ns() + KEPT_WAIT_MS * (uint64_t)1000000;
    file_end end = {0};
    do {
        if (read_end(session, &end) && is_where_seen(client, &end)) {
            return end;
        }
        usleep(20000);
    } while (tarn_clock_monotonic_ns() < until_ns);
    fail_msg("%s was seen at step %u of epoch %u, and is kept to step %u of epoch %u", session,
             (unsigned)client->frame.head.step, client->frame.head.epoch, (unsigned)end.step, end.epoch);
    return end;
}

double kept_now_s(const stream_client *client)
{
    const file_end end = wait_until_kept(client, "main");
    double until_s = -1;
    for (int i = 0; i < KEPT_TRIES && fabs(until_s - end.t_s) > 1e-6; i++) { // the gateway hears of it next
        usleep(i > 0 ? 20000 : 0);
        assert_int_equal(kept_ask("main", "history", kept.own, NULL), 200);
        until_s = kept_number("until");
    }
    assert_float_equal(until_s, end.t_s, 1e-6);
    return until_s;
}

void kept_hash_now(const char *session, char hash[KEPT_HASH_DIGITS + 1])
{
    char command[512], line[256] = "";
    snprintf(command, sizeof command, "%s session export %s/%s.tank --hash --quiet --scenes %s", TARN_TEST_TOOL,
             kept.dir, session, TARN_TEST_SCENES);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_int_equal(pclose(pipe), 0);
    snprintf(hash, KEPT_HASH_DIGITS + 1, "%.*s", KEPT_HASH_DIGITS, line);
    assert_int_equal(strlen(hash), KEPT_HASH_DIGITS);
}

void kept_hash(const stream_client *client, const char *session, char hash[KEPT_HASH_DIGITS + 1])
{
    (void)wait_until_kept(client, session);
    kept_hash_now(session, hash);
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
    noted->t_s = kept_now_s(client);
    noted->step = client->frame.head.step;
    kept_hash(client, "main", noted->hash);
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
