/// What came and went in a session, since it began.
#ifndef TARN_SERVER_GATEWAY_SESSION_COUNTS_H
#define TARN_SERVER_GATEWAY_SESSION_COUNTS_H

#include "server/common/ipc.h"
#include "server/gateway/metrics.h"

typedef struct tarn_session_counts {
    uint64_t frames_received, frames_sent, frames_skipped, bytes_sent;
    uint64_t steps;         ///< that the worker reported, however often the tank started afresh
    double steps_s;         ///< what they took
    uint64_t worker_losses; ///< times that its worker ended and the tank with it
    uint64_t resumes;       ///< times that the tank then went on where it was
    uint64_t restarts;      ///< times that it didn't, and started afresh
    uint64_t set_backs;     ///< times that its worker set it back, since the simulation failed
    tarn_latency latency;   ///< from an input to its frame
} tarn_session_counts;

/// Counts the steps between two reports of the same worker, which come each second. Where the tank was set back in
/// between, those of that second are left out.
void tarn_session_counts_report(tarn_session_counts *counts, const tarn_ipc_report *before, const tarn_ipc_report *now);

/// Counts the return of a tank whose worker had ended.
void tarn_session_counts_return(tarn_session_counts *counts, bool is_as_it_was);

#endif
