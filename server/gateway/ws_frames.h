/// Frames that a WebSocket client sends, looked at before libwebsockets sees them: what RFC 6455 forbids a client ends
/// the connection with a code and a sentence. What messages say isn't looked at. Pure: no I/O, no memory of its own.
#ifndef TARN_SERVER_GATEWAY_WS_FRAMES_H
#define TARN_SERVER_GATEWAY_WS_FRAMES_H

#include "protocol/status.h"
#include "server/gateway/gateway_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TARN_WS_CLOSE_PROTOCOL = 1002,
    TARN_WS_CLOSE_TEXT = 1007,   ///< what must be UTF-8 isn't
    TARN_WS_CLOSE_POLICY = 1008, ///< too many control frames
    TARN_WS_CLOSE_SIZE = 1009,   ///< more bytes than a message may have
    TARN_WS_CONTROL_BYTES_MAX = 125,
};

/// Between two pieces of what one client sends; zeros at first.
typedef struct tarn_ws_frames {
    uint8_t header[14], header_count;
    uint8_t opcode;
    bool in_payload;
    bool in_message; ///< a message has begun whose last fragment hasn't come
    bool is_closed;  ///< the client has closed; what follows counts for nothing
    uint64_t left;   ///< bytes of the payload that are to come
    uint8_t control[TARN_WS_CONTROL_BYTES_MAX], control_count;
    uint64_t control_due_ns; ///< up to when control frames are used up
} tarn_ws_frames;

typedef struct tarn_ws_fault {
    uint16_t close_code; ///< 0: none
    const char *why;     ///< a sentence that lasts, at most 123 bytes
} tarn_ws_fault;

/// Looks at the bytes that came next. @return how many may be passed on, all of them unless there is a fault or the
/// client has closed; after a fault the connection is over
size_t tarn_ws_frames_take(tarn_ws_frames *frames, const uint8_t *bytes, size_t byte_count, tarn_ws_fault *fault);

#endif
