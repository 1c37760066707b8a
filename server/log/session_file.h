/// A session in a file: what it is, states of its tank, and what was done to it since. An SQLite database in WAL mode;
/// whatever stands in it has a checksum of its own (a zstd frame's), so that damage is found where it is.
///
///     about   one row: who may what, by salt and not by key
///     states  newest last; `follows`: the log of the one before leads to it
///     log     batches of the black box's records behind a state; now and then one is the tank's hash
///     moments, marks  where states lie in the session's time, and what people call a moment (session_history.h)
///     scenes, files  what states were made from (session_scene.h), every file once
///     aside   states that killed their workers, with their logs (session_scene.h)
///
/// A state and its log give the very step at which the last batch was written. Not thread-safe: one thread, one file.
#ifndef TARN_SERVER_LOG_SESSION_FILE_H
#define TARN_SERVER_LOG_SESSION_FILE_H

#include "protocol/message.h"
#include "protocol/status.h"
#include "server/log/session_frame.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <zstd.h>

enum {
    TARN_SESSION_FILE_STATES = 4,       ///< the newest, that are always kept, with the log since the oldest
    TARN_SESSION_FILE_CACHE_KIB = 2048, ///< of SQLite's pages
};

typedef struct tarn_session_file tarn_session_file;

/// Opens a file, or makes one with what its owner alone may read. One of an earlier version becomes one of this. A file
/// has one connection that writes, at most: SQLite before 3.51.3 loses what was written where two empty one -wal at
/// once. So a server holds its folder's lock, opens a file once, and lets nothing else in it close the file, which
/// would drop its locks; whatever else looks at a file opens it to read. @param why  on failure: the path, what was
/// found
/// @return TARN_OK, TARN_E_IO, TARN_E_MALFORMED (no session's file, or damaged) or TARN_E_VERSION (of another Tarn)
tarn_status tarn_session_file_open(const char *path, tarn_session_file **file, tarn_text why);

/// Opens a file to be read, as it is at this moment, while a program may go on to write it; it is there already.
/// Nothing is made beside it. Long reads keep a writer's log from being emptied.
tarn_status tarn_session_file_open_to_read(const char *path, tarn_session_file **file, tarn_text why);

/// Whether a file that is read is one that was being written, without the -wal that then lies beside it: a copy of it
/// alone, which lacks what was put last. Also one that an earlier version of this program closed.
bool tarn_session_file_lacks_log(const tarn_session_file *file);

/// Copies a file that is read, as it was when it was opened, also while somebody writes it: into one file of its own,
/// that isn't there yet and that its owner alone may read. It has that name once it is whole.
/// @param why  on failure: the path, what was found, and nothing of the copy is left
/// @return TARN_OK, TARN_E_IO or TARN_E_MEMORY
tarn_status tarn_session_file_copy(tarn_session_file *file, const char *to, tarn_text why);

/// Opens a file's bytes to be read, which are copied: what it is without what lies beside it.
tarn_status tarn_session_file_open_image(const void *bytes, size_t byte_count, tarn_session_file **file, tarn_text why);

/// Whether the path of one that is written, or of what SQLite keeps beside it, leads elsewhere by now: somebody removed
/// or moved it, and what is put goes nowhere. @param why  receives a sentence where it does
bool tarn_session_file_has_vanished(tarn_session_file *file, tarn_text why);

/// Takes NULL.
void tarn_session_file_close(tarn_session_file *file);

// All of these leave the file as it was where they fail; `why` says what is wrong.

tarn_status tarn_session_file_put_about(tarn_session_file *file, const tarn_session_about *about, tarn_text why);

/// @return TARN_OK, TARN_E_NOT_FOUND (none is in it), TARN_E_MALFORMED or TARN_E_IO
tarn_status tarn_session_file_about(tarn_session_file *file, tarn_session_about *about, tarn_text why);

