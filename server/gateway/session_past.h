/// A session's tank on its way to an earlier moment: the black box that it goes on from, until its worker has it, and
/// what of that waits for the store (time_machine.h).
#ifndef TARN_SERVER_GATEWAY_SESSION_PAST_H
#define TARN_SERVER_GATEWAY_SESSION_PAST_H

#include "server/common/ipc.h"
#include "server/common/session_stretch.h"

#include <stdbool.h>
#include <stdint.h>

struct tarn_session;

typedef enum tarn_past_errand {
    TARN_PAST_ERRAND_NONE = 0,
    TARN_PAST_ERRAND_BACK, ///< the tank is to be as it was
    TARN_PAST_ERRAND_FORK, ///< another session's is
    TARN_PAST_ERRAND_MARK, ///< a moment gets, or loses, its name
} tarn_past_errand;

/// What a tank is played back from, and what of it its worker waits for (session_replay.h).
typedef struct tarn_session_replay {
    tarn_session_stretch stretch; ///< its state is 0: none
    tarn_session_stretch next;    ///< of the box that is on its way
    bool is_wanted, is_asked;     ///< a piece, by the worker; of the store
    tarn_ipc_replay_wanted at;    ///< which
} tarn_session_replay;

typedef struct tarn_session_past {
    tarn_past_errand errand; ///< that the store is on
    uint32_t fork_id;        ///< of the session that it is for
    int box_fd;              ///< owned: that the worker is to go on from; 0: none is on its way
    bool is_filled;          ///< the session's own box was filled from its file, and no worker has gone on from it yet
    bool awaits;             ///< a fork: its tank's box
    uint64_t since_ns;       ///< since when
    float speed;             ///< that owners want of its tank's clock; 0: 1
    uint64_t speed_due_ns;   ///< when the worker may be told again
    tarn_session_replay replay;
} tarn_session_past;

/// The worker has gone on from the box that was on its way, which is the session's from now on, or from the session's
/// own: the store gets it.
void tarn_session_past_arrives(struct tarn_session *session);

/// The worker hasn't: the tank stays with the box that it has.
void tarn_session_past_stays(struct tarn_session *session);

#endif
