// As little as a server can do that pushes frames to viewers: one thread, one epoll, one send() for each viewer and
// frame, no limits, no checks, no acknowledgements. It answers a viewer by counting: the upgrade, hello, join.
#include "protocol/message.h"
#include "server/base/clock.h"
#include "tests/bench/fanout_pair.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { VIEWERS_MAX = 1024, EVENTS_AT_ONCE = 64, HEADER_BYTES = 10, NOTSENT_BYTES = 131072 };

typedef enum bare_phase { BARE_UPGRADE, BARE_HELLO, BARE_JOIN, BARE_WATCHING } bare_phase;

typedef struct bare_viewer {
    int fd; ///< 0: free
    bare_phase phase;
    const uint8_t *end; ///< of the frame that is being or was sent
    size_t left;        ///< of it
    bool polled;        ///< for writing
} bare_viewer;

static struct {
    int epoll_fd;
    fanout_player player; ///< its frames have their WebSocket headers in front
    bare_viewer viewers[VIEWERS_MAX];
} bare;

static void drop(bare_viewer *viewer)
{
    close(viewer->fd);
    viewer->fd = 0;
}

static void poll_for(bare_viewer *viewer, bool writing)
{
    if (viewer->polled == writing) {
        return;
    }
    viewer->polled = writing;
    struct epoll_event event = {.events = EPOLLIN | (writing ? EPOLLOUT : 0), .data.ptr = viewer};
    epoll_ctl(bare.epoll_fd, EPOLL_CTL_MOD, viewer->fd, &event);
}

/// Sends what is left of its frame; what comes newer meanwhile waits for the next turn.
static void send_some(bare_viewer *viewer)
{
    ssize_t sent = viewer->left > 0 ? send(viewer->fd, viewer->end - viewer->left, viewer->left, MSG_NOSIGNAL) : 0;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
        drop(viewer);
        return;
    }
    viewer->left -= sent > 0 ? (size_t)sent : 0;
    poll_for(viewer, viewer->left > 0);
}

static void send_message(bare_viewer *viewer, const tarn_message *message)
{
    uint8_t bytes[4 + TARN_MESSAGE_BYTES_MAX];
    size_t count;
    if (tarn_message_write(message, bytes + 4, sizeof bytes - 4, &count) != TARN_OK) {
        abort();
    }
    bytes[0] = 0x82;
    bytes[1] = 126;
    bytes[2] = (uint8_t)(count >> 8);
    bytes[3] = (uint8_t)count;
    if (send(viewer->fd, bytes, 4 + count, MSG_NOSIGNAL) < 0) {
        drop(viewer);
    }
}

static void answer(bare_viewer *viewer)
{
    // The answer to the key that `tarn load` always sends.
    static const char upgrade[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                  "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
                                  "Sec-WebSocket-Protocol: " TARN_PROTOCOL_SUBPROTOCOL "\r\n\r\n";
    tarn_message message = {0};
    switch (viewer->phase) {
    case BARE_UPGRADE:
        if (send(viewer->fd, upgrade, sizeof upgrade - 1, MSG_NOSIGNAL) < 0) {
            drop(viewer);
        }
        break;
    case BARE_HELLO:
        message.kind = TARN_MESSAGE_WELCOME;
        message.welcome.version = TARN_PROTOCOL_VERSION;
        send_message(viewer, &message);
        break;
    case BARE_JOIN:
        message.kind = TARN_MESSAGE_JOINED;
        message.joined.viewer_id = (uint32_t)(viewer - bare.viewers) + 1;
        snprintf(message.joined.session, sizeof message.joined.session, "bare");
        send_message(viewer, &message);
        break;
    case BARE_WATCHING:
        return;
    }
    viewer->phase++;
}

static void receive(bare_viewer *viewer)
{
    uint8_t bytes[4096];
    ssize_t got = recv(viewer->fd, bytes, sizeof bytes, 0);
    if (got > 0) {
        answer(viewer);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        drop(viewer);
    }
}

static void accept_viewer(int listen_fd)
{
    int on = 1, notsent = NOTSENT_BYTES;
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    for (int i = 0; fd >= 0 && i < VIEWERS_MAX; i++) {
        bare_viewer *viewer = &bare.viewers[i];
        if (viewer->fd) {
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &notsent, sizeof notsent);
        *viewer = (bare_viewer){.fd = fd};
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = viewer};
        epoll_ctl(bare.epoll_fd, EPOLL_CTL_ADD, fd, &event);
        return;
    }
    if (fd >= 0) {
        close(fd);
    }
}

/// A new frame, for everybody who has the one before.
static void push_frame(int timer_fd)
{
    uint64_t expirations;
    if (read(timer_fd, &expirations, sizeof expirations) <= 0) {
        return;
    }
    // A viewer that still gets the frame as it was a round ago keeps it as it is.
    const fanout_frame *due = &bare.player.frames[bare.player.next];
    for (int i = 0; i < VIEWERS_MAX; i++) {
        if (bare.viewers[i].fd && bare.viewers[i].left > 0 && bare.viewers[i].end == due->bytes + due->byte_count) {
            return;
        }
    }
    const fanout_frame *frame = fanout_next(&bare.player, 1);
    for (int i = 0; i < VIEWERS_MAX; i++) {
        bare_viewer *viewer = &bare.viewers[i];
        if (!viewer->fd || viewer->phase != BARE_WATCHING || viewer->left > 0) {
            continue;
        }
        viewer->end = frame->bytes + frame->byte_count;
        viewer->left = HEADER_BYTES + frame->byte_count;
        send_some(viewer);
    }
}

static void write_headers(void)
{
    for (int i = 0; i < FANOUT_FRAMES; i++) {
        const fanout_frame *frame = &bare.player.frames[i];
        uint8_t *header = frame->bytes - HEADER_BYTES;
        header[0] = 0x82;
        header[1] = 127;
        for (int b = 0; b < 8; b++) {
            header[2 + b] = (uint8_t)((uint64_t)frame->byte_count >> (56 - 8 * b));
        }
    }
}

void fanout_bare_serve(int listen_fd, const char *path, uint32_t fps)
{
    fanout_read(path, HEADER_BYTES, &bare.player);
    write_headers();
    bare.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct timespec period = {.tv_nsec = (long)(1000000000u / fps)};
    if (fps == 1) {
        period = (struct timespec){.tv_sec = 1};
    }
    struct itimerspec times = {period, period};
    timerfd_settime(timer_fd, 0, &times, NULL);
    struct epoll_event listening = {.events = EPOLLIN, .data.ptr = &listen_fd};
    struct epoll_event ticking = {.events = EPOLLIN, .data.ptr = &timer_fd};
    epoll_ctl(bare.epoll_fd, EPOLL_CTL_ADD, listen_fd, &listening);
    epoll_ctl(bare.epoll_fd, EPOLL_CTL_ADD, timer_fd, &ticking);
    for (;;) {
        struct epoll_event events[EVENTS_AT_ONCE];
        int count = epoll_wait(bare.epoll_fd, events, EVENTS_AT_ONCE, -1);
        for (int i = 0; i < count; i++) {
            bare_viewer *viewer = events[i].data.ptr;
            if (events[i].data.ptr == &listen_fd) {
                accept_viewer(listen_fd);
            } else if (events[i].data.ptr == &timer_fd) {
                push_frame(timer_fd);
            } else if (viewer->fd && (events[i].events & EPOLLOUT)) {
                send_some(viewer);
            }
            if (events[i].data.ptr != &listen_fd && events[i].data.ptr != &timer_fd && viewer->fd &&
                (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))) {
                receive(viewer);
            }
        }
    }
}
