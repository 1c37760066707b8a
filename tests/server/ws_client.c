#include "tests/server/ws_client.h"
#include "server/base/clock.h"
#include "tests/server/test_cmocka.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int (*ws_connect_by)(uint16_t port) = NULL;

int ws_connect(uint16_t port)
{
    return ws_connect_by != NULL ? ws_connect_by(port) : ws_connect_plain(port);
}

int ws_connect_plain(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        return fd;
    }
    close(fd);
    return -1;
}

int ws_send_raw(int fd, const void *bytes, size_t byte_count)
{
    const uint8_t *at = bytes;
    uint64_t until_ns = tarn_clock_monotonic_ns() + WS_CLIENT_WAIT_MS * (uint64_t)1000000;
    while (byte_count > 0) {
        ssize_t sent = send(fd, at, byte_count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR) && tarn_clock_monotonic_ns() < until_ns) {
            struct pollfd pollfd = {.fd = fd, .events = POLLOUT};
            poll(&pollfd, 1, 100);
            continue;
        }
        if (sent <= 0) {
            return -1;
        }
        at += sent;
        byte_count -= (size_t)sent;
    }
    return 0;
}

/// Receives into the buffer. @return 1, 0 when nothing came in time, -1 at the end
static int receive(ws_client *client, int wait_ms)
{
    struct pollfd pollfd = {.fd = client->fd, .events = POLLIN};
    if (poll(&pollfd, 1, wait_ms) <= 0) {
        return 0;
    }
    if (client->have == WS_CLIENT_BUFFER_BYTES) {
        return -1;
    }
    ssize_t got = recv(client->fd, client->buffer + client->have, WS_CLIENT_BUFFER_BYTES - client->have, 0);
    if (got <= 0) {
        return -1;
    }
    client->have += (size_t)got;
    return 1;
}

static void take(ws_client *client, size_t count)
{
    memmove(client->buffer, client->buffer + count, client->have - count);
    client->have -= count;
}

const char *ws_client_headers = "";

static int read_upgrade_answer(ws_client *client)
{
    int status = 0;
    for (;;) {
        char *end = client->have ? memmem(client->buffer, client->have, "\r\n\r\n", 4) : NULL;
        if (end != NULL) {
            sscanf((char *)client->buffer, "HTTP/1.%*d %d", &status);
            take(client, (size_t)(end + 4 - (char *)client->buffer));
            return status;
        }
        if (receive(client, WS_CLIENT_WAIT_MS) <= 0) {
            return 0;
        }
    }
}

int ws_client_open(ws_client *client, uint16_t port, const char *path, const char *subprotocol, const char *origin)
{
    char request[1024];
    memset(client, 0, sizeof *client);
    client->auto_ack = true;
    client->fd = ws_connect(port);
    client->buffer = malloc(WS_CLIENT_BUFFER_BYTES);
    if (client->fd < 0 || client->buffer == NULL) {
        ws_client_close(client);
        return 0;
    }
    int length = snprintf(
        request, sizeof request,
        "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s%s%s%s%s%s%s\r\n",
        path, port, subprotocol != NULL ? "Sec-WebSocket-Protocol: " : "", subprotocol != NULL ? subprotocol : "",
        subprotocol != NULL ? "\r\n" : "", origin != NULL ? "Origin: " : "", origin != NULL ? origin : "",
        origin != NULL ? "\r\n" : "", ws_client_headers);
    int status = ws_send_raw(client->fd, request, (size_t)length) == 0 ? read_upgrade_answer(client) : 0;
    if (status != 101) {
        ws_client_close(client);
    }
    return status;
}

static void free_decoder(ws_decoder *decoder)
{
    free(decoder->memory);
    free(decoder->particles.positions);
    free(decoder->particles.velocities);
    memset(decoder, 0, sizeof *decoder);
}

void ws_client_close(ws_client *client)
{
    if (client->fd >= 0) {
        close(client->fd);
    }
    free(client->buffer);
    free_decoder(&client->decoder);
    client->fd = -1;
    client->buffer = NULL;
}

static size_t make_header(uint8_t *header, uint8_t first_byte, uint64_t bytes, bool masked)
{
    uint8_t mask_bit = masked ? 0x80 : 0;
    header[0] = first_byte;
    if (bytes < 126) {
        header[1] = (uint8_t)(mask_bit | bytes);
        return 2;
    }
    if (bytes < 65536) {
        header[1] = (uint8_t)(mask_bit | 126);
        header[2] = (uint8_t)(bytes >> 8);
        header[3] = (uint8_t)bytes;
        return 4;
    }
    header[1] = (uint8_t)(mask_bit | 127);
    for (int i = 0; i < 8; i++) {
        header[2 + i] = (uint8_t)(bytes >> (56 - 8 * i));
    }
    return 10;
}

