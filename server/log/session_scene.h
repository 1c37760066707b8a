/// The scenes in a session's file, how the file becomes smaller, and states that are set aside. A scene is there with
/// its JSON and the files that it names (scene/archive.h), every content once. A scene is that of the states from its
/// own on, up to the next scene's.
#ifndef TARN_SERVER_LOG_SESSION_SCENE_H
#define TARN_SERVER_LOG_SESSION_SCENE_H

#include "server/log/session_file.h"

enum { TARN_SESSION_HASH_BYTES = 32 }; ///< of a content: SHA-256

/// A state's scene from now on, within a transaction. One that is the newest already changes nothing.
/// @param pack  sound, or empty: it isn't known
tarn_status tarn_session_scene_put(tarn_session_file *file, int64_t state, const tarn_box_bytes *pack, tarn_text why);

/// @param pack  receives it; empty: it isn't in the file
/// @return TARN_OK, TARN_E_MALFORMED: it is damaged, TARN_E_IO or TARN_E_MEMORY
tarn_status tarn_session_scene_read(tarn_session_file *file, int64_t state, tarn_box_bytes *pack, tarn_text why);

// ---- smaller files ----
// Lets go of what a session's file keeps no longer, and gives its pages back to the disk: a part at a time, so that
// what other tanks commit meanwhile isn't late. For the files that it is made up of.

/// Run on a file that is new: its pages can be given back.
#define TARN_SESSION_SHRINKS "PRAGMA auto_vacuum = INCREMENTAL"

/// Within a transaction. States behind which others are kept go, with their logs, moments, marks and scenes.
/// @param is_done  receives whether nothing is left to let go of or give back
tarn_status tarn_session_shrink(tarn_session_file *file, bool *is_done, tarn_text why);

/// Whether a file's pages can be given back: those that an earlier version made keep all that they ever had.
tarn_status tarn_session_shrink_can(tarn_session_file *file, bool *can, tarn_text why);

/// Writes a file anew, so that it has no free page, and its pages can be given back from then on. Takes as long as to
/// copy it, and as much of the disk twice over, which nobody else may be using it for. For files that are opened to be
/// written. @return TARN_OK, or what SQLite said, and then the file is what it was
tarn_status tarn_session_shrink_enable(tarn_session_file *file, tarn_text why);

// ---- states set aside ----
// States that killed the workers that went on from them: they stay in the file, with the log behind them and the
// reason, and no tank goes on from them. The newest few of them are kept.

enum { TARN_SESSION_ASIDE_MAX = 2 }; ///< states

typedef struct tarn_session_aside {
    int64_t state;
    uint64_t step;
    bool is_whole;        ///< else it is damaged, and `step` is zero
    uint32_t batch_count; ///< of its log
    tarn_text reason;
} tarn_session_aside;

/// Sets the newest states aside, down to one, with their logs. What is put next must be anew.
/// @return TARN_OK, TARN_E_IO or TARN_E_MEMORY: nothing changed
tarn_status tarn_session_aside_put(tarn_session_file *file, int64_t down_to, const char *reason, tarn_text why);

/// The one behind aside->state, which is 0 at first. @return TARN_OK, TARN_E_NOT_FOUND, TARN_E_IO or TARN_E_MEMORY
tarn_status tarn_session_aside_next(tarn_session_file *file, tarn_session_aside *aside, tarn_text why);

/// Whether all states or batches of these numbers were set aside.
bool tarn_session_aside_has(tarn_session_file *file, bool are_batches, int64_t first, int64_t last);

#endif
