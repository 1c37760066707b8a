/// Kept sessions' files, as `tarn session export` and `tarn replay` have them: states and their log in memory, and
/// tanks that are put into them. What else `tarn session` does is session.c's own.
#ifndef TARN_SERVER_TOOL_SESSION_H
#define TARN_SERVER_TOOL_SESSION_H

#include "kernels/tank.h"
#include "server/log/session_file.h"
#include "server/log/session_scene.h"
#include "server/tool/tool.h"

#include <stdbool.h>
#include <stdint.h>

/// `tarn session export`, in run/export.c: arguments after its name, as those of tool.h.
int tool_session_export(int argc, char **argv);

// ---- states and their log ----
// A few of a kept session's states and their log in memory, so that its file is free while a tank makes the steps
// again: a file has hundreds.

enum {
    KEPT_STATES_MAX = 4,            ///< at once
    KEPT_LOG_BYTES_MAX = 256 << 20, ///< behind one state
};

/// A state and the log behind it, up to the next state.
typedef struct kept_stretch {
    int64_t id;
    bool follows;  ///< the log of the one before leads to it
    bool is_whole; ///< else the state could not be read
    bool is_cut;   ///< the log could not be read to its end
    uint32_t epoch;
    tarn_box_state state;
    tarn_box_bytes log;
} kept_stretch;

typedef struct kept_copy {
    kept_stretch stretches[KEPT_STATES_MAX]; ///< the oldest first
    int count;
    int64_t batch; ///< of the log, the last that was read; 0: none
} kept_copy;

/// Takes the states behind one. @param copy  zeroed, or what this took before, which is taken back
/// @param after  a state's id; 0: the first ones
/// @param why  on failure: the path, what was found
/// @return TARN_OK, what tarn_session_file_open_to_read returns, TARN_E_NOT_FOUND: there is no such state
tarn_status kept_copy_read(const char *path, int64_t after, kept_copy *copy, tarn_text why);

/// Takes the newest ones from one on that is whole, or the newest of all where none is. @return as above
tarn_status kept_copy_read_newest(const char *path, kept_copy *copy, tarn_text why);
void kept_copy_free(kept_copy *copy);

/// Hashes in a log, as far as they were compared with the tank's.
typedef struct kept_hashes {
    uint64_t count;         ///< that were compared
    uint64_t same_step;     ///< of the newest that was the same; 0: none was
    uint64_t step;          ///< of the first that wasn't
    tarn_tank_hash in_log;  ///< there
    tarn_tank_hash of_tank; ///< there
    bool differs;           ///< and nothing behind it was compared
} kept_hashes;

/// Makes the steps of a log.
/// @param step     that the tank is at; goes on
/// @param on_step  after each step, false: enough; NULL: nobody asks
/// @param hashes   goes on with what is compared; NULL: nothing is
/// @return TARN_OK, TARN_E_MALFORMED or TARN_E_VERSION (of a record) or what a step returned
tarn_status kept_replay(tarn_tank *tank, const tarn_box_bytes *log, uint64_t *step, kept_hashes *hashes,
                        bool (*on_step)(void *user, uint64_t step), void *user);

/// How many steps the records of a log make. @return false: one of them can't be read; `steps` are those before it
bool kept_log_steps(const uint8_t *log, size_t byte_count, uint64_t *steps);

// ---- the tank of a state ----

/// Makes the tank of a state's scene and puts the state into it.
/// @param tank  of the scene before, kept where it is the same one; zero at first
/// @param made  what it was made from
/// @return false: a sentence went to stderr, and the tank may be there or not (tool_kept_close takes both)
bool tool_kept_put(const char *command, const char *scenes_dir, const tool_device *device, const kept_stretch *stretch,
                   tool_tank *tank, char made[TARN_IPC_SCENE_BYTES_MAX + 1]);
void tool_kept_close(tool_tank *tank);

/// Whether the tank that is there was made from a state's scene. @param made  as above
bool tool_kept_is_of(const kept_stretch *stretch, const char *made);

#endif
