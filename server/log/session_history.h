/// A session's past, as its file has it (session_file.h): where each state lies in the session's time, what of it is
/// kept, and marks. That time is what its tank's steps come to: it stands while nobody steps the tank, and goes on when
/// it is set back, loaded anew or gone back with. So no moment is there twice, and a future that was left stays in the
/// past.
///
///     moments  a state's id, its moment, a step's length, bytes
///     marks    names of moments
///
/// One thread, one file.
#ifndef TARN_SERVER_LOG_SESSION_HISTORY_H
#define TARN_SERVER_LOG_SESSION_HISTORY_H

#include "server/log/session_file.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    TARN_SESSION_MARKS_MAX = 64,
    TARN_SESSION_MARK_BYTES_MAX = 40,    ///< of a mark's name: UTF-8, without the NUL
    TARN_SESSION_STATES_MAX = 4096,      ///< that are kept, however short their time was
    TARN_SESSION_DT_NS_GUESS = 16666667, ///< where a box doesn't say how long a step is
};

/// Moments are nanoseconds of a session's time; below this, so that they fit SQLite's integers: 292 years.
#define TARN_SESSION_MOMENT_NS_MAX ((uint64_t)INT64_MAX)

typedef struct tarn_session_mark {
    uint32_t id; ///< not 0
    uint64_t at_ns;
    char name[TARN_SESSION_MARK_BYTES_MAX + 1];
} tarn_session_mark;

/// What of the past is there.
typedef struct tarn_session_span {
    uint64_t from_ns, until_ns; ///< the oldest state's moment; the end of the newest one's log
    uint64_t bytes;             ///< of states and the log
    uint32_t state_count, mark_count;
    tarn_session_mark marks[TARN_SESSION_MARKS_MAX]; ///< by their moments
} tarn_session_span;

/// How much of it is kept. The newest TARN_SESSION_FILE_STATES always are.
typedef struct tarn_session_keep_rule {
    uint64_t ns_max, bytes_max;
} tarn_session_keep_rule;

/// @return TARN_OK, TARN_E_MALFORMED, TARN_E_IO or TARN_E_MEMORY
tarn_status tarn_session_history_span(tarn_session_file *file, tarn_session_span *span, tarn_text why);

/// What is too old or too much may go with the next state that is put, and marks that lie before what is kept then:
/// says so to the file. @param now_ns  the newest moment
tarn_status tarn_session_history_keep(tarn_session_file *file, const tarn_session_keep_rule *rule, uint64_t now_ns,
                                      tarn_text why);

/// What a tank goes on from to be as it was: the newest state that isn't behind a moment, or less than half a step, and
/// the log up to the step that comes closest. @param at_ns  receives the moment of that step
/// @return TARN_OK, TARN_E_NOT_FOUND: nothing as old is kept; TARN_E_MALFORMED: it is damaged; TARN_E_IO or
/// TARN_E_MEMORY, each with a sentence
tarn_status tarn_session_history_rest(tarn_session_file *file, uint64_t *at_ns, tarn_session_rest *rest, tarn_text why);

/// A state behind which so many are, or fewer where the file has no more. @param id  receives it; 0: before the first
/// @return TARN_OK, or as above
tarn_status tarn_session_history_before_newest(tarn_session_file *file, uint32_t count, int64_t *id, tarn_text why);

/// Names a moment. @param name  1..TARN_SESSION_MARK_BYTES_MAX bytes
/// @return TARN_OK, TARN_E_LIMIT: there are TARN_SESSION_MARKS_MAX, or as above
tarn_status tarn_session_history_mark(tarn_session_file *file, uint64_t at_ns, const char *name, uint32_t *id,
                                      tarn_text why);

/// @return TARN_OK, TARN_E_NOT_FOUND: there is none of this number, or as above
tarn_status tarn_session_history_unmark(tarn_session_file *file, uint32_t id, tarn_text why);

// ---- moments ----
// The rows of a session's file that say when a state was; for session_file.c, too.

struct sqlite3;

typedef struct tarn_session_moment {
    int64_t state;
    uint64_t at_ns; ///< of the session's time
    uint32_t dt_ns; ///< that a step takes of it; 0: not known
    uint64_t bytes; ///< that the state takes, and the log before it
} tarn_session_moment;

#define TARN_SESSION_HISTORY_SCHEMA                                                                                    \
    "CREATE TABLE moments(state INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL CHECK(at_ns >= 0), "                       \
    "dt_ns INTEGER NOT NULL, bytes INTEGER NOT NULL);"                                                                 \
    "CREATE TABLE marks(id INTEGER PRIMARY KEY AUTOINCREMENT, at_ns INTEGER NOT NULL CHECK(at_ns >= 0), "              \
    "name TEXT NOT NULL);"

/// @return false: SQLite says why
bool tarn_session_moment_put(struct sqlite3 *db, const tarn_session_moment *moment);

// ---- stretches ----
// A stretch of a session's log, to be played back: what was done to its tank from a state on, as far as that led
// without a break, which is where the tank was reset, made from another scene or gone back with. Read in pieces, in
// order; where a piece is asked for again it is found without reading all before it.
//
// One thread, one file (session_file.h).

enum { TARN_SESSION_STRETCH_PLACES = 8 }; ///< pieces, the newest, whose places are known

typedef struct tarn_session_stretch {
    int64_t state;  ///< that it begins with; 0: there is none
    uint64_t step;  ///< of that state
    uint64_t until; ///< the last step in the file when it was found
} tarn_session_stretch;

/// Where a piece of the log begins.
typedef struct tarn_session_stretch_place {
    int64_t batch; ///< the one before it; 0: the stretch's beginning
    uint64_t step; ///< that the records up to there lead to
    uint64_t from; ///< the step that the piece was asked for from
} tarn_session_stretch_place;

/// Reads a stretch; zero at first.
typedef struct tarn_session_stretch_reader {
    tarn_session_stretch of;
    tarn_session_stretch_place places[TARN_SESSION_STRETCH_PLACES];
    uint32_t place_count; ///< so far
} tarn_session_stretch_reader;

/// Finds the stretch that begins with a state. @param step  of the state
/// @return TARN_OK, TARN_E_NOT_FOUND: the state isn't kept; TARN_E_MALFORMED: what is needed is damaged; TARN_E_IO or
///         TARN_E_MEMORY, each with a sentence
tarn_status tarn_session_stretch_find(tarn_session_file *file, int64_t state, uint64_t step,
                                      tarn_session_stretch *stretch, tarn_text why);

/// Reads the records behind a step, without what viewers held: whole ones, until these are TARN_IPC_REPLAY_BYTES or
/// more, and at most TARN_IPC_REPLAY_BYTES_MAX, or lead to the stretch's end.
/// @param from     at least the stretch's step, at most its end
/// @param held     records behind that step, and before the next, that aren't wanted: they were read
/// @param records  are overwritten
/// @param is_last  receives whether nothing comes behind them
/// @return as above; TARN_E_NOT_FOUND: the log isn't kept that far any more
tarn_status tarn_session_stretch_read(tarn_session_file *file, tarn_session_stretch_reader *reader,
                                      const tarn_session_stretch *stretch, uint64_t from, uint32_t held,
                                      tarn_box_bytes *records, bool *is_last, tarn_text why);

#endif
