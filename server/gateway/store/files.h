/// The files of kept tanks: what belongs to one, which is a database and what SQLite keeps beside it; what the log
/// calls them; which of them go.
#ifndef TARN_SERVER_GATEWAY_STORE_FILES_H
#define TARN_SERVER_GATEWAY_STORE_FILES_H

#include "server/base/log.h"
#include "server/log/session_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TARN_TANK_FILES_SUFFIX ".tank"

/// Takes them away; what can't be is logged.
/// @param path   of the database; ends with the suffix
/// @param label  what stands for the session's name in the log (tarn_store_label)
void tarn_tank_files_remove(const char *path, const char *label);

/// Gives them a name that is free, NAME.damaged or NAME-1.damaged and so on, with all that SQLite needs to find more in
/// it, and logs that. @param why  a sentence
/// @return false: they stay where they are
bool tarn_tank_files_set_aside(const char *path, const char *label, const char *why);

// ---- what the log calls them ----
// The name of a session that isn't listed opens it, and stands in its file's.

/// What stands for a session's name in the log: the name where everybody may find it, "unlisted-7" as elsewhere, or its
/// first two letters, "ab...", by which whoever has the folder finds the file.
/// @param name_bytes  of the name, behind which more may follow
/// @param is_listed   false also where nobody knows
/// @param number      of a session that isn't listed; 0: it has none
void tarn_store_label(const char *name, size_t name_bytes, bool is_listed, uint32_t number, tarn_name label);

/// Puts the label in the place of each file name that begins with the name. @param name_bytes  as above
void tarn_store_hide(tarn_text sentence, const char *name, size_t name_bytes, const char *label);

/// A line in the log, with the label in the place of the name.
__attribute__((format(printf, 5, 6))) void tarn_store_log(tarn_log_level level, const char *name, size_t name_bytes,
                                                          const char *label, const char *format, ...);

// ---- which of them go ----
// Keeps the folder of kept sessions (store.h) from growing for ever: takes away what no session of this server
// uses, the oldest first. What a session uses is counted, and never touched.

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
