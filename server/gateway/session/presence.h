/// Where the viewers of a session are, for all of them to see: the newest of each is kept, and all of it is written
/// once for everybody, at most every TARN_GATEWAY_PRESENCE_MS and only after something has changed.
///
///     presence of each viewer -> changed? due? -> one message in the board -> each viewer that looks
///
/// A viewer whose socket is busy gets the board of the moment at which it takes bytes again, behind any frame.
#ifndef TARN_SERVER_GATEWAY_SESSION_PRESENCE_H
#define TARN_SERVER_GATEWAY_SESSION_PRESENCE_H

#include "protocol/message.h"

#include <libwebsockets.h>
#include <stdbool.h>

struct tarn_session;
struct tarn_viewer;

/// What a session's viewers are sent.
typedef struct tarn_presence_board {
    bool changed;    ///< since it was written
    uint64_t due_ns; ///< not written anew before
    size_t byte_count;
    uint8_t bytes[LWS_PRE + TARN_MESSAGE_SERVER_BYTES_MAX]; ///< the message is behind LWS_PRE
} tarn_presence_board;

/// Keeps what a viewer said of itself.
void tarn_presence_put(struct tarn_session *session, struct tarn_viewer *viewer, const tarn_presence *presence);

/// Forgets it: the viewer is gone, or looks away.
void tarn_presence_forget(struct tarn_session *session, struct tarn_viewer *viewer);

/// Writes the board and makes it due for those who look, where that is needed now.
void tarn_presence_beat(struct tarn_session *session, uint64_t now_ns);

#endif
