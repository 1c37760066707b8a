/// A tank goes on from what a worker that is no more left in its black box:
///
///     state ─ step ─ step ... of the log ─▶ as it was before the last step's input had been taken, and with that
///
/// Where it is said to kill, more and more of it is left out (black_box.h); then the tank is set back, and its epoch
/// changes.
#ifndef TARN_SERVER_WORKER_RESUME_H
#define TARN_SERVER_WORKER_RESUME_H

#include "server/worker/worker_tank.h"

/// Goes on with a tank that was just made, from what was found in its box. Job.
/// @return TARN_OK; TARN_E_MALFORMED (it is none of such a tank), TARN_E_VERSION, TARN_E_MEMORY or TARN_E_UNSTABLE: the
///         tank is to be reset; or TARN_E_DEVICE
tarn_status tarn_worker_resume(tarn_worker_tank *tank, const tarn_black_box_rest *rest);

/// Makes the steps since the newest state again, that of the newest input included: what went wrong then need not go
/// wrong again, where it was the memory or the device and not the simulation. Frames, presses and the epoch go on. Job.
/// @return TARN_OK: the tank is as if nothing had happened; else it is to be set back or reset: TARN_E_STATE (there is
///         no state), or what the load or a step came to
tarn_status tarn_worker_redo(tarn_worker_tank *tank);

#endif
