// Receiving: `in` holds what isn't understood yet and is read into in small pieces, so that little of a frame passes
// through it; once a frame's head is known, the rest of the frame goes past it.
//
//     recv 4 kB -> header -> message: wait for all of it, hand it out
//                         -> frame: wait for its head, hand that out -> recv the rest into its room, or discard it
#include "server/tool/load/load_socket.h"
#include "server/tool/load/load_frame.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 4096, ///< read at once while a header is due
    OPCODE_BINARY = 2,
    OPCODE_CLOSE = 8,
    OPCODE_PING = 9,
    OPCODE_PONG = 10,
    FINAL = 0x80,
    MASKED = 0x80,
    CONTROL_BYTES_MAX = 125,
    HTTP_SWITCHING = 101,
    HTTP_REDIRECT = 308,
};

// A nonce that never changes and its answer, from RFC 6455, section 1.3: it only tells a WebSocket server from others.
#define UPGRADE_KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define UPGRADE_ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

/// The head of a WebSocket frame.
typedef struct wire_header {
    uint8_t first;
    size_t header_bytes;
    uint64_t payload_bytes;
} wire_header;

tarn_status load_socket_open(load_socket *socket_, const load_target *target, int receive_bytes,
                             const load_socket_events *events, void *user, uint64_t seed)
{
    int on = 1;
    int fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return errno == EMFILE || errno == ENFILE ? TARN_E_LIMIT : TARN_E_IO;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (receive_bytes > 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    if (connect(fd, (const struct sockaddr *)&target->address, target->address_bytes) != 0 && errno != EINPROGRESS) {
        close(fd);
        return TARN_E_IO;
    }
    const tarn_status status = load_channel_open(&socket_->channel, fd, target);
    if (status != TARN_OK) {
        close(fd);
        return TARN_E_IO;
    }
    socket_->fd = fd;
    socket_->phase = LOAD_SOCKET_CONNECTING;
    socket_->events = events;
    socket_->user = user;
    socket_->body_left = 0;
    socket_->body_at = NULL;
    socket_->in_count = socket_->out_count = 0;
    socket_->mask_state = seed;
    socket_->bytes_received = 0;
    socket_->why[0] = '\0';
    return TARN_OK;
}

void load_socket_close(load_socket *socket, bool abrupt)
{
    if (socket->fd < 0) {
        return;
    }
    if (abrupt) {
        struct linger reset = {.l_onoff = 1, .l_linger = 0};
        setsockopt(socket->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    }
    load_channel_close(&socket->channel);
    close(socket->fd);
    socket->fd = -1;
}

bool load_socket_wants_write(const load_socket *socket)
{
    return socket->phase == LOAD_SOCKET_CONNECTING || (socket->out_count > 0 && !socket->channel.waits_for_peer);
}

static tarn_status fail(load_socket *socket, tarn_status status, const char *why)
{
    snprintf(socket->why, sizeof socket->why, "%s", why);
    return status;
}

/// @param result  of a call of the channel's: 0 or -1
static tarn_status fail_channel(load_socket *socket, ssize_t result)
{
    if (result == 0) {
        return fail(socket, TARN_E_IO, "it ended the connection");
    }
    load_channel_why(&socket->channel, socket->why);
    return TARN_E_IO;
}

// ---- sending ----

static tarn_status flush(load_socket *socket)
{
    while (socket->out_count > 0) {
        ssize_t sent = load_channel_send(&socket->channel, socket->out, socket->out_count);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? TARN_OK : fail_channel(socket, sent);
        }
        memmove(socket->out, socket->out + sent, socket->out_count - (size_t)sent);
        socket->out_count -= (size_t)sent;
    }
    return TARN_OK;
}

tarn_status load_socket_write(load_socket *socket, const load_target *target)
{
    if (socket->phase == LOAD_SOCKET_CONNECTING) {
        int error = 0;
        socklen_t bytes = sizeof error;
        getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
        if (error != 0) {
            return fail(socket, TARN_E_IO, strerror(error));
        }
        socket->phase = LOAD_SOCKET_UPGRADING;
        socket->out_count =
            (size_t)snprintf((char *)socket->out, sizeof socket->out,
                             "GET /ws HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Key: " UPGRADE_KEY "\r\nSec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Protocol: " TARN_PROTOCOL_SUBPROTOCOL "\r\n\r\n",
                             target->authority);
    }
    return flush(socket);
}

static uint32_t next_mask(load_socket *socket)
{
    socket->mask_state = socket->mask_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(socket->mask_state >> 32);
}

/// Puts a frame behind what waits. The payload is at most as long as a message from a client may be.
static tarn_status send_wire(load_socket *socket, uint8_t opcode, const uint8_t *payload, size_t count)
{
    size_t header = count <= CONTROL_BYTES_MAX ? 6 : 8;
    if (count > UINT16_MAX || header + count > sizeof socket->out - socket->out_count) {
        return fail(socket, TARN_E_SPACE, "the server takes no messages any more");
    }
    uint8_t *at = socket->out + socket->out_count;
    uint32_t mask = next_mask(socket);
    at[0] = FINAL | opcode;
    if (header == 6) {
        at[1] = (uint8_t)(MASKED | count);
    } else {
        at[1] = MASKED | 126;
        at[2] = (uint8_t)(count >> 8);
        at[3] = (uint8_t)count;
    }
    uint8_t *keys = at + header - 4;
    memcpy(keys, &mask, 4);
    for (size_t i = 0; i < count; i++) {
        at[header + i] = payload[i] ^ keys[i % 4];
    }
    socket->out_count += header + count;
    return flush(socket);
}

tarn_status load_socket_tell(load_socket *socket, const tarn_message *message)
{
    uint8_t bytes[TARN_MESSAGE_BYTES_MAX];
    size_t count;
    tarn_status status = tarn_message_write(message, bytes, sizeof bytes, &count);
    return status == TARN_OK ? send_wire(socket, OPCODE_BINARY, bytes, count) : status;
}

tarn_status load_socket_say_close(load_socket *socket, uint16_t code)
{
    const uint8_t bytes[2] = {(uint8_t)(code >> 8), (uint8_t)code};
    return send_wire(socket, OPCODE_CLOSE, bytes, sizeof bytes);
}

// ---- receiving ----

static void drop(load_socket *socket, size_t count)
{
    memmove(socket->in, socket->in + count, socket->in_count - count);
    socket->in_count -= count;
}

/// A header's value, without blanks around it, in an answer that ends in an empty line; NULL where it isn't there.
static const char *find_header(const char *answer, const char *name, size_t *length)
{
    for (const char *line = strstr(answer, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, strlen(name)) == 0 && line[2 + strlen(name)] == ':') {
            const char *value = line + 3 + strlen(name);
            value += strspn(value, " \t");
            *length = strcspn(value, " \t\r");
            return value;
        }
    }
    return NULL;
}

