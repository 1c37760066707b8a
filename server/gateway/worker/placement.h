/// Which worker a new tank goes to: of those that are up and have room the one whose tanks take the least of its time.
/// Pure.
///
///     share of time, as measured -> particles -> number of tanks -> the first in --devices
///
/// Each decides where the ones before it are equal. Tanks that rest take no measured time, so that their particles
/// speak for them; of one that was made a moment ago both are unknown.
///
/// A worker has room for a few tanks whatever they cost, since they slow each other alone; for more, while all of them
/// together, watched and in real time, cost less of its time than what is allowed. The next one is
/// taken to cost as much as the others do on average; one that is being made, and of which nothing is known, nothing.
#ifndef TARN_SERVER_GATEWAY_WORKER_PLACEMENT_H
#define TARN_SERVER_GATEWAY_WORKER_PLACEMENT_H

#include "server/base/ipc.h"

#include <stdbool.h>
#include <stdint.h>

#define TARN_PLACEMENT_SHARE_STEP 0.05 ///< shares that round to the same multiple are equal: they are measured

enum { TARN_PLACEMENT_PARTICLES_GUESS = 100000 }; ///< of a tank that hasn't reported yet

/// What is known of a worker.
typedef struct tarn_placement_worker {
    bool is_up;
    uint32_t tank_count, tanks_max; ///< the latter what its program takes
    uint32_t tanks_anyhow;          ///< that it has room for whatever they cost
    uint32_t known_count;           ///< tanks of which it is known what they cost
    double cost, cost_max;          ///< parts of its time: what these cost together, and what all may
    double share;                   ///< of a second that its tanks' steps and frames took of late, their sum
    uint64_t particles;
} tarn_placement_worker;

/// Whether one that is up has a place, but costs too much for one more tank.
bool tarn_placement_is_busy(const tarn_placement_worker *worker);

/// @return the index of a worker, or -1: none is up that has room
int tarn_placement_choose(const tarn_placement_worker *workers, uint32_t worker_count);

/// The share of its worker's time that a tank took between two reports; 0 where it started afresh between them.
/// @param seconds  between them
double tarn_placement_share(const tarn_ipc_report *before, const tarn_ipc_report *now, double seconds);

/// What part of its worker's time a tank takes where it is watched and keeps up; 0: not known.
/// @param dt_s  of its steps  @param speed  of its clock
double tarn_placement_cost(const tarn_ipc_report *report, double dt_s, double speed);

#endif