int ws_client_send_header(ws_client *client, uint8_t first_byte, uint64_t declared_bytes, bool masked)
{
    uint8_t header[14];
    size_t count = make_header(header, first_byte, declared_bytes, masked);
    if (masked) {
        memset(header + count, 0, 4); // a mask of zeros leaves the payload as it is
        count += 4;
    }
    return ws_send_raw(client->fd, header, count);
}

int ws_client_send(ws_client *client, int opcode, const void *bytes, size_t byte_count)
{
    static const uint8_t mask[4] = {0x12, 0x34, 0x56, 0x78};
    uint8_t *frame = malloc(byte_count + 14);
    size_t count = make_header(frame, (uint8_t)(0x80 | opcode), byte_count, true);
    memcpy(frame + count, mask, 4);
    count += 4;
    for (size_t i = 0; i < byte_count; i++) {
        frame[count + i] = ((const uint8_t *)bytes)[i] ^ mask[i % 4];
    }
    int result = ws_send_raw(client->fd, frame, count + byte_count);
    free(frame);
    return result;
}

int ws_client_tell(ws_client *client, const tarn_message *message)
{
    uint8_t bytes[TARN_MESSAGE_BYTES_MAX];
    size_t count;
    if (tarn_message_write(message, bytes, sizeof bytes, &count) != TARN_OK) {
        return -1;
    }
    return ws_client_send(client, WS_BINARY, bytes, count);
}

/// Finds a whole WebSocket frame at the buffer's start. @return its bytes with header, or 0
static size_t find_message(const ws_client *client, ws_message *message)
{
    const uint8_t *at = client->buffer;
    if (client->have < 2) {
        return 0;
    }
    uint64_t bytes = at[1] & 0x7f;
    size_t header = bytes == 126 ? 4 : bytes == 127 ? 10 : 2;
    if (client->have < header) {
        return 0;
    }
    if (header > 2) {
        bytes = 0;
        for (size_t i = 2; i < header; i++) {
            bytes = bytes << 8 | at[i];
        }
    }
    if (bytes > client->have - header) {
        return 0;
    }
    message->opcode = at[0] & 0x0f;
    message->bytes = at + header;
    message->byte_count = (size_t)bytes;
    return header + (size_t)bytes;
}

/// Decodes what may be a frame, in room for what a key frame begins: of another tank it is another size.
static void see(ws_decoder *decoder, const ws_message *message)
{
    tarn_stream_frame frame;
    if (tarn_stream_open(message->bytes, message->byte_count, &frame) != TARN_OK) {
        return;
    }
    if (frame.head.kind == TARN_STREAM_KEY) {
        const tarn_stream_size size = tarn_stream_size_of(&frame);
        free_decoder(decoder);
        decoder->memory = aligned_alloc(16, (tarn_stream_bytes(&size) + 15) / 16 * 16);
        decoder->stream = tarn_stream_make(decoder->memory, &size);
        decoder->particles.particles_max = size.slots;
        decoder->particles.positions = malloc(8 * (size_t)size.slots + 1);
        decoder->particles.velocities = malloc(4 * (size_t)size.slots + 1);
    }
    decoder->status = TARN_E_STATE;
    if (decoder->stream != NULL) {
        decoder->status = tarn_stream_decode(decoder->stream, &frame, &decoder->particles);
    }
}

static void note(ws_client *client, const ws_message *message)
{
    if (message->opcode == WS_PING) {
        ws_client_send(client, WS_PONG, message->bytes, message->byte_count);
    }
    if (message->opcode == WS_CLOSE && client->close_code == 0) {
        client->close_code = message->byte_count >= 2 ? (uint16_t)(message->bytes[0] << 8 | message->bytes[1]) : 1005;
        if (message->byte_count > 2) {
            snprintf(client->close_reason, sizeof client->close_reason, "%.*s", (int)message->byte_count - 2,
                     (const char *)message->bytes + 2);
        }
    }
    tarn_message read;
    if (message->opcode == WS_BINARY && !client->is_blind) {
        see(&client->decoder, message);
    }
    if (message->opcode != WS_BINARY ||
        tarn_message_read(message->bytes, message->byte_count, &read, NULL) != TARN_OK) {
        return;
    }
    if (read.kind == TARN_MESSAGE_STATE) {
        client->state = read.state;
    }
    if (read.kind == TARN_MESSAGE_ERROR) {
        memcpy(client->told, read.error.text, sizeof client->told);
    }
    if (read.kind == TARN_MESSAGE_JOINED) {
        client->state = read.joined.state;
        client->viewer_id = read.joined.viewer_id;
    }
}

