// A worker that is up to no good, for `tarnd --worker`: what TARN_FAKE_WORKER names is wrong with it.
//
//     hello   a name that is no UTF-8
//     state   a tank with a cell of a thousand metres
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

/// Answers a load with a state; other messages are let go by.
static tarn_status take_message(void *user, const tarn_ipc_message *message)
{
    (void)user;
    if (message->kind != TARN_IPC_LOAD)
        return TARN_OK;
    tarn_ipc_message answer = {.kind = TARN_IPC_STATE, .tank = message->tank};
    answer.state.epoch = message->load.epoch;
    answer.state.session.cell_m = 1000;
    put(&answer);
    return TARN_OK;
}

int main(void)
{
    static tarn_ipc_reader reader;
    const char *what = getenv("TARN_FAKE_WORKER");
    tarn_ipc_sink sink = {.message = take_message};
    tarn_ipc_reader_init(&reader, &sink);
    say_hello(what && strcmp(what, "hello") == 0);
    for (;;) {
        size_t room;
        uint8_t *space = tarn_ipc_reader_space(&reader, &room);
        ssize_t got = read(FD, space, room);
        if (got <= 0 || tarn_ipc_reader_commit(&reader, (size_t)got) != TARN_OK)
            return 0;
    }
}
