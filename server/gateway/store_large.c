// Begin at tarn_store_large_begin.
#include "server/gateway/store_large.h"
#include "protocol/assert.h"
#include "server/gateway/gateway_limits.h"

static void *put(void *user)
{
    tarn_store_large *large = user;
    large->status = tarn_session_file_put(large->file, &large->news, &large->state_bytes, large->why);
    atomic_store(&large->has_ended, true);
    return NULL;
}

bool tarn_store_large_is(const tarn_box_news *news)
{
    return news->has_state && news->state.bytes.count >= TARN_GATEWAY_STORE_LARGE_BYTES;
}

bool tarn_store_large_begin(tarn_store_large *large, uint32_t place, tarn_session_file *file, tarn_box_news *news,
                            uint64_t now_ns)
{
    TARN_ASSERT(!large->is_there);
    *large = (tarn_store_large){.is_there = true, .place = place, .begun_ns = now_ns, .file = file, .news = *news};
    if (pthread_create(&large->thread, NULL, put, large) != 0) {
        *large = (tarn_store_large){0};
        return false;
    }
    *news = (tarn_box_news){0};
    return true;
}

bool tarn_store_large_is_of(const tarn_store_large *large, uint32_t place)
{
    return large->is_there && large->place == place;
}

bool tarn_store_large_take(tarn_store_large *large, bool waits)
{
    if (!large->is_there || (!waits && !atomic_load(&large->has_ended))) {
        return false;
    }
    pthread_join(large->thread, NULL);
    large->is_there = false;
    return true;
}

void tarn_store_large_free(tarn_store_large *large)
{
    (void)tarn_store_large_take(large, true);
    tarn_box_news_free(&large->news);
}