int ws_client_next(ws_client *client, ws_message *message, int wait_ms)
{
    uint64_t until_ns = tarn_clock_monotonic_ns() + (uint64_t)wait_ms * 1000000;
    take(client, client->taken);
    client->taken = 0;
    for (;;) {
        size_t bytes = find_message(client, message);
        if (bytes) {
            client->taken = bytes;
            note(client, message);
            return 1;
        }
        uint64_t now_ns = tarn_clock_monotonic_ns();
        int got = receive(client, now_ns < until_ns ? (int)((until_ns - now_ns) / 1000000) : 0);
        if (got < 0) {
            client->close_code = client->close_code != 0 ? client->close_code : WS_CLOSE_ABNORMAL;
            return -1;
        }
        if (got == 0 && tarn_clock_monotonic_ns() >= until_ns) {
            return 0;
        }
    }
}

static void acknowledge(ws_client *client, const ws_frame *frame)
{
    tarn_message message = {.kind = TARN_MESSAGE_ACK, .ack = {.epoch = frame->epoch, .step = frame->step}};
    if (client->auto_ack) {
        ws_client_tell(client, &message);
    }
}

/// The next message before a deadline, whatever else the server sends meanwhile.
static int next_until(ws_client *client, ws_message *message, uint64_t until_ns)
{
    uint64_t now_ns = tarn_clock_monotonic_ns();
    return now_ns < until_ns ? ws_client_next(client, message, (int)((until_ns - now_ns) / 1000000)) : 0;
}

static uint64_t wait_until_ns(void)
{
    return tarn_clock_monotonic_ns() + WS_CLIENT_WAIT_MS * (uint64_t)1000000;
}

bool ws_client_wait(ws_client *client, tarn_message_kind kind, tarn_message *message)
{
    ws_message raw;
    ws_frame frame;
    uint64_t until_ns = wait_until_ns();
    while (next_until(client, &raw, until_ns) == 1) {
        if (raw.opcode != WS_BINARY) {
            continue;
        }
        if (ws_frame_open(raw.bytes, raw.byte_count, &frame) == TARN_OK) {
            acknowledge(client, &frame);
        } else if (tarn_message_read(raw.bytes, raw.byte_count, message, NULL) == TARN_OK && message->kind == kind) {
            return true;
        }
    }
    return false;
}

int ws_client_wait_frame(ws_client *client, ws_frame *frame)
{
    ws_message raw;
    uint64_t until_ns = wait_until_ns();
    while (next_until(client, &raw, until_ns) == 1) {
        if (raw.opcode != WS_BINARY || ws_frame_open(raw.bytes, raw.byte_count, frame) != TARN_OK) {
            continue;
        }
        acknowledge(client, frame);
        return 1;
    }
    return 0;
}

uint16_t ws_client_wait_close(ws_client *client)
{
    ws_message raw;
    uint64_t until_ns = wait_until_ns();
    for (;;) {
        const int got = next_until(client, &raw, until_ns);
        if (client->close_code != 0 || got == 0) {
            return client->close_code;
        }
    }
}

int ws_client_hello(ws_client *client)
{
    tarn_message message = {.kind = TARN_MESSAGE_HELLO};
    message.hello.version_count = 1;
    message.hello.versions[0] = TARN_PROTOCOL_VERSION;
    snprintf(message.hello.client, sizeof message.hello.client, "ws_client");
    return ws_client_tell(client, &message);
}

int ws_client_join_by(ws_client *client, const char *session, const char *key)
{
    tarn_message message = {.kind = TARN_MESSAGE_JOIN};
    snprintf(message.join.session, sizeof message.join.session, "%s", session);
    snprintf(message.join.key, sizeof message.join.key, "%s", key);
    return ws_client_tell(client, &message);
}

int ws_client_join(ws_client *client, const char *session)
{
    return ws_client_join_by(client, session, "");
}

void ws_client_enter(ws_client *client, uint16_t port)
{
    tarn_message message;
    assert_int_equal(ws_client_open(client, port, "/ws", "tarn.v1", NULL), 101);
    assert_int_equal(ws_client_hello(client), 0);
    assert_true(ws_client_wait(client, TARN_MESSAGE_WELCOME, &message));
    assert_int_equal(ws_client_join(client, ""), 0);
    if (!ws_client_wait(client, TARN_MESSAGE_JOINED, &message)) {
        fail_msg("nobody said joined; closed with %u: %s", client->close_code, client->close_reason);
    }
}

