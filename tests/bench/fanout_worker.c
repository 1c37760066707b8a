// A worker for `tarnd --worker` that simulates nothing: it hands over recorded frames, --fps times a second, under ever
// new steps.
#include "server/base/clock.h"
#include "server/base/ipc.h"
#include "tests/bench/fanout_pair.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct fanout_worker {
    int fd;
    uint32_t fps, tank, epoch, viewers;
    uint64_t due_ns;
    fanout_player player;
} fanout_worker;

static void send_all(const fanout_worker *self, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(self->fd, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            exit(0); // the gateway is gone
        }
        bytes += sent;
        count -= (size_t)sent;
    }
}

static void put(const fanout_worker *self, const tarn_ipc_message *message)
{
    static uint8_t bytes[TARN_IPC_HEADER_BYTES + TARN_IPC_PAYLOAD_BYTES_MAX];
    size_t count;
    if (tarn_ipc_write(message, bytes, sizeof bytes, &count) != TARN_OK) {
        exit(3);
    }
    send_all(self, bytes, count);
}

static void say_hello(const fanout_worker *self)
{
    tarn_ipc_message message = {.kind = TARN_IPC_WORKER_HELLO};
    message.worker_hello.version = TARN_IPC_VERSION;
    message.worker_hello.tanks_max = 1;
    snprintf(message.worker_hello.program, sizeof message.worker_hello.program, "fanout_worker");
    snprintf(message.worker_hello.device, sizeof message.worker_hello.device, "none");
    put(self, &message);
}

static void take_load(fanout_worker *self, uint32_t tank, const tarn_ipc_load *load)
{
    tarn_ipc_message answer = {.kind = TARN_IPC_STATE, .tank = tank};
    self->tank = tank;
    self->player.next = 0;
    self->epoch = answer.state.epoch = load->epoch;
    snprintf(answer.state.session.scene, sizeof answer.state.session.scene, "fanout");
    answer.state.session.dt_s = 1.0f / 60;
    put(self, &answer);
}

static tarn_status take_message(void *user, const tarn_ipc_message *message)
{
    fanout_worker *self = user;
    tarn_ipc_message pong = {.kind = TARN_IPC_PONG, .ping = message->ping};
    switch (message->kind) {
    case TARN_IPC_LOAD:
        take_load(self, message->tank, &message->load);
        break;
    case TARN_IPC_AUDIENCE:
        self->viewers = message->audience.viewer_count;
        break;
    case TARN_IPC_KEY_WANTED:
        self->player.next = 0;
        break;
    case TARN_IPC_PING:
        put(self, &pong);
        break;
    case TARN_IPC_SHUTDOWN:
        exit(0);
    default:
        break;
    }
    return TARN_OK;
}

static void send_frame(fanout_worker *self, uint64_t now_ns)
{
    if (self->tank == 0 || self->viewers == 0 || now_ns < self->due_ns) {
        return;
    }
    uint64_t period_ns = 1000000000u / self->fps;
    self->due_ns = now_ns > self->due_ns + period_ns ? now_ns + period_ns : self->due_ns + period_ns;
    const fanout_frame *frame = fanout_next(&self->player, self->epoch);
    uint8_t *message = frame->bytes - TARN_IPC_HEADER_BYTES;
    tarn_ipc_frame_header(self->tank, (uint32_t)frame->byte_count, message);
    send_all(self, message, TARN_IPC_HEADER_BYTES + frame->byte_count);
}

static long option(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return strtol(argv[i + 1], NULL, 10);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static tarn_ipc_reader reader;
    static fanout_worker self;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    self.fd = (int)option(argc, argv, "--fd");
    self.fps = (uint32_t)option(argc, argv, "--fps");
    if (self.fd <= STDERR_FILENO || self.fps == 0) {
        fprintf(stderr, "fanout_worker: it is a worker for tarnd, which knows its options\n");
        return 2;
    }
    fanout_read(getenv(FANOUT_RECORDING_VARIABLE), TARN_IPC_HEADER_BYTES, &self.player);
    tarn_ipc_sink sink = {.user = &self, .message = take_message};
    tarn_ipc_reader_init(&reader, &sink);
    say_hello(&self);
    for (;;) {
        struct pollfd pollfd = {.fd = self.fd, .events = POLLIN};
        uint64_t now_ns = tarn_clock_monotonic_ns();
        uint64_t wait_ns = self.due_ns > now_ns ? self.due_ns - now_ns : self.viewers > 0 ? 0 : 10000000u;
        struct timespec timeout = {.tv_nsec = (long)(wait_ns < 10000000u ? wait_ns : 10000000u)};
        if (ppoll(&pollfd, 1, &timeout, NULL) > 0) {
            size_t room;
            uint8_t *space = tarn_ipc_reader_space(&reader, &room);
            ssize_t got = recv(self.fd, space, room, 0);
            if (got <= 0 || tarn_ipc_reader_commit(&reader, (size_t)got) != TARN_OK) {
                return 0;
            }
        }
        send_frame(&self, tarn_clock_monotonic_ns());
    }
}
