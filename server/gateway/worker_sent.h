/// What viewers do, as it was sent to a worker lately: enough to send again what one that died had not taken.
///
/// A ring of bytes. Nobody says when a message has been taken: what was is known by its sequence number and left out by
/// the next worker, so that the ring need only be as long as what a socket holds and a step's time takes. Large
/// messages aren't kept: they are moves of motion sources, which repeat.
#ifndef TARN_SERVER_GATEWAY_WORKER_SENT_H
#define TARN_SERVER_GATEWAY_WORKER_SENT_H

#include "server/gateway/worker_queue.h"

#include <stdbool.h>
#include <stdint.h>

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
