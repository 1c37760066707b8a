// Raw requests, so that tests say what goes when.
#include "tests/server/upload_kit.h"
#include "tests/server/test_cmocka.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

server_process server;
char store[64], own[64], folder[128];
char answer[ANSWER_BYTES];
size_t answer_bytes;
archive made;

const char pool[] = "{\"title\": \"My pool\", \"size_m\": [1, 1, 1], \"cell_m\": 0.0625, "
                    "\"blocks\": [{\"min_m\": [0, 0, 0], \"max_m\": [1, 0.25, 1]}]}";

void start(const char *option, const char *value)
{
    const char *const arguments[] = {"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--guests", "watch",
                                     "--create", "owners",         "--store", store,        option,     value,
                                     NULL};
    server_start(&server, arguments);
    server_owners_key(store, own, sizeof own);
}

int make_store(void **state)
{
    (void)state;
    snprintf(store, sizeof store, "/tmp/tarn-uploads-XXXXXX");
    assert_non_null(mkdtemp(store));
    snprintf(folder, sizeof folder, "%s/uploads", store);
    return 0;
}

int remove_store(void **state)
{
    (void)state;
    archive_free(&made);
    (void)server_remove_store(folder);
    return server_remove_store(store);
}

int count_files(const char *path)
{
    int count = 0;
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

static bool is_quiet(int fd, int wait_ms)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    return poll(&pollfd, 1, wait_ms) == 0;
}

int open_upload(const char *session, const char *key, const char *more, size_t byte_count)
{
    char head[1024];
    const int fd = ws_connect(server.port);
    assert_true(fd >= 0);
    const int bytes = snprintf(head, sizeof head,
                               "POST /sessions/%s/scenes HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                               "Authorization: Bearer %s\r\n%sContent-Length: %zu\r\n\r\n",
                               session, key, more, byte_count);
    assert_int_equal(ws_send_raw(fd, head, (size_t)bytes), 0);
    return fd;
}

int close_upload(int fd)
{
    int status = 0;
    answer_bytes = 0;
    while (answer_bytes < sizeof answer - 1 && !is_quiet(fd, WAIT_MS)) {
        const ssize_t got = recv(fd, answer + answer_bytes, sizeof answer - 1 - answer_bytes, 0);
        if (got <= 0) {
            break;
        }
        answer_bytes += (size_t)got;
    }
    answer[answer_bytes] = 0;
    close(fd);
    sscanf(answer, "HTTP/1.%*d %d", &status);
    return status;
}

int upload_by(const char *session, const char *key, const char *more)
{
    const int fd = open_upload(session, key, more, made.byte_count);
    (void)ws_send_raw(fd, made.bytes, made.byte_count); // who is refused may be told before
    return close_upload(fd);
}

int upload(void)
{
    return upload_by("main", own, "");
}

int ask(const char *method, const char *target, const char *key, const char *body)
{
    char headers[256];
    snprintf(headers, sizeof headers, "Content-Type: application/json\r\nAuthorization: Bearer %s\r\n", key);
    const int status = server_request(server.port, method, target, headers, body, answer, sizeof answer);
    return status;
}

const char *text_of(const char *field)
{
    static char text[256];
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":\"", field);
    const char *at = strstr(answer, quoted);
    text[0] = 0;
    if (at != NULL) {
        at += strlen(quoted);
        snprintf(text, sizeof text, "%.*s", (int)strcspn(at, "\""), at);
    }
    return text;
}

void expect(int status, int expected, const char *says)
{
    if (status != expected || strstr(answer, says) == NULL) {
        fail_msg("expected %d \"%s\", got:\n%s", expected, says, answer);
    }
}

void make_pool(void)
{
    archive_free(&made);
    archive_add_text(&made, "pool.json", pool);
    archive_end(&made);
}

void expect_scene(ws_client *client, const char *scene)
{
    ws_message raw;
    tarn_message message;
    while (strcmp(client->state.scene, scene) != 0 || !client->state.worker_ready) {
        if (ws_client_next(client, &raw, WAIT_MS) != 1) {
            fail_msg("there is no tank of %s, but of %s", scene, client->state.scene);
        }
        if (raw.opcode == WS_BINARY && tarn_message_read(raw.bytes, raw.byte_count, &message, NULL) == TARN_OK &&
            message.kind == TARN_MESSAGE_ERROR) {
            fail_msg("instead of a tank of %s: %s", scene, message.error.text);
        }
    }
}

void enter(ws_client *client)
{
    assert_int_equal(ws_client_open(client, server.port, "/ws", "tarn.v1", NULL), 101);
    assert_int_equal(ws_client_hello(client), 0);
    assert_int_equal(ws_client_join_by(client, "main", own), 0);
}

int ask_for(const char *target, const char *key)
{
    const int fd = ws_connect(server.port);
    char request[512];
    snprintf(request, sizeof request,
             "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n", target,
             key);
    assert_true(fd >= 0);
    assert_int_equal(ws_send_raw(fd, request, strlen(request)), 0);
    return fd;
}

void read_archive(int fd)
{
    expect(close_upload(fd), 200, "application/x-tar");
    const uint8_t *at = (const uint8_t *)strstr(answer, "\r\n\r\n") + 4;
    const size_t byte_count = answer_bytes - (size_t)(at - (const uint8_t *)answer);
    archive_free(&made);
    made.bytes = malloc(byte_count);
    assert_non_null(made.bytes);
    memcpy(made.bytes, at, byte_count);
    made.byte_count = byte_count;
}

void take_archive(const char *target, const char *key)
{
    read_archive(ask_for(target, key));
}
