// What libwebsockets reads, read for it: begin at tarn_gate_read. Until the socket has no more, since over TLS a read
// that is not passed on would be taken for the end.
#include "server/net/gate.h"
#include "protocol/assert.h"
#include "protocol/message.h"
#include "server/base/clock.h"
#include "server/net/addresses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- frames of a WebSocket ----
// A frame's header is gathered byte by byte and checked as a whole; of payloads only those of closes are kept.

enum { OPCODE_CONTINUATION = 0, OPCODE_BINARY = 2, OPCODE_CLOSE = 8, OPCODE_PONG = 10 };

enum { BIT_LAST = 0x80, BITS_RESERVED = 0x70, BIT_MASK = 0x80, LENGTH_16 = 126, LENGTH_64 = 127 };

_Static_assert(TARN_GATEWAY_CONTROLS_PER_S == 10 && TARN_MESSAGE_BYTES_MAX == 16384, "sentences state these limits");

static bool forbid(tarn_ws_fault *fault, uint16_t close_code, const char *why)
{
    fault->close_code = close_code;
    fault->why = why;
    return false;
}

/// How many bytes the header has, from its first two.
static uint8_t header_bytes(const uint8_t header[2])
{
    const uint8_t length = header[1] & 0x7f;
    return (uint8_t)(2 + (length == LENGTH_16 ? 2 : length == LENGTH_64 ? 8 : 0) + 4);
}

/// What the first byte says. At once, since libwebsockets gets bytes as they come and would end the connection with
/// less to say about it; so below.
static bool check_first(const tarn_ws_frames *frames, tarn_ws_fault *fault)
{
    const uint8_t first = frames->header[0], opcode = first & 0x0f;
    const bool is_control = opcode >= OPCODE_CLOSE;
    if (first & BITS_RESERVED) {
        return forbid(fault, TARN_WS_CLOSE_PROTOCOL, "a frame has reserved bits, allowed are none");
    }
    if (opcode > OPCODE_PONG || (opcode > OPCODE_BINARY && !is_control)) {
        return forbid(fault, TARN_WS_CLOSE_PROTOCOL, "a frame has a reserved opcode");
    }
    if (is_control && !(first & BIT_LAST)) {
        return forbid(fault, TARN_WS_CLOSE_PROTOCOL, "a control frame is a fragment");
    }
    if (opcode == OPCODE_CONTINUATION && !frames->in_message) {
        return forbid(fault, TARN_WS_CLOSE_PROTOCOL, "a continuation comes without the beginning of its message");
    }
    if (opcode != OPCODE_CONTINUATION && !is_control && frames->in_message) {
        return forbid(fault, TARN_WS_CLOSE_PROTOCOL, "a message begins amid another one");
    }
    return true;
}

static bool check_second(const tarn_ws_frames *frames, tarn_ws_fault *fault)
{
    if (!(frames->header[1] & BIT_MASK)) {
        return forbid(fault, TARN_WS_CLOSE_PROTOCOL, "a frame has no mask, which a client's must have");
    }
    if ((frames->header[0] & 0x0f) >= OPCODE_CLOSE && (frames->header[1] & 0x7f) > TARN_WS_CONTROL_BYTES_MAX) {
        return forbid(fault, TARN_WS_CLOSE_PROTOCOL, "a control frame has more than 125 bytes");
    }
    return true;
}

static bool check_third(const tarn_ws_frames *frames, tarn_ws_fault *fault)
{
    if ((frames->header[1] & 0x7f) == LENGTH_64 && frames->header[2] >> 7) {
        return forbid(fault, TARN_WS_CLOSE_PROTOCOL, "a frame's length has its highest bit set");
    }
    return true;
}

