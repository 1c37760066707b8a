/// Puts a state that is large on a thread of its own, so that other tanks' logs need not wait until it is packed and
/// written. One at a time; its own tank waits. For the store's thread (store_rounds.c).
#ifndef TARN_SERVER_GATEWAY_STORE_LARGE_H
#define TARN_SERVER_GATEWAY_STORE_LARGE_H

#include "server/common/session_file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/// Zero at first.
typedef struct tarn_store_large {
    bool is_there;  ///< one is under way, or wasn't taken yet
    uint32_t place; ///< whose
    uint64_t begun_ns;
    pthread_t thread;
    atomic_bool has_ended; ///< what follows is the thread's until then
    tarn_session_file *file;
    tarn_box_news news; ///< owned
    uint64_t state_bytes;
    tarn_status status;
    tarn_text why;
} tarn_store_large;

/// Whether news have a state that is worth a thread.
bool tarn_store_large_is(const tarn_box_news *news);

/// Begins to put news, which are taken over. None may be there.
/// @param file  nobody else's until it is taken  @return false: there is no thread for it, and nothing changes
bool tarn_store_large_begin(tarn_store_large *large, uint32_t place, tarn_session_file *file, tarn_box_news *news,
                            uint64_t now_ns);

/// Whether one is under way for a place, or wasn't taken yet.
bool tarn_store_large_is_of(const tarn_store_large *large, uint32_t place);

/// Takes what was put: its status, state_bytes, why and news say what came of it, until tarn_store_large_free.
/// @param waits  for the thread  @return false: there is none, or it isn't done yet
bool tarn_store_large_take(tarn_store_large *large, bool waits);

/// Waits for the thread, where there is one, and frees what it had.
void tarn_store_large_free(tarn_store_large *large);

#endif
