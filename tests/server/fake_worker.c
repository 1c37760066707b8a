// A worker that is up to no good, for `tarnd --worker`: what TARN_TEST_FAKE_WORKER names is wrong with it.
//
//     hello   a name that is no UTF-8
//     state   a tank with a cell of a thousand metres
//     frames  frames of which nothing but the head can be read
//     words   sentences that are no text
//     ahead   a large frame of the tank that will be made next, which goes on when it is
//     busy    nothing is wrong: it makes a tank for BUSY_S without a word, but for some of what was before
#include "protocol/stream.h"
#include "server/base/ipc.h"
#include "server/gateway/session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FD = 3, AHEAD_BYTES = 1 << 20, BUSY_S = 3 };

static void put(const tarn_ipc_message *message)
{
    static uint8_t bytes[TARN_IPC_HEADER_BYTES + TARN_IPC_PAYLOAD_BYTES_MAX];
    size_t byte_count;
    if (tarn_ipc_write(message, bytes, sizeof bytes, &byte_count) != TARN_OK ||
        write(FD, bytes, byte_count) != (ssize_t)byte_count) {
        exit(3);
    }
}

static void say_hello(bool wrong)
{
    tarn_ipc_message message = {.kind = TARN_IPC_WORKER_HELLO};
    message.worker_hello.version = TARN_IPC_VERSION;
    message.worker_hello.tanks_max = 2;
    message.worker_hello.scenes.count = 1;
    snprintf(message.worker_hello.scenes.names[0], sizeof message.worker_hello.scenes.names[0], "small-pool");
    snprintf(message.worker_hello.program, sizeof message.worker_hello.program, "fake");
    snprintf(message.worker_hello.device, sizeof message.worker_hello.device, wrong ? "\xff\xfe" : "CPU");
    put(&message);
}

/// A key frame of one particle, whose head is right and whose sections are no streams.
static void send_frame(uint32_t tank, uint32_t epoch, uint64_t step)
{
    enum { SECTION_BYTES = 16 };
    uint8_t bytes[TARN_IPC_HEADER_BYTES + 1024] = {0}, *frame = bytes + TARN_IPC_HEADER_BYTES;
    tarn_stream_head head = {.kind = TARN_STREAM_KEY,
                             .layer_count = 1,
                             .epoch = epoch,
                             .step = step,
                             .number = (uint32_t)step,
                             .reference = (uint32_t)step,
                             .cells = {1, 1, 1},
                             .cell_m = 1,
                             .orientation = {0, 0, 0, 1},
                             .flow_tiles = 1,
                             .flow_tiles_max = 1,
                             .flow_bytes = SECTION_BYTES,
                             .layers[0] = {.bytes = SECTION_BYTES, .slots = 1, .particles = 1, .slots_max = 1}};
    head.frame_bytes = (uint32_t)tarn_stream_head_bytes(&head) + 2 * SECTION_BYTES;
    if (tarn_stream_write_head(&head, NULL, frame, sizeof bytes - TARN_IPC_HEADER_BYTES) != TARN_OK) {
        exit(3);
    }
    tarn_ipc_frame_header(tank, head.frame_bytes, bytes);
    if (write(FD, bytes, TARN_IPC_HEADER_BYTES + head.frame_bytes) < 0) {
        exit(3);
    }
}

/// What is longer than need be, half of a pair, and what a terminal obeys.
static void say_nonsense(uint32_t tank)
{
    tarn_ipc_message message = {.kind = TARN_IPC_REFUSED, .tank = tank, .refused.code = TARN_ERROR_WORKER};
    snprintf(message.refused.text, sizeof message.refused.text, "\xff \xe0\x82\x9b \xed\xa0\x80 \x1b[2J \xc3");
    put(&message);
}

/// Begins a frame of the next tank: ids count, in the lowest bits for the place and above them for the tank.
static void begin_ahead(uint32_t tank, uint32_t frame_bytes)
{
    uint8_t head[TARN_IPC_HEADER_BYTES];
    tarn_ipc_frame_header(tank + (1u << TARN_SESSION_PLACE_BITS) + 1, frame_bytes, head);
    if (write(FD, head, sizeof head) != (ssize_t)sizeof head) {
        exit(3);
    }
}

static void end_ahead(uint32_t frame_bytes)
{
    static uint8_t bytes[1 << 16];
    for (uint32_t left = frame_bytes; left > 0;) {
        const ssize_t put = write(FD, bytes, left < sizeof bytes ? left : sizeof bytes);
        if (put <= 0) {
            exit(3);
        }
        left -= (uint32_t)put;
    }
}

/// Answers a load with a state and, where frames are to be wrong, a ping with one; other messages are let go by.
static tarn_status take_message(void *user, const tarn_ipc_message *message)
{
    static uint32_t tank, epoch;
    static uint64_t step;
    const bool frames = strcmp(user, "frames") == 0, ahead = strcmp(user, "ahead") == 0,
               words = strcmp(user, "words") == 0, is_busy = strcmp(user, "busy") == 0;
    if (message->kind == TARN_IPC_PING && is_busy) {
        const tarn_ipc_message pong = {.kind = TARN_IPC_PONG, .ping = message->ping};
        put(&pong);
    }
    if (message->kind == TARN_IPC_PING && frames && tank) {
        send_frame(tank, epoch, ++step);
    }
    if (message->kind == TARN_IPC_PING && words && tank) {
        say_nonsense(tank);
    }
    if (message->kind != TARN_IPC_LOAD) {
        return TARN_OK;
    }
    if (ahead && tank != 0) {
        end_ahead(AHEAD_BYTES);
        return TARN_OK;
    }
    tarn_ipc_message answer = {.kind = TARN_IPC_STATE, .tank = message->tank};
    tank = message->tank;
    answer.state.epoch = epoch = message->load.epoch;
    answer.state.session.cell_m = frames || ahead || words || is_busy ? 1 : 1000;
    if (is_busy) {
        const tarn_ipc_message refused = {
            .kind = TARN_IPC_REFUSED, .tank = tank, .refused = {.viewer_id = 7, .code = TARN_ERROR_INPUT}};
        answer.state.epoch = epoch - 1;
        put(&answer);
        put(&refused);
        sleep(BUSY_S);
        answer.state.epoch = epoch;
    }
    put(&answer);
    if (ahead) {
        begin_ahead(tank, AHEAD_BYTES);
    }
    return TARN_OK;
}

int main(void)
{
    static tarn_ipc_reader reader;
    char *named = getenv("TARN_TEST_FAKE_WORKER"), none[] = "", *what = named != NULL ? named : none;
    tarn_ipc_sink sink = {.user = what, .message = take_message};
    tarn_ipc_reader_init(&reader, &sink);
    say_hello(strcmp(what, "hello") == 0);
    for (;;) {
        size_t room;
        uint8_t *space = tarn_ipc_reader_space(&reader, &room);
        ssize_t got = read(FD, space, room);
        if (got <= 0 || tarn_ipc_reader_commit(&reader, (size_t)got) != TARN_OK) {
            return 0;
        }
    }
}
