// A saved state now and then, put back once: failing again right after means starting afresh.
#include "server/worker/snapshot.h"
#include "protocol/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tarn_status tarn_snapshot_init(tarn_snapshot *snapshot, const tarn_tank *tank, float dt_s)
{
    memset(snapshot, 0, sizeof *snapshot);
    snapshot->bytes_max = tarn_tank_save_bytes_max(tank);
    snapshot->bytes = malloc(snapshot->bytes_max);
    snapshot->steps_per_s = (uint64_t)fmaxf(1.0f, roundf(1.0f / dt_s));
    return snapshot->bytes != NULL ? TARN_OK : TARN_E_MEMORY;
}

void tarn_snapshot_free(tarn_snapshot *snapshot)
{
    free(snapshot->bytes);
    memset(snapshot, 0, sizeof *snapshot);
}

void tarn_snapshot_forget(tarn_snapshot *snapshot)
{
    snapshot->byte_count = 0;
    snapshot->steps_since = 0;
    snapshot->was_restored = false;
}

tarn_status tarn_snapshot_stepped(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step)
{
    return ++snapshot->steps_since < snapshot->steps_per_s ? TARN_OK : tarn_snapshot_keep(snapshot, tank, step);
}

tarn_status tarn_snapshot_keep(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step)
{
    snapshot->was_restored = false;
    snapshot->steps_since = 0;
    TARN_ASSERT(snapshot->bytes != NULL);
    snapshot->step = step;
    tarn_status status = tarn_tank_save(tank, snapshot->bytes, snapshot->bytes_max, &snapshot->byte_count);
    if (status != TARN_OK) {
        snapshot->byte_count = 0;
    }
    return status;
}

tarn_status tarn_snapshot_load(tarn_snapshot *snapshot, tarn_tank *tank, size_t byte_count)
{
    tarn_tank_report report;
    TARN_ASSERT(byte_count <= snapshot->bytes_max);
    const tarn_status status = tarn_tank_load(tank, snapshot->bytes, byte_count);
    tarn_snapshot_forget(snapshot);
    if (status == TARN_OK) {
        tarn_tank_report_light(tank, &report);
        snapshot->step = report.step;
        snapshot->byte_count = byte_count;
    }
    return status;
}

tarn_status tarn_snapshot_restore(tarn_snapshot *snapshot, tarn_tank *tank)
{
    if (snapshot->byte_count == 0 || snapshot->was_restored) {
        return TARN_E_STATE;
    }
    snapshot->was_restored = true;
    TARN_ASSERT(snapshot->byte_count <= snapshot->bytes_max);
    snapshot->steps_since = 0;
    return tarn_tank_load(tank, snapshot->bytes, snapshot->byte_count);
}
