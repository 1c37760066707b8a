/// What stands between a connection's socket and libwebsockets: a request is gathered, read strictly and passed on
/// whole, written anew; a WebSocket's frames are looked at as they pass. What is wrong becomes a request that is
/// answered with why (http_head.h), or closes the WebSocket.
///
///     HEAD --head--> BODY --body--> ANSWERING --answer given--> HEAD ...
///       |              |              |  +------refused-------> OVER: what still comes is thrown away
///       |              +--> UPLOAD ---+    of a scene: passed on with the head, and as it comes
///       +--upgrade-----+--> FRAMES --fault--> OVER
///
/// Requests that come before the answer to the last one are thrown away, and the connection ends after that: nothing
/// that one program takes for a body can be a request to another. Each phase has a deadline.
#ifndef TARN_SERVER_NET_GATE_H
#define TARN_SERVER_NET_GATE_H

#include "protocol/status.h"
#include "server/base/limits.h"
#include "server/net/http_head.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// ---- frames of a WebSocket ----
// Those that a client sends, looked at before libwebsockets sees them: what RFC 6455 forbids a client ends
// the connection with a code and a sentence. What messages say isn't looked at. Pure: no I/O, no memory of its own.

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

// ---- the gate ----

/// A request is passed on at once, and of an upload what was read along with its head.
enum { TARN_GATE_READ_BYTES_MIN = TARN_GATEWAY_HEADER_BYTES_MAX + TARN_GATEWAY_HEAD_READ_BYTES };
_Static_assert(TARN_GATEWAY_HEAD_READ_BYTES >= TARN_GATEWAY_BODY_BYTES_MAX, "a body fits, too");

typedef enum tarn_gate_phase {
    TARN_GATE_HEAD = 0,
    TARN_GATE_BODY,
    TARN_GATE_UPLOAD,
    TARN_GATE_ANSWERING,
    TARN_GATE_FRAMES,
    TARN_GATE_OVER,
} tarn_gate_phase;

/// Where bytes come from. @return bytes read; 0 at the end; -1 and errno as read(2) has it
typedef ssize_t (*tarn_gate_reader)(void *from, void *bytes, size_t byte_count);

typedef struct tarn_gate {
    int fd;
    tarn_gate_phase phase;
    bool is_cut;       ///< its time is over: what is there is answered with 408
    bool was_served;   ///< a request has been answered
    bool is_overrun;   ///< something came before the answer was given
    bool is_drained;   ///< over, and what comes is thrown away unread: nobody reads through the gate any more
    uint64_t since_ns; ///< when the phase began, or in HEAD its first byte came
    uint64_t answer_bytes;
    uint32_t upload_bytes;  ///< of the body that were passed on
    uint64_t upload_due_ns; ///< when more of it has to have come
    char *bytes;            ///< head and body so far, of its own memory; NULL: nothing has come
    size_t byte_count, looked, head_bytes;
    tarn_http_head head; ///< of the request that was passed on last; its views hold until that is answered
    tarn_ws_frames frames;
    void *user;
    /// Ends a WebSocket whose client sent what it may not.
    void (*faulty)(void *user, const tarn_ws_fault *fault);
} tarn_gate;

/// What is to be done with a connection.
typedef enum tarn_gate_verdict {
    TARN_GATE_STAYS = 0,
    TARN_GATE_IS_LATE, ///< its request is to be cut
    TARN_GATE_ENDS,
} tarn_gate_verdict;

void tarn_gate_open(tarn_gate *gate, int fd, uint64_t now_ns, void (*faulty)(void *user, const tarn_ws_fault *fault),
                    void *user);

/// Gives back what it holds. Takes one of zeros.
void tarn_gate_close(tarn_gate *gate);

/// Reads for libwebsockets. @param byte_count  at least TARN_GATE_READ_BYTES_MIN  @return as the reader
ssize_t tarn_gate_read(tarn_gate *gate, tarn_gate_reader read, void *from, void *bytes, size_t byte_count);

/// The answer to the request has so many bytes.
void tarn_gate_answers(tarn_gate *gate, uint64_t byte_count, uint64_t now_ns);

/// The answer was given: the next request may come.
void tarn_gate_answered(tarn_gate *gate, uint64_t now_ns);

/// Nothing counts any more; the connection ends when the peer does, or a little later, so that the peer reads the
/// answer before it learns that nobody reads what it sends. What it sends is thrown away by whoever looks at deadlines:
/// left in the socket it would have the system cut the answer off.
void tarn_gate_linger(tarn_gate *gate, uint64_t now_ns);

/// Whether a request or a body is on its way.
bool tarn_gate_is_partial(const tarn_gate *gate);

/// Looks at the deadlines.
tarn_gate_verdict tarn_gate_tick(tarn_gate *gate, uint64_t now_ns);

/// Ends the wait for a request that is partial: the next read is answered with 408. Whoever calls this sees to it that
/// there is one.
void tarn_gate_cut(tarn_gate *gate);

#endif
