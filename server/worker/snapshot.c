// A saved state now and then, put back once: failing again right after means starting afresh. And records of a log,
// read one after the other as pieces of it come.
#include "server/worker/snapshot.h"
#include "protocol/assert.h"
#include "server/log/black_box.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- inputs that are played back ----
// Begin at tarn_replay_feed_put, then tarn_replay_feed_read.

_Static_assert(TARN_IPC_REPLAY_BYTES + 2 * sizeof(tarn_black_box_record_head) + TARN_STEP_INPUT_BYTES_MAX <=
                   TARN_IPC_REPLAY_BYTES_MAX,
               "a piece has room for one more record, however large");

tarn_status tarn_replay_feed_begin(tarn_replay_feed *feed, uint64_t step, uint64_t until)
{
    TARN_ASSERT(feed->bytes == NULL && until > step);
    uint8_t *bytes = malloc(2 * (size_t)TARN_IPC_REPLAY_BYTES_MAX);
    if (bytes == NULL) {
        return TARN_E_MEMORY;
    }
    *feed = (tarn_replay_feed){.until = until, .from = step, .bytes = bytes};
    return TARN_OK;
}

void tarn_replay_feed_end(tarn_replay_feed *feed)
{
    free(feed->bytes);
    *feed = (tarn_replay_feed){0};
}

bool tarn_replay_feed_wants(const tarn_replay_feed *feed)
{
    return feed->until > 0 && !feed->is_last && feed->from < feed->until &&
           feed->count - feed->at <= TARN_IPC_REPLAY_BYTES_MAX;
}

uint8_t *tarn_replay_feed_space(tarn_replay_feed *feed)
{
    TARN_ASSERT(feed->bytes != NULL && feed->count - feed->at <= TARN_IPC_REPLAY_BYTES_MAX);
    memmove(feed->bytes, feed->bytes + feed->at, feed->count - feed->at);
    feed->count -= feed->at;
    feed->at = 0;
    return feed->bytes + feed->count;
}

tarn_status tarn_replay_feed_put(tarn_replay_feed *feed, size_t byte_count, bool is_last)
{
    TARN_ASSERT(byte_count <= TARN_IPC_REPLAY_BYTES_MAX);
    const uint8_t *piece = feed->bytes + feed->count;
    tarn_black_box_record record;
    uint64_t steps = 0;
    uint32_t held = feed->held;
    size_t at = 0;
    while (at < byte_count && tarn_black_box_record_next(piece, byte_count, &at, &record)) {
        const bool makes_step = tarn_black_box_record_steps(&record);
        held = makes_step ? 0 : held + 1;
        steps += makes_step;
    }
    if (at != byte_count) {
        return TARN_E_MALFORMED;
    }
    feed->count += byte_count;
    feed->held = held;
    feed->from += steps;
    feed->ready += steps;
    feed->is_last = is_last;
    return TARN_OK;
}

tarn_status tarn_replay_feed_read(tarn_replay_feed *feed, tarn_replay_record *record)
{
    tarn_black_box_record found;
    if (feed->at == feed->count) {
        return TARN_E_NOT_FOUND;
    }
    if (!tarn_black_box_record_next(feed->bytes, feed->count, &feed->at, &found)) {
        return TARN_E_MALFORMED;
    }
    *record = (tarn_replay_record){.is_hash = found.is_hash};
    if (found.is_hash) {
        record->step = found.hash.step;
        record->hash = (tarn_tank_hash){.lo = found.hash.lo, .hi = found.hash.hi};
        return TARN_OK;
    }
    feed->ready -= tarn_black_box_record_steps(&found);
    return found.input_bytes > 0 ? tarn_step_input_read(found.input, found.input_bytes, &record->input) : TARN_OK;
}

// ---- the last good state ----

