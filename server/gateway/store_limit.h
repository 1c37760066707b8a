/// Keeps the folder of kept sessions (tank_store.h) from growing for ever: takes away what no session of this server
/// uses, the oldest first. What a session uses is counted, and never touched.
#ifndef TARN_SERVER_GATEWAY_STORE_LIMIT_H
#define TARN_SERVER_GATEWAY_STORE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tarn_store_limit {
    uint64_t bytes_max; ///< of all files; where there are more, files that were set aside go
    uint64_t age_max_s; ///< of a file that no session uses, and of this server's having left it out; then it goes
} tarn_store_limit;

typedef struct tarn_store_use {
    uint64_t bytes;    ///< of all files that are left
    uint32_t dropped;  ///< files that went
    bool is_too_large; ///< although nothing is left that may go
} tarn_store_use;

/// Looks through a folder, and says in the log what goes. Any thread; takes as long as the disk.
/// @param opened_s  when this server took the folder, in seconds since 1970; `now_s` likewise
/// @param is_used   whether a session of that name is there
/// @return false: the folder can't be read
bool tarn_store_limit_apply(const char *dir, const tarn_store_limit *limit, int64_t opened_s, int64_t now_s,
                            bool (*is_used)(void *user, const char *name, size_t name_bytes), void *user,
                            tarn_store_use *use);

#endif
