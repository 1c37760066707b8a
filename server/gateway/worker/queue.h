/// What waits for a worker, and what it was sent lately.
///
/// Messages wait in a fixed number of places, in order. When the worker is slow to read, moves
/// coalesce and edges stay:
///
/// - a move (an input that only says where something is now) takes the place of a waiting move with the same key, if
///   nothing else with that key came in between;
/// - when all places are taken, the oldest move of a viewer gives way; large messages, which are such moves, have
///   places of their own for their bytes;
/// - edges (presses, releases, controls, everything else) are never dropped, nor are the gateway's own moves, of which
///   there is one for each tank and kind: without a place for one, the push fails, and whoever sent it is to be told,
///   or tries again. No viewer may have more than TARN_GATEWAY_WORKER_QUEUE_SHARE of them waiting, and
///   TARN_GATEWAY_WORKER_QUEUE_OWN places are for the gateway's own messages, whose key names no viewer.
///
/// A message that a descriptor goes along with has its own copy of that.
///
/// The owner sends what tarn_worker_queue_head offers. A queue begins as zeros.
#ifndef TARN_SERVER_GATEWAY_WORKER_QUEUE_H
#define TARN_SERVER_GATEWAY_WORKER_QUEUE_H

#include "protocol/assert.h"
#include "protocol/status.h"
#include "server/base/ipc.h"
#include "server/base/limits.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TARN_WORKER_QUEUE_BYTES_MAX = 1280, ///< of one message with its header
    TARN_WORKER_QUEUE_LARGE_BYTES_MAX = TARN_IPC_INPUT_BYTES_MAX + 256,
};

typedef struct tarn_worker_queue_key {
    uint32_t viewer_id; ///< 0: the gateway's own
    uint16_t kind, index;
} tarn_worker_queue_key;

typedef struct tarn_worker_queue_entry {
    tarn_worker_queue_key key;
    uint32_t tank;
    tarn_ipc_kind kind;
    bool is_move;
    uint8_t times; ///< that it was sent before, to workers that have died since
    uint32_t byte_count;
    int fd;         ///< owned: goes along; 0: none does
    uint32_t large; ///< 0: the bytes are here, else that place of the queue has them
    uint8_t bytes[TARN_WORKER_QUEUE_BYTES_MAX];
} tarn_worker_queue_entry;

typedef struct tarn_worker_queue {
    uint32_t first, count;
    uint32_t sent;      ///< bytes of the first entry
    uint64_t coalesced; ///< moves that gave way to others, since the start
    tarn_worker_queue_entry entries[TARN_GATEWAY_WORKER_QUEUE_MAX];
    uint16_t shifts[TARN_GATEWAY_WORKER_QUEUE_MAX]; ///< from a place in the order on to its entry
    bool large_taken[TARN_GATEWAY_WORKER_QUEUE_LARGE + 1];
    uint8_t large[TARN_GATEWAY_WORKER_QUEUE_LARGE + 1][TARN_WORKER_QUEUE_LARGE_BYTES_MAX]; ///< the first isn't used
} tarn_worker_queue;

void tarn_worker_queue_clear(tarn_worker_queue *queue);

/// @return TARN_OK (also for a viewer's move without a place, which gives way itself), TARN_E_LIMIT (no place for
/// anything else), or what tarn_ipc_write returned
tarn_status tarn_worker_queue_push(tarn_worker_queue *queue, const tarn_ipc_message *message, tarn_worker_queue_key key,
                                   bool is_move);

/// Appends an entry that was made before, as if its message were pushed. Its descriptor goes along.
/// @return TARN_OK or TARN_E_LIMIT; a viewer's move may give way itself
tarn_status tarn_worker_queue_put(tarn_worker_queue *queue, tarn_worker_queue_entry *entry, const uint8_t *bytes);

/// Moves what waits in another queue here, in order, as if it had been pushed here; of that one nothing may have been
/// sent in part.
/// @param tank  what is for this one alone; 0: all
/// @return whether that was all: edges that find no place stay, and what comes behind them
bool tarn_worker_queue_append(tarn_worker_queue *queue, tarn_worker_queue *from, uint32_t tank);

/// Whether something for a tank waits in it.
bool tarn_worker_queue_holds(const tarn_worker_queue *queue, uint32_t tank);

/// Which of the entries is the `index`th: those that wait come first, in order, behind them those that are free.
static inline uint32_t tarn_worker_queue_place(const tarn_worker_queue *queue, uint32_t index)
{
    TARN_ASSERT(index < TARN_GATEWAY_WORKER_QUEUE_MAX && queue->first < TARN_GATEWAY_WORKER_QUEUE_MAX);
    const uint32_t at = (queue->first + index) % TARN_GATEWAY_WORKER_QUEUE_MAX;
    return (at + queue->shifts[at]) % TARN_GATEWAY_WORKER_QUEUE_MAX;
}

/// One of those that wait. @param index  below the queue's count
static inline const tarn_worker_queue_entry *tarn_worker_queue_at(const tarn_worker_queue *queue, uint32_t index)
{
    TARN_ASSERT(index < queue->count);
    return &queue->entries[tarn_worker_queue_place(queue, index)];
}

/// The entry that is sent now; NULL when nothing waits.
const tarn_worker_queue_entry *tarn_worker_queue_first(const tarn_worker_queue *queue);

/// The bytes to send next; NULL when nothing waits.
const uint8_t *tarn_worker_queue_head(const tarn_worker_queue *queue, size_t *byte_count);

/// The descriptor that goes along with these bytes; 0: none does. Stays the queue's.
int tarn_worker_queue_head_fd(const tarn_worker_queue *queue);

/// How many inputs for a tank wait in it.
uint32_t tarn_worker_queue_inputs(const tarn_worker_queue *queue, uint32_t tank);

/// Notes that so many of them were sent.
void tarn_worker_queue_sent(tarn_worker_queue *queue, size_t byte_count);

// ---- what was sent lately ----
// What viewers do, as it was sent to a worker lately: enough to send again what one that died had not taken.
//
// A ring of bytes. Nobody says when a message has been taken: what was is known by its sequence number and left out by
// the next worker, so that the ring need only be as long as what a socket holds and a step's time takes. Large
// messages aren't kept: they are moves of motion sources, which repeat.

typedef struct tarn_worker_sent {
    uint64_t first, end; ///< bytes since the start
    uint8_t bytes[TARN_GATEWAY_WORKER_SENT_BYTES];
} tarn_worker_sent;

/// Whether a message is what viewers do to a tank, or that one of them left.
bool tarn_worker_sent_keeps(tarn_ipc_kind kind);

/// Notes that a message was sent, where it is kept; the oldest give way to it.
void tarn_worker_sent_note(tarn_worker_sent *sent, const tarn_worker_queue_entry *entry);

/// The worker that had it all ended for a reason outside itself: as if it hadn't been sent anything.
void tarn_worker_sent_excuse(tarn_worker_sent *sent);

/// Finds the next message for a tank.
/// @param at     0 at first; receives where it is @param until  where to stop
/// @param entry  receives it, without a descriptor @return false: there is none
bool tarn_worker_sent_next(const tarn_worker_sent *sent, uint64_t *at, uint64_t until, uint32_t tank,
                           tarn_worker_queue_entry *entry);

/// Forgets the one that was found there.
void tarn_worker_sent_drop(tarn_worker_sent *sent, uint64_t at);

/// Forgets what was sent for a tank; 0: for all.
void tarn_worker_sent_forget(tarn_worker_sent *sent, uint32_t tank);

#endif
