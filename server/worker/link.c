// Messages go first, a frame's remaining bytes before another frame: start at tarn_worker_link_flush.
#include "server/worker/link.h"
#include "protocol/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    FRAME_AT = TARN_IPC_STAMPS_BYTES + TARN_IPC_HEADER_BYTES,
    BUFFER_BYTES = FRAME_AT + TARN_IPC_FRAME_BYTES_MAX,
};

tarn_status tarn_worker_link_open(tarn_worker_link *link, int fd, const tarn_ipc_sink *sink)
{
    memset(link, 0, sizeof *link);
    link->fd = fd;
    link->slot_sending = -1;
    for (int i = 0; i < TARN_WORKER_PLACES_MAX; i++) {
        link->slots[i].filled = link->slots[i].sending = -1;
    }
    tarn_ipc_reader_init(&link->reader, sink);
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        return TARN_E_IO;
    }
    return TARN_OK;
}

void tarn_worker_link_close(tarn_worker_link *link)
{
    for (int i = 0; i < TARN_WORKER_PLACES_MAX; i++) {
        for (int b = 0; b < 2; b++) {
            if (link->slots[i].buffers[b] != NULL) {
                munmap(link->slots[i].buffers[b], BUFFER_BYTES);
            }
        }
    }
    while (link->fd_count > 0) {
        close(link->fds[--link->fd_count]);
    }
    close(link->fd);
    link->fd = -1;
}

// ---- messages that wait ----

tarn_status tarn_worker_link_put(tarn_worker_link *link, const tarn_ipc_message *message)
{
    // Others answer a load or a move, which the gateway waits for.
    const bool is_last = message->kind == TARN_IPC_REFUSED && message->refused.code == TARN_ERROR_INPUT;
    const size_t out_bytes_max = sizeof link->out - (is_last ? TARN_WORKER_ANSWERS_BYTES : 0);
    if (link->out_bytes > out_bytes_max) {
        return TARN_E_SPACE;
    }
    size_t bytes;
    tarn_status status = tarn_ipc_write(message, link->out + link->out_bytes, out_bytes_max - link->out_bytes, &bytes);
    TARN_ASSERT(link->out_bytes <= sizeof link->out);
    if (status == TARN_OK) {
        link->out_bytes += bytes;
    }
    return status;
}

tarn_status tarn_worker_link_refuse(tarn_worker_link *link, uint32_t tank, uint32_t viewer_id, uint32_t sequence,
                                    uint32_t code, const char *why)
{
    tarn_ipc_message message = {.kind = TARN_IPC_REFUSED, .tank = tank};
    message.refused.viewer_id = viewer_id;
    message.refused.sequence = sequence;
    message.refused.code = code;
    snprintf(message.refused.text, sizeof message.refused.text, "%s", why);
    return tarn_worker_link_put(link, &message);
}

// ---- frames that wait ----

/// The buffer of a slot that is not being sent.
static int slot_free(const tarn_frame_slot *slot)
{
    return slot->sending == 0 ? 1 : 0;
}

uint8_t *tarn_worker_link_frame_space(tarn_worker_link *link, uint32_t index)
{
    TARN_ASSERT(index < TARN_WORKER_PLACES_MAX);
    tarn_frame_slot *slot = &link->slots[index];
    int buffer = slot_free(slot);
    if (slot->buffers[buffer] == NULL) {
        void *memory =
            mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            return NULL;
        }
        slot->buffers[buffer] = memory;
    }
    if (slot->filled >= 0) {
        slot->replaced++;
    }
    slot->filled = -1;
    slot->given = buffer;
    return slot->buffers[buffer] + FRAME_AT;
}

void tarn_worker_link_frame_put(tarn_worker_link *link, uint32_t index, uint32_t tank, uint32_t frame_bytes,
                                const tarn_ipc_stamps *stamps, bool is_kept)
{
    TARN_ASSERT(index < TARN_WORKER_PLACES_MAX && frame_bytes > 0 && frame_bytes <= TARN_IPC_FRAME_BYTES_MAX);
    tarn_frame_slot *slot = &link->slots[index];
    const tarn_ipc_message message = {.kind = TARN_IPC_STAMPS, .tank = tank, .stamps = *stamps};
    size_t stamps_bytes;
    link->slot_count = index < link->slot_count ? link->slot_count : index + 1;
    slot->filled = slot->given;
    slot->is_kept = is_kept;
    slot->bytes[slot->filled] = FRAME_AT + (size_t)frame_bytes;
    TARN_ASSERT(slot->buffers[slot->filled] != NULL && slot->filled != slot->sending);
    uint8_t *bytes = slot->buffers[slot->filled];
    (void)tarn_ipc_write(&message, bytes, TARN_IPC_STAMPS_BYTES, &stamps_bytes); // it fits exactly
    TARN_ASSERT(stamps_bytes == TARN_IPC_STAMPS_BYTES);
    tarn_ipc_frame_header(tank, frame_bytes, bytes + TARN_IPC_STAMPS_BYTES);
}

bool tarn_worker_link_frame_waits(const tarn_worker_link *link, uint32_t index)
{
    TARN_ASSERT(index < TARN_WORKER_PLACES_MAX);
    return link->slots[index].filled >= 0 && link->slots[index].is_kept;
}

