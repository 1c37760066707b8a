/// A stretch of a session's log, to be played back: what was done to its tank from a state on, as far as that led
/// without a break, which is where the tank was reset, made from another scene or gone back with. Read in pieces, in
/// order; where a piece is asked for again it is found without reading all before it.
///
/// One thread, one file (session_file.h).
#ifndef TARN_SERVER_COMMON_SESSION_STRETCH_H
#define TARN_SERVER_COMMON_SESSION_STRETCH_H

#include "server/common/session_file.h"

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
