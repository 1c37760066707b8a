/// A tank's frame on its way from the device to the gateway.
///
///     CPU    step ─ begin, finish ─ look
///     GPU    step ─ begin ─ look ─ (no step due?) await, finish
///                         └ coded ┄┄┄┄┄┄ (a step due?) step n + 1 ┄┘ finish
///
/// Whichever it is, the bytes are those of the step that it began behind. There is one at a time.
#ifndef TARN_SERVER_WORKER_FRAME_H
#define TARN_SERVER_WORKER_FRAME_H

#include "server/worker/tank.h"

/// Begins a frame of the tank as it is; where nothing can be done meanwhile it is finished, too. One that is too large
/// is told of, and held back for a while. Job.
/// @return TARN_OK or TARN_E_DEVICE
tarn_status tarn_worker_frame_begin(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_jobs *jobs,
                                    tarn_stream_kind kind, uint64_t now_ns);

/// Puts the frame that has begun, if any has, into the link, when it is coded. Job. @return as tarn_worker_frame_begin
tarn_status tarn_worker_frame_finish(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_jobs *jobs);

/// The same if it is coded by then; else it stays begun. Job.
tarn_status tarn_worker_frame_await(tarn_worker_tank *tank, tarn_worker_link *link, const tarn_jobs *jobs,
                                    uint64_t until_ns);

#endif
