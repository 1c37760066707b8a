// Begin at tarn_replay_feed_put, then tarn_replay_feed_read.
#include "server/worker/replay_feed.h"
#include "protocol/assert.h"
#include "server/common/black_box_layout.h"

#include <stdlib.h>
#include <string.h>

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
