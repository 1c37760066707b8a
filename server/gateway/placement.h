/// Which worker a new tank goes to: of those that are up and have a free place the one whose tanks take the least of
/// its time. Pure.
///
///     share of time, as measured -> particles -> number of tanks -> the first in --devices
///
/// Each decides where the ones before it are equal. Tanks that rest take no measured time, so that their particles
/// speak for them; of one that was made a moment ago both are unknown.
#ifndef TARN_SERVER_GATEWAY_PLACEMENT_H
#define TARN_SERVER_GATEWAY_PLACEMENT_H

#include "server/common/ipc.h"

#include <stdbool.h>
#include <stdint.h>

#define TARN_PLACEMENT_SHARE_STEP 0.05 ///< shares that round to the same multiple are equal: they are measured

enum { TARN_PLACEMENT_PARTICLES_GUESS = 100000 }; ///< of a tank that hasn't reported yet

/// What is known of a worker.
typedef struct tarn_placement_worker {
    bool is_up;
    uint32_t tank_count, tanks_max;
    double share; ///< of a second that its tanks' steps and frames took of late, their sum
    uint64_t particles;
} tarn_placement_worker;

/// @return the index of a worker, or -1: none is up that has a free place
int tarn_placement_choose(const tarn_placement_worker *workers, uint32_t worker_count);

/// The share of a second that a tank took between two reports; 0 where it started afresh between them.
/// @param frames  that came between them  @param seconds  between them
double tarn_placement_share(const tarn_ipc_report *before, const tarn_ipc_report *now, uint64_t frames, double seconds);

#endif