/// Appends what came, and syncs. States that tarn_session_file_keep_from doesn't keep go.
/// @param state_bytes  receives what the state took, compressed; 0: there was none
tarn_status tarn_session_file_put(tarn_session_file *file, const tarn_box_news *news, uint64_t *state_bytes,
                                  tarn_text why);

/// Which states are kept with the log behind them, beside the newest TARN_SESSION_FILE_STATES, which are all at first.
/// @param state  the oldest of them
void tarn_session_file_keep_from(tarn_session_file *file, int64_t state);

/// Lets go of the others, and gives pages back to the disk: a part at a time, as what is put does. Syncs.
/// @param is_done  receives whether there is nothing left to do
tarn_status tarn_session_file_trim(tarn_session_file *file, bool *is_done, tarn_text why);

/// The newest state that is in it; 0: none is.
int64_t tarn_session_file_newest(const tarn_session_file *file);

/// The tank goes on from the newest state and its log under another epoch, with nothing done to it since.
/// @return also TARN_E_STATE: the newest state isn't in the file; what is put next must be anew
tarn_status tarn_session_file_put_epoch(tarn_session_file *file, uint32_t epoch, uint32_t number, tarn_text why);

/// What there is to go on from.
typedef struct tarn_session_rest {
    int64_t id; ///< of the state's row
    tarn_box_state state;
    tarn_box_bytes log; ///< behind it, as far as it is whole
    uint32_t epoch, number;
    bool is_scene_damaged; ///< which is then taken by its name, as one is that isn't in the file
    uint32_t damaged;      ///< states and batches that could not be read; 0: it is the newest step
} tarn_session_rest;

/// The newest state that is whole, and the log from there. @return TARN_OK, TARN_E_NOT_FOUND: none is, TARN_E_IO or
/// TARN_E_MEMORY
tarn_status tarn_session_file_rest(tarn_session_file *file, tarn_session_rest *rest, tarn_text why);
void tarn_session_rest_free(tarn_session_rest *rest);

/// A state, and the log as far as so many steps lead, or less where it ends.
/// @return TARN_OK, TARN_E_NOT_FOUND: it isn't there, TARN_E_MALFORMED: it is damaged, or the log is, TARN_E_IO or
/// TARN_E_MEMORY
tarn_status tarn_session_file_rest_of(tarn_session_file *file, int64_t state, uint64_t steps, tarn_session_rest *rest,
                                      tarn_text why);

/// A state, or a batch of the log, as it lies in a file; zero before the first.
typedef struct tarn_session_row {
    int64_t id;    ///< of the row; states and batches count for themselves, each one more than the one before
    int64_t state; ///< a state's own id; of a batch: the one that it is behind
    bool follows;  ///< a state: the log of the one before leads to it
    bool is_whole; ///< else it is damaged, and what is below is zero
    tarn_session_head head;
    const uint8_t *content; ///< the state, or whole records; until the next call
    size_t content_bytes, packed_bytes;
} tarn_session_row;

/// The one behind row->id. @return TARN_OK, TARN_E_NOT_FOUND: it was the last, TARN_E_MALFORMED (none can be found any
/// more), TARN_E_IO or TARN_E_MEMORY
tarn_status tarn_session_file_next_state(tarn_session_file *file, tarn_session_row *row, tarn_text why);
tarn_status tarn_session_file_next_batch(tarn_session_file *file, tarn_session_row *row, tarn_text why);

/// Lets SQLite look through the whole of it. @param found  is called with each damage, at most 20
tarn_status tarn_session_file_check(tarn_session_file *file, void (*found)(void *user, const char *sentence),
                                    void *user, tarn_text why);

// ---- the inside ----
// For the rooms that a session's file is made up of (session_file.c, session_history.c, session_scene.c).

/// Of a file that somebody else may have made.
enum {
    TARN_SESSION_WORK_MAX = 50000000,         ///< of SQLite's instructions for one call, which takes seconds
    TARN_SESSION_BLOB_BYTES_MAX = 1000000000, ///< of a frame: SQLite's own limit
};

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