static bool header_is(const char *answer, const char *name, const char *wanted)
{
    size_t length;
    const char *value = find_header(answer, name, &length);
    return value != NULL && length == strlen(wanted) && strncmp(value, wanted, length) == 0;
}

/// @return TARN_OK; *done where the upgrade is through
static tarn_status read_upgrade(load_socket *socket, bool *done)
{
    int status = 0;
    *done = false;
    uint8_t *end = memmem(socket->in, socket->in_count, "\r\n\r\n", 4);
    if (end == NULL) {
        return socket->in_count < PIECE_BYTES ? TARN_OK : fail(socket, TARN_E_MALFORMED, "its answer is too long");
    }
    end[2] = '\0';
    const char *answer = (const char *)socket->in;
    if (sscanf(answer, "HTTP/1.%*1d %3d", &status) != 1) {
        return fail(socket, TARN_E_MALFORMED, "it answers, but not by HTTP");
    }
    if (status == HTTP_REDIRECT) {
        return fail(socket, TARN_E_MALFORMED, "it speaks TLS only: name it with https://");
    }
    if (status != HTTP_SWITCHING) {
        snprintf(socket->why, sizeof socket->why, "it refused the WebSocket with HTTP status %d", status);
        return TARN_E_MALFORMED;
    }
    if (!header_is(answer, "Sec-WebSocket-Accept", UPGRADE_ACCEPT) ||
        !header_is(answer, "Sec-WebSocket-Protocol", TARN_PROTOCOL_SUBPROTOCOL)) {
        return fail(socket, TARN_E_MALFORMED, "its WebSocket doesn't speak " TARN_PROTOCOL_SUBPROTOCOL);
    }
    drop(socket, (size_t)(end + 4 - socket->in));
    socket->phase = LOAD_SOCKET_OPEN;
    *done = true;
    return TARN_OK;
}

