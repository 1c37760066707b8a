// Many viewers who say as much as they may at once: the worker is heard all the same, and who watches sees frames.
#include "tests/sanitized.h"
#include "tests/server/server_process.h"
#include "tests/server/test_cmocka.h"
#include "tests/server/ws_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    SPEAKERS = 100,
    MOVES = 45,    ///< each time
    EVERY_MS = 50, ///< so 900 a second; a viewer may say 1000
    TIMES = 100,   ///< 5 s
    POINTERS = 16, ///< of one viewer
    MOVE_BYTES = 300,
};

typedef struct speaker {
    ws_client client;
    uint32_t sequence;
    size_t have, sent;
    uint8_t bytes[MOVES * MOVE_BYTES];
} speaker;

static speaker speakers[SPEAKERS];
static server_process server;

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/// Appends a move of a pointer as a frame whose mask is zero.
static void add_move(speaker *self)
{
    tarn_message message = {.kind = TARN_MESSAGE_INPUT, .input.kind = TARN_INPUT_POINTER};
    message.input.sequence = ++self->sequence;
    message.input.pointer = (tarn_input_pointer){.pointer_id = self->sequence % POINTERS,
                                                 .phase = TARN_PHASE_MOVE,
                                                 .origin_m = {0.5f, 0.5f, 2},
                                                 .direction = {0, 0, -1},
                                                 .radius_m = 0.1f,
                                                 .strength = 1};
    uint8_t *head = self->bytes + self->have;
    size_t bytes;
    assert_int_equal(tarn_message_write(&message, head + 8, MOVE_BYTES - 8, &bytes), TARN_OK);
    assert_true(bytes >= 126 && bytes < 65536);
    const uint8_t begin[8] = {0x80 | WS_BINARY, 0x80 | 126, (uint8_t)(bytes >> 8), (uint8_t)bytes};
    memcpy(head, begin, sizeof begin);
    self->have += sizeof begin + bytes;
}

/// What the socket takes now; more is made only where all went out. What comes is thrown away.
static void speak(speaker *self)
{
    static uint8_t nothing[1 << 16];
    if (self->sent == self->have) {
        self->have = self->sent = 0;
        for (int i = 0; i < MOVES; i++) {
            add_move(self);
        }
    }
    const ssize_t put =
        send(self->client.fd, self->bytes + self->sent, self->have - self->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    assert_true(put >= 0 || errno == EAGAIN || errno == EWOULDBLOCK);
    self->sent += put > 0 ? (size_t)put : 0;
    ssize_t got;
    do {
        got = recv(self->client.fd, nothing, sizeof nothing, MSG_DONTWAIT);
    } while (got > 0);
    assert_int_not_equal(got, 0); // it wasn't closed
}

static void test_a_worker_is_heard_however_much_viewers_say(void **state)
{
    (void)state;
    static ws_client watcher;
    ws_frame frame;
    server_start(&server, (const char *[]){"--scenes", TARN_TEST_SCENES, "--scene", "small-pool", "--worker-timeout",
                                           TEST_IS_SANITIZED ? "20" : "2", NULL});
    for (int i = 0; i < SPEAKERS; i++) {
        ws_client_enter(&speakers[i].client, server.port);
    }
    ws_client_enter(&watcher, server.port);
    for (int k = 0; k < TIMES; k++) {
        const uint64_t due_ms = now_ms() + EVERY_MS;
        for (int i = 0; i < SPEAKERS; i++) {
            speak(&speakers[i]);
        }
        const uint64_t at_ms = now_ms();
        usleep(at_ms < due_ms ? (useconds_t)(due_ms - at_ms) * 1000 : 0);
    }
    assert_true(ws_client_wait_frame(&watcher, &frame));
    assert_int_equal(server_metric(server.port, "tarn_worker_starts_total{worker=\"0\"}"), 1);
    for (int i = 0; i < SPEAKERS; i++) {
        ws_client_close(&speakers[i].client);
    }
    ws_client_close(&watcher);
    server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_worker_is_heard_however_much_viewers_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
