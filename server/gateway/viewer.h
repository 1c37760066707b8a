/// One WebSocket connection that speaks tarn.v1: hello, join, then frames out and inputs in.
///
/// What goes out is bounded by its kind and not by a queue: whether welcome, joined, state and viewers are due are
/// flags, and each is made from what is true when the socket takes it; of pongs, presence and frames only the newest
/// counts; errors have TARN_GATEWAY_ERRORS_QUEUED_MAX places. One message is written per writable callback.
///
/// Frames are sent while fewer than TARN_FRAMES_UNACKNOWLEDGED_MAX are unacknowledged, always the newest that the
/// viewer can decode (fanout.h). Of key and base frames, which later ones refer to, a few more may be on their way: a
/// viewer that such a frame can't be sent to in time needs a key frame, the largest there is. What of a frame is sent
/// is viewer_rate.h's to say.
#ifndef TARN_SERVER_GATEWAY_VIEWER_H
#define TARN_SERVER_GATEWAY_VIEWER_H

#include "protocol/message.h"
#include "server/gateway/gateway_limits.h"
#include "server/gateway/viewer_flight.h"
#include "server/gateway/viewer_rate.h"

#include <stddef.h>
#include <stdint.h>

struct lws;
struct tarn_gateway;
struct tarn_session;

typedef enum tarn_viewer_phase {
    TARN_VIEWER_NEW = 0,
    TARN_VIEWER_GREETED = 1,
    TARN_VIEWER_JOINED = 2,
    TARN_VIEWER_CLOSING = 3, ///< what it sends is ignored
} tarn_viewer_phase;

typedef enum tarn_viewer_tell_what {
    TARN_VIEWER_TELL_WELCOME = 1 << 0,
    TARN_VIEWER_TELL_JOINED = 1 << 1,
    TARN_VIEWER_TELL_STATE = 1 << 2,
    TARN_VIEWER_TELL_VIEWERS = 1 << 3,
    TARN_VIEWER_TELL_PONG = 1 << 4,
} tarn_viewer_tell_what;

typedef struct tarn_viewer {
    struct tarn_viewer *next; ///< of all connections
    struct lws *wsi;
    struct tarn_session *session; ///< while joined
    uint32_t id;
    tarn_viewer_phase phase;
    uint64_t since_ns, closing_since_ns;
    tarn_name name;
    uint32_t colour;
    tarn_role role;
    uint8_t is_preview; ///< not one of those who are there
    tarn_presence presence;
    uint64_t presence_ns;    ///< when it changed
    uint8_t presence_due;    ///< the session's board is to be sent
    uint64_t profile_due_ns; ///< up to when changes of name and colour are used up

    uint32_t to_tell; ///< tarn_viewer_tell_what bits
    tarn_ping ping;
    uint32_t error_first, error_count;
    tarn_error errors[TARN_GATEWAY_ERRORS_QUEUED_MAX];
    uint16_t close_code;
    uint8_t close_sent, peer_closes;

    uint64_t frame_serial; ///< of the newest frame sent
    uint64_t reference;    ///< the same of key and base frames; 0: none yet
    uint8_t is_lost;       ///< it had such a frame, and nothing moves that one any more
    uint8_t was_hidden;    ///< since the newest frame sent
    uint64_t key_serial;   ///< of the newest key frame sent
    uint64_t key_sent_ns;
    tarn_view view;
    tarn_viewer_rate rate;
    tarn_viewer_flight flight;

    uint32_t sequence; ///< newest received
    uint32_t timed_next;
    struct {
        uint32_t sequence; ///< 0: none
        uint64_t arrived_ns;
    } timed[TARN_GATEWAY_INPUTS_TIMED_MAX];

    double tokens; ///< messages that may still come now
    uint64_t tokens_ns;
    uint32_t assembled;
    uint8_t assembly[TARN_MESSAGE_BYTES_MAX];
} tarn_viewer;

/// A piece of a message, as it arrives.
typedef struct tarn_viewer_piece {
    const uint8_t *bytes;
    size_t byte_count;
    uint64_t bytes_to_come; ///< of the same WebSocket frame, as its header declared
    int first, last;        ///< of the message
    int binary;
} tarn_viewer_piece;

void tarn_viewer_open(struct tarn_gateway *gateway, tarn_viewer *viewer, struct lws *wsi);
void tarn_viewer_closed(struct tarn_gateway *gateway, tarn_viewer *viewer);
void tarn_viewer_receive(struct tarn_gateway *gateway, tarn_viewer *viewer, const tarn_viewer_piece *piece);

/// Writes one message or frame. @return 0, or -1: the connection ends now
int tarn_viewer_writable(struct tarn_gateway *gateway, tarn_viewer *viewer);

/// Makes a message due.
void tarn_viewer_tell(tarn_viewer *viewer, uint32_t what);

/// Queues an error that does not close; dropped where all places are taken.
void tarn_viewer_error(tarn_viewer *viewer, tarn_error_code code, const char *sentence);

/// The session's board was written anew.
void tarn_viewer_presence_ready(tarn_viewer *viewer);

/// Takes it out of its session, then as tarn_viewer_fail.
void tarn_viewer_expel(struct tarn_gateway *gateway, tarn_viewer *viewer, tarn_error_code code, const char *sentence);

/// Sends an error and closes with 4000 + code.
void tarn_viewer_fail(tarn_viewer *viewer, tarn_error_code code, const char *sentence);

/// The session has a newer frame.
void tarn_viewer_frame_ready(tarn_viewer *viewer);

/// Applies what the viewer asked for to what the stream takes now.
void tarn_viewer_bound(tarn_viewer *viewer, uint64_t now_ns);

/// Notes whether a viewer has lost the chain of frames that refer to each other.
void tarn_viewer_check_chain(tarn_viewer *viewer, uint64_t now_ns);

/// A frame contains this viewer's inputs up to a number: notes how long they took.
void tarn_viewer_input_shown(struct tarn_gateway *gateway, tarn_viewer *viewer, uint32_t sequence, uint64_t now_ns);

/// Ends connections that take too long over something.
void tarn_viewer_tick(struct tarn_gateway *gateway, uint64_t now_ns);

#endif