/// @return whether the whole header is there
static bool find_header_bytes(const load_socket *socket, wire_header *header)
{
    if (socket->in_count < 2) {
        return false;
    }
    uint8_t length = socket->in[1] & 0x7f;
    *header = (wire_header){socket->in[0], length == 126 ? 4 : length == 127 ? 10 : 2, length};
    if (socket->in_count < header->header_bytes) {
        return false;
    }
    if (header->header_bytes > 2) {
        header->payload_bytes = 0;
        for (size_t i = 2; i < header->header_bytes; i++) {
            header->payload_bytes = header->payload_bytes << 8 | socket->in[i];
        }
    }
    return true;
}

static tarn_status check_header(load_socket *socket, const wire_header *header)
{
    uint8_t opcode = header->first & 0x0f;
    bool control = opcode == OPCODE_CLOSE || opcode == OPCODE_PING || opcode == OPCODE_PONG;
    if ((header->first & 0x70) != 0 || (socket->in[1] & MASKED) != 0 || (opcode != OPCODE_BINARY && !control)) {
        return fail(socket, TARN_E_MALFORMED, "it sent a WebSocket frame that may not be");
    }
    if ((header->first & FINAL) == 0) {
        return fail(socket, TARN_E_MALFORMED, "it sent a message in fragments, which this program doesn't read");
    }
    if (header->payload_bytes > (control ? (uint64_t)CONTROL_BYTES_MAX : (uint64_t)LOAD_FRAME_BYTES_MAX)) {
        snprintf(socket->why, sizeof socket->why, "it sent %llu bytes at once; allowed are %d",
                 (unsigned long long)header->payload_bytes, control ? CONTROL_BYTES_MAX : LOAD_FRAME_BYTES_MAX);
        return TARN_E_MALFORMED;
    }
    return TARN_OK;
}

static tarn_status on_control(load_socket *socket, const wire_header *header, bool *go_on)
{
    const uint8_t *payload = socket->in + header->header_bytes;
    size_t count = (size_t)header->payload_bytes;
    uint8_t opcode = header->first & 0x0f;
    if (opcode == OPCODE_PING) {
        return send_wire(socket, OPCODE_PONG, payload, count);
    }
    if (opcode == OPCODE_CLOSE) {
        char reason[CONTROL_BYTES_MAX + 1] = "";
        if (count > 2) {
            snprintf(reason, sizeof reason, "%.*s", (int)count - 2, (const char *)payload + 2);
        }
        *go_on = socket->events->closed(socket->user,
                                        count >= 2 ? (uint16_t)(payload[0] << 8 | payload[1]) : (uint16_t)1005, reason);
    }
    return TARN_OK;
}

/// Hands out a frame's head and arranges for the rest. @return whether to go on
static bool begin_frame(load_socket *socket, const wire_header *header, size_t head_bytes)
{
    uint8_t *room = NULL;
    const uint8_t *payload = socket->in + header->header_bytes;
    bool go_on = socket->events->frame(socket->user, payload, head_bytes, header->payload_bytes, &room);
    size_t have = socket->in_count - header->header_bytes;
    if (have > header->payload_bytes) {
        have = (size_t)header->payload_bytes;
    }
    if (room != NULL) {
        memcpy(room, payload, have);
    }
    socket->body_at = room != NULL ? room + have : NULL;
    socket->body_left = header->payload_bytes - have;
    drop(socket, header->header_bytes + have);
    return go_on && (socket->body_left > 0 || socket->events->frame_end(socket->user));
}