static bool begin_payload(tarn_ws_frames *frames, tarn_ws_fault *fault)
{
    const uint8_t opcode = frames->header[0] & 0x0f, coded = frames->header[1] & 0x7f;
    uint64_t length = coded;
    if (coded >= LENGTH_16) {
        const int count = coded == LENGTH_16 ? 2 : 8;
        length = 0;
        for (int i = 0; i < count; i++) {
            length = length << 8 | frames->header[2 + i];
        }
        if (length < (coded == LENGTH_16 ? 126 : 65536)) {
            return forbid(fault, TARN_WS_CLOSE_PROTOCOL, "a frame's length takes more bytes than it needs");
        }
    }
    if (length > TARN_MESSAGE_BYTES_MAX) {
        return forbid(fault, TARN_WS_CLOSE_SIZE, "a frame has more bytes than a message may have, which are 16384");
    }
    if (opcode > OPCODE_CLOSE &&
        !tarn_turn_allow(&frames->control_due_ns, 1000 / TARN_GATEWAY_CONTROLS_PER_S, TARN_GATEWAY_CONTROLS_BURST)) {
        return forbid(fault, TARN_WS_CLOSE_POLICY, "too many control frames; allowed are 10 a second");
    }
    if (opcode < OPCODE_CLOSE) {
        frames->in_message = !(frames->header[0] & BIT_LAST);
    }
    frames->opcode = opcode;
    frames->left = length;
    frames->control_count = 0;
    frames->in_payload = true;
    return true;
}

/// What a peer may say (RFC 6455, 7.4): not those that are never sent, nor those that nobody has given a meaning.
static bool is_close_code(unsigned code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1011) || (code >= 3000 && code <= 4999);
}

/// UTF-8 in its shortest form and without surrogates.
static bool is_utf8(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count;) {
        const uint8_t first = bytes[i++];
        const int more = first < 0x80 ? 0 : first >= 0xc2 && first < 0xe0 ? 1 : (first & 0xf0) == 0xe0 ? 2 : 3;
        if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || (size_t)more > count - i) {
            return false;
        }
        for (int k = 0; k < more; k++, i++) {
            const uint8_t least = k > 0 ? 0x80 : first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
            const uint8_t most = k > 0 ? 0xbf : first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
            if (bytes[i] < least || bytes[i] > most) {
                return false;
            }
        }
    }
    return true;
}

static bool end_close(tarn_ws_frames *frames, tarn_ws_fault *fault)
{
    const uint8_t *payload = frames->control;
    if (frames->control_count == 1) {
        return forbid(fault, TARN_WS_CLOSE_PROTOCOL, "a close has half a code");
    }
    if (frames->control_count >= 2 && !is_close_code((unsigned)payload[0] << 8 | payload[1])) {
        return forbid(fault, TARN_WS_CLOSE_PROTOCOL,
                      "a close has a code that none may have; allowed are 1000-1003, 1007-1011 and 3000-4999");
    }
    if (frames->control_count > 2 && !is_utf8(payload + 2, frames->control_count - 2u)) {
        return forbid(fault, TARN_WS_CLOSE_TEXT, "a close has a reason that is not UTF-8");
    }
    frames->is_closed = true;
    return true;
}

/// @return false: there is a fault
static bool take_header(tarn_ws_frames *frames, uint8_t byte, tarn_ws_fault *fault)
{
    TARN_ASSERT(frames->header_count < sizeof frames->header);
    frames->header[frames->header_count++] = byte;
    if ((frames->header_count == 1 && !check_first(frames, fault)) ||
        (frames->header_count == 2 && !check_second(frames, fault)) ||
        (frames->header_count == 3 && !check_third(frames, fault))) {
        return false;
    }
    return frames->header_count < 2 || frames->header_count < header_bytes(frames->header) ||
           begin_payload(frames, fault);
}

static void keep_control(tarn_ws_frames *frames, const uint8_t *bytes, size_t byte_count)
{
    const uint8_t *mask = frames->header + frames->header_count - 4;
    for (size_t i = 0; i < byte_count; i++) {
        TARN_ASSERT(frames->control_count < sizeof frames->control);
        frames->control[frames->control_count] = bytes[i] ^ mask[frames->control_count & 3];
        frames->control_count++;
    }
}

/// Looks at the bytes that came next. @return how many may be passed on, all of them unless there is a fault or the
/// client has closed; after a fault the connection is over
static size_t ws_frames_take(tarn_ws_frames *frames, const uint8_t *bytes, size_t byte_count, tarn_ws_fault *fault)
{
    size_t at = 0;
    *fault = (tarn_ws_fault){0, NULL};
    while (at < byte_count && !frames->is_closed) {
        if (!frames->in_payload) {
            if (!take_header(frames, bytes[at++], fault)) {
                return 0;
            }
        } else {
            const size_t room = byte_count - at, count = frames->left < room ? (size_t)frames->left : room;
            if (frames->opcode == OPCODE_CLOSE) {
                keep_control(frames, bytes + at, count);
            }
            at += count;
            frames->left -= count;
        }
        if (frames->in_payload && frames->left == 0) {
            if (frames->opcode == OPCODE_CLOSE && !end_close(frames, fault)) {
                return 0;
            }
            frames->in_payload = false;
            frames->header_count = 0;
        }
    }
    return at;
}

