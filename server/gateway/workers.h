/// The workers: one process for each device of --devices, in that order. Each has a queue, a hello, pings and restarts
/// of its own (worker_process.h); what one of them does is nothing to the others.
#ifndef TARN_SERVER_GATEWAY_WORKERS_H
#define TARN_SERVER_GATEWAY_WORKERS_H

#include "server/common/device_list.h"
#include "server/gateway/worker_process.h"

#include <stdbool.h>

typedef struct tarn_workers {
    uint32_t count;
    tarn_worker_process workers[TARN_GATEWAY_WORKERS_MAX];
    tarn_ipc_scene_faults faults; ///< of the scenes' folder, for owners of the first tank
    tarn_ipc_worker_hello told;   ///< to viewers: the newest worker's scenes and the server's own, the devices
} tarn_workers;

/// Starts one for each device.
/// @param config  what all have in common; its device is not looked at
/// @return TARN_OK, or TARN_E_IO with a sentence in why: one of them cannot be started, others may run
tarn_status tarn_workers_start(tarn_workers *workers, uv_loop_t *loop, const tarn_device_list *devices,
                               const tarn_worker_config *config, const tarn_worker_events *events, tarn_text why);

/// tarn_worker_process_tick of each.
/// Sets, for all that run, after how many seconds without an answer one is killed (0: as its steps take); and how much
/// those log that are started from now on. @param log_level  a literal
void tarn_workers_configure(tarn_workers *workers, uint32_t timeout_s, const char *log_level);

void tarn_workers_tick(tarn_workers *workers, uint64_t now_ns);

/// tarn_worker_process_stood of each.
void tarn_workers_stood(tarn_workers *workers, const tarn_standstill *stood);

/// How many of them simulate.
uint32_t tarn_workers_ready(const tarn_workers *workers);

/// How many of them failed too often and aren't started again by themselves.
uint32_t tarn_workers_given_up(const tarn_workers *workers);

/// Asks all to end; tarn_workers_are_gone when that is done.
void tarn_workers_end(tarn_workers *workers);
bool tarn_workers_are_gone(const tarn_workers *workers);

/// What people are told of where this server simulates: the first worker's device, and how many others there are.
void tarn_workers_device(const tarn_workers *workers, tarn_name device);

/// Moves that gave way to newer ones on their way to any of them.
uint64_t tarn_workers_coalesced(const tarn_workers *workers);

#endif