int ws_client_control(ws_client *client, tarn_control_action action, const char *scene)
{
    tarn_message message = {.kind = TARN_MESSAGE_CONTROL};
    message.control.sequence = ++client->sequence;
    message.control.action = action;
    snprintf(message.control.scene, sizeof message.control.scene, "%s", scene != NULL ? scene : "");
    return ws_client_tell(client, &message);
}

int ws_client_speed(ws_client *client, float speed)
{
    const tarn_control control = {.sequence = ++client->sequence, .action = TARN_CONTROL_SPEED, .speed = speed};
    return ws_client_tell(client, &(tarn_message){.kind = TARN_MESSAGE_CONTROL, .control = control});
}

int ws_client_pointer(ws_client *client, tarn_phase phase, const float origin_m[3], const float direction[3],
                      float radius_m)
{
    tarn_message message = {.kind = TARN_MESSAGE_INPUT};
    message.input.sequence = ++client->sequence;
    message.input.kind = TARN_INPUT_POINTER;
    message.input.pointer.phase = phase;
    memcpy(message.input.pointer.origin_m, origin_m, 3 * sizeof(float));
    memcpy(message.input.pointer.direction, direction, 3 * sizeof(float));
    message.input.pointer.radius_m = radius_m;
    message.input.pointer.strength = 1;
    return ws_client_tell(client, &message);
}

int ws_client_point(ws_client *client, uint32_t pointer, tarn_tool tool, tarn_phase phase, const float at_m[2],
                    float radius_m)
{
    tarn_message message = {.kind = TARN_MESSAGE_INPUT};
    message.input.sequence = ++client->sequence;
    message.input.kind = TARN_INPUT_POINTER;
    message.input.pointer = (tarn_input_pointer){.pointer_id = pointer,
                                                 .phase = phase,
                                                 .tool = tool,
                                                 .origin_m = {at_m[0], 3, at_m[1]},
                                                 .direction = {0, -1, 0},
                                                 .radius_m = radius_m,
                                                 .strength = 1};
    return ws_client_tell(client, &message);
}

int ws_client_parameter(ws_client *client, const char *name, float value)
{
    tarn_message message = {.kind = TARN_MESSAGE_INPUT};
    message.input.sequence = ++client->sequence;
    message.input.kind = TARN_INPUT_PARAMETER;
    snprintf(message.input.parameter.name, sizeof message.input.parameter.name, "%s", name);
    message.input.parameter.value = value;
    return ws_client_tell(client, &message);
}

tarn_status ws_frame_open(const uint8_t *bytes, size_t byte_count, ws_frame *frame)
{
    tarn_stream_frame opened;
    const tarn_stream_head *head = &opened.head;
    const tarn_status status = tarn_stream_open(bytes, byte_count, &opened);
    if (status != TARN_OK) {
        return status;
    }
    frame->kind = (tarn_stream_kind)head->kind;
    frame->layers = opened.layers_present;
    frame->epoch = head->epoch;
    frame->flags = head->flags;
    frame->step = head->step;
    frame->server_time_us = head->server_time_us;
    frame->realtime_factor = head->realtime_factor;
    memcpy(frame->cells, head->cells, sizeof frame->cells);
    memcpy(frame->orientation, head->orientation, sizeof frame->orientation);
    frame->particle_count = 0;
    for (uint32_t l = 0; l < frame->layers; l++) {
        frame->particle_count += head->layers[l].particles;
    }
    frame->body_count = head->body_count;
    memcpy(frame->bodies, head->bodies, sizeof frame->bodies);
    frame->input_count = head->input_count;
    for (uint32_t i = 0; i < frame->input_count; i++) {
        frame->inputs[i] = tarn_stream_input_at(&opened, i);
    }
    return TARN_OK;
}

void ws_client_velocity(const ws_client *client, double velocity_m_s[3])
{
    const tarn_stream_particles *seen = &client->decoder.particles;
    assert_int_equal(client->decoder.status, TARN_OK);
    memset(velocity_m_s, 0, 3 * sizeof(double));
    for (uint32_t i = 0; i < seen->count; i++) {
        for (int axis = 0; axis < 3; axis++) {
            velocity_m_s[axis] +=
                seen->velocities[4 * (size_t)i + (size_t)axis] * (double)seen->velocity_scale_m_s / seen->count;
        }
    }
}
