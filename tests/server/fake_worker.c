// A worker that is up to no good, for `tarnd --worker`: what TARN_FAKE_WORKER names is wrong with it.
//
//     hello   a name that is no UTF-8
//     state   a tank with a cell of a thousand metres
//     outside frames of a tank of one cell, with a particle beyond it
#include "protocol/frame.h"
#include "server/common/ipc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FD = 3 };

static void put(const tarn_ipc_message *message)
{
    static uint8_t bytes[TARN_IPC_HEADER_BYTES + TARN_IPC_PAYLOAD_BYTES_MAX];
    size_t byte_count;
    if (tarn_ipc_write(message, bytes, sizeof bytes, &byte_count) != TARN_OK ||
        write(FD, bytes, byte_count) != (ssize_t)byte_count)
        exit(3);
}

static void say_hello(int wrong)
{
    tarn_ipc_message message = {.kind = TARN_IPC_WORKER_HELLO};
    message.worker_hello.version = TARN_IPC_VERSION;
    snprintf(message.worker_hello.program, sizeof message.worker_hello.program, "fake");
    snprintf(message.worker_hello.device, sizeof message.worker_hello.device, wrong ? "\xff\xfe" : "CPU");
    put(&message);
}

/// A frame whose particle is in its tile, but not in the tank.
static void send_frame(uint32_t tank, uint32_t epoch, uint64_t step)
{
    static const int8_t velocities[TARN_FRAME_VELOCITY_BYTES];
    const uint8_t offset = 255;
    uint8_t bytes[TARN_IPC_HEADER_BYTES + 1024], *frame = bytes + TARN_IPC_HEADER_BYTES;
    size_t head_bytes = tarn_frame_head_bytes(0, 0, 1);
    size_t payload_bytes = tarn_frame_payload_bytes(TARN_FRAME_CODING_RAW, 1), frame_bytes = head_bytes + payload_bytes;
    tarn_frame_tile tile = {.particle_count = 1, .payload_bytes = (uint32_t)payload_bytes};
    tarn_frame_header header = {.frame_bytes = (uint32_t)frame_bytes,
                                .epoch = epoch,
                                .step = step,
                                .particle_count = 1,
                                .tile_count = 1,
                                .cells = {1, 1, 1},
                                .position_bits = TARN_FRAME_POSITION_BITS,
                                .layer_count = 1,
                                .cell_m = 1,
                                .orientation = {0, 0, 0, 1}};
    if (tarn_frame_write_head(&header, NULL, &tile, frame, head_bytes) != TARN_OK ||
        tarn_frame_write_payload(velocities, &offset, &offset, &offset, NULL, 1, frame + head_bytes, payload_bytes) !=
            TARN_OK)
        exit(3);
    tarn_ipc_frame_header(tank, (uint32_t)frame_bytes, bytes);
    if (write(FD, bytes, TARN_IPC_HEADER_BYTES + frame_bytes) < 0)
        exit(3);
}

/// Answers a load with a state and, where frames are to be wrong, a ping with one; other messages are let go by.
static tarn_status take_message(void *user, const tarn_ipc_message *message)
{
    static uint32_t tank, epoch;
    static uint64_t step;
    int frames = strcmp(user, "outside") == 0;
    if (message->kind == TARN_IPC_PING && frames && tank)
        send_frame(tank, epoch, ++step);
    if (message->kind != TARN_IPC_LOAD)
        return TARN_OK;
    tarn_ipc_message answer = {.kind = TARN_IPC_STATE, .tank = message->tank};
    tank = message->tank;
    answer.state.epoch = epoch = message->load.epoch;
    answer.state.session.cell_m = frames ? 1 : 1000;
    put(&answer);
    return TARN_OK;
}

int main(void)
{
    static tarn_ipc_reader reader;
    char *named = getenv("TARN_FAKE_WORKER"), none[] = "", *what = named ? named : none;
    tarn_ipc_sink sink = {.user = what, .message = take_message};
    tarn_ipc_reader_init(&reader, &sink);
    say_hello(strcmp(what, "hello") == 0);
    for (;;) {
        size_t room;
        uint8_t *space = tarn_ipc_reader_space(&reader, &room);
        ssize_t got = read(FD, space, room);
        if (got <= 0 || tarn_ipc_reader_commit(&reader, (size_t)got) != TARN_OK)
            return 0;
    }
}