/// Takes what is whole out of `in`.
/// @param wanted  receives how many bytes `in` must hold before the next can be taken
static tarn_status understand(load_socket *socket, size_t *wanted, bool *go_on)
{
    wire_header header;
    tarn_status status = TARN_OK;
    *wanted = 2;
    while (status == TARN_OK && *go_on && socket->body_left == 0) {
        if (!find_header_bytes(socket, &header)) {
            *wanted = socket->in_count < 2 ? 2 : 10;
            return TARN_OK;
        }
        status = check_header(socket, &header);
        if (status != TARN_OK) {
            return status;
        }
        bool control = (header.first & 0x0f) != OPCODE_BINARY;
        size_t have = socket->in_count - header.header_bytes, needed = (size_t)header.payload_bytes;
        bool may_be_frame = !control && header.payload_bytes >= LOAD_FRAME_MAGIC_BYTES;
        if (may_be_frame && have < LOAD_FRAME_MAGIC_BYTES) {
            needed = LOAD_FRAME_MAGIC_BYTES;
        } else if (may_be_frame && load_frame_begins(socket->in + header.header_bytes)) {
            needed = needed < LOAD_FRAME_HEAD_BYTES_MAX ? needed : LOAD_FRAME_HEAD_BYTES_MAX;
            if (have >= needed) {
                *go_on = begin_frame(socket, &header, needed);
                continue;
            }
        } else if (needed > TARN_MESSAGE_SERVER_BYTES_MAX) {
            return fail(socket, TARN_E_MALFORMED, "it sent a message that is neither a frame nor short enough");
        } else if (have >= needed) {
            if (control) {
                status = on_control(socket, &header, go_on);
            } else {
                *go_on = socket->events->message(socket->user, socket->in + header.header_bytes, needed);
            }
            drop(socket, header.header_bytes + needed);
            continue;
        }
        *wanted = header.header_bytes + needed;
        return TARN_OK;
    }
    return status;
}

/// Reads the rest of a frame. @return as recv
static ssize_t receive_body(load_socket *socket, size_t budget)
{
    size_t count = socket->body_left < budget ? (size_t)socket->body_left : budget;
    ssize_t got = load_channel_receive(&socket->channel, socket->body_at, count);
    if (got > 0) {
        socket->body_left -= (uint64_t)got;
        socket->body_at = socket->body_at != NULL ? socket->body_at + got : NULL;
    }
    return got;
}

static ssize_t receive_piece(load_socket *socket, size_t wanted)
{
    size_t count = wanted > PIECE_BYTES ? wanted : PIECE_BYTES;
    ssize_t got = load_channel_receive(&socket->channel, socket->in + socket->in_count, count - socket->in_count);
    if (got > 0) {
        socket->in_count += (size_t)got;
    }
    return got;
}

/// What has come in is understood as far as it goes.
static tarn_status digest(load_socket *socket, bool body, size_t *wanted, bool *go_on)
{
    tarn_status status = TARN_OK;
    if (socket->phase == LOAD_SOCKET_UPGRADING) {
        bool done;
        status = read_upgrade(socket, &done);
        *go_on = !done || socket->events->open(socket->user);
    }
    if (body && socket->body_left == 0) {
        *go_on = socket->events->frame_end(socket->user);
    }
    if (status == TARN_OK && *go_on && socket->phase == LOAD_SOCKET_OPEN) {
        status = understand(socket, wanted, go_on);
    }
    return status;
}

tarn_status load_socket_read(load_socket *socket, size_t budget)
{
    size_t wanted = 2;
    bool go_on = true;
    // What a reader that stopped left behind comes first.
    tarn_status status = digest(socket, false, &wanted, &go_on);
    // What TLS has taken from the descriptor goes beyond the budget: nothing would tell of it later.
    for (size_t total = 0; status == TARN_OK && go_on && (total < budget || load_channel_has_more(&socket->channel));) {
        bool body = socket->body_left > 0;
        size_t room = total < budget ? budget - total : PIECE_BYTES;
        ssize_t got = body ? receive_body(socket, room) : receive_piece(socket, wanted);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return socket->out_count > 0 ? flush(socket) : TARN_OK; // the handshake may have waited for this
        }
        if (got <= 0) {
            return fail_channel(socket, got);
        }
        total += (size_t)got;
        socket->bytes_received += (uint64_t)got;
        status = digest(socket, body, &wanted, &go_on);
    }
    return status;
}