// ---- the gate ----

enum { ROOM_BYTES = TARN_GATEWAY_HEAD_BYTES_MAX + TARN_GATEWAY_BODY_BYTES_MAX };

static void enter(tarn_gate *gate, tarn_gate_phase phase, uint64_t now_ns)
{
    gate->phase = phase;
    gate->since_ns = now_ns;
}

static void forget_request(tarn_gate *gate)
{
    free(gate->bytes);
    gate->bytes = NULL;
    gate->byte_count = gate->looked = gate->head_bytes = 0;
    memset(&gate->head, 0, sizeof gate->head); // which referred to them
}

void tarn_gate_open(tarn_gate *gate, int fd, uint64_t now_ns, void (*faulty)(void *user, const tarn_ws_fault *fault),
                    void *user)
{
    memset(gate, 0, sizeof *gate);
    gate->fd = fd;
    gate->faulty = faulty;
    gate->user = user;
    enter(gate, TARN_GATE_HEAD, now_ns);
}

void tarn_gate_close(tarn_gate *gate)
{
    forget_request(gate);
}

/// Throws away what comes. @return as the reader, when it has no more
static ssize_t throw_away(tarn_gate *gate, tarn_gate_reader read, void *from)
{
    static char nothing[TARN_GATEWAY_READ_BYTES];
    for (int i = 0; i < TARN_GATEWAY_THROWN_READS_MAX; i++) {
        const ssize_t got = read(from, nothing, sizeof nothing);
        if (got <= 0) {
            return got;
        }
        gate->is_overrun = true;
    }
    errno = EAGAIN;
    return -1;
}

static void refuse(tarn_gate *gate, unsigned status, const char *sentence)
{
    tarn_http_head_refuse(&gate->head, status, sentence);
    gate->head.closes = true;
}

/// @return whether the request is whole, or refused
static bool look(tarn_gate *gate)
{
    tarn_text why;
    if (gate->phase == TARN_GATE_HEAD) {
        memset(&gate->head, 0, sizeof gate->head);
        const tarn_http_progress progress = tarn_http_head_find_end(gate->bytes, gate->byte_count, &gate->looked, why);
        if (progress == TARN_HTTP_WRONG) {
            refuse(gate, 400, why);
            return true;
        }
        if (progress == TARN_HTTP_MORE && gate->byte_count >= TARN_GATEWAY_HEAD_BYTES_MAX) {
            snprintf(why, sizeof why,
                     "the head has more than %d bytes; the cookies of this host, which all of its ports share, may be "
                     "too many: delete them",
                     TARN_GATEWAY_HEAD_BYTES_MAX);
            refuse(gate, 431, why);
            return true;
        }
        if (progress == TARN_HTTP_MORE) {
            return false;
        }
        gate->head_bytes = gate->looked;
        tarn_http_head_read(gate->bytes, gate->head_bytes, &gate->head);
        if (gate->head.status != 0) {
            return true;
        }
        enter(gate, TARN_GATE_BODY, tarn_clock_monotonic_ns());
    }
    if (gate->head.is_upload) {
        return true;
    }
    const size_t all_bytes = gate->head_bytes + gate->head.body_bytes;
    if (gate->head.is_upgrade && gate->byte_count > all_bytes) {
        gate->head.is_upgrade = false;
        refuse(gate, 400, "bytes follow the request to upgrade before it was answered");
    }
    return gate->head.status != 0 || gate->byte_count >= all_bytes;
}

/// So many bytes more of an upload were passed on, which gives it time: what came fast is no leave to stay for minutes.
static void note_upload(tarn_gate *gate, size_t byte_count)
{
    const uint64_t latest_ns =
        tarn_clock_monotonic_ns() + (TARN_GATEWAY_BODY_MS_MAX + TARN_GATEWAY_UPLOAD_CREDIT_MS_MAX) * UINT64_C(1000000);
    gate->upload_bytes += (uint32_t)byte_count;
    gate->upload_due_ns += byte_count * UINT64_C(1000000000) / TARN_GATEWAY_UPLOAD_BYTES_PER_S_MIN;
    gate->upload_due_ns = gate->upload_due_ns < latest_ns ? gate->upload_due_ns : latest_ns;
    TARN_ASSERT(gate->upload_bytes <= gate->head.body_bytes);
    if (gate->upload_bytes == gate->head.body_bytes) {
        enter(gate, TARN_GATE_ANSWERING, tarn_clock_monotonic_ns());
    }
}

