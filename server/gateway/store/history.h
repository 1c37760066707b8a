/// The past of one kept tank, for the store's thread (store.h): which moment its next state has, how much is kept,
/// when a state is worth its bytes, and what the gateway wishes of it. No thread of its own.
///
/// A state is put so that going back stays quick: when the steps since the newest one took
/// TARN_GATEWAY_STORE_REPLAY_MS, as far as TARN_GATEWAY_STORE_STATE_BYTES_PER_S allow.
#ifndef TARN_SERVER_GATEWAY_STORE_HISTORY_H
#define TARN_SERVER_GATEWAY_STORE_HISTORY_H

#include "server/log/follow.h"
#include "server/log/session_history.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct tarn_tank_history {
    tarn_session_span span;
    uint64_t steps_since; ///< the newest state
    uint32_t dt_ns, step_ns;
} tarn_tank_history;

typedef enum tarn_store_wish_kind {
    TARN_STORE_WISH_NONE = 0,
    TARN_STORE_WISH_BOX,    ///< to go on from a moment
    TARN_STORE_WISH_MARK,   ///< to name one
    TARN_STORE_WISH_UNMARK, ///< to forget a name
} tarn_store_wish_kind;

typedef struct tarn_store_wish {
    tarn_store_wish_kind kind;
    uint64_t at_ns; ///< the moment
    bool replays;   ///< TARN_STORE_WISH_BOX: what was done from that moment on is to be played back
    uint32_t mark;
    char name[TARN_SESSION_MARK_BYTES_MAX + 1];
} tarn_store_wish;

/// What came of it.
typedef struct tarn_store_reply {
    tarn_status status; ///< TARN_OK, TARN_E_NOT_FOUND, TARN_E_LIMIT, TARN_E_STATE (the session isn't kept just now), or
                        ///< what is wrong with the file
    tarn_text why;
    uint64_t at_ns;                           ///< the step's that is closest
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1]; ///< that the tank was made from then
    int box_fd;                               ///< the taker's: a black box as it was then; 0: none
    uint32_t mark;                            ///< that was made
    tarn_session_stretch stretch;             ///< that is to be played back; its state is 0: nothing is, or there is
                                              ///< nothing behind that moment
} tarn_store_reply;

/// What a file has left of a tank becomes a box that a worker goes on from.
/// @return a descriptor; 0: there is no memory, or none is to be had
static inline int tarn_tank_history_box(const tarn_session_rest *rest, uint32_t epoch, bool is_newest)
{
    const int fd = memfd_create("tarn-tank", MFD_CLOEXEC);
    if (fd > 0 &&
        tarn_box_fill(fd, &rest->state, epoch, rest->number, rest->log.bytes, rest->log.count, is_newest) == TARN_OK) {
        return fd;
    }
    if (fd > 0) {
        close(fd);
    }
    return 0;
}

/// Reads what a file has, and says what of it is kept. @return TARN_OK, or what tarn_session_history_span returned
tarn_status tarn_tank_history_open(tarn_tank_history *history, tarn_session_file *file,
                                   const tarn_session_keep_rule *rule, tarn_text why);

/// Whether the steps since the newest state took long enough for another. @param since_ns  that it is old
bool tarn_tank_history_wants_state(const tarn_tank_history *history, uint64_t since_ns);

/// Says which moment the news' state has, before they are put.
void tarn_tank_history_date(const tarn_tank_history *history, tarn_box_news *news);

/// They were put: the past goes on. Where there was a state, what is too old or too much may go with the next one.
tarn_status tarn_tank_history_note(tarn_tank_history *history, tarn_session_file *file, const tarn_box_news *news,
                                   const tarn_session_keep_rule *rule, tarn_text why);

/// Lets go of what is too old or too much of a tank that has no next state, a part at a time.
/// @param is_done  receives whether nothing is left of that
tarn_status tarn_tank_history_trim(tarn_tank_history *history, tarn_session_file *file,
                                   const tarn_session_keep_rule *rule, bool *is_done, tarn_text why);

/// Does what is wished.
void tarn_tank_history_grant(tarn_tank_history *history, tarn_session_file *file, const tarn_store_wish *wish,
                             tarn_store_reply *reply);

#endif
