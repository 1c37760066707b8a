/// The inside of a session's file, for the files that it is made up of (session_open.c, session_file.c,
/// session_scene.c, session_shrink.c, session_aside.c); others see session_file.h.
#ifndef TARN_SERVER_COMMON_SESSION_PARTS_H
#define TARN_SERVER_COMMON_SESSION_PARTS_H

#include "server/common/session_file.h"
#include "server/common/session_guard.h"

#include <sqlite3.h>
#include <zstd.h>

struct tarn_session_file {
    sqlite3 *db;
    ZSTD_CCtx *compressor;
    tarn_box_bytes plain, packed; ///< of one frame
    int64_t state;                ///< the newest; 0: none is in it
    int64_t oldest;               ///< state that is kept, beside the newest few
    uint64_t log_bytes;           ///< behind it, packed
    int64_t work_left;            ///< of SQLite's, for what is being done
    bool has_scenes;              ///< else it is of version 1 and only read
    uint64_t wal_dev, wal_ino;    ///< of the write-ahead log, once it was seen; 0: it wasn't
    bool is_written;              ///< else it is only read
    bool was_left_open;           ///< as whoever writes it leaves it while they do
    bool lacks_log;               ///< the same, and what is beside it then isn't
    char path[4096];
};

/// What SQLite said last, as a sentence. @return what it comes to
tarn_status tarn_session_part_failed(const tarn_session_file *file, tarn_text why);

tarn_status tarn_session_part_run(const tarn_session_file *file, const char *sql, tarn_text why);

/// A number that a statement gives. @param number  left where it gives none
tarn_status tarn_session_part_ask(const tarn_session_file *file, const char *sql, int64_t *number, tarn_text why);

/// Runs a statement whose parameters are a number, another and a frame of what lies in `plain`.
tarn_status tarn_session_part_insert(tarn_session_file *file, const char *sql, int64_t first, int64_t second,
                                     tarn_text why);

/// Unpacks a column into `plain`. @return TARN_OK, TARN_E_MALFORMED (it is damaged) or TARN_E_MEMORY
tarn_status tarn_session_part_unpack(tarn_session_file *file, sqlite3_stmt *row, int column);

#endif
