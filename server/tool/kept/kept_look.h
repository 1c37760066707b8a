/// Looks through the file of a kept session once, from its oldest state to the end of its log, and says what is in it
/// and what of it is damaged. Only reads; a tarnd may use the file meanwhile.
#ifndef TARN_SERVER_TOOL_KEPT_LOOK_H
#define TARN_SERVER_TOOL_KEPT_LOOK_H

#include "server/common/session_aside.h"
#include "server/common/session_file.h"

#include <stdbool.h>
#include <stdint.h>

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

/// Whether a name ends as that of a kept session (".tank"), or of one that was set aside (".damaged").
/// @return the bytes in front of the ending; 0: it doesn't
size_t kept_name_bytes(const char *file_name, bool *is_aside);

/// The bytes of a file and of what SQLite keeps beside it. @param changed_s  receives when it changed last, since 1970
uint64_t kept_file_bytes(const char *path, int64_t *changed_s);

#endif
