/// `tarn session`: kept sessions' files, looked at, told of, copied and deleted.
///
/// `tarn session export`: arguments after its name, as those of tool.h.
#ifndef TARN_SERVER_TOOL_SESSION_H
#define TARN_SERVER_TOOL_SESSION_H

#include "kernels/tank.h"
#include "server/log/session_file.h"
#include "server/log/session_scene.h"
#include "server/tool/tool.h"

#include <stdbool.h>
#include <stdint.h>

int tool_session_export(int argc, char **argv);

// ---- copy ----
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

// ---- kept ----
// The tank that a kept session's state is put into: what `tarn session export` and `tarn replay` share.

/// Makes the tank of a state's scene and puts the state into it.
/// @param tank  of the scene before, kept where it is the same one; zero at first
/// @param made  what it was made from
/// @return false: a sentence went to stderr, and the tank may be there or not (tool_kept_close takes both)
bool tool_kept_put(const char *command, const char *scenes_dir, const tool_device *device, const kept_stretch *stretch,
                   tool_tank *tank, char made[TARN_IPC_SCENE_BYTES_MAX + 1]);
void tool_kept_close(tool_tank *tank);

/// Whether the tank that is there was made from a state's scene. @param made  as above
bool tool_kept_is_of(const kept_stretch *stretch, const char *made);

// ---- look ----
// Looks through the file of a kept session once, from its oldest state to the end of its log, and says what is in it
// and what of it is damaged. Only reads; a tarnd may use the file meanwhile.

/// What a file comes to.
typedef struct kept_summary {
    uint64_t file_bytes; ///< with what lies beside it
    bool shrinks;        ///< else an earlier version made it, and it keeps all the room that it ever took
    bool has_about;
    tarn_session_about about;
    uint32_t state_count, batch_count;
    uint32_t damage_count;
    bool is_misnamed; ///< which counts as one of these: a server takes it under the session's name alone
    bool has_rest;    ///< a server that gets the file goes on from a state
    char scene[TARN_IPC_SCENE_BYTES_MAX + 1];
    uint32_t scene_files; ///< that are in the file, the scene's JSON among them; 0: the scene isn't
    uint64_t scene_bytes; ///< of them
    double dt_s;          ///< of a step of it; 0: not known
    tarn_text title;      ///< what people see the tank as: its own title, or its scene's; empty: not known
    uint32_t epoch;
    uint64_t state_step; ///< of that state
    uint64_t end_step;   ///< that its log leads to
} kept_summary;

/// Who hears of what is found, in the order in which it happened; each may be NULL.
typedef struct kept_sink {
    void *user;
    void (*on_state)(void *user, const tarn_session_row *row);
    /// @param steps  that the batch makes
    void (*on_batch)(void *user, const tarn_session_row *row, uint64_t steps);
    void (*on_aside)(void *user, const tarn_session_aside *aside); ///< a state that killed its workers
    void (*on_damage)(void *user, const char *sentence);           ///< what is damaged and what is lost by it
} kept_sink;

/// @param scenes_dir  where scenes are that aren't in their files; NULL: where those are that came with the program
/// @param is_thorough  whether SQLite looks through its own structures too
/// @param why  on failure: the path, what was found
/// @return TARN_OK, also where parts are damaged; else what tarn_session_file_open_to_read returns
tarn_status kept_look(const char *path, const char *scenes_dir, bool is_thorough, const kept_sink *sink,
                      kept_summary *summary, tarn_text why);

/// How many steps the records of a log make. @return false: one of them can't be read; `steps` are those before it
bool kept_log_steps(const uint8_t *log, size_t byte_count, uint64_t *steps);

#endif