tarn_status tarn_snapshot_init(tarn_snapshot *snapshot, int fd, const tarn_tank *tank, float dt_s)
{
    memset(snapshot, 0, sizeof *snapshot);
    snapshot->steps_per_s = (uint64_t)fmaxf(1.0f, roundf(1.0f / dt_s));
    const tarn_status status =
        tarn_black_box_open(&snapshot->box, fd, tarn_black_box_state_room(tarn_tank_save_bytes_max(tank)));
    if (status == TARN_OK) {
        tarn_snapshot_set_pace(snapshot, dt_s, 0.0f);
    }
    return status;
}

void tarn_snapshot_set_pace(tarn_snapshot *snapshot, float dt_s, float step_s)
{
    const float most_s = 4.0f; // of what 32 bits of nanoseconds have
    tarn_black_box_set_pace(&snapshot->box, (uint32_t)((double)fminf(dt_s, most_s) * 1e9 + 0.5),
                            (uint32_t)((double)fminf(step_s, most_s) * 1e9 + 0.5));
}

void tarn_snapshot_free(tarn_snapshot *snapshot)
{
    tarn_black_box_close(&snapshot->box);
    memset(snapshot, 0, sizeof *snapshot);
}

static tarn_status keep(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step, bool is_anew)
{
    tarn_black_box *box = &snapshot->box;
    size_t byte_count = 0;
    const tarn_status status = tarn_tank_save(tank, tarn_black_box_space(box), box->state_bytes_max, &byte_count);
    if (status == TARN_OK) {
        tarn_black_box_keep(box, byte_count, step, is_anew);
        snapshot->is_start = snapshot->was_restored = false;
        snapshot->steps_since = 0;
    }
    return status;
}

tarn_status tarn_snapshot_start(tarn_snapshot *snapshot, tarn_tank *tank)
{
    tarn_black_box_let_go(&snapshot->box);
    const tarn_status status = keep(snapshot, tank, 0, true);
    snapshot->is_start = true;
    return status;
}

tarn_status tarn_snapshot_make_room(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step)
{
    return tarn_black_box_has_room(&snapshot->box) ? TARN_OK : tarn_snapshot_keep(snapshot, tank, step);
}

tarn_status tarn_snapshot_stepped(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step)
{
    return ++snapshot->steps_since < snapshot->steps_per_s ? TARN_OK : tarn_snapshot_keep(snapshot, tank, step);
}

tarn_status tarn_snapshot_keep(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step)
{
    return keep(snapshot, tank, step, false);
}

void tarn_snapshot_adopt(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t step, int fd,
                         const struct tarn_scene_pack *pack)
{
    tarn_black_box_put_scene(&snapshot->box, fd, pack);
    (void)keep(snapshot, tank, step, true);
}

tarn_status tarn_snapshot_load(tarn_snapshot *snapshot, tarn_tank *tank, size_t byte_count, uint64_t *step)
{
    tarn_black_box *box = &snapshot->box;
    tarn_tank_report report;
    TARN_ASSERT(byte_count <= box->state_bytes_max);
    const tarn_status status = tarn_tank_load(tank, tarn_black_box_space(box), byte_count);
    if (status == TARN_OK) {
        tarn_tank_report_light(tank, &report);
        *step = report.step;
        tarn_black_box_let_go(box);
        tarn_black_box_keep(box, byte_count, report.step, true);
        snapshot->is_start = snapshot->was_restored = false;
        snapshot->steps_since = 0;
    }
    return status;
}

tarn_status tarn_snapshot_restore(tarn_snapshot *snapshot, tarn_tank *tank, uint64_t *step)
{
    uint64_t byte_count;
    const uint8_t *bytes = tarn_black_box_state(&snapshot->box, &byte_count, step);
    if (bytes == NULL || snapshot->is_start || snapshot->was_restored) {
        return TARN_E_STATE;
    }
    snapshot->was_restored = true;
    snapshot->steps_since = 0;
    return tarn_tank_load(tank, bytes, byte_count);
}
