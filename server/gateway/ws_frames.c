// A frame's header is gathered byte by byte and checked as a whole; of payloads only those of closes are kept.
#include "server/gateway/ws_frames.h"
#include "protocol/assert.h"
#include "protocol/message.h"
#include "server/gateway/turn_taking.h"

#include <string.h>

enum { OPCODE_CONTINUATION = 0, OPCODE_BINARY = 2, OPCODE_CLOSE = 8, OPCODE_PONG = 10 };

enum { BIT_LAST = 0x80, BITS_RESERVED = 0x70, BIT_MASK = 0x80, LENGTH_16 = 126, LENGTH_64 = 127 };

_Static_assert(TARN_GATEWAY_CONTROLS_PER_S == 10 && TARN_MESSAGE_BYTES_MAX == 16384, "sentences state these limits");

static bool refuse(tarn_ws_fault *fault, uint16_t close_code, const char *why)
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
        return refuse(fault, TARN_WS_CLOSE_PROTOCOL, "a frame has reserved bits, allowed are none");
    }
    if (opcode > OPCODE_PONG || (opcode > OPCODE_BINARY && !is_control)) {
        return refuse(fault, TARN_WS_CLOSE_PROTOCOL, "a frame has a reserved opcode");
    }
    if (is_control && !(first & BIT_LAST)) {
        return refuse(fault, TARN_WS_CLOSE_PROTOCOL, "a control frame is a fragment");
    }
    if (opcode == OPCODE_CONTINUATION && !frames->in_message) {
        return refuse(fault, TARN_WS_CLOSE_PROTOCOL, "a continuation comes without the beginning of its message");
    }
    if (opcode != OPCODE_CONTINUATION && !is_control && frames->in_message) {
        return refuse(fault, TARN_WS_CLOSE_PROTOCOL, "a message begins amid another one");
    }
    return true;
}

static bool check_second(const tarn_ws_frames *frames, tarn_ws_fault *fault)
{
    if (!(frames->header[1] & BIT_MASK)) {
        return refuse(fault, TARN_WS_CLOSE_PROTOCOL, "a frame has no mask, which a client's must have");
    }
    if ((frames->header[0] & 0x0f) >= OPCODE_CLOSE && (frames->header[1] & 0x7f) > TARN_WS_CONTROL_BYTES_MAX) {
        return refuse(fault, TARN_WS_CLOSE_PROTOCOL, "a control frame has more than 125 bytes");
    }
    return true;
}

static bool check_third(const tarn_ws_frames *frames, tarn_ws_fault *fault)
{
    if ((frames->header[1] & 0x7f) == LENGTH_64 && frames->header[2] >> 7) {
        return refuse(fault, TARN_WS_CLOSE_PROTOCOL, "a frame's length has its highest bit set");
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
            return refuse(fault, TARN_WS_CLOSE_PROTOCOL, "a frame's length takes more bytes than it needs");
        }
    }
    if (length > TARN_MESSAGE_BYTES_MAX) {
        return refuse(fault, TARN_WS_CLOSE_SIZE, "a frame has more bytes than a message may have, which are 16384");
    }
    if (opcode > OPCODE_CLOSE &&
        !tarn_turn_allow(&frames->control_due_ns, 1000 / TARN_GATEWAY_CONTROLS_PER_S, TARN_GATEWAY_CONTROLS_BURST)) {
        return refuse(fault, TARN_WS_CLOSE_POLICY, "too many control frames; allowed are 10 a second");
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
        return refuse(fault, TARN_WS_CLOSE_PROTOCOL, "a close has half a code");
    }
    if (frames->control_count >= 2 && !is_close_code((unsigned)payload[0] << 8 | payload[1])) {
        return refuse(fault, TARN_WS_CLOSE_PROTOCOL,
                      "a close has a code that none may have; allowed are 1000-1003, 1007-1011 and 3000-4999");
    }
    if (frames->control_count > 2 && !is_utf8(payload + 2, frames->control_count - 2u)) {
        return refuse(fault, TARN_WS_CLOSE_TEXT, "a close has a reason that is not UTF-8");
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

size_t tarn_ws_frames_take(tarn_ws_frames *frames, const uint8_t *bytes, size_t byte_count, tarn_ws_fault *fault)
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