static ssize_t read_upload(tarn_gate *gate, tarn_gate_reader read, void *from, char *bytes, size_t byte_count)
{
    const size_t left = gate->head.body_bytes - gate->upload_bytes;
    const ssize_t got = read(from, bytes, byte_count < left ? byte_count : left);
    if (got > 0) {
        note_upload(gate, (size_t)got);
    }
    return got;
}

/// Passes the head of an upload on, and of its body what has come and fits: over TLS, whoever gets less than it asked
/// for takes it that there is no more. @return bytes
static ssize_t pass_upload(tarn_gate *gate, tarn_gate_reader read, void *from, char *bytes, size_t byte_count)
{
    size_t used = tarn_http_head_write(&gate->head, bytes);
    size_t come = gate->byte_count - gate->head_bytes;
    gate->is_overrun = come > gate->head.body_bytes;
    come = come < gate->head.body_bytes ? come : gate->head.body_bytes;
    TARN_ASSERT(come <= byte_count - used);
    memcpy(bytes + used, gate->bytes + gate->head_bytes, come);
    used += come;
    enter(gate, TARN_GATE_UPLOAD, tarn_clock_monotonic_ns());
    gate->answer_bytes = gate->upload_bytes = 0;
    gate->upload_due_ns = gate->since_ns + TARN_GATEWAY_BODY_MS_MAX * UINT64_C(1000000);
    note_upload(gate, come);
    ssize_t got = 1;
    while (got > 0 && gate->phase == TARN_GATE_UPLOAD && used < byte_count) {
        got = read_upload(gate, read, from, bytes + used, byte_count - used);
        used += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)used; // of the end or a failure the next read tells
}

/// Passes the request on. @return its bytes
static ssize_t pass(tarn_gate *gate, char *bytes)
{
    size_t used = tarn_http_head_write(&gate->head, bytes);
    if (gate->head.status == 0 && gate->head.method == TARN_HTTP_POST) {
        TARN_ASSERT(gate->byte_count >= gate->head_bytes + gate->head.body_bytes);
        memcpy(bytes + used, gate->bytes + gate->head_bytes, gate->head.body_bytes);
        used += gate->head.body_bytes;
    }
    gate->is_overrun = gate->head.status == 0 && gate->byte_count > gate->head_bytes + gate->head.body_bytes;
    enter(gate, gate->head.is_upgrade ? TARN_GATE_FRAMES : TARN_GATE_ANSWERING, tarn_clock_monotonic_ns());
    gate->answer_bytes = 0;
    return (ssize_t)used;
}

static ssize_t read_request(tarn_gate *gate, tarn_gate_reader read, void *from, char *bytes, size_t byte_count)
{
    while (!gate->is_cut) {
        if (gate->bytes == NULL && (gate->bytes = malloc(ROOM_BYTES)) == NULL) {
            errno = ENOMEM;
            return -1;
        }
        size_t room = gate->phase == TARN_GATE_HEAD ? TARN_GATEWAY_HEAD_BYTES_MAX - gate->byte_count
                                                    : gate->head_bytes + gate->head.body_bytes - gate->byte_count;
        if (room > TARN_GATEWAY_HEAD_READ_BYTES) {
            room = TARN_GATEWAY_HEAD_READ_BYTES;
        }
        TARN_ASSERT(room > 0 && gate->byte_count + room <= ROOM_BYTES);
        const ssize_t got = read(from, gate->bytes + gate->byte_count, room);
        if (got <= 0) {
            return got;
        }
        if (gate->byte_count == 0) {
            gate->since_ns = tarn_clock_monotonic_ns();
        }
        gate->byte_count += (size_t)got;
        if (look(gate)) {
            return gate->head.is_upload && gate->head.status == 0 ? pass_upload(gate, read, from, bytes, byte_count)
                                                                  : pass(gate, bytes);
        }
    }
    refuse(gate, 408, "the request did not come in time");
    gate->head.is_upgrade = false;
    return pass(gate, bytes);
}

