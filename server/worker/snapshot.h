/// The last good state of a tank, in its black box: what it is set back to when a step fails, and what the next worker
/// goes on from when this one ends.
///
///     step ok  -> every second of simulated time, or where the box's log is full: keep
///     step bad -> there is one, and the tank wasn't set back within the last second: restore
///              -> otherwise: the caller resets the tank
#ifndef TARN_SERVER_WORKER_SNAPSHOT_H
#define TARN_SERVER_WORKER_SNAPSHOT_H

#include "kernels/tank.h"
#include "server/worker/black_box.h"

#include <stdbool.h>

typedef struct tarn_snapshot {
    tarn_black_box box;
    uint64_t steps_per_s; ///< simulated
    uint64_t steps_since; ///< since the tank started, was set back or was kept
    bool is_start;        ///< what is kept is the tank's start
    bool was_restored;    ///< less than a second of simulated time ago
} tarn_snapshot;

/// Maps a tank's black box, which uses memory as states need it. What is in it stays.
/// @param fd  of the box; stays the caller's  @return TARN_OK or TARN_E_MEMORY
tarn_status tarn_snapshot_init(tarn_snapshot *snapshot, int fd, const tarn_tank *tank, float dt_s);
void tarn_snapshot_free(tarn_snapshot *snapshot);

/// The tank starts afresh, and nobody holds anything: keeps it as it is now, which is nothing to be set back to here.
/// @return TARN_OK or what tarn_tank_save returned
tarn_status tarn_snapshot_start(tarn_snapshot *snapshot, tarn_tank *tank);

/// Makes room for what the tank, which has made `step` steps, is told next. @return TARN_OK, or what tarn_tank_save
/// returned
tarn_status tarn_snapshot_make_room(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step);

/// Notes a good step, the `step`th, and keeps the tank's state once in a second of simulated time.
/// @return TARN_OK or what tarn_tank_save returned; then what was kept before still is
tarn_status tarn_snapshot_stepped(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step);

/// Keeps the tank's state now; it is good, after the `step`th.
/// @return TARN_OK or what tarn_tank_save returned; then what was kept before still is
tarn_status tarn_snapshot_keep(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step);

/// Tells whoever follows the box how long a step is, and how long one took of late. @param step_s  0: not known
void tarn_snapshot_set_pace(tarn_snapshot *snapshot, float dt_s, float step_s);
/// The scene of a tank that goes on becomes its own: it is put into the box, with the tank as it is now, after the
/// `step`th step. Where that can't be, it isn't. @param fd  of the box
void tarn_snapshot_adopt(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step, int fd,
                         const struct tarn_scene_pack *pack);

/// Loads a state that was put into the box's space from elsewhere, and keeps it. @param step  receives where it is
/// @return TARN_OK, or what tarn_tank_load returned; then nothing changes here
tarn_status tarn_snapshot_load(tarn_snapshot *snapshot, tarn_tank *tank, size_t byte_count, uint64_t *step);

/// Sets the tank back. The box's log is left to the caller.
/// @param step  receives where it is then
/// @return TARN_OK, TARN_E_STATE (nothing is kept, or the tank was set back less than a second of simulated time ago)
/// or
///         what tarn_tank_load returned
tarn_status tarn_snapshot_restore(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t *step);

#endif
