/// What was done to a tank once, as it is played back: records of a session's log, which come in pieces and leave in
/// order, one step's at a time.
///
/// Pure: whoever has the tank asks for pieces and puts them here (worker_replay.h). A record that was read stays where
/// it is until the next piece is put.
#ifndef TARN_SERVER_WORKER_REPLAY_FEED_H
#define TARN_SERVER_WORKER_REPLAY_FEED_H

#include "kernels/step_input.h"
#include "protocol/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tarn_replay_feed {
    uint64_t until;   ///< the last step that is played back; 0: nothing is
    uint64_t from;    ///< the step that the next piece is to begin behind
    uint32_t held;    ///< records behind that step that have come
    bool is_last;     ///< no further piece comes
    uint64_t ready;   ///< steps whose records are here
    uint8_t *bytes;   ///< owned: two pieces of the largest size
    size_t at, count; ///< of the record that is next; of all
} tarn_replay_feed;

/// A record; of both one.
typedef struct tarn_replay_record {
    bool is_hash;
    uint64_t step; ///< that the hash is behind
    tarn_tank_hash hash;
    tarn_step_input input; ///< points into the feed
} tarn_replay_record;

/// Begins behind a step. @param feed  zero  @param until  above `step`
/// @return TARN_OK or TARN_E_MEMORY: then it stays zero
tarn_status tarn_replay_feed_begin(tarn_replay_feed *feed, uint64_t step, uint64_t until);

/// Nothing is played back any more: it is zero.
void tarn_replay_feed_end(tarn_replay_feed *feed);

/// Whether another piece is to come, of any size.
bool tarn_replay_feed_wants(const tarn_replay_feed *feed);

/// Where a piece that is wanted goes: TARN_IPC_REPLAY_BYTES_MAX bytes. What was read before is no more.
uint8_t *tarn_replay_feed_space(tarn_replay_feed *feed);

/// Takes what was put there. @return TARN_OK, or TARN_E_MALFORMED: these are no whole records, and nothing was taken
tarn_status tarn_replay_feed_put(tarn_replay_feed *feed, size_t byte_count, bool is_last);

/// Reads the next record. @return TARN_OK; TARN_E_NOT_FOUND: none is here; TARN_E_MALFORMED or TARN_E_VERSION
tarn_status tarn_replay_feed_read(tarn_replay_feed *feed, tarn_replay_record *record);

#endif