static ssize_t read_frames(tarn_gate *gate, tarn_gate_reader read, void *from, uint8_t *bytes, size_t byte_count)
{
    tarn_ws_fault fault;
    if (gate->bytes != NULL) {
        forget_request(gate); // it was answered long ago
    }
    const ssize_t got = read(from, bytes, byte_count);
    if (got <= 0) {
        return got;
    }
    const size_t passed = ws_frames_take(&gate->frames, bytes, (size_t)got, &fault);
    if (fault.close_code != 0) {
        enter(gate, TARN_GATE_OVER, tarn_clock_monotonic_ns());
        gate->faulty(gate->user, &fault);
    }
    return passed > 0 ? (ssize_t)passed : throw_away(gate, read, from);
}

ssize_t tarn_gate_read(tarn_gate *gate, tarn_gate_reader read, void *from, void *bytes, size_t byte_count)
{
    switch (gate->phase) {
    case TARN_GATE_HEAD:
    case TARN_GATE_BODY:
        TARN_ASSERT(byte_count >= TARN_GATE_READ_BYTES_MIN); // or libwebsockets doesn't do as gateway/web.c asks
        return read_request(gate, read, from, bytes, byte_count);
    case TARN_GATE_UPLOAD:
        return read_upload(gate, read, from, bytes, byte_count);
    case TARN_GATE_FRAMES:
        return read_frames(gate, read, from, bytes, byte_count);
    case TARN_GATE_ANSWERING:
    case TARN_GATE_OVER:
        break;
    }
    return throw_away(gate, read, from);
}

void tarn_gate_answers(tarn_gate *gate, uint64_t byte_count, uint64_t now_ns)
{
    gate->answer_bytes = byte_count;
    gate->since_ns = now_ns;
}

void tarn_gate_answered(tarn_gate *gate, uint64_t now_ns)
{
    forget_request(gate);
    gate->was_served = true;
    enter(gate, TARN_GATE_HEAD, now_ns);
}

void tarn_gate_linger(tarn_gate *gate, uint64_t now_ns)
{
    gate->is_drained = true;
    enter(gate, TARN_GATE_OVER, now_ns);
}

bool tarn_gate_is_partial(const tarn_gate *gate)
{
    return !gate->is_cut && (gate->phase == TARN_GATE_BODY || (gate->phase == TARN_GATE_HEAD && gate->byte_count > 0));
}

void tarn_gate_cut(tarn_gate *gate)
{
    TARN_ASSERT(tarn_gate_is_partial(gate));
    gate->is_cut = true;
}

tarn_gate_verdict tarn_gate_tick(tarn_gate *gate, uint64_t now_ns)
{
    const uint64_t ms = (now_ns - gate->since_ns) / 1000000;
    switch (gate->phase) {
    case TARN_GATE_HEAD:
        if (gate->byte_count > 0) {
            return !gate->is_cut && ms > TARN_GATEWAY_HEAD_MS_MAX ? TARN_GATE_IS_LATE : TARN_GATE_STAYS;
        }
        return ms > (gate->was_served ? TARN_GATEWAY_KEEPALIVE_MS_MAX : TARN_GATEWAY_HEAD_MS_MAX) ? TARN_GATE_ENDS
                                                                                                  : TARN_GATE_STAYS;
    case TARN_GATE_BODY:
        return !gate->is_cut && ms > TARN_GATEWAY_BODY_MS_MAX ? TARN_GATE_IS_LATE : TARN_GATE_STAYS;
    case TARN_GATE_UPLOAD:
        return now_ns > gate->upload_due_ns ? TARN_GATE_ENDS : TARN_GATE_STAYS;
    case TARN_GATE_ANSWERING:
        // What is checked before it is answered has its own limit, which is told of.
        return ms > TARN_GATEWAY_ANSWER_MS_MAX + (gate->head.is_upload ? TARN_GATEWAY_UPLOAD_CHECK_MS_MAX : 0) +
                           gate->answer_bytes * 1000 / TARN_GATEWAY_ANSWER_BYTES_PER_S_MIN
                   ? TARN_GATE_ENDS
                   : TARN_GATE_STAYS;
    case TARN_GATE_OVER:
        return ms > TARN_GATEWAY_LINGER_MS_MAX ? TARN_GATE_ENDS : TARN_GATE_STAYS;
    case TARN_GATE_FRAMES:
        break;
    }
    return TARN_GATE_STAYS;
}
