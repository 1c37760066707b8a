/// A session in a file: what it is, states of its tank, and what was done to it since. An SQLite database in WAL mode;
/// whatever stands in it has a checksum of its own (a zstd frame's), so that damage is found where it is.
///
///     about   one row: who may what, by salt and not by key
///     states  newest last; `follows`: the log of the one before leads to it
///     log     batches of the black box's records behind a state
///
/// A state and its log give the very step at which the last batch was written. Not thread-safe: one thread, one file.
#ifndef TARN_SERVER_COMMON_SESSION_FILE_H
#define TARN_SERVER_COMMON_SESSION_FILE_H

#include "protocol/message.h"
#include "server/common/box_follow.h"

#include <stdbool.h>

enum {
    TARN_SESSION_SALT_BYTES = 16,
    TARN_SESSION_FILE_STATES = 4,       ///< that are kept, with the log since the oldest
    TARN_SESSION_FILE_CACHE_KIB = 2048, ///< of SQLite's pages
};

/// What outlives its tank.
typedef struct tarn_session_about {
    tarn_name name;
    tarn_name title;                             ///< for people; empty: none
    char begun_as[TARN_IPC_SCENE_BYTES_MAX + 1]; ///< the scene that it was opened with
    uint8_t salt[TARN_SESSION_SALT_BYTES];       ///< of its keys
    uint32_t guests;                             ///< tarn_role
    bool is_kept, is_listed;
} tarn_session_about;

typedef struct tarn_session_file tarn_session_file;

/// Opens a file, or makes one with what its owner alone may read. @param why  on failure: the path, what was found
/// @return TARN_OK, TARN_E_IO, TARN_E_MALFORMED (no session's file, or damaged) or TARN_E_VERSION (of another Tarn)
tarn_status tarn_session_file_open(const char *path, tarn_session_file **file, tarn_text why);
void tarn_session_file_close(tarn_session_file *file);

// All of these leave the file as it was where they fail; `why` says what is wrong.

tarn_status tarn_session_file_put_about(tarn_session_file *file, const tarn_session_about *about, tarn_text why);

/// @return TARN_OK, TARN_E_NOT_FOUND (none is in it), TARN_E_MALFORMED or TARN_E_IO
tarn_status tarn_session_file_about(tarn_session_file *file, tarn_session_about *about, tarn_text why);

/// Appends what came, and syncs. Older states than TARN_SESSION_FILE_STATES go.
/// @param state_bytes  receives what the state took, compressed; 0: there was none
tarn_status tarn_session_file_put(tarn_session_file *file, const tarn_box_news *news, uint64_t *state_bytes,
                                  tarn_text why);

/// What there is to go on from.
typedef struct tarn_session_rest {
    tarn_box_state state;
    tarn_box_bytes log; ///< behind it, as far as it is whole
    uint32_t epoch, number;
    uint32_t damaged; ///< states and batches that could not be read; 0: it is the newest step
} tarn_session_rest;

/// The newest state that is whole, and the log from there. @return TARN_OK, TARN_E_NOT_FOUND: none is, TARN_E_IO or
/// TARN_E_MEMORY
tarn_status tarn_session_file_rest(tarn_session_file *file, tarn_session_rest *rest, tarn_text why);
void tarn_session_rest_free(tarn_session_rest *rest);

#endif
