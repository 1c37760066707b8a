/// Whose turn it is among the tanks of a worker. Of those that are due it is the one that has had the least time: a
/// tank that takes more than its share slows its own clock, not that of its neighbours. Pure; the caller brings the
/// time.
#ifndef TARN_SERVER_WORKER_TURNS_H
#define TARN_SERVER_WORKER_TURNS_H

#include "server/worker/worker_limits.h"

#include <stdint.h>

typedef struct tarn_turns {
    uint64_t used_ns[TARN_WORKER_TANKS_MAX]; ///< by each, as counted here
    uint64_t served_ns;                      ///< the most that a tank had used when it got its turn
} tarn_turns;

/// The place of the tank whose turn it is. What a tank doesn't use while it isn't due it saves up to
/// TARN_WORKER_CREDIT_MS.
/// @param due_ns  by place; UINT64_MAX: there is no tank, or it has nothing to do  @return -1: none is due
int tarn_turns_pick(tarn_turns *turns, const uint64_t due_ns[TARN_WORKER_TANKS_MAX], uint64_t now_ns);

/// Notes how long it took.
void tarn_turns_note(tarn_turns *turns, int place, uint64_t spent_ns);

#endif