void tarn_worker_link_frame_drop(tarn_worker_link *link, uint32_t index)
{
    link->slots[index].filled = -1;
}

/// The next slot, in turn, whose frame waits; or -1.
static int slot_next(const tarn_worker_link *link)
{
    const int count = (int)link->slot_count;
    for (int i = 1; i <= count; i++) {
        int index = (link->slot_last + i) % count;
        if (link->slots[index].filled >= 0) {
            return index;
        }
    }
    return -1;
}

bool tarn_worker_link_waiting(const tarn_worker_link *link)
{
    return link->slot_sending >= 0 || link->out_bytes > 0 || slot_next(link) >= 0;
}

// ---- sent ----

/// @return how many bytes went out, 0 when the socket is full, or a negative status
static ssize_t send_some(int fd, const uint8_t *bytes, size_t count)
{
    ssize_t sent;
    do {
        sent = send(fd, bytes, count, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : TARN_E_IO;
    }
    return sent;
}

static ssize_t flush_frame(tarn_worker_link *link)
{
    tarn_frame_slot *slot = &link->slots[link->slot_sending];
    TARN_ASSERT(slot->sending >= 0 && link->slot_sent < slot->bytes[slot->sending]);
    ssize_t sent = send_some(link->fd, slot->buffers[slot->sending] + link->slot_sent,
                             slot->bytes[slot->sending] - link->slot_sent);
    if (sent <= 0) {
        return sent;
    }
    link->slot_sent += (size_t)sent;
    if (link->slot_sent == slot->bytes[slot->sending]) {
        slot->sending = -1;
        link->slot_sending = -1;
    }
    return sent;
}

static ssize_t flush_messages(tarn_worker_link *link)
{
    ssize_t sent = send_some(link->fd, link->out, link->out_bytes);
    if (sent <= 0) {
        return sent;
    }
    TARN_ASSERT((size_t)sent <= link->out_bytes);
    memmove(link->out, link->out + sent, link->out_bytes - (size_t)sent);
    link->out_bytes -= (size_t)sent;
    return sent;
}

tarn_status tarn_worker_link_flush(tarn_worker_link *link)
{
    for (;;) {
        ssize_t sent;
        if (link->slot_sending >= 0) {
            sent = flush_frame(link);
        } else if (link->out_bytes > 0) {
            sent = flush_messages(link);
        } else {
            int next = slot_next(link);
            if (next < 0) {
                return TARN_OK;
            }
            tarn_frame_slot *slot = &link->slots[next];
            TARN_ASSERT(slot->sending < 0 && slot->filled >= 0);
            slot->sending = slot->filled;
            slot->filled = -1;
            link->slot_sending = link->slot_last = next;
            link->slot_sent = 0;
            continue;
        }
        if (sent <= 0) {
            return sent == 0 ? TARN_OK : TARN_E_IO;
        }
    }
}

// ---- received ----

/// Puts descriptors that came along where their messages will look for them.
static void take_fds(tarn_worker_link *link, struct msghdr *message)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            if (link->fd_count < TARN_WORKER_FDS_MAX) {
                link->fds[link->fd_count++] = fd;
            } else {
                close(fd);
            }
        }
    }
}

int tarn_worker_link_take_fd(tarn_worker_link *link)
{
    if (link->fd_count == 0) {
        return -1;
    }
    const int fd = link->fds[0];
    link->fd_count--;
    memmove(link->fds, link->fds + 1, link->fd_count * sizeof *link->fds);
    return fd;
}

/// @return as recv
static ssize_t receive(tarn_worker_link *link, uint8_t *bytes, size_t bytes_max)
{
    union {
        struct cmsghdr head;
        uint8_t bytes[CMSG_SPACE(sizeof(int) * 4)];
    } control;
    struct iovec piece = {.iov_base = bytes, .iov_len = bytes_max};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    const ssize_t got = recvmsg(link->fd, &message, MSG_CMSG_CLOEXEC);
    if (got > 0) {
        take_fds(link, &message);
    }
    return got;
}

bool tarn_worker_link_reads(const tarn_worker_link *link)
{
    return link->out_bytes <= TARN_WORKER_READS_BYTES_MAX;
}

_Static_assert(TARN_WORKER_READS_BYTES_MAX + (TARN_WORKER_PIECE_BYTES / TARN_IPC_HEADER_BYTES + 1) *
                                                 (TARN_IPC_HEADER_BYTES + 16 + TARN_TEXT_BYTES_MAX) <
                   TARN_WORKER_OUT_BYTES_MAX - TARN_WORKER_ANSWERS_BYTES,
               "what one piece says may all be refused");

tarn_status tarn_worker_link_read(tarn_worker_link *link)
{
    for (size_t total = 0; total < TARN_WORKER_READ_BYTES_MAX && tarn_worker_link_reads(link);) {
        size_t room;
        uint8_t *space = tarn_ipc_reader_space(&link->reader, &room);
        ssize_t got = receive(link, space, room < TARN_WORKER_PIECE_BYTES ? room : TARN_WORKER_PIECE_BYTES);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return TARN_OK;
        }
        if (got <= 0) {
            return TARN_E_IO;
        }
        tarn_status status = tarn_ipc_reader_commit(&link->reader, (size_t)got);
        if (status != TARN_OK) {
            return status;
        }
        total += (size_t)got;
    }
    return TARN_OK;
}
