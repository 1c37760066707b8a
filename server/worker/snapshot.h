/// The last good state of a tank, kept in memory taken in advance: what it is set back to when a step fails.
///
///     step ok  -> every second of simulated time: keep
///     step bad -> there is one, and the tank wasn't set back within the last second: restore
///              -> otherwise: the caller resets the tank
#ifndef TARN_SERVER_WORKER_SNAPSHOT_H
#define TARN_SERVER_WORKER_SNAPSHOT_H

#include "kernels/tank.h"

#include <stdbool.h>

typedef struct tarn_snapshot {
    uint8_t *bytes;
    size_t bytes_max, byte_count; ///< byte_count 0: nothing is kept
    uint64_t step;                ///< of what is kept
    uint64_t steps_per_s;         ///< simulated
    uint64_t steps_since;         ///< since the tank started, was set back or was kept
    bool was_restored;            ///< less than a second of simulated time ago
} tarn_snapshot;

/// Takes memory for a tank's states; they use it as they need it. @return TARN_OK or TARN_E_MEMORY
tarn_status tarn_snapshot_init(tarn_snapshot *snapshot, const tarn_tank *tank, float dt_s);
void tarn_snapshot_free(tarn_snapshot *snapshot);

/// Forgets what is kept: the tank starts afresh.
void tarn_snapshot_forget(tarn_snapshot *snapshot);

/// Notes a good step, the `step`th, and keeps the tank's state once in a second of simulated time.
/// @return TARN_OK or what tarn_tank_save returned, after which the older state is gone
tarn_status tarn_snapshot_stepped(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step);

/// Keeps the tank's state now; it is good, after the `step`th.
/// @return TARN_OK or what tarn_tank_save returned, after which the older state is gone
tarn_status tarn_snapshot_keep(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step);

/// Loads a state that was put into its bytes from elsewhere, and keeps it. @return TARN_OK, or what tarn_tank_load
/// returned, after which nothing is kept
tarn_status tarn_snapshot_load(tarn_snapshot *snapshot, tarn_tank *tank, size_t byte_count);

/// Sets the tank back.
/// @return TARN_OK (it is at snapshot->step), TARN_E_STATE (nothing is kept, or the tank was set back less than a
/// second of
///         simulated time ago) or what tarn_tank_load returned
tarn_status tarn_snapshot_restore(tarn_snapshot *snapshot, tarn_tank *tank);

#endif
