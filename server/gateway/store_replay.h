/// What of a kept session's past is played back, from its file in pieces (session_stretch.h): between the gateway's
/// thread, which asks for one, and the store's, which reads it. A piece lies in memory of its own, with a descriptor
/// that the worker gets.
#ifndef TARN_SERVER_GATEWAY_STORE_REPLAY_H
#define TARN_SERVER_GATEWAY_STORE_REPLAY_H

#include "server/common/ipc.h"
#include "server/common/session_stretch.h"

#include <stdbool.h>

struct tarn_store;

/// A piece that was read.
typedef struct tarn_replay_piece {
    tarn_status status; ///< TARN_OK, or why there is none
    tarn_text why;
    tarn_ipc_replay_wanted at;
    uint32_t byte_count;
    bool is_last;
    int fd; ///< the taker's; 0: none, or there are no bytes
} tarn_replay_piece;

/// What passes between the two; under the store's lock.
typedef struct tarn_replay_mail {
    bool is_wanted, has_piece;
    tarn_session_stretch stretch;
    tarn_ipc_replay_wanted at;
    tarn_replay_piece piece;
} tarn_replay_mail;

/// Asks for a piece of what a place's session is played back from; one that was asked for before and hasn't been taken
/// is forgotten. Never waits. @return false: this session isn't kept
bool tarn_store_replay_want(struct tarn_store *store, uint32_t place, uint32_t id, const tarn_session_stretch *stretch,
                            const tarn_ipc_replay_wanted *at);

/// @return false: it isn't read yet
bool tarn_store_replay_take(struct tarn_store *store, uint32_t place, tarn_replay_piece *piece);

/// The session of a place is no more, or another one is there. Under the lock.
void tarn_store_replay_forget(tarn_replay_mail *mail);

/// Reads what is asked for. The store's thread. @param is_well  the session's file is
void tarn_store_replay_serve(struct tarn_store *store, uint32_t place, bool is_well);

#endif
